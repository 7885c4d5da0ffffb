/** Box: where a text is pasted. It is there again after a look at another view, or in another language. */

import { el } from "./element.js";

const left = new Map();

/** A box with the text that stood in the one of this id when its view was left, which `signal` tells. */
export function box(id, signal, given = {}) {
  const node = el("textarea", { id, spellcheck: "false", dir: "auto", ...given });
  node.value = left.get(id) ?? "";
  signal.addEventListener("abort", () => left.set(id, node.value), { once: true });
  return node;
}
