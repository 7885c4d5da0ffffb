/** Budget: the slider, and what the reply costs by it, in each mode and in each dialect. */

import { announce } from "./announcer.js";
import { Choice } from "./choice.js";
import { button, el, fill, refill } from "./element.js";
import { explain } from "./hint.js";
import { count, percent } from "./numbers.js";
import { t } from "./texts.js";

const STEPS = 400;
const PAUSE = 40;
const NONE = "none";

/** The panel; `changed()` is called when another budget, mode, dialect or way is chosen. */
export class Budget {
  /** `limit` is the chosen budget in tokens; null at the far end, where nothing is left out. */
  constructor(context, params, changed) {
    this._context = context;
    this._changed = changed;
    this.mode = known(params.get("mode"), context.modes) ?? context.defaults.mode;
    this.way = known(params.get("way"), context.ways.map(({ name }) => name)) ?? context.defaults.way;
    this.dialect = known(params.get("dialect"), speakable(context)) ?? this._usual;
    this._least = context.budget.smallest;
    this._most = context.budget.server ?? context.budget.largest;
    this.limit = params.get("budget") === NONE ? null : this._read(params.get("budget"), context.defaults.budget);
    this.node = this._panel();
  }

  /** What an address says about it. */
  get params() {
    return { mode: this.mode, dialect: this.dialect, way: this.way, budget: this.limit ?? NONE };
  }

  /** What is said the chosen way to those who ask for nothing else. */
  get _usual() {
    return this._context.ways.find(({ name }) => name === this.way).dialect ?? this._context.defaults.dialect;
  }

  /** Show what a reply costs; with a cursor, which belongs to one mode, the others are not counted. */
  show(fitted, hasCursor = false) {
    this._span(fitted);
    if (this._slider !== document.activeElement && !this._isTyping) this._place(); // whoever has hold of it knows it
    this._figures(fitted);
    this._modes(fitted);
    this._modeNote.hidden = !hasCursor;
    this._dialects(fitted);
  }

  /** There is no reply, so nothing costs anything; `why` says it. */
  rest(why) {
    fill(this._sum, el("p", { class: "quiet" }, why));
    fill(this._marks);
    this._modeNote.hidden = true;
    refill(
      this._modeRow,
      this._context.modes.map((mode) => this._modePrice(mode, null)),
    );
    refill(
      this._dialectRow,
      speakable(this._context).map((dialect) => this._dialectPrice(dialect, null)),
    );
  }

  /** From about half of what the names alone take to the whole reply: outside of that, nothing changes. */
  _span({ before, modes }) {
    const names = modes.find(({ mode }) => mode === "ids_only")?.size;
    if (names) this._least = Math.max(this._context.budget.smallest, Math.round(names / 2));
    this._most = Math.max(this._least * 2, Math.ceil(before.size * 1.02));
  }

  /** Choose a budget, as the slider would. */
  choose(limit) {
    this.limit = limit;
    this._place();
    this._changed();
  }

  _panel() {
    this._slider = el("input", {
      type: "range",
      id: "budget",
      min: 0,
      max: STEPS,
      step: 1,
      on: { input: () => this._slid() },
    });
    this._exact = el("input", {
      type: "number",
      class: "exact",
      id: "budget-exact",
      min: 1,
      "aria-label": t("budget.exact"),
      on: {
        input: () => (this._isTyping = true),
        change: () => this._typed(),
        blur: () => (this._isTyping = false),
      },
    });
    this._marks = el("div", { class: "marks", "aria-hidden": "true" });
    this._sum = el("div", { class: "sum" });
    this._modeRow = el("div", { class: "prices", role: "group", "aria-label": t("budget.modes") });
    this._modeNote = el("span", { class: "small quiet", hidden: true }, t("budget.oneMode"));
    this._dialectRow = el("div", { class: "prices", role: "group", "aria-label": t("budget.dialects") });
    this._place();
    return el(
      "section",
      { class: "card budget", "aria-labelledby": "budget-title" },
      el("h2", { id: "budget-title", class: "unseen" }, t("budget.title")),
      this._sum,
      el(
        "div",
        { class: "slider" },
        el("label", { for: "budget" }, t("budget.label")),
        el("div", { class: "track" }, this._slider, this._marks),
        el("div", { class: "exact-row" }, this._exact, el("span", { class: "quiet" }, t("budget.unit"))),
      ),
      this._ways(),
      el("div", { class: "price-row" }, el("h3", {}, t("budget.modes")), this._modeRow, this._modeNote),
      el("div", { class: "price-row" }, el("h3", {}, t("budget.dialects")), this._dialectRow),
    );
  }

  /** What counts: all that a tool result carries, or one body. */
  _ways() {
    const choice = new Choice(
      t("budget.way"),
      this._context.ways.map(({ name, channels }) => [name, t(`way.${name}.${channels === "text" ? "one" : "both"}`)]),
      this.way,
      (way) => {
        const isUsual = this.dialect === this._usual;
        this.way = way;
        if (isUsual) this.dialect = this._usual;
        this._changed();
      },
    );
    return el("div", { class: "price-row way" }, el("h3", {}, t("budget.way")), choice.row);
  }

  _slid() {
    const share = this._slider.valueAsNumber / STEPS;
    this.limit = share === 1 ? null : Math.round(this._least * (this._most / this._least) ** share);
    this._say();
    clearTimeout(this._timer);
    this._timer = setTimeout(this._changed, PAUSE);
  }

  _typed() {
    this._isTyping = false;
    this.choose(this._read(this._exact.value, this.limit));
  }

  /** The budget that somebody wrote, or another one; more than the whole reply is the whole reply. */
  _read(written, otherwise) {
    const limit = Math.round(Number(written || NaN));
    if (!Number.isFinite(limit)) return otherwise;
    return limit >= this._most ? null : Math.max(1, limit);
  }

  /** The budget as the slider shows it: more than the whole reply is the whole reply. */
  get _shown() {
    return Math.min(this.limit ?? this._most, this._most);
  }

  _place() {
    this._slider.value = Math.round(this._at(this._shown) * STEPS);
    this._say();
  }

  /** Where a size stands on the slider, from 0 to 1; it is logarithmic, as sizes are. */
  _at(size) {
    const share = Math.log(Math.max(size, this._least) / this._least) / Math.log(this._most / this._least);
    return Math.min(1, Math.max(0, share));
  }

  _say() {
    this._exact.value = this._shown;
    const text = this.limit === null ? t("budget.none") : t("budget.tokens", { n: count(this.limit) });
    this._slider.setAttribute("aria-valuetext", text);
  }

  _figures({ before, after, refused, budget }) {
    const saved = before.size ? 1 - after.size / before.size : 0;
    const bar = el("div", { class: "bar", "aria-hidden": "true" }, el("div", { class: "bar-sent" }));
    bar.firstChild.style.setProperty("width", `${Math.min(100, 100 * (1 - saved))}%`);
    fill(
      this._sum,
      el(
        "div",
        { class: "figures" },
        figure(t("budget.whole"), before.size, "whole"),
        el("span", { class: "arrow", "aria-hidden": "true" }, "→"),
        figure(t("budget.sent"), after.size, "sent"),
        saved > 0.005 && !refused
          ? el("span", { class: "chip blue saved" }, t("budget.saved", { share: percent(saved) }))
          : null,
        levelChip(after, refused),
        el(
          "p",
          { class: "account" },
          account(before, after, refused),
          " ",
          el("span", { class: "quiet small" }, t("budget.counter", { name: budget.counter })),
        ),
      ),
      bar,
      this._ceiling(after),
    );
    announce(
      t("budget.said", {
        before: count(before.size),
        after: count(after.size),
        shortened: count(after.shortened ?? 0),
        dropped: count(after.dropped ?? 0),
      }),
    );
  }

  /** A server has a budget of its own, which no client can raise. */
  _ceiling({ size }) {
    const { server } = this._context.budget;
    return server && size > server
      ? el("p", { class: "notice small ceiling" }, t("budget.ceiling", { n: count(server) }))
      : null;
  }

  _modes({ modes }) {
    refill(
      this._modeRow,
      modes.map(({ mode, size }) => this._modePrice(mode, size)),
    );
    fill(
      this._marks,
      modes.filter(({ size }) => size !== null).map(({ mode, size }) => this._tick(mode, size)),
    );
  }

  /** Where on the slider the whole reply in a mode would stand. */
  _tick(mode, size) {
    const tick = el("span", { class: `tick line-${mode}`, title: t(`mode.${mode}`) });
    tick.style.setProperty("left", `${100 * this._at(size)}%`);
    return tick;
  }

  _dialects({ dialects }) {
    const said = dialects.filter(({ dialect, size }) => dialect !== "problem" || size !== null);
    refill(
      this._dialectRow,
      said.map(({ dialect, size }) => this._dialectPrice(dialect, size)),
    );
  }

  _modePrice(mode, size) {
    const choose = () => (this.mode = mode);
    return this._price(mode, t(`mode.${mode}`), size, mode === this.mode, choose, t(`mode.${mode}.about`));
  }

  _dialectPrice(dialect, size) {
    const choose = () => (this.dialect = dialect);
    return this._price(dialect, dialect, size, dialect === this.dialect, choose, t(`dialect.${dialect}`));
  }

  _price(name, label, size, isChosen, choose, about) {
    const node = button(
      "",
      () => {
        choose();
        this._changed();
      },
      { class: "price", "aria-pressed": isChosen, data: { name } },
    );
    if (this._context.modes.includes(name))
      node.append(el("span", { class: `dot line-${name}`, "aria-hidden": "true" }));
    node.append(el("span", {}, label), el("span", { class: "number" }, size === null ? "–" : count(size)));
    return explain(node, about);
  }
}

/** A name from an address, if it is one of those there are. */
const known = (name, names) => (names.includes(name) ? name : null);

/** The dialects that can say any reply. */
const speakable = ({ dialects }) => [...dialects.map(({ name }) => name).filter((name) => name !== "problem"), "bare"];

function figure(label, size, name) {
  return el(
    "div",
    { class: `figure-${name}` },
    el("span", { class: "label" }, label),
    el("span", { class: "big number" }, count(size)),
  );
}

function levelChip(after, refused) {
  if (refused) return el("span", { class: "chip bad" }, t("level.refused"));
  const level = after.fidelity ?? "full";
  return el("span", { class: `chip ${level === "full" ? "good" : "warn"}` }, t(`level.${level}`));
}

function account(before, after, refused) {
  if (refused) return t("budget.refused", { needed: count(refused.needed ?? 0) });
  if (!before.items && after.items === 0) return t("budget.empty");
  if (!after.dropped && !after.shortened) return t("budget.complete", { n: count(after.items ?? 0) });
  return t("budget.account", {
    items: count(before.items ?? 0),
    whole: count(after.whole ?? 0),
    shortened: count(after.shortened ?? 0),
    dropped: count(after.dropped ?? 0),
  });
}
