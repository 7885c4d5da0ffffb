/** Codes: what errors and warnings are called and what to do about them, in the reader's language. */

import ja from "./texts/codes_ja.js";
import { language } from "./texts.js";

const WORDS = { ja };

/** The words for an error; where the language has none, those that it came with. */
export const errorWords = ({ code, title, remediation }) => ({
  title,
  remediation,
  ...WORDS[language()]?.errors[code],
});

/** The words for a warning, by the same rule. */
export const warningWords = ({ code, description, suggestion }) => ({
  description,
  suggestion,
  ...WORDS[language()]?.warnings[code],
});
