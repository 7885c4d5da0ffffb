/** Records: rows of a reply as a person reads them, whatever they are. */

import { button, el } from "./element.js";
import { marked } from "./marking.js";
import { count, score } from "./numbers.js";
import { has, t } from "./texts.js";
import { tree } from "./tree.js";

const CUT = /\s?…\s?\[\+([\d,]+) chars\]$/;
const LONG = 3000;
const PORTION = 50;

/**
 * Rows as a list, a portion at a time; `missing(row)` may give the piece that a row lacks.
 * `first` is the number of the first row, for rows that do not say theirs.
 */
export function recordList(rows, { terms = [], missing = () => null, first = null } = {}) {
  const list = el("ol", { class: "plain records" });
  const card = (row, at) => el("li", {}, record(row, terms, missing(row), { rank: rankAt(row, first, at), at }));
  const extend = (from) => {
    list.append(...rows.slice(from, from + PORTION).map((row, n) => card(row, from + n)));
    const left = rows.length - from - PORTION;
    if (left <= 0) return;
    const more = el(
      "li",
      {},
      button(
        t("tree.more", { n: count(left) }),
        () => {
          more.remove();
          extend(from + PORTION);
        },
        { class: "more" },
      ),
    );
    list.append(more);
  };
  extend(0);
  return list;
}

/**
 * How the card of a piece is called: its rank, its title, and the way to it inside of `place`.
 * What was left out altogether has no card; it is called as its card would be.
 */
export function cardsOf(rows, first, place) {
  if (!rows?.every(isPassage)) return () => null;
  return ({ pointer, label }) => {
    const at = Number(/^\/(\d+)$/.exec(pointer)?.[1] ?? NaN);
    if (Number.isNaN(at)) return null;
    const row = rows[at];
    const go = () => visit(place.querySelector(`.record[data-at="${at}"]`));
    return { rank: rankAt(row, first, at), title: row ? titleText(row) : label, go: row ? go : null };
  };
}

function visit(card) {
  card?.scrollIntoView({ block: "center" });
  card?.focus({ preventScroll: true });
}

const isPassage = (row) => row !== null && typeof row === "object" && "chunk_id" in row;

const rankAt = (row, first, at) => row?.rank ?? (first === null ? null : first + at);

/** The number of a card, in the list and wherever it is spoken of. */
export const rankMark = (rank) =>
  rank === null || rank === undefined
    ? null
    : el("span", { class: "rank number", title: t("record.rank") }, count(rank));

/** One row. A passage shows where it stands, how well it answers, and its words. */
export function record(row, terms = [], piece = null, { rank = row?.rank, at = null } = {}) {
  if (row === null || typeof row !== "object") return el("p", { class: "record", dir: "auto" }, String(row));
  if (!isPassage(row)) return tree(row);
  const text = row.chunk_text ?? row.chunk_snippet ?? row.snippet ?? row.text;
  return el(
    "article",
    { class: "record", tabindex: at === null ? null : -1, data: { id: row.chunk_id, ...(at !== null && { at }) } },
    el("div", { class: "record-head" }, rankMark(rank), titleOf(row), scoreOf(row)),
    typeof text === "string" ? words(text, terms) : null,
    piece?.line,
    facts(row),
  );
}

const titleText = (row) => row.context_header ?? row.source_file ?? t("record.chunk", { id: row.chunk_id });

function titleOf(row) {
  return el(
    "div",
    { class: "record-title" },
    el("h3", { dir: "auto" }, titleText(row)),
    row.context_header && row.source_file ? el("span", { class: "small quiet", dir: "auto" }, row.source_file) : null,
  );
}

function scoreOf(row) {
  const value = row.hybrid_score;
  if (typeof value !== "number") return null;
  const gauge = el("span", { class: "gauge", "aria-hidden": "true" }, el("span", {}));
  gauge.firstChild.style.setProperty("width", `${100 * Math.max(0, Math.min(1, value))}%`);
  return el(
    "div",
    { class: "score" },
    el("span", { class: "number" }, el("span", { class: "unseen" }, `${t("record.score")} `), score(value)),
    gauge,
  );
}

function words(text, terms) {
  const cut = text.match(CUT);
  const kept = cut ? text.slice(0, cut.index) : text;
  const node = el("p", { class: "passage", dir: "auto" }, marked(kept.slice(0, LONG), terms));
  if (cut)
    node.append(
      " … ",
      el("span", { class: "chip warn number" }, t("record.cut", { n: count(Number(cut[1].replaceAll(",", ""))) })),
    );
  if (kept.length > LONG) {
    const further = button(
      t("tree.moreText", { n: count(kept.length - LONG) }),
      () => further.replaceWith(kept.slice(LONG)),
      { class: "more" },
    );
    node.append(further);
  }
  return node;
}

/** Why a result stands where it does: "tier: reason", each in the reader's language where that has words for it. */
function reasonOf(explanation) {
  const word = (said) => (has(`reason.${said}`) ? t(`reason.${said}`) : said);
  return explanation.split(": ").map(word).join(t("reason.between"));
}

function facts(row) {
  const said = [];
  if (row.source_category) said.push(row.source_category);
  if (row.total_chunks)
    said.push(t("record.place", { n: count(Number(row.chunk_index ?? 0) + 1), total: count(row.total_chunks) }));
  if (row.chunk_token_count) said.push(t("budget.tokens", { n: count(row.chunk_token_count) }));
  if (row.ranking?.explanation) said.push(reasonOf(row.ranking.explanation));
  const parts = ["similarity_score", "bm25_score"].filter((name) => typeof row[name] === "number");
  if (parts.length) said.push(parts.map((name) => `${t(`record.${name}`)} ${score(row[name])}`).join(", "));
  if (row.context_header ?? row.source_file) said.push(t("record.chunk", { id: row.chunk_id }));
  if (!said.length) return null;
  return el(
    "p",
    { class: "facts small quiet" },
    said.map((fact) => el("span", {}, fact)),
  );
}
