/** Digest: a document condensed for a question, with every quotation shown where it stands and checked. */

import { box } from "../box.js";
import { copyButton } from "../copying.js";
import { button, el, fill, form } from "../element.js";
import { failure } from "../failure.js";
import { noticeList } from "../notices.js";
import { count, score } from "../numbers.js";
import { ask } from "../server.js";
import { brief, sha256 } from "../sha256.js";
import { t } from "../texts.js";
import { Turn } from "../turn.js";

const FEW_PARTS = 400;

let offered = ""; // what nobody has pasted: the digest that is shown

/** Open the view. */
export async function open(stage) {
  const isServer = stage.context.mounted.includes("digests");
  const { files } = isServer ? await ask("contents", undefined, { signal: stage.signal }) : { files: [] };
  await new DigestView(stage, files).update();
}

class DigestView {
  constructor({ main, params, context, signal, note }, files) {
    Object.assign(this, { _turn: new Turn(signal), _checkTurn: new Turn(signal), _note: note });
    const asked = params.get("file") || files[0];
    this._file = el(
      "select",
      { id: "digest-file", on: { change: () => this.update() } },
      [...new Set([asked, ...files])].map((file) => el("option", { value: file }, file)),
    );
    this._file.value = asked ?? "";
    this._query = el("input", {
      type: "search",
      id: "digest-question",
      dir: "auto",
      maxlength: 500,
      value: params.get("q") || context.suggestion || "",
    });
    this._outcome = el("div", { class: "outcome" });
    this._checked = el("div", { class: "outcome" });
    fill(
      main,
      el("h1", {}, t("digest.title")),
      el("p", { class: "lead" }, t("digest.lead")),
      files.length ? this._form() : null,
      this._outcome,
      this._checker(signal),
    );
  }

  _form() {
    return form(
      () => this.update(),
      { class: "card controls" },
      el("div", { class: "control" }, el("label", { for: "digest-file" }, t("digest.file")), this._file),
      el("div", { class: "control grow" }, el("label", { for: "digest-question" }, t("digest.question")), this._query),
      el("button", { class: "primary" }, t("digest.make")),
    );
  }

  /** Digest the chosen document for the question. */
  async update() {
    const asked = { source_file: this._file.value, query: this._query.value.trim() };
    this._note({ file: asked.source_file, q: asked.query });
    if (!asked.query || !asked.source_file) return;
    const signal = this._turn.next();
    try {
      const digest = await ask("digest", asked, { signal });
      const sheet = await digestSheet(digest, asked);
      if (signal.aborted) return;
      fill(this._outcome, sheet);
      if (["", offered].includes(this._pasted.value)) this._pasted.value = offered = digest.payload_text;
    } catch (error) {
      if (!signal.aborted)
        fill(
          this._outcome,
          failure(error, () => this.update()),
        );
    }
  }

  _checker(signal) {
    this._pasted = box("digest-paste", signal);
    this._text = box("digest-text", signal, { class: "short" });
    return el(
      "section",
      { class: "card stack", "aria-labelledby": "check-title" },
      el("h2", { id: "check-title" }, t("digest.check")),
      el("p", { class: "quiet" }, t("digest.checkLead")),
      el("label", { for: "digest-paste" }, t("digest.paste")),
      this._pasted,
      el(
        "details",
        {},
        el("summary", {}, t("digest.withText")),
        el("label", { for: "digest-text" }, t("digest.text")),
        this._text,
      ),
      el(
        "div",
        { class: "row" },
        button(t("digest.checkNow"), () => this._check(), { class: "primary", id: "digest-check" }),
        button(t("digest.tamper"), () => this._tamper(), { id: "digest-tamper" }),
      ),
      this._checked,
    );
  }

  async _check() {
    const signal = this._checkTurn.next();
    try {
      const asked = { digest: this._pasted.value, ...(this._text.value && { text: this._text.value }) };
      const found = await verdict(await ask("digest", asked, { signal }));
      if (!signal.aborted) fill(this._checked, found);
    } catch (error) {
      if (!signal.aborted) fill(this._checked, failure(error));
    }
  }

  /** Change one letter of the first quotation, to see that it does not pass. */
  _tamper() {
    this._pasted.value = this._pasted.value.replace(
      /("evidence_snippets"\s*:\s*\[\s*\{[^}]*?"text"\s*:\s*"[^"]*?)([a-z])([^"a-z]*")/s,
      (_, start, letter, end) => start + (letter === "x" ? "y" : "x") + end,
    );
    this._check();
  }
}

async function digestSheet(digest, asked) {
  const { payload, size } = digest;
  const call = { operation: "digest_document", arguments: asked };
  return el(
    "div",
    { class: "columns digest-columns" },
    el(
      "section",
      { class: "card", "aria-labelledby": "digest-heading" },
      el(
        "div",
        { class: "row between" },
        el("h2", { id: "digest-heading", dir: "auto" }, digest.title ?? digest.source_file),
        copyButton(() => ({ call, mode: "full", budget: null })),
      ),
      el("p", { class: "small" }, sizeText(size)),
      noticeList(digest.notices),
      await verdict(digest),
      payload
        ? [
            el("p", { class: "summary", dir: "auto" }, payload.summary),
            el(
              "ul",
              { class: "key-points" },
              payload.key_points.map((point) => el("li", { dir: "auto" }, point)),
            ),
            payload.evidence_snippets.length
              ? [el("h3", {}, t("digest.evidence")), evidenceList(payload.evidence_snippets)]
              : null,
          ]
        : el("p", {}, t("digest.none")),
    ),
    documentSheet(digest),
  );
}

function sizeText(size) {
  if (!size) return "";
  const isShort = size.document !== null && size.document < size.digest;
  return t(isShort ? "digest.short" : "digest.size", { document: count(size.document), digest: count(size.digest) });
}

function evidenceList(snippets) {
  return el(
    "ol",
    { class: "evidence" },
    snippets.map((snippet, at) =>
      el(
        "li",
        {},
        el("blockquote", { dir: "auto" }, snippet.text),
        el(
          "div",
          { class: "row small quiet" },
          el("code", {}, snippet.locator),
          el("span", { class: "number" }, score(snippet.relevance_score)),
          button(t("digest.show"), () => reveal(at), {
            class: "link",
            "aria-label": t("digest.showNamed", { n: count(at + 1) }),
          }),
        ),
      ),
    ),
  );
}

function reveal(at) {
  const place = document.getElementById(`evidence-${at}`);
  place?.scrollIntoView({ block: "center" });
  place?.focus({ preventScroll: true });
}

/** The document, with its evidence highlighted; of a very long one, a part at a time. */
function documentSheet({ segments }) {
  const text = el("div", {
    class: "document",
    tabindex: "0",
    role: "region",
    "aria-label": t("digest.document"),
    dir: "auto",
  });
  const extend = (from) => {
    text.append(...segments.slice(from, from + FEW_PARTS).map(segmentNode));
    if (from + FEW_PARTS >= segments.length) return;
    const more = button(
      t("tree.more", { n: count(segments.length - from - FEW_PARTS) }),
      () => {
        more.remove();
        extend(from + FEW_PARTS);
      },
      { class: "more" },
    );
    text.append(more);
  };
  extend(0);
  return el(
    "section",
    { class: "card", "aria-labelledby": "document-title" },
    el("h2", { id: "document-title" }, t("digest.document")),
    text,
  );
}

function segmentNode({ text, evidence }) {
  if (evidence === null) return text;
  return el(
    "mark",
    { id: `evidence-${evidence}`, tabindex: "-1" },
    el("sup", { "aria-hidden": "true" }, count(evidence + 1)),
    text,
  );
}

function sealed(isGood, quoted) {
  return [
    el("span", { class: "seal", "aria-hidden": "true" }, isGood ? "✓" : "✗"),
    " ",
    el("strong", {}, isGood ? t("digest.verified", { n: count(quoted) }) : t("digest.broken")),
  ];
}

/** Whether it holds; the hash of the document is computed here as well. */
async function verdict(outcome) {
  const { verified, checked, mismatches = [], not_from_text: free = [], segments = [], text_hash: said } = outcome;
  if (verified === null || verified === undefined) return el("p", { class: "proof" }, t("digest.unknown"));
  const here = segments.length ? await sha256(segments.map(({ text }) => text).join("")) : null;
  const isGood = verified && (here === null || here === said);
  const quoted = checked?.snippets ?? 0;
  return el(
    "div",
    { class: `proof ${isGood ? (free.length || !quoted ? "" : "good") : "bad"}`, role: "status" },
    el("p", {}, isGood && !quoted ? t("digest.unquoted") : sealed(isGood, quoted)),
    here
      ? el(
          "p",
          { class: "small" },
          t("digest.hashed"),
          " ",
          el("code", { title: here }, brief(here)),
          here === said ? " = " : " ≠ ",
          el("code", { title: said }, brief(said)),
        )
      : null,
    isGood && !free.length ? el("p", { class: "small" }, t("digest.own")) : null,
    free.map(({ field, text }) =>
      el(
        "div",
        { class: "unchecked small" },
        el("code", {}, field),
        " ",
        el("strong", {}, t("digest.notFromText")),
        el("p", { dir: "auto" }, text),
      ),
    ),
    mismatches.map((mismatch) =>
      el(
        "div",
        { class: "mismatch small" },
        el("code", {}, mismatch.field),
        " ",
        mismatch.message,
        mismatch.said ? el("p", { dir: "auto" }, el("del", {}, mismatch.said)) : null,
        mismatch.found ? el("p", { dir: "auto" }, el("ins", {}, mismatch.found)) : null,
      ),
    ),
  );
}
