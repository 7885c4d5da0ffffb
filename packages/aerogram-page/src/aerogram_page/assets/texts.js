/** Texts: every word of the page, in English and Japanese. */

import { lasting } from "./storage.js";
import en from "./texts/en.js";
import ja from "./texts/ja.js";

const LANGUAGES = { en, ja };
const KEPT = "aerogram.language";

let chosen = known(lasting.get(KEPT)) ?? guess();

/** The languages of the page, each by its own name. */
export const languages = { en: "English", ja: "日本語" };

/** The language in which the page speaks. */
export const language = () => chosen;

/** Speak another language from now on. */
export function speak(name) {
  chosen = known(name) ?? "en";
  lasting.set(KEPT, chosen);
  address();
}

/** One text: `t("search.found", {n: 3})`; of one thing, the text that ends in `.one`, if there is one. */
export function t(key, values = {}) {
  const texts = LANGUAGES[chosen];
  const text = (values.n === "1" ? texts[`${key}.one`] : undefined) ?? texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** Whether there is a text of this name. */
export const has = (key) => key in en;

/** The words of what stands in the document already. */
export function address(root = document) {
  document.documentElement.lang = chosen;
  for (const node of root.querySelectorAll("[data-text]")) node.textContent = t(node.dataset.text);
  for (const node of root.querySelectorAll("[data-label]")) node.setAttribute("aria-label", t(node.dataset.label));
}

function known(name) {
  return Object.hasOwn(LANGUAGES, name) ? name : null;
}

function guess() {
  return navigator.languages.map((name) => known(name.slice(0, 2))).find(Boolean) ?? "en";
}
