/** Dialects: one reply in every dialect, side by side. What differs is marked, and every field says what it is. */

import { Choice } from "../choice.js";
import { copyButton } from "../copying.js";
import { el, fill } from "../element.js";
import { failure } from "../failure.js";
import { count } from "../numbers.js";
import { ask } from "../server.js";
import { sourceOf } from "../source.js";
import { language, t } from "../texts.js";
import { tree } from "../tree.js";
import { Turn } from "../turn.js";

const FIRST_ROW = /^\/(?:results|data|data\/results|structuredContent\/results)\/(\d+)$/;

/** Open the view. */
export async function open(stage) {
  const codes = (await ask("errors", undefined, { signal: stage.signal })).errors.map(({ code }) => code);
  await new DialectsView(stage, codes).update();
}

class DialectsView {
  constructor({ main, params, context, signal, note }, codes) {
    Object.assign(this, { _params: params, _context: context, _turn: new Turn(signal), _note: note });
    this._sheets = el("div", { class: "sheets" });
    this._sheets.addEventListener("mouseover", (event) => this._relate(event.target));
    this._sheets.addEventListener("focusin", (event) => this._relate(event.target));
    fill(
      main,
      el("h1", {}, t("dialects.title")),
      el("p", { class: "lead" }, t("dialects.lead")),
      this._form(codes),
      legend(),
      this._sheets,
    );
  }

  _form(codes) {
    const question = el("input", {
      type: "search",
      id: "dialects-question",
      value: this._params.get("q") || this._context.suggestion || "",
      dir: "auto",
      maxlength: 500,
      on: { change: () => this._ask("q", question.value) },
    });
    const failing = el(
      "select",
      { id: "dialects-failure", on: { change: () => this._ask("failure", failing.value) } },
      el("option", { value: "" }, t("dialects.answer")),
      codes.map((code) => el("option", { value: code }, code)),
    );
    failing.value = this._params.get("failure") ?? "";
    const isSearch =
      this._context.mounted.includes("search") && !this._params.get("reply") && !this._params.get("vendor");
    return el(
      "div",
      { class: "card controls" },
      isSearch
        ? el("div", { class: "control grow" }, el("label", { for: "dialects-question" }, t("search.ask")), question)
        : null,
      el("div", { class: "control" }, el("label", { for: "dialects-failure" }, t("dialects.or")), failing),
      this._choice("mode", this._context.modes, (name) => t(`mode.${name}`), "metadata"),
      this._choice("channels", this._context.channels, (name) => name, this._context.defaults.channels),
      isSearch || this._params.get("vendor") ? copyButton(() => this._copied()) : null,
    );
  }

  _choice(name, values, labelOf, usual) {
    const choice = new Choice(
      t(`dialects.${name}`),
      values.map((value) => [value, labelOf(value)]),
      this._params.get(name) ?? usual,
      (value) => this._ask(name, value),
    );
    this._params.set(name, choice.value);
    return choice.node;
  }

  _ask(name, value) {
    if (value) this._params.set(name, value);
    else this._params.delete(name);
    if (name === "q") this._params.delete("cursor");
    this.update();
  }

  _asked() {
    return {
      source: sourceOf(this._params, this._context),
      mode: this._params.get("mode"),
      channels: this._params.get("channels"),
      dialect: this._context.defaults.dialect,
      budget: Number(this._params.get("budget")) || null,
    };
  }

  /** The call behind the reply; a failure that is shown instead of it has none of its own. */
  _copied() {
    const { mode, budget } = this._asked();
    const plain = new URLSearchParams(this._params);
    plain.delete("failure");
    return { ...sourceOf(plain, this._context), mode, budget };
  }

  /** Ask for the reply in every dialect. */
  async update() {
    const signal = this._turn.next();
    this._note(this._params);
    try {
      this._show(await ask("dialects", this._asked(), { signal }));
    } catch (error) {
      if (!signal.aborted)
        fill(
          this._sheets,
          failure(error, () => this.update()),
        );
    }
  }

  _show(answer) {
    if (answer.omitted)
      return fill(this._sheets, el("p", { class: "notice" }, t("search.omitted", { n: count(answer.omitted.bytes) })));
    fill(
      this._sheets,
      answer.said.map((said) => saidSheet(said, answer)),
      answer.mcp.map((wire) => wireSheet(wire, answer)),
    );
  }

  /** Whatever says the same elsewhere lights up. */
  _relate(target) {
    const says = target.closest?.("[data-says]")?.dataset.says;
    for (const node of this._sheets.querySelectorAll(".same")) node.classList.remove("same");
    if (!says) return;
    for (const node of this._sheets.querySelectorAll(`[data-says="${CSS.escape(says)}"]`)) node.classList.add("same");
  }
}

function legend() {
  return el(
    "ul",
    { class: "plain row small quiet marks-legend" },
    el("li", { class: "differs-moved" }, t("dialects.moved")),
    el("li", { class: "differs-only" }, t("dialects.only")),
    el("li", {}, t("dialects.hover")),
  );
}

function saidSheet(said, answer) {
  return sheet(said.name, said.media_type, said.size, [
    said.is_instead && said.note ? el("p", { class: "notice small" }, said.note[language()]) : null,
    tree(said.body, aboutIn(said.name, said.members, answer)),
  ]);
}

function wireSheet(wire, answer) {
  const sizes = Object.entries(wire.size).filter(([, size]) => size !== null && size !== undefined);
  return sheet(`MCP ${wire.protocol_version}`, wire.era[language()], wire.size.both, [
    el("p", { class: "small quiet number" }, sizes.map(([channel, size]) => `${channel} ${count(size)}`).join(" · ")),
    tree(wire.result, aboutIn(wire.name, wire.members, answer)),
  ]);
}

function sheet(title, note, size, inside) {
  return el(
    "section",
    { class: "card sheet", "aria-label": title },
    el(
      "div",
      { class: "row between sheet-head" },
      el("div", {}, el("h2", {}, title), el("span", { class: "small quiet" }, note)),
      el("span", { class: "chip blue number" }, size === null ? "–" : t("budget.tokens", { n: count(size) })),
    ),
    inside,
  );
}

/** What is known of the members of one body: meaning, and where else it is said. */
function aboutIn(name, members, answer) {
  const differs = answer.differs?.[name] ?? {};
  return (pointer) => {
    const says = members[pointer];
    const difference = differs[pointer];
    const row = FIRST_ROW.exec(pointer);
    if (!says && !difference && !row) return null;
    return {
      says,
      mark: difference ? `differs-${difference.kind}` : "",
      shut: row ? row[1] !== "0" : undefined,
      text: textOf(answer.explained[says], difference),
    };
  };
}

function textOf(explained, difference) {
  const places = Object.entries(difference?.elsewhere ?? {}).map(
    ([dialect, pointers]) => `${dialect}: ${pointers.join(", ") || "–"}`,
  );
  const said = [
    explained?.[language()],
    difference?.kind === "only" ? t("dialects.onlyHere") : null,
    places.length ? `${t("dialects.elsewhere")} ${places.join(" · ")}` : null,
  ];
  return said.filter(Boolean).join("\n") || null;
}
