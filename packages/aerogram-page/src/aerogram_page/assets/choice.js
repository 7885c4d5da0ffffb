/** Choice: one of a few values, as a row of buttons. */

import { button, el } from "./element.js";

/** `values` are pairs of a value and its label; `changed(value)` is told what was chosen. */
export class Choice {
  constructor(label, values, value, changed) {
    this.value = values.some(([one]) => one === value) ? value : values[0][0];
    this._changed = changed;
    /** The buttons alone, for whoever has a heading of their own. */
    this.row = el(
      "div",
      { class: "choice", role: "group", "aria-label": label },
      values.map(([one, name]) =>
        button(name, () => this.choose(one), { data: { name: one }, "aria-pressed": one === this.value }),
      ),
    );
    this.node = el(
      "div",
      { class: "control" },
      el("span", { class: "control-label", "aria-hidden": "true" }, label),
      this.row,
    );
  }

  /** Choose a value, as a click would. */
  choose(value) {
    this.value = value;
    for (const one of this.row.children) one.setAttribute("aria-pressed", one.dataset.name === value);
    this._changed(value);
  }
}
