/** Tree: a JSON value as lines that open and close. Only what is open is drawn, of long lists a part at a time. */

import { button, el, fill } from "./element.js";
import { explain } from "./hint.js";
import { write } from "./json.js";
import { count } from "./numbers.js";
import { t } from "./texts.js";

const PORTION = 100;
const LONG = 300;
const OPEN_DEPTH = 3;
const FEW = 40;

/**
 * A value as a tree. `about(pointer, key)` may give what is known of a member:
 * its explanation (`text`), a class for it (`mark`), what it says (`says`), and whether it begins closed (`shut`).
 */
export function tree(value, about = () => null) {
  const root = el("div", { class: "tree", role: "group" });
  root.append(member(null, value, "", 0, about));
  return root;
}

/** The pointer of a member below another. */
export const below = (pointer, key) => `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;

function member(key, value, pointer, depth, about) {
  const known = key === null ? null : about(pointer, key);
  const line = el("div", {
    class: `member ${known?.mark ?? ""}`,
    data: { pointer, ...(known?.says && { says: known.says }) },
  });
  const name = key === null ? null : nameOf(key, known);
  if (value !== null && typeof value === "object" && sizeOf(value)) {
    line.append(...branch(name, value, pointer, depth, about, known));
  } else {
    line.append(...[name, name && ": ", leaf(value)].filter(Boolean));
  }
  return line;
}

function nameOf(key, known) {
  const node = el("span", { class: "key" }, typeof key === "number" ? String(key) : JSON.stringify(key));
  return known?.text ? explain(node, known.text) : node;
}

function branch(name, value, pointer, depth, about, known) {
  const isList = Array.isArray(value);
  const size = sizeOf(value);
  const inside = el("div", { class: "inside" });
  const twist = button("", () => turn(twist.getAttribute("aria-expanded") !== "true"), { class: "twist" });
  const shut = el("span", { class: "shut" }, `… ${count(size)} …`);
  const turn = (isOpen) => {
    twist.setAttribute("aria-expanded", isOpen);
    twist.setAttribute("aria-label", t(isOpen ? "tree.close" : "tree.open", { name: name?.textContent ?? "JSON" }));
    shut.hidden = isOpen;
    fill(inside, isOpen ? portion(value, 0, pointer, depth, about) : []);
  };
  turn(known?.shut === undefined ? depth < OPEN_DEPTH && (depth < 2 || size <= FEW) : !known.shut);
  return [twist, name, name && ": ", isList ? "[" : "{", shut, inside, isList ? "]" : "}"].filter(Boolean);
}

const sizeOf = (value) => (Array.isArray(value) ? value.length : Object.keys(value).length);

function portion(value, from, pointer, depth, about) {
  const keys = Array.isArray(value)
    ? [...Array(Math.min(PORTION, value.length - from)).keys()].map((n) => n + from)
    : Object.keys(value).slice(from, from + PORTION);
  const nodes = keys.map((key) => member(key, value[key], below(pointer, key), depth + 1, about));
  const left = sizeOf(value) - from - keys.length;
  if (left > 0) nodes.push(moreButton(left, () => portion(value, from + PORTION, pointer, depth, about)));
  return nodes;
}

function moreButton(left, next) {
  const node = button(t("tree.more", { n: count(left) }), () => node.replaceWith(...next()), { class: "more" });
  return node;
}

function leaf(value) {
  const kind = value === null ? "null" : Array.isArray(value) ? "empty" : typeof value;
  if (kind !== "string" || value.length <= LONG)
    return el("span", { class: `leaf ${kind === "bigint" ? "number" : kind}`, dir: "auto" }, write(value));
  const node = el(
    "span",
    { class: "leaf string", dir: "auto" },
    JSON.stringify(value.slice(0, LONG)).slice(0, -1),
    "… ",
  );
  let shown = LONG;
  const further = button(
    t("tree.moreText", { n: count(value.length - LONG) }),
    () => {
      shown = Math.min(value.length, shown * 10);
      node.textContent = JSON.stringify(value.slice(0, shown)).slice(0, shown < value.length ? -1 : undefined);
      if (shown < value.length) node.append("… ", further);
    },
    { class: "more" },
  );
  node.append(further);
  return node;
}
