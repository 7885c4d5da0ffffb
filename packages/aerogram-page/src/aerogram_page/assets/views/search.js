/** Search: ask the documents, and see the answer shrink to a budget and come back. */

import { announce } from "../announcer.js";
import { copyButton } from "../copying.js";
import { button, el, fill } from "../element.js";
import { failure, failureWords } from "../failure.js";
import { Fitting, rowsOf } from "../fitting.js";
import { termsOf } from "../marking.js";
import { noticeList } from "../notices.js";
import { count, milliseconds } from "../numbers.js";
import { Question } from "../question.js";
import { cardsOf, record, recordList } from "../records.js";
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
    this._cursor = params.get("cursor");
    this._from = (this._cursor && Number(params.get("from"))) || null;
    this._trail = (this._cursor && history.state?.trail) || [];
    if (!params.has("q")) params.set("q", context.suggestion ?? "");
    this._question = new Question(params, () => this._restart());
    this._fitting = new Fitting({
      context,
      params,
      signal,
      source: () => this._source(),
      show: (fitted, { source }) => this._show(fitted, termsOf(source.call.arguments.query)),
      refuse: (error) => this._settle(failure(error, () => this._fitting.update())),
      render: (value) => record(value, termsOf(this._question.text)),
      cards: (fitted) => cardsOf(rowsOf(fitted), this._first(fitted), this._results),
      changed: () => {
        note(this._params(), { state: { trail: this._trail }, isStep: this._isTurning });
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
    return { ...this._question.params, ...this._fitting.budget.params, cursor: this._cursor, from: this._from };
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
    if (mode !== (this._mode ?? mode)) this._rewind();
    this._mode = mode;
  }

  _rewind() {
    Object.assign(this, { _trail: [], _cursor: null, _from: null });
  }

  /** Another question begins at its first page. */
  _restart() {
    this._rewind();
    this._fitting.update();
  }

  _settle(...nodes) {
    fill(this._results, ...nodes);
    this._results.removeAttribute("aria-busy");
  }

  _show(fitted, terms) {
    if (fitted.problem) return this._settle(this._refusal(fitted.problem));
    this._settle(this._header(fitted), noticeList(fitted.notices), this._body(fitted, terms), this._pager(fitted));
  }

  _header({ refused, page, before, ms }) {
    const found = page?.total ?? before.found ?? before.items ?? 0;
    return el(
      "div",
      { class: "row between results-head" },
      el(
        "h2",
        {},
        t(refused && found ? "search.nothingFits" : "search.found", { n: count(found) }),
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
    const { source, mode, dialect, way, budget } = this._fitting.asked;
    return { call: source.call, mode, budget, ...(way === "mcp" && { dialect }) };
  }

  _body(fitted, terms) {
    if (fitted.refused) return this._fitting.tooSmall(fitted.refused);
    if (fitted.omitted) return el("p", { class: "notice" }, t("search.omitted", { n: count(fitted.omitted.bytes) }));
    const rows = rowsOf(fitted);
    if (!rows) return el("div", { class: "card" }, tree(fitted.body));
    if (!rows.length) {
      const isEmpty = fitted.before.empty_reason === "source_unavailable";
      return el("p", { class: "card quiet" }, t(isEmpty ? "search.noDocuments" : "search.none"));
    }
    return recordList(rows, {
      terms,
      missing: (row) => this._fitting.missing(fitted, row),
      first: this._first(fitted),
    });
  }

  _pager(fitted) {
    const { page, before } = fitted;
    const from = this._first(fitted);
    const shown = rowsOf(fitted)?.length ?? before.items; // the cursor goes on after what is shown
    const further = { cursor: page?.cursor, from: from && from + shown };
    const next = page?.has_more ? button(t("search.next"), () => this._turn(further), { class: "primary" }) : null;
    const back = this._cursor ? this._backButton() : null;
    return el(
      "div",
      { class: "row pager" },
      back,
      next,
      el("span", { class: "place quiet small number" }, placeOf(from, shown, page?.total, next)),
    );
  }

  /** The number of the first result: as it says itself, or as the address does; null when nobody knows. */
  _first(fitted) {
    if (!this._cursor) return 1;
    return rowsOf(fitted)?.[0]?.rank ?? this._from;
  }

  /** Whoever came by a link does not know the page before, but the first one. */
  _backButton() {
    const isKnown = this._trail.length > 0 || this._from === PAGE_SIZE + 1;
    return button(t(isKnown ? "search.previous" : "search.first"), () => this._turnBack());
  }

  async _turn({ cursor, from }) {
    this._trail = [...this._trail, { cursor: this._cursor, from: this._from }];
    await this._go(cursor, from);
    this._results.scrollIntoView({ block: "start" });
    this._results.focus({ preventScroll: true });
    announce(this._results.querySelector(".place")?.textContent ?? "");
  }

  async _turnBack() {
    const { cursor = null, from = null } = this._trail.at(-1) ?? {};
    this._trail = this._trail.slice(0, -1);
    await this._go(cursor, from);
    this._results.focus();
  }

  /** To another page, which is a step that the reader can take back. */
  async _go(cursor, from) {
    for (const turn of this._results.querySelectorAll(".pager button")) turn.disabled = true; // one click, one page
    Object.assign(this, { _cursor: cursor, _from: from, _isTurning: true });
    const going = this._fitting.update();
    this._isTurning = false;
    await going;
  }

  /** A cursor from yesterday is no reason to despair: the question is still there. */
  _refusal(problem) {
    const isCursor = problem.code === "INVALID_CURSOR";
    return el(
      "div",
      { class: "notice", role: "alert" },
      problem.details?.reason === "expired" ? el("p", {}, el("strong", {}, t("search.cursorExpired"))) : null,
      failureWords(problem),
      button(
        t(isCursor ? "search.startAgain" : "failure.again"),
        () => (isCursor ? this._restart() : this._fitting.update()),
        { class: "primary" },
      ),
    );
  }
}

/** Where in the list a page stands. */
function placeOf(from, items, total, next) {
  if (!total || !from || !items) return "";
  const range = { from: count(from), to: count(Math.min(from + items - 1, total)), total: count(total) };
  return t("search.range", range) + (next ? "" : ` · ${t("search.end")}`);
}
