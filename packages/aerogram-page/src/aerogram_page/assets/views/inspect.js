/** Inspect: any reply, pasted or opened: its dialect, whether it keeps its contract, and how small it can be. */

import { box } from "../box.js";
import { button, el, fill } from "../element.js";
import { failure } from "../failure.js";
import { Fitting, rowsOf } from "../fitting.js";
import { noticeList } from "../notices.js";
import { count } from "../numbers.js";
import { cardsOf, recordList } from "../records.js";
import { addressOf } from "../route.js";
import { ask } from "../server.js";
import { language, t } from "../texts.js";
import { tree } from "../tree.js";
import { Turn } from "../turn.js";

const EXAMPLE = {
  success: true,
  data: {
    tasks: [
      { task_id: "task-001", status: "pending", notes: "Read, think, write." },
      { task_id: "task-002", status: "done", notes: "Fold it and send it." },
    ],
  },
  error: null,
  meta: { version: "response-v2", request_id: "req_example" },
};

const PLACEHOLDER = '{"success": true, …}';
const READABLE = 200_000; // letters that a box takes without growing slow

let last = null; // the reply that was shown, for whoever comes back to it

/** Open the view. */
export async function open(stage) {
  const view = new InspectView(stage);
  last ??= stage.context.opened;
  if (last) await view.take(last);
}

class InspectView {
  constructor({ main, params, context, signal }) {
    Object.assign(this, { _turn: new Turn(signal), _context: context, _reply: null });
    this._pasted = box("paste", signal, { placeholder: PLACEHOLDER });
    this._file = el("input", {
      type: "file",
      id: "file",
      class: "unseen",
      accept: ".json,.txt,application/json",
      on: { change: () => this._read() },
    });
    this._said = el("div", { class: "outcome" });
    this._results = el("section", { class: "results", "aria-label": t("inspect.reply") });
    this._fitting = new Fitting({
      context,
      params,
      signal,
      source: () => this._reply && { reply: this._reply.id },
      show: (fitted) => this._show(fitted),
      refuse: (error) => fill(this._results, failure(error, () => this._fitting.update())),
      cards: (fitted) => cardsOf(rowsOf(fitted), null, this._results),
    });
    this._fitted = el(
      "div",
      { class: "fitted", hidden: true },
      this._fitting.budget.node,
      el("div", { class: "columns" }, this._results, this._fitting.aside),
    );
    fill(
      main,
      el("h1", {}, t("inspect.title")),
      el("p", { class: "lead" }, t("inspect.lead")),
      this._form(),
      this._said,
      this._fitted,
    );
  }

  _form() {
    const form = el(
      "section",
      {
        class: "card stack inspect-form",
        on: { dragover: (event) => event.preventDefault(), drop: (event) => this._dropped(event) },
      },
      el("label", { for: "paste" }, t("inspect.paste")),
      this._pasted,
      el(
        "div",
        { class: "row" },
        button(t("inspect.open"), () => this._inspect(this._pasted.value), { class: "primary", id: "inspect-now" }),
        button(t("inspect.check"), () => this._check(), { id: "inspect-check" }),
        el("label", { for: "file", class: "button" }, t("inspect.file")),
        this._file,
        button(
          t("inspect.example"),
          () => {
            this._pasted.value = JSON.stringify(EXAMPLE, null, 2);
          },
          { class: "link" },
        ),
      ),
    );
    return form;
  }

  async _read() {
    await this._open(this._file.files[0]);
    this._file.value = ""; // the same file can be opened again
  }

  async _dropped(event) {
    event.preventDefault();
    await this._open(event.dataTransfer.files[0]);
  }

  /** Open a file; its text stands in the box, or its name where the text is too long to be read there. */
  async _open(file) {
    if (!file) return;
    const text = await file.text();
    const isReadable = text.length <= READABLE;
    const named = `${file.name} · ${t("inspect.bytes", { n: count(file.size) })}`;
    this._pasted.value = isReadable ? text : "";
    this._pasted.placeholder = isReadable ? PLACEHOLDER : named;
    await this._inspect(text);
  }

  async _inspect(text) {
    if (!text.trim()) return;
    fill(this._said, el("p", { class: "quiet", role: "status" }, t("shell.loading")));
    const signal = this._turn.next();
    try {
      await this.take(await ask("replies", text, { signal }));
    } catch (error) {
      if (!signal.aborted) {
        this._fitted.hidden = true;
        fill(this._said, failure(error));
      }
    }
  }

  async _check() {
    const signal = this._turn.next();
    try {
      const found = await ask("check", { text: this._pasted.value }, { signal });
      this._fitted.hidden = true;
      fill(
        this._said,
        el(
          "div",
          { class: "card stack" },
          el("p", { class: `proof ${found.valid ? "good" : "bad"}` }, found.message?.[language()] ?? found.what),
          faultList(found.faults),
        ),
      );
    } catch (error) {
      if (!signal.aborted) fill(this._said, failure(error));
    }
  }

  /** Show an opened reply. */
  async take(reply) {
    this._reply = last = reply;
    if (this._context.dialects.some(({ name }) => name === reply.dialect && name !== "problem")) {
      this._fitting.budget.dialect = reply.dialect;
    }
    fill(this._said, this._summary(reply));
    this._fitted.hidden = false;
    await this._fitting.update();
  }

  _summary(reply) {
    return el(
      "div",
      { class: "card stack", role: "status" },
      el(
        "div",
        { class: "row" },
        el(
          "span",
          { class: "chip blue" },
          reply.claimed ? t("inspect.claims", { name: reply.claimed }) : (reply.recognised ?? reply.dialect),
        ),
        el(
          "span",
          { class: `chip ${reply.valid ? "good" : "bad"}` },
          t(reply.valid ? "inspect.valid" : "inspect.invalid"),
        ),
        el("span", { class: "chip number" }, t("inspect.bytes", { n: count(reply.bytes) })),
        reply.size ? el("span", { class: "chip number" }, t("budget.tokens", { n: count(reply.size.tokens) })) : null,
        el("span", { dir: "auto" }, reply.summary ?? ""),
      ),
      reply.problem
        ? el("p", { class: "failure" }, el("code", {}, reply.problem.code), " ", reply.problem.message)
        : null,
      faultList(reply.faults),
      el("p", {}, el("a", { href: addressOf("dialects", { reply: reply.id }) }, t("search.dialects"))),
    );
  }

  _show(fitted) {
    if (fitted.problem) return fill(this._results, el("div", { class: "card" }, tree(fitted.body)));
    if (fitted.refused) return fill(this._results, this._fitting.tooSmall(fitted.refused));
    if (fitted.omitted)
      return fill(this._results, el("p", { class: "notice" }, t("search.omitted", { n: count(fitted.omitted.bytes) })));
    const rows = rowsOf(fitted);
    const isPassages = rows?.length && rows.every((row) => row && typeof row === "object" && "chunk_id" in row);
    fill(
      this._results,
      noticeList(fitted.notices),
      isPassages
        ? recordList(rows, { missing: (row) => this._fitting.missing(fitted, row) })
        : el("div", { class: "card" }, tree(fitted.body)),
    );
  }
}

function faultList(faults = []) {
  if (!faults.length) return null;
  return el(
    "ul",
    { class: "faults small" },
    faults.map((fault) =>
      el(
        "li",
        {},
        el("code", {}, fault.pointer ?? ""),
        " ",
        fault.rule ?? fault.message,
        " ",
        fault.found == null ? null : el("code", { class: "quiet" }, fault.found), // JSON, or nothing stands there
      ),
    ),
  );
}
