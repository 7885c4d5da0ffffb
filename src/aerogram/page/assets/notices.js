/** Notices: what a reply says about itself besides its data. */

import { el } from "./element.js";

/** Each notice as a line. */
export function noticeList(notices = []) {
  return notices.map(({ code, message, suggestion }) =>
    el(
      "p",
      { class: "notice small" },
      el("code", {}, code),
      " ",
      message,
      " ",
      el("span", { class: "quiet" }, suggestion ?? ""),
    ),
  );
}
