/** Table: rows under named columns; where the window is narrow, each row is a list of its cells by name. */

import { el } from "./element.js";

/** `heads` are the names of the columns; a row is a list of what stands in its cells. */
export function table(label, heads, rows) {
  const head = heads.map((name) => el("th", { scope: "col" }, name));
  const body = rows.map((cells) => el("tr", {}, cells.map((inside, at) => cell(heads[at], "", inside))));
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", { class: "stacks" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)),
  );
}

/** A cell that knows its column, because on a narrow screen there is no head above it. */
export const cell = (heading, kind, ...inside) => el("td", { class: kind, data: { heading } }, el("div", {}, inside));
