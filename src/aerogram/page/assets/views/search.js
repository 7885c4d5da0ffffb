/** Search: ask the documents, and see the answer shrink to a budget and come back. */

import { announce } from "../announcer.js";
import { copyButton } from "../copying.js";
import { button, el, fill } from "../element.js";
import { failure } from "../failure.js";
import { Fitting, rowsOf } from "../fitting.js";
import { termsOf } from "../marking.js";
import { noticeList } from "../notices.js";
import { count, milliseconds } from "../numbers.js";
import { Question } from "../question.js";
import { record, recordList } from "../records.js";
import { addressOf } from "../route.js";
import { ask } from "../server.js";
import { searchOf } from "../source.js";
import { t } from "../texts.js";
import { tree } from "../tree.js";

const PAGE_SIZE = 10;

/** Open the view. */
export async function open(stage) {
  const view = new SearchView(stage);
  const [contents] = await Promise.all([ask("contents", undefined, { signal: stage.signal }), view.begin()]);
  view.offer(contents);
}

class SearchView {
  constructor({ main, params, context, signal, note }) {
    this._trail = [];
    this._cursor = params.get("cursor");
    if (!params.has("q")) params.set("q", context.suggestion ?? "");
    this._question = new Question(params, () => this._restart());
    this._fitting = new Fitting({
      context,
      params,
      signal,
      source: () => this._source(),
      show: (fitted) => this._show(fitted),
      refuse: (error) => this._settle(failure(error, () => this._fitting.update())),
      render: (value) => record(value, termsOf(this._question.text)),
      changed: () => {
        note(this._params());
        this._results.setAttribute("aria-busy", "true");
      },
    });
    this._results = el("section", { class: "results", tabindex: "-1", "aria-label": t("search.results") });
    fill(
      main,
      el("div", { class: "hero" }, el("h1", {}, t("search.title")), el("p", { class: "lead" }, t("search.lead"))),
      this._question.node,
      this._fitting.budget.node,
      el("div", { class: "columns" }, this._results, this._fitting.aside),
    );
  }

  /** Say what there is to choose from. */
  offer(contents) {
    this._question.offer(contents);
  }

  /** Ask the first question. */
  begin() {
    return this._fitting.update();
  }

  _params() {
    return { ...this._question.params, ...this._fitting.budget.params, cursor: this._cursor };
  }

  _source() {
    const { text, filters } = this._question;
    this._keepToMode();
    if (text) return searchOf({ query: text, filters, cursor: this._cursor, page_size: PAGE_SIZE });
    this._settle(el("p", { class: "card quiet" }, t("search.nothingAsked")));
    return null;
  }

  /** A cursor is good for the mode that it was given in; another mode begins at the first page. */
  _keepToMode() {
    const { mode } = this._fitting.budget;
    if (mode !== (this._mode ?? mode)) {
      this._trail = [];
      this._cursor = null;
    }
    this._mode = mode;
  }

  /** Another question begins at its first page. */
  _restart() {
    this._trail = [];
    this._cursor = null;
    this._fitting.update();
  }

  _settle(...nodes) {
    fill(this._results, ...nodes);
    this._results.removeAttribute("aria-busy");
  }

  _show(fitted) {
    if (fitted.problem) return this._settle(this._refusal(fitted.problem));
    this._settle(this._header(fitted), noticeList(fitted.notices), this._body(fitted), this._pager(fitted.page));
  }

  _header({ page, before, ms }) {
    return el(
      "div",
      { class: "row between results-head" },
      el(
        "h2",
        {},
        t("search.found", { n: count(page?.total ?? before.items ?? 0) }),
        " ",
        el("span", { class: "small quiet" }, milliseconds((ms?.answer ?? 0) + (ms?.fit ?? 0))),
      ),
      el(
        "div",
        { class: "row" },
        el("a", { class: "button", href: addressOf("dialects", this._params()) }, t("search.dialects")),
        copyButton(() => this._copied()),
      ),
    );
  }

  _copied() {
    const { source, mode, dialect, budget } = this._fitting.asked;
    return { call: source.call, mode, dialect, budget };
  }

  _body(fitted) {
    if (fitted.refused) return this._fitting.tooSmall(fitted.refused);
    if (fitted.omitted) return el("p", { class: "notice" }, t("search.omitted", { n: count(fitted.omitted.bytes) }));
    const rows = rowsOf(fitted);
    if (!rows) return el("div", { class: "card" }, tree(fitted.body));
    if (!rows.length) return el("p", { class: "card quiet" }, t("search.none"));
    return recordList(rows, termsOf(this._question.text), (row) => this._fitting.missing(fitted, row));
  }

  _pager(page) {
    const next = page?.has_more ? button(t("search.next"), () => this._turn(page.cursor), { class: "primary" }) : null;
    const back = this._cursor ? button(t("search.previous"), () => this._turnBack()) : null;
    const from = this._trail.length * PAGE_SIZE;
    const total = page?.total ?? 0;
    const range = t("search.range", {
      from: count(from + 1),
      to: count(Math.min(from + PAGE_SIZE, total)),
      total: count(total),
    });
    const place = total ? range + (next ? "" : ` · ${t("search.end")}`) : "";
    return el("div", { class: "row pager" }, back, next, el("span", { class: "place quiet small number" }, place));
  }

  async _turn(cursor) {
    this._trail.push(this._cursor);
    this._cursor = cursor;
    await this._fitting.update();
    this._results.scrollIntoView({ block: "start" });
    this._results.focus({ preventScroll: true });
    announce(this._results.querySelector(".place")?.textContent ?? "");
  }

  async _turnBack() {
    this._cursor = this._trail.pop() ?? null;
    await this._fitting.update();
    this._results.focus();
  }

  /** A cursor from yesterday is no reason to despair: the question is still there. */
  _refusal(problem) {
    const isCursor = problem.code === "INVALID_CURSOR";
    return el(
      "div",
      { class: "notice", role: "alert" },
      el(
        "p",
        {},
        el("strong", {}, problem.details?.reason === "expired" ? t("search.cursorExpired") : problem.message),
      ),
      el("p", { class: "small" }, el("code", {}, problem.code), " ", problem.remediation ?? ""),
      button(
        t(isCursor ? "search.startAgain" : "failure.again"),
        () => (isCursor ? this._restart() : this._fitting.update()),
        { class: "primary" },
      ),
    );
  }
}
