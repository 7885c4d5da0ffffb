/** Failure: what went wrong, in the words of the reply, with what to do about it. */

import { errorWords } from "./codes.js";
import { button, codeName, el } from "./element.js";
import { t } from "./texts.js";

/** A card that says it; `again` tries once more, which nobody can whose key is good no longer. */
export function failure(error, again = null) {
  const retry =
    error.status === 401
      ? button(t("failure.otherKey"), () => location.reload())
      : again && button(t("failure.again"), again);
  return el(
    "div",
    { class: "failure card", role: "alert" },
    failureWords(error),
    retry,
  );
}

/** The lines of it; what a server says in its own language stays readable below what it means. */
export function failureWords(error) {
  const { title, remediation } = errorWords({ ...error, title: error.message || t("failure.unknown") });
  const isTold = title !== error.message && error.message;
  return [
    el("p", { class: "failure-title" }, error.code ? codeName(error.code) : null, " ", title),
    remediation ? el("p", { class: "quiet" }, remediation) : null,
    isTold ? el("p", { class: "small quiet", lang: "en", dir: "auto" }, error.message) : null,
  ];
}
