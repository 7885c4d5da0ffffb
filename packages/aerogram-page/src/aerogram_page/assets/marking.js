/** Marking: the words of a question, highlighted in the text that answers it. */

import { el } from "./element.js";

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const RUNS = /\p{Script=Han}+|[\p{Script=Katakana}ー]{2,}|\p{Script=Hiragana}{3,}|[\p{Script=Latin}\p{N}]{2,}/gu;
const SHORTEST = 3;
const COMMON = new Set(
  [
    "and are can did does for from has have how into its may not our out should that the their there",
    "they this was were what when where which who why will with you your",
  ].flatMap((line) => line.split(" ")),
);

/** The text as nodes, with the terms in it marked. */
export function marked(text, terms) {
  const nodes = [];
  let end = 0;
  for (const [from, to] of places(text, terms)) {
    nodes.push(text.slice(end, from), el("mark", {}, text.slice(from, to)));
    end = to;
  }
  return [...nodes, text.slice(end)].filter((node) => node !== "");
}

/** The words of a question that are worth marking. */
export function termsOf(question) {
  const words = question.toLowerCase().match(WORD) ?? [];
  return [...new Set(words.filter((word) => !COMMON.has(word)).flatMap(pieces))];
}

/** Scripts without blanks have no words to split at: runs of one script and pairs of ideographs are the terms. */
function pieces(word) {
  if (!SPACELESS.test(word)) return word.length >= SHORTEST || /\d/.test(word) ? [stem(word)] : [];
  return (word.match(RUNS) ?? []).flatMap((run) => (/\p{Script=Han}/u.test(run) ? [run, ...pairs(run)] : [run]));
}

/** The beginning that the forms of a word share, roughly. */
const stem = (word) =>
  word.length > 5 ? word.replace(/(?:ies|ing|ed|es|s|y)$/, "") : word.replace(/(?<=\w{3})s$/, "");

const pairs = (run) => [...run].slice(1).map((sign, at) => [...run][at] + sign);

/** Where terms stand, in order; those that touch are one place. */
function places(text, terms) {
  const found = terms.filter(Boolean).flatMap((term) => [...text.matchAll(patternOf(term))].map(rangeOf));
  const merged = [];
  for (const [from, to] of found.sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

const rangeOf = (match) => [match.index, match.index + match[0].length];

function patternOf(term) {
  const plain = term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(SPACELESS.test(term) ? plain : `(?<![\\p{L}\\p{N}])${plain}[\\p{L}\\p{M}\\p{N}]*`, "giu");
}
