/** Marking: the words of a question, highlighted in the text that answers it. */

import { el } from "./element.js";

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const SHORTEST_STEM = 3;
const COMMON = new Set(
  [
    "and are can did does for from has have how into its may not our out should",
    "that the their there they this was were what when where which who why will with you your",
  ].flatMap((line) => line.split(" ")),
);

/** The text as nodes, with the terms in it marked. */
export function marked(text, terms) {
  const pattern = patternOf(terms);
  if (!pattern) return [text];
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    nodes.push(text.slice(end, match.index), el("mark", {}, match[0]));
    end = match.index + match[0].length;
  }
  return [...nodes, text.slice(end)].filter((node) => node !== "");
}

/** The words of a question that are worth marking. */
export function termsOf(question) {
  const words = question.toLowerCase().match(WORD) ?? [];
  return [...new Set(words.flatMap(pieces))];
}

/** The beginning that the forms of a word share, roughly. */
const stem = (word) =>
  word.length > 5 ? word.replace(/(?:ies|ing|ed|es|s|y)$/, "") : word.replace(/(?<=\w{3})s$/, "");

/** Scripts without blanks have no words to split at: there, pairs of characters are the terms. */
function pieces(word) {
  if (COMMON.has(word)) return [];
  if (!SPACELESS.test(word)) return word.length >= SHORTEST_STEM || /\d/.test(word) ? [stem(word)] : [];
  const signs = [...word];
  return signs.length < 2 ? signs : signs.slice(1).map((sign, at) => signs[at] + sign);
}

function patternOf(terms) {
  const sorted = terms.filter(Boolean).sort((a, b) => b.length - a.length);
  if (!sorted.length) return null;
  const escaped = sorted.map((term) => {
    const plain = term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return SPACELESS.test(term) ? plain : `(?<![\\p{L}\\p{N}])${plain}[\\p{L}\\p{M}\\p{N}]*`;
  });
  return new RegExp(escaped.join("|"), "giu");
}
