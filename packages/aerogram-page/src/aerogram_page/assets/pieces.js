/** Pieces: what a reply left out. Each can be brought back, and is hashed here to see that nothing has changed. */

import { announce } from "./announcer.js";
import { button, el, fill } from "./element.js";
import { failureWords } from "./failure.js";
import { explain } from "./hint.js";
import { count } from "./numbers.js";
import { rankMark } from "./records.js";
import { ask } from "./server.js";
import { brief, sha256 } from "./sha256.js";
import { t } from "./texts.js";

const FIRST = 6;
const KINDS = ["shortened", "dropped", "part"];

/** The list of a fitted reply's pieces; `render(value)` draws what came back, `cardOf(piece)` says how it is called. */
export function pieceList(fitted, source, handling) {
  const { listed, total } = fitted.pieces ?? { listed: [], total: 0 };
  const items = listed.map((piece) => new Piece(piece, { source, mode: fitted.mode, ...handling }));
  const list = el(
    "ol",
    { class: "plain pieces" },
    items.slice(0, FIRST).map((item) => item.node),
  );
  return el(
    "section",
    { class: "card left-out", "aria-labelledby": "left-out-title" },
    el(
      "div",
      { class: "row between" },
      el("h2", { id: "left-out-title" }, t("pieces.title"), tally(fitted)),
      items.some(({ isKept }) => isKept)
        ? button(t("pieces.all"), () => bringAll(items, list), { class: "link" })
        : null,
    ),
    about(items, fitted.refused),
    list,
    items.length > FIRST ? further(items, list) : null,
    total > listed.length
      ? el("p", { class: "quiet small" }, t("pieces.beyond", { n: count(total - listed.length) }))
      : null,
    total ? archives(fitted.archives ?? []) : null,
  );
}

/** How many pieces are missing in which way, in the words that stand beside each of them. */
function tally({ pieces, refused, after }) {
  const counts = refused ? { dropped: after.dropped } : (pieces?.counts ?? {});
  const words = (what) => t(`pieces.${what}`, { n: count(counts[what]) });
  const chip = (what) => el("span", { class: `chip number ${toneOf(what)}`, data: { what } }, words(what));
  return KINDS.filter((what) => counts[what]).map((what) => [" ", chip(what)]);
}

function about(items, refused) {
  const isKept = items.some((item) => item.isKept);
  if (items.length) return el("p", { class: "quiet small" }, t(isKept ? "pieces.about" : "pieces.notKept"));
  return el("p", { class: "quiet" }, t(refused ? "pieces.refused" : "pieces.none"));
}

function further(items, list) {
  const node = button(
    t("pieces.more", { n: count(items.length - FIRST) }),
    () => {
      list.append(...items.slice(FIRST).map((item) => item.node));
      node.remove();
    },
    { class: "more" },
  );
  return node;
}

async function bringAll(items, list) {
  const shown = items.filter((item) => item.node.parentNode === list);
  for (const item of shown) await item.bring();
  const good = shown.filter((item) => item.isChecked).length;
  announce(t("pieces.allBack", { good: count(good), n: count(shown.length) }));
}

/** The whole of it lies in the archive, under a hash that the reply names. */
function archives(entries) {
  return entries
    .filter(({ name }) => name === "data")
    .map((entry) =>
      el(
        "p",
        { class: "small quiet archive" },
        t("pieces.archive"),
        " ",
        el("code", { title: entry.hash }, brief(entry.hash)),
      ),
    );
}

/** One piece: who asks for it gets it back with proof. */
export class Piece {
  constructor(piece, { source, mode, signal, render, cardOf = () => null }) {
    Object.assign(this, {
      _piece: piece,
      _source: source,
      _mode: mode,
      _signal: signal,
      _render: render,
      _card: cardOf(piece),
      isChecked: false,
    });
    this._outcome = el("div", { class: "outcome", tabindex: "-1" });
    this._button = button(t("piece.bring"), () => this.bring(), {
      class: "bring",
      "aria-label": t("piece.bringNamed", { name: this._name }),
    });
  }

  /** Whether the archive has it; a store that is away keeps nothing. */
  get isKept() {
    return this._piece.archive !== null;
  }

  /** The piece as an item of the list. */
  get node() {
    this._node ??= el(
      "li",
      { class: `piece piece-${this._piece.what}`, data: { id: this._piece.id ?? this._piece.pointer } },
      this._head(),
      this._outcome,
    );
    return this._node;
  }

  /** The piece as a line in the record that lacks it. */
  get line() {
    return el("div", { class: "missing" }, this._lost(), this.isKept ? this._button : null, this._outcome);
  }

  /** The first thing that is missing by its name, and how many more; the whole list on demand. */
  _lost() {
    const [first, ...others] = this._piece.lost ?? [];
    const text = t(others.length ? "piece.lostMore" : "piece.lost", { field: first, n: count(others.length) });
    return explain(el("span", { class: "lost small quiet" }, text), [first, ...others].join(", "));
  }

  get _name() {
    if (this._card) return [this._card.rank, this._card.title].filter((said) => said !== null).join(" ");
    return [this._piece.id, this._piece.label].filter(Boolean).join(" · ") || this._piece.pointer;
  }

  /** Rank and title as on the card, and the way to it. */
  _title() {
    const { rank, title, go } = this._card;
    return [rankMark(rank), " ", go ? button(title, go, { class: "link to-card" }) : title];
  }

  _head() {
    const { what, size, bytes, lost } = this._piece;
    return el(
      "div",
      { class: "piece-head" },
      el("div", { class: "piece-name", dir: "auto" }, this._card ? this._title() : this._name),
      el(
        "div",
        { class: "piece-facts" },
        lost?.length ? explain(whatChip(what), lost.join(", ")) : whatChip(what),
        " ",
        el("span", { class: "quiet small number" }, sizeText(size, bytes)),
      ),
      this.isKept ? this._button : null,
    );
  }

  /** Fetch it from the archive, hash it, and show both. */
  async bring() {
    if (this.isChecked) return;
    this._button.disabled = true;
    try {
      const { archive, pointer, hash } = this._piece;
      const back = await ask(
        "piece",
        { source: this._source, mode: this._mode, archive, pointer, hash },
        { signal: this._signal },
      );
      await this._check(back);
    } catch (error) {
      if (!this._signal.aborted) this._gone(error);
    }
  }

  async _check(back) {
    const here = back.text === null ? null : await sha256(back.text);
    this.isChecked = here === null ? back.matches : here === this._piece.hash && back.matches;
    const chip = this.isChecked ? el("span", { class: "chip good" }, t("piece.back")) : whatChip(this._piece.what);
    this._button.replaceWith(chip);
    fill(
      this._outcome,
      proof(this._piece.hash, here ?? back.hash, this.isChecked, hasherOf(here, back)),
      back.text === null ? null : el("div", { class: "restored" }, this._render(back.value)),
    );
    if (document.activeElement === document.body) this._outcome.focus({ preventScroll: true });
    announce(t(this.isChecked ? "piece.matches" : "piece.differs"));
  }

  _gone(error) {
    this._button.disabled = false;
    fill(this._outcome, el("div", { class: "failure" }, failureWords(error)));
  }
}

const toneOf = (what) => (what === "dropped" ? "bad" : "warn");

const whatChip = (what) => el("span", { class: `chip ${toneOf(what)}` }, t(`piece.${what}`));

/** How large a piece is; what is very large nobody has counted in tokens. */
const sizeText = (size, bytes) =>
  size === null ? t("inspect.bytes", { n: count(bytes) }) : t("piece.size", { n: count(size) });

/** Who has computed the hash of what came back: this browser, or the server, and why. */
export function hasherOf(here, { omitted }) {
  if (omitted) return t("piece.hashedUnsent", { n: count(omitted.bytes) });
  return t(here === null ? "piece.hashedThere" : "piece.hashedHere");
}

/** Whether two hashes are the same, and who has computed the second one. */
export function proof(expected, found, isSame, hasher) {
  return el(
    "p",
    { class: `proof ${isSame ? "good" : "bad"}` },
    el("span", { class: "seal", "aria-hidden": "true" }, isSame ? "✓" : "✗"),
    " ",
    el("strong", {}, t(isSame ? "piece.matches" : "piece.differs")),
    " ",
    el("span", { class: "small" }, hasher),
    el("br"),
    el("code", { title: expected }, `sha256 ${brief(expected)}…`),
    isSame ? " = " : " ≠ ",
    el("code", { title: found }, `${brief(found)}…`),
  );
}
