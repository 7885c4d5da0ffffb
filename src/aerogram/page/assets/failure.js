/** Failure: what went wrong, in the words of the reply, with what to do about it. */

import { button, el } from "./element.js";
import { t } from "./texts.js";

/** A card that says it; `again` tries once more. */
export function failure(error, again = null) {
  return el(
    "div",
    { class: "failure card", role: "alert" },
    el(
      "p",
      { class: "failure-title" },
      error.code ? el("code", {}, error.code) : null,
      " ",
      error.message || t("failure.unknown"),
    ),
    error.remediation ? el("p", { class: "quiet" }, error.remediation) : null,
    again ? button(t("failure.again"), again) : null,
  );
}
