/** Table: rows under named columns, in a region that scrolls where the window is narrow. */

import { el } from "./element.js";

/** `heads` are the names of the columns; a row is a list of what stands in its cells. */
export function table(label, heads, rows) {
  const head = heads.map((name) => el("th", { scope: "col" }, name));
  const body = rows.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell))));
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)),
  );
}
