/** Numbers: counts, shares, scores and times as the reader's language writes them. */

import { language } from "./texts.js";

const formats = new Map();

/** A whole number: 12,480. */
export const count = (value) => format("n", { maximumFractionDigits: 0 }).format(value);

/** A share: 0.87 is 87 %. */
export const percent = (value) => format("p", { style: "percent", maximumFractionDigits: 0 }).format(value);

/** A score: three places at most. */
export const score = (value) => format("s", { minimumFractionDigits: 3, maximumFractionDigits: 3 }).format(value);

/** A duration in milliseconds. */
export const milliseconds = (value) =>
  format("m", { style: "unit", unit: "millisecond", maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);

/** The time of day of a timestamp. */
export function clock(stamp) {
  const key = `${language()}:clock`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(language(), { timeStyle: "medium" }));
  return formats.get(key).format(new Date(stamp));
}

function format(name, options) {
  const key = `${language()}:${name}${options.maximumFractionDigits}`;
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(language(), options));
  return formats.get(key);
}
