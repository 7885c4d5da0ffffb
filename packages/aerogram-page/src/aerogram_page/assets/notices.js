/** Notices: what a reply says about itself besides its data. */

import { warningWords } from "./codes.js";
import { codeName, el } from "./element.js";
import { count } from "./numbers.js";
import { has, t } from "./texts.js";

/** Each notice as a line. */
export function noticeList(notices = []) {
  return notices.map((notice) =>
    el("p", { class: "notice small" }, notice.code ? codeName(notice.code) : null, " ", words(notice)),
  );
}

/** What is said to programs about calls and hashes is said to people in other words. */
function words({ code, message, suggestion, context }) {
  if (has(`notice.${code}`)) return [t(`notice.${code}`), " ", totals(context?.total_counts)];
  const said = warningWords({ code, description: message, suggestion });
  return [said.description, " ", el("span", { class: "quiet" }, said.suggestion ?? "")];
}

/** How many there are of what is not shown to its end. */
function totals(counts) {
  const each = Object.entries(counts ?? {}).map(([name, n]) => `${name} ${count(n)}`);
  return each.length ? t("notice.totals", { counts: each.join(", ") }) : null;
}
