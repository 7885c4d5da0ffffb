/** Errors: every code, whether to try again, what to do, and how each dialect says it. Each can be provoked. */

import { announce } from "../announcer.js";
import { Choice } from "../choice.js";
import { errorWords, warningWords } from "../codes.js";
import { button, codeName, el, fill } from "../element.js";
import { failure } from "../failure.js";
import { count } from "../numbers.js";
import { ask } from "../server.js";
import { table } from "../table.js";
import { language, t } from "../texts.js";
import { tree } from "../tree.js";

/** Open the view. */
export async function open(stage) {
  const table = await ask("errors", undefined, { signal: stage.signal });
  new ErrorsView(stage, table).show();
}

class ErrorsView {
  constructor({ main, params, signal, note }, table) {
    Object.assign(this, { _signal: signal, _note: note, _table: table, _opened: params.get("code") ?? "" });
    this._words = el("input", {
      type: "search",
      id: "error-words",
      value: params.get("q") ?? "",
      on: { input: () => this.show() },
    });
    this._kind = el(
      "select",
      { id: "error-kind", on: { change: () => this.show() } },
      el("option", { value: "" }, t("filter.any")),
      table.kinds.map(({ kind }) => el("option", { value: kind }, kind)),
    );
    this._kind.value = params.get("kind") ?? "";
    this._rows = new Map(table.errors.map((row) => [row.code, new ErrorRow(row, this)]));
    this._list = el("div", { class: "stack errors" });
    fill(
      main,
      el("h1", {}, t("errors.title")),
      el("p", { class: "lead" }, t("errors.lead")),
      this._form(),
      this._list,
      warnings(table.warnings),
    );
    const row = this._rows.get(this._opened);
    if (row)
      queueMicrotask(() => {
        row.node.open = true;
        row.node.scrollIntoView({ block: "start" });
      });
  }

  get signal() {
    return this._signal;
  }

  _form() {
    this._found = el("span", { class: "quiet small", role: "status" });
    return el(
      "div",
      { class: "card controls" },
      el("div", { class: "control grow" }, el("label", { for: "error-words" }, t("errors.search")), this._words),
      el("div", { class: "control" }, el("label", { for: "error-kind" }, t("errors.kind")), this._kind),
      this._found,
    );
  }

  /** The codes that the words and the kind leave. */
  show() {
    const words = this._words.value.trim().toLowerCase();
    const isWanted = (row) =>
      (!this._kind.value || row.kind === this._kind.value) &&
      JSON.stringify({ ...row, here: errorWords(row) }).toLowerCase().includes(words);
    const wanted = this._table.errors.filter(isWanted);
    fill(
      this._list,
      wanted.map(({ code }) => this._rows.get(code).node),
    );
    this._found.textContent = t("errors.found", { n: count(wanted.length) });
    this.noted();
  }

  /** Remember in the address which code is open. */
  noted(code = this._opened) {
    this._opened = code;
    this._note({ q: this._words.value.trim(), kind: this._kind.value, code });
  }
}

class ErrorRow {
  constructor(row, view) {
    Object.assign(this, { _row: row, _view: view });
    this._inside = el("div", { class: "stack error-inside" });
    this.node = el(
      "details",
      { class: "card error", data: { code: row.code }, on: { toggle: () => this._toggled() } },
      el(
        "summary",
        {},
        codeName(row.code),
        el(
          "span",
          { class: "row" },
          el("span", { class: "chip blue" }, row.kind),
          el("span", { class: "chip number" }, `HTTP ${row.status}`),
          el(
            "span",
            { class: `chip ${row.retry === "yes" ? "good" : row.retry === "no" ? "" : "warn"}` },
            t("errors.retry", { word: row.retry_word[language()] }),
          ),
        ),
        el("span", { class: "quiet meaning" }, errorWords(row).title),
      ),
      this._inside,
    );
  }

  async _toggled() {
    if (!this.node.open) return;
    this._view.noted(this._row.code);
    if (this._inside.hasChildNodes()) return;
    fill(this._inside, this._facts(), this._provoking());
    try {
      const { shapes } = await ask(`errors/${encodeURIComponent(this._row.code)}`, undefined, {
        signal: this._view.signal,
      });
      this._inside.append(shapeSheet(shapes));
    } catch (error) {
      if (!this._view.signal.aborted) this._inside.append(failure(error));
    }
  }

  _facts() {
    const { parent, user_text: texts, said_as: names } = this._row;
    const spelled = Object.entries(names ?? {})
      .filter(([, name]) => name && name !== this._row.code)
      .map(([dialect, name]) => `${dialect}: ${name}`);
    const facts = [
      ["errors.todo", errorWords(this._row).remediation],
      ["errors.says", texts?.[language()]],
      ["errors.parent", parent],
      ["errors.spelled", spelled.join(" · ")],
    ];
    return el(
      "dl",
      { class: "facts-list" },
      facts.filter(([, said]) => said).map(([key, said]) => [el("dt", {}, t(key)), el("dd", {}, said)]),
    );
  }

  _provoking() {
    const outcome = el("div", { class: "outcome" });
    const how = this._row.provoked_by?.[language()];
    return el(
      "div",
      { class: "provoke" },
      el(
        "div",
        { class: "row" },
        button(t("errors.provoke"), (event) => this._provoke(event.target, outcome), { class: "primary provoke-now" }),
        how ? el("span", { class: "quiet small" }, how) : null,
      ),
      outcome,
    );
  }

  async _provoke(pressed, outcome) {
    pressed.disabled = true;
    try {
      const happened = await ask(`provoke/${encodeURIComponent(this._row.code)}`, {}, { signal: this._view.signal });
      fill(outcome, happeningSheet(happened, this._row.code));
      announce(t("errors.happened", { code: happened.heard?.code ?? "" }));
    } catch (error) {
      if (!this._view.signal.aborted) fill(outcome, failure(error));
    }
    pressed.disabled = false;
  }
}

function shapeSheet(shapes) {
  const inside = el("div", {});
  const show = (name) => fill(inside, tree(shapes[name]));
  const names = Object.keys(shapes);
  const choice = new Choice(
    t("errors.shapes"),
    names.map((name) => [name, name]),
    names[0],
    show,
  );
  show(names[0]);
  return el("div", { class: "stack" }, choice.node, inside);
}

function happeningSheet({ how, request, http, mcp, mcp_note: note, heard }, code) {
  const isSame = heard?.code === code;
  return el(
    "div",
    { class: "stack happening" },
    el(
      "p",
      { class: `proof ${isSame ? "good" : "bad"}` },
      el("span", { class: "seal", "aria-hidden": "true" }, isSame ? "✓" : "✗"),
      " ",
      t("errors.heard", { code: heard?.code ?? "?", status: heard?.status ?? "?" }),
    ),
    el(
      "p",
      { class: "small quiet" },
      how?.[language()],
      " ",
      request ? el("code", {}, `${request.method} ${request.path}`) : null,
    ),
    el(
      "div",
      { class: "sheets" },
      http.map((answer) =>
        el(
          "section",
          { class: "card sheet" },
          el("h3", {}, `HTTP ${answer.status} · ${answer.envelope}`),
          headerList(answer.headers),
          tree(answer.body),
        ),
      ),
      mcp
        ? el("section", { class: "card sheet" }, el("h3", {}, `MCP · ${mcp.tool}`), tree(mcp.result))
        : note
          ? el("p", { class: "quiet" }, note[language()])
          : null,
    ),
  );
}

function headerList(headers = {}) {
  return el(
    "dl",
    { class: "facts-list small" },
    Object.entries(headers).map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]),
  );
}

function warnings(rows) {
  return el(
    "section",
    { class: "card warnings", "aria-labelledby": "warnings-title" },
    el("h2", { id: "warnings-title" }, t("errors.warnings")),
    table(
      t("errors.warnings"),
      ["errors.code", "errors.severity", "errors.meaning", "errors.todo"].map((key) => t(key)),
      rows.map((row) => {
        const { description, suggestion } = warningWords(row);
        return [codeName(row.code), t(`severity.${row.severity}`), description, suggestion];
      }),
    ),
  );
}
