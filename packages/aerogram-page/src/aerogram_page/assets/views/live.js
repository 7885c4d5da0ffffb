/** Live: the replies that the server is sending, for its owner. */

import { callDetail } from "../call.js";
import { button, el, fill } from "../element.js";
import { eventsOf } from "../events.js";
import { failure } from "../failure.js";
import { clock, count, milliseconds } from "../numbers.js";
import { call, Refusal, stream } from "../server.js";
import { cell } from "../table.js";
import { t, has } from "../texts.js";
import { Turn } from "../turn.js";

const KEPT = 200;
const PAUSE = 1000;
const COLUMNS = ["time", "tool", "tokens", "fidelity", "problem", "duration"];

/** Open the view. */
export async function open({ main, context, signal }) {
  const view = new LiveView(context, signal);
  fill(
    main,
    el("h1", {}, t("live.title")),
    el("p", { class: "lead" }, t(context.kind === "gateway" ? "live.leadCalls" : "live.lead")),
    context.owner ? view.node : ownerOnly(),
  );
  if (context.owner) view.follow();
}

function ownerOnly() {
  return el("p", { class: "notice", role: "status" }, t("live.ownerOnly"));
}

class LiveView {
  constructor(context, signal) {
    Object.assign(this, {
      _context: context,
      _signal: signal,
      _looked: new Turn(signal),
      _seen: 0,
      _missed: 0,
      _isPaused: false,
      _held: [],
      _known: new Set(),
      _isGateway: context.kind === "gateway",
    });
    this._rows = el("tbody", {});
    this._count = el("span", { class: "chip number", role: "status" }, count(0));
    this._pause = button(t("live.pause"), () => this._turn(), { "aria-pressed": "false" });
    this._note = el("div", {});
    this.node = el(
      "section",
      { class: "card stack", "aria-label": t("live.title") },
      el(
        "div",
        { class: "row between" },
        el("div", { class: "row" }, this._count, this._pause),
        this._isGateway ? null : button(t("live.try"), () => this._try(), { id: "live-try" }),
      ),
      this._note,
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": t("live.table") },
        el(
          "table",
          { class: "live stacks" },
          el("caption", { class: "unseen" }, t("live.table")),
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              COLUMNS.map((name) => el("th", { scope: "col" }, t(`live.${name}`))),
            ),
          ),
          this._rows,
        ),
      ),
      (this._none = el("p", { class: "quiet" }, t(this._isGateway ? "live.noneCalls" : "live.none"))),
      (this._detail = el("div", {})),
    );
  }

  /** Follow the stream while the view is seen; when it breaks off, it is taken up again. */
  async follow() {
    fill(this._note);
    while (!this._signal.aborted) {
      await seen();
      try {
        for await (const event of eventsOf(await stream("live", whileSeen(this._signal)))) this._take(event);
      } catch (error) {
        if (error.status && !this._signal.aborted) return this._stop(error);
      }
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }

  _stop(error) {
    fill(this._note, error.status === 403 ? ownerOnly() : failure(error, () => this.follow()));
  }

  _take({ id, event, data }) {
    const key = `${id} ${data.request_id}`;
    if (event !== "reply" || this._known.has(key)) return;
    this._known.add(key);
    if (this._known.size > KEPT) this._known.delete(this._known.values().next().value);
    this._miss(id - (this._last ?? id - 1) - 1);
    this._last = id;
    this._seen += 1;
    this._held.push({ ...data, number: id });
    this._held.splice(0, this._held.length - KEPT);
    if (!this._isPaused) this._release();
  }

  /** What the numbers of the replies leave out went by; a server that has begun anew counts from one. */
  _miss(n) {
    if (n <= 0) return;
    this._missed += n;
    fill(this._note, el("p", { class: "notice small" }, t("live.gap", { n: count(this._missed) })));
  }

  _release() {
    for (const said of this._held.splice(0)) this._add(said);
  }

  _add(said) {
    this._none.hidden = true;
    this._count.textContent = t("live.seen", { n: count(this._seen) });
    this._rows.prepend(rowOf(said, this._isGateway ? () => this._look(said.number) : null));
    while (this._rows.children.length > KEPT) this._rows.lastChild.remove();
  }

  _turn() {
    this._isPaused = !this._isPaused;
    this._pause.setAttribute("aria-pressed", this._isPaused);
    this._pause.textContent = t(this._isPaused ? "live.goOn" : "live.pause");
    if (!this._isPaused) this._release();
  }

  /** All of one call. */
  async _look(number) {
    const signal = this._looked.next();
    try {
      fill(this._detail, await callDetail(number, signal));
      this._detail.firstChild.focus({ preventScroll: true });
      this._detail.scrollIntoView({ block: "start" });
    } catch (error) {
      if (!signal.aborted) fill(this._detail, failure(error));
    }
  }

  /** Something to see for whoever is alone with the server. */
  async _try() {
    const query = new URLSearchParams({
      q: this._context.suggestion ?? "token",
      response_mode: "full",
      max_tokens: 1200,
      envelope: "v2",
    });
    try {
      const { status, body } = await call(`v1/search?${query}`, undefined, { signal: this._signal });
      if (status >= 400) throw new Refusal(status, body);
    } catch (error) {
      if (!this._signal.aborted) fill(this._note, failure(error));
    }
  }
}

/** Resolves when the page is seen. */
const seen = () =>
  new Promise((done) =>
    document.hidden ? document.addEventListener("visibilitychange", () => done(), { once: true }) : done(),
  );

/** Ends with `signal`, and when the page is hidden: a stream takes one of a browser's six connections to a server. */
function whileSeen(signal) {
  const hidden = new AbortController();
  document.addEventListener("visibilitychange", () => hidden.abort(), { once: true, signal });
  return AbortSignal.any([signal, hidden.signal]);
}

function rowOf(said, look) {
  const share = said.tokens_before ? said.tokens / said.tokens_before : 1;
  const gauge = el("span", { class: "gauge", "aria-hidden": "true" }, el("span", {}));
  gauge.firstChild.style.setProperty("width", `${100 * Math.min(1, share)}%`);
  const name = el("code", {}, said.operation ?? "–");
  const tool = look
    ? button(name, look, { class: "link", "aria-label": t("live.look", { name: said.operation }) })
    : [name, " ", el("span", { class: "chip" }, wayOf(said))];
  return el(
    "tr",
    { data: { id: said.request_id } },
    cell(t("live.time"), "number", said.time ? clock(said.time) : "–"),
    cell(t("live.tool"), "", tool),
    cell(t("live.tokens"), "number", tokensOf(said), isCounted(said) ? gauge : null),
    cell(t("live.fidelity"), "", levelOf(said)),
    cell(t("live.problem"), "", problemOf(said)),
    cell(t("live.duration"), "number", said.ms === undefined || said.ms === null ? "–" : milliseconds(said.ms)),
  );
}

const wayOf = ({ via, dialect }) => [via, dialect].filter(Boolean).join(" · ");

/** How much of the whole was sent; of a failure there is no such thing. */
function levelOf({ fidelity, problem }) {
  if (!fidelity || problem) return "–";
  const name = has(`level.${fidelity}`) ? t(`level.${fidelity}`) : fidelity;
  return el("span", { class: `chip ${fidelity === "full" ? "good" : "warn"}` }, name);
}

const problemOf = ({ problem }) => (problem ? el("span", { class: "chip bad" }, problem.code ?? problem) : "–");

const isCounted = ({ tokens }) => tokens !== null && tokens !== undefined;

function tokensOf({ tokens, tokens_before: before }) {
  if (!isCounted({ tokens })) return el("span", { class: "quiet" }, t("live.noBudget"));
  return before && before !== tokens ? `${count(before)} → ${count(tokens)}` : count(tokens);
}
