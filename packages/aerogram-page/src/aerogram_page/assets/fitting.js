/** Fitting: a reply within a budget. Budget, pieces and chart are kept in step with one question to the server. */

import { Budget } from "./budget.js";
import { chart } from "./chart.js";
import { button, el, fill } from "./element.js";
import { failure } from "./failure.js";
import { count } from "./numbers.js";
import { Piece, pieceList } from "./pieces.js";
import { record } from "./records.js";
import { ask } from "./server.js";
import { t } from "./texts.js";
import { Turn } from "./turn.js";

const CURVE_PAUSE = 350;
const none = () => () => null;

/**
 * `source()` says which reply is wanted, null for none; `show(fitted, asked)` draws it,
 * `refuse(error)` says why there is none, and `render(value)` draws a piece that came back.
 * `cards(fitted)` gives a function that says how the card of a piece is called; null for what has none.
 */
export class Fitting {
  constructor({ context, params, signal, source, show, refuse, render = record, cards = none, changed = none }) {
    Object.assign(this, {
      _signal: signal,
      _turn: new Turn(signal),
      _curveTurn: new Turn(signal),
      _source: source,
      _show: show,
      _refuse: refuse,
      _render: render,
      _cards: cards,
      _changed: changed,
    });
    this.budget = new Budget(context, params, () => this.update());
    this._chart = el("section", { class: "card", "aria-labelledby": "chart-title" });
    this._pieces = el("div", {});
    fill(
      this._chart,
      el("h2", { id: "chart-title" }, t("chart.title")),
      el("p", { class: "quiet" }, t("shell.loading")),
    );
    this.aside = el("div", { class: "aside stack", hidden: true }, this._pieces, this._chart);
  }

  /** What is asked for now. */
  get asked() {
    const { mode, dialect, way, limit } = this.budget;
    return { source: this._source(), mode, dialect, way, budget: limit };
  }

  /** Ask for the reply as it is wanted now; an older question that is still open is given up. */
  async update() {
    const signal = this._turn.next();
    const asked = this.asked;
    this._changed();
    if (!asked.source) return this.rest(t("budget.nothing"));
    try {
      const fitted = await ask("shrink", asked, { signal });
      if (fitted.problem) this.rest();
      else this._present(fitted, asked);
      this._show(fitted, asked);
    } catch (error) {
      if (signal.aborted) return;
      this.rest();
      this._refuse(error);
    }
  }

  /** What is missing of a row, as a piece that can be brought back; null when nothing is. */
  missing(fitted, row) {
    const found = fitted.pieces?.listed.find(({ what, id }) => what === "shortened" && id === String(row?.chunk_id));
    return found ? new Piece(found, { source: this._source(), mode: fitted.mode, ...this._handling(fitted) }) : null;
  }

  _handling(fitted) {
    return { signal: this._signal, render: this._render, cardOf: this._cards(fitted) };
  }

  /** A budget in which not even the names fit, and one that is enough. */
  tooSmall(refused) {
    const { needed } = refused;
    const enough = button(t("budget.enough", { n: count(needed ?? 0) }), () => this.budget.choose(needed), {
      class: "primary",
    });
    return el("div", { class: "stack" }, failure(refused), needed ? enough : null);
  }

  /** Nothing to fit: what is shown of another reply would be taken for what is said of this one. */
  rest(why = t("budget.unanswered")) {
    this.aside.hidden = true;
    this.budget.rest(why);
  }

  _present(fitted, asked) {
    this.aside.hidden = false;
    this.budget.show(fitted, Boolean(asked.source.call?.arguments.cursor));
    fill(this._pieces, pieceList(fitted, asked.source, this._handling(fitted)));
    this._drawSoon(asked);
  }

  /** The chart belongs to the reply, its dialect and its way; the slider only moves its cursor, and that at once. */
  _drawSoon({ source, dialect, way }) {
    const key = JSON.stringify([source, dialect, way]);
    if (this._curve) this._draw();
    if (key === this._curveKey) return;
    this._curveKey = key;
    const signal = this._curveTurn.next();
    clearTimeout(this._curveTimer);
    this._curveTimer = setTimeout(() => this._askForCurve({ source, dialect, way }, signal), CURVE_PAUSE);
  }

  async _askForCurve(asked, signal) {
    try {
      this._curve = await ask("curve", asked, { signal });
      this._draw();
    } catch (error) {
      if (signal.aborted) return;
      this._curve = this._curveKey = null;
      fill(this._chart, failure(error));
    }
  }

  _draw() {
    fill(
      this._chart,
      el("h2", { id: "chart-title" }, t("chart.title")),
      el("p", { class: "small quiet" }, t("chart.about")),
      chart(linesOf(this._curve), this.budget.limit),
    );
  }
}

/** What a fitted reply says, without the words of its dialect around it. */
export function dataOf({ data, body, dialect }) {
  if (data !== undefined && data !== null) return data;
  if (dialect === "bare" || !body) return body;
  const said = dialect === "response-v2" ? body.data : body.results;
  const told = (body.meta?.aerogram ?? body.aerogram)?.box;
  if (told && !told.startsWith("/")) return said; // an object that only looks like a box
  const box = told ? told.slice(1) : dialect === "response-v2" ? boxIn(said) : null;
  return box && said?.[box] !== undefined ? said[box] : said;
}

/** The member of an object that response-v2 puts a list or a single value into; null when it is no such box. */
function boxIn(said) {
  const [name, ...others] = Object.keys(said ?? {});
  if (others.length) return null;
  const holds = said?.[name];
  return (name === "results" && Array.isArray(holds)) || (name === "result" && Object(holds) !== holds) ? name : null;
}

/** The rows of a fitted reply; null when its data is something else. */
export function rowsOf(fitted) {
  const data = dataOf(fitted);
  return Array.isArray(data) ? data : null;
}

function linesOf(curve) {
  return curve.series.map(({ mode, points }) => ({
    name: mode,
    label: t(`mode.${mode}`),
    points: points.filter(({ size }) => size !== null).map(({ budget, size }) => [budget, size]),
  }));
}
