/** Call: one call of a wrapped server: what the server sent, what the model read, and what is kept of the rest. */

import { announce } from "./announcer.js";
import { button, el, fill } from "./element.js";
import { failureWords } from "./failure.js";
import { write } from "./json.js";
import { count } from "./numbers.js";
import { hasherOf, proof } from "./pieces.js";
import { ask } from "./server.js";
import { brief, sha256 } from "./sha256.js";
import { t } from "./texts.js";
import { tree } from "./tree.js";

/** The call of a number, as a section that can have the focus. */
export async function callDetail(number, signal) {
  const said = await ask(`calls/${number}`, undefined, { signal });
  return el(
    "section",
    { class: "call stack", tabindex: "-1", "aria-label": said.operation },
    el("h2", {}, el("code", {}, said.operation)),
    el(
      "div",
      { class: "sides" },
      side("sent", said.sent),
      side("read", said.read),
      part("kept", said.archive.length ? said.archive.map((entry) => kept(number, entry, signal)) : t("call.nothing")),
    ),
  );
}

function part(name, ...inside) {
  return el("section", { class: "card stack", data: { part: name } }, el("h3", {}, t(`call.${name}`)), inside);
}

function side(name, result) {
  if (!result) return part(name, el("p", { class: "quiet" }, t("call.notAsked")));
  const chips = el(
    "p",
    { class: "row" },
    el("span", { class: "chip number" }, t("budget.tokens", { n: count(result.tokens) })),
    el("span", { class: "chip number" }, t("inspect.bytes", { n: count(result.bytes) })),
    result.failed ? el("span", { class: "chip bad" }, t("live.problem")) : null,
    result.others.map((kind) => el("span", { class: "chip" }, kind)),
  );
  return part(
    name,
    chips,
    result.texts.map((text) => block(name, text)),
    result.longer ? el("p", { class: "quiet small" }, t("call.longer")) : null,
    result.omitted ? el("p", { class: "quiet small" }, t("call.omitted")) : structured(result),
  );
}

function block(name, text) {
  return el("pre", { tabindex: "0", dir: "auto", role: "region", "aria-label": t(`call.${name}`) }, text);
}

/** Data beside a text stands behind a fold; alone, it is what there is. */
function structured({ structured: data, texts }) {
  if (data === null) return null;
  return texts.length ? el("details", {}, el("summary", {}, t("call.structured")), tree(data)) : tree(data);
}

/** What was left out: who asks for it gets it back with proof. */
function kept(number, { name, hash }, signal) {
  const outcome = el("div", { class: "outcome" });
  const bring = button(t("piece.bring"), () => recover(), {
    class: "bring",
    "aria-label": t("piece.bringNamed", { name }),
  });

  async function recover() {
    bring.disabled = true;
    try {
      const back = await ask(`calls/${number}/${hash}`, undefined, { signal });
      const here = back.text === null ? null : await sha256(back.text);
      const isSame = back.archive.matches && (here?.includes(hash) ?? true);
      fill(
        outcome,
        proof(hash, here ?? back.archive.recomputed, isSame, hasherOf(here, back)),
        back.text === null ? null : block("kept", asText(back.value)),
      );
      announce(t(isSame ? "piece.matches" : "piece.differs"));
    } catch (error) {
      if (!signal.aborted) fill(outcome, el("div", { class: "failure" }, failureWords(error)));
      bring.disabled = false;
    }
  }

  return el(
    "div",
    { class: "stack" },
    el("p", { class: "row" }, el("span", { class: "chip" }, name), el("code", { title: hash }, brief(hash)), bring),
    outcome,
  );
}

const asText = (value) => (typeof value === "string" ? value : write(value, 2));
