/** Copying: the call behind a reply, as curl, Python, TypeScript or the entry for an MCP client. */

import { announce } from "./announcer.js";
import { button, el, fill } from "./element.js";
import { failure } from "./failure.js";
import { ask } from "./server.js";
import { t } from "./texts.js";

/** A button that opens the ways to copy; `asked()` gives the call as it is now. */
export function copyButton(asked) {
  return button(t("copy.as"), () => open(asked()), { class: "copy-as", "aria-haspopup": "dialog" });
}

async function open(asked) {
  const inside = el("div", {}, el("p", { class: "quiet" }, t("shell.loading")));
  const dialog = el(
    "dialog",
    { class: "copy", "aria-labelledby": "copy-title", on: { close: () => dialog.remove() } },
    el(
      "div",
      { class: "row between" },
      el("h2", { id: "copy-title" }, t("copy.as")),
      button(t("copy.close"), () => dialog.close()),
    ),
    inside,
  );
  document.body.append(dialog);
  dialog.showModal();
  try {
    fill(inside, tabs(waysOf(await ask("copy", asked))));
  } catch (error) {
    fill(inside, failure(error));
  }
}

function waysOf(answer) {
  const plain = [
    ["curl", "curl"],
    ["python", "Python"],
    ["typescript", "TypeScript"],
  ]
    .filter(([name]) => answer[name])
    .map(([name, title]) => ({ name, title, parts: [{ title: t(`copy.${name}`), text: answer[name] }] }));
  if (!answer.mcp?.length) return plain;
  return [
    ...plain,
    { name: "mcp", title: "MCP", parts: answer.mcp.map(({ title, file, text }) => ({ title, file, text })) },
  ];
}

/** Tabs by the usual keys: arrows go from one to the next. */
function tabs(ways) {
  const panel = el("div", { role: "tabpanel", id: "copy-panel", tabindex: "0" });
  const list = el("div", { class: "choice", role: "tablist", "aria-label": t("copy.as") });
  const choose = (at, isFocused = true) => {
    const chosen = (at + ways.length) % ways.length;
    [...list.children].forEach((tab, n) => {
      tab.setAttribute("aria-selected", n === chosen);
      tab.tabIndex = n === chosen ? 0 : -1;
    });
    fill(panel, ways[chosen].parts.map(snippet));
    panel.setAttribute("aria-label", ways[chosen].title);
    if (isFocused) list.children[chosen].focus();
  };
  const keys = { ArrowRight: 1, ArrowLeft: -1 };
  list.append(
    ...ways.map((way, at) =>
      button(way.title, () => choose(at), {
        role: "tab",
        "aria-controls": "copy-panel",
        data: { name: way.name },
        on: { keydown: ({ key }) => key in keys && choose(at + keys[key]) },
      }),
    ),
  );
  choose(0, false);
  return el("div", { class: "stack" }, list, panel);
}

function snippet({ title, file, text }) {
  const copy = button(t("copy.copy"), async () => {
    const isCopied = await toClipboard(text, code);
    copy.textContent = t(isCopied ? "copy.copied" : "copy.selected");
    announce(copy.textContent);
  });
  const code = el("pre", { class: "code", tabindex: "0", "aria-label": title ?? t("copy.as") }, text);
  return el(
    "div",
    { class: "snippet" },
    el(
      "div",
      { class: "row between" },
      el("span", { class: "small quiet" }, [title, file].filter(Boolean).join(" · ")),
      copy,
    ),
    code,
  );
}

async function toClipboard(text, code) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
}
