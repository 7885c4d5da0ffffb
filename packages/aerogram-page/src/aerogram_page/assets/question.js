/** Question: what is asked, with its filters; it speaks up when it changes, once the typing has paused. */

import { button, el, form } from "./element.js";
import { filtersOf } from "./source.js";
import { t } from "./texts.js";

const PAUSE = 180;
const LISTS = ["category", "license", "path"];
const DAYS = ["after", "before"];

/** The form; `changed()` is called when something else is asked. */
export class Question {
  constructor(params, changed) {
    this._given = params;
    this._changed = changed;
    this._fields = new Map();
    this.node = this._form();
  }

  /** The words that are asked for. */
  get text() {
    return this._input.value.trim();
  }

  /** The filters that say something, as the tools take them. */
  get filters() {
    return filtersOf(new URLSearchParams(this.params));
  }

  /** Let the filters offer what there is to choose from. */
  offer({ categories, licenses, files }) {
    const choices = { category: Object.keys(categories), license: Object.keys(licenses), path: files };
    for (const [name, values] of Object.entries(choices)) {
      const field = this._fields.get(name);
      field.append(...values.filter((value) => value !== field.value).map((value) => option(value)));
    }
  }

  /** What an address says about it. */
  get params() {
    return { q: this.text, ...Object.fromEntries([...this._fields].map(([name, field]) => [name, field.value])) };
  }

  _form() {
    this._input = el("input", {
      type: "search",
      id: "question",
      value: this._given.get("q") ?? "",
      maxlength: 500,
      placeholder: t("search.placeholder"),
      autocomplete: "off",
      spellcheck: "false",
      dir: "auto",
      on: { input: () => this._soon() },
    });
    return form(
      () => this._now(),
      { class: "question", role: "search", "aria-label": t("view.search") },
      el("label", { for: "question", class: "unseen" }, t("search.ask")),
      el("div", { class: "question-row" }, this._input, el("button", { class: "primary" }, t("search.go"))),
      this._filters(),
    );
  }

  _filters() {
    const isUsed = [...LISTS, ...DAYS].some((name) => this._given.get(name));
    return el(
      "details",
      { class: "filters", open: isUsed },
      el("summary", {}, t("search.filters")),
      el(
        "div",
        { class: "filter-row" },
        LISTS.map((name) => this._labelled(name, this._select(name))),
        DAYS.map((name) => this._labelled(name, el("input", { type: "date", value: this._given.get(name) ?? "" }))),
        button(t("search.clear"), () => this._clear()),
      ),
    );
  }

  _labelled(name, field) {
    field.id = `filter-${name}`;
    field.addEventListener("change", () => this._now());
    this._fields.set(name, field);
    return el("div", { class: "filter" }, el("label", { for: field.id }, t(`filter.${name}`)), field);
  }

  _select(name) {
    const given = this._given.get(name);
    const field = el("select", {}, option("", t("filter.any")), given ? option(given) : null);
    field.value = given ?? "";
    return field;
  }

  _clear() {
    for (const field of this._fields.values()) field.value = "";
    this._now();
  }

  _soon() {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this._changed(), PAUSE);
  }

  _now() {
    clearTimeout(this._timer);
    this._changed();
  }
}

const option = (value, label = value) => el("option", { value }, label);
