/** App: the frame around the views. It opens the view that the address names, and says when the server is away. */

import { announce } from "./announcer.js";
import { errorWords } from "./codes.js";
import { button, codeName, el, fill, refill } from "./element.js";
import { failure } from "./failure.js";
import { addressOf, note, routeOf } from "./route.js";
import { ask, hasKey, useKey, useOwnerToken, watch } from "./server.js";
import { address, language, languages, speak, t } from "./texts.js";
import { theme, themes, wear } from "./theme.js";

const VIEWS = ["search", "dialects", "digest", "vendors", "errors", "live", "inspect"];
const WITHOUT_SERVER = ["inspect", "dialects", "digest", "errors"];
const OF_GATEWAY = ["live", "inspect", "dialects", "errors"];
const BY_KIND = { inspect: WITHOUT_SERVER, gateway: OF_GATEWAY };
const SHORTLY = 3000;

const main = document.getElementById("main");
const navigation = document.getElementById("navigation");
const banner = document.getElementById("banner");

let context = null;
let shown = null;
const left = new Map(); // what each view was about when it was left

/** Show the view of the address. */
async function open() {
  shown?.abort();
  shown = new AbortController();
  const { signal } = shown;
  try {
    // the view can be fetched while the server is asked
    import(`./views/${known(routeOf(location.hash).view)}.js`).catch(() => null);
    context ??= await ask("context", undefined, { signal });
    const { view, params } = routeOf(location.hash);
    const name = known(view);
    frame(name);
    if (context.needs_key && !context.authenticated) throw { status: 401, message: t("key.needed") };
    const module = await import(`./views/${name}.js`);
    if (signal.aborted) return;
    main.className = `view-${name}`;
    await module.open({ main, params, context, signal, note: noting(name, signal) });
  } catch (error) {
    if (!signal.aborted) refused(error);
  }
}

const noting = (name, signal) => (said, how) => {
  if (signal.aborted) return;
  note(name, said, how);
  left.set(name, new URLSearchParams(routeOf(location.hash).params));
};

/** The views there are: without a server of documents behind the page, those of calls or of a single reply. */
const available = () => BY_KIND[context?.kind] ?? VIEWS.filter(hasSomething);

const hasSomething = (view) => view !== "vendors" || context?.mounted.includes("vendors") !== false;

function known(view) {
  if (available().includes(view)) return view;
  return available()[0];
}

function refused(error) {
  if (error.status === 401) context = null;
  fill(main, error.status === 401 ? keyForm(error) : failure(error, open));
}

/** Servers that can be reached from elsewhere want a key; it is kept until the window is closed. */
function keyForm(error) {
  const secret = el("input", { type: "password", id: "key", autocomplete: "off", required: true });
  const submit = (event) => {
    event.preventDefault();
    useKey(secret.value.trim());
    // until the server has answered: what is typed meanwhile would be lost with this form
    for (const control of event.target.elements) control.disabled = true;
    open();
  };
  return el(
    "form",
    { class: "card key-form", on: { submit } },
    el("h1", {}, t("key.title")),
    el("p", {}, t("key.needed")),
    hasKey() ? el("p", { class: "notice", role: "alert" }, t("key.refused")) : null,
    error.code ? el("p", {}, codeName(error.code), " ", errorWords({ ...error, title: error.message }).title) : null,
    el("p", { class: "small quiet" }, t("key.make"), el("br"), el("code", {}, "aerogram keys create NAME")),
    el("label", { for: "key" }, t("key.label")),
    secret,
    el("button", { class: "primary" }, t("key.use")),
  );
}

function mark(current) {
  fill(
    navigation,
    available().map((name) => {
      const isHere = name === current;
      const href = addressOf(name, isHere ? {} : left.get(name));
      return el("a", { href, "aria-current": isHere ? "page" : null }, t(`view.${name}`));
    }),
  );
  const here = navigation.querySelector("[aria-current]");
  navigation.scrollLeft = here.offsetLeft - (navigation.clientWidth - here.offsetWidth) / 2;
}

function frame(name = known(routeOf(location.hash).view)) {
  mark(name);
  document.title = `${t(`view.${name}`)} · Aerogram`;
  refill(document.getElementById("preferences"), languageSwitch(), themeSwitch());
  fill(
    document.getElementById("colophon"),
    el("span", {}, `Aerogram ${context?.version ?? ""}`),
    context?.kind in BY_KIND || context?.needs_key // which no link can bring along
      ? null
      : [el("a", { href: "docs" }, t("shell.api")), el("a", { href: "v1/health/deep" }, t("shell.health"))],
  );
}

function languageSwitch() {
  return el(
    "div",
    { class: "choice", role: "group", "aria-label": t("shell.language") },
    Object.entries(languages).map(([code, name]) =>
      button(
        name,
        () => {
          speak(code);
          open();
        },
        { lang: code, data: { name: code }, "aria-pressed": code === language() },
      ),
    ),
  );
}

function themeSwitch() {
  const next = themes[(themes.indexOf(theme()) + 1) % themes.length];
  return button(
    t(`theme.${theme()}`),
    () => {
      wear(next);
      frame();
    },
    {
      data: { name: "theme" },
      class: `theme theme-${theme()}`,
      "aria-label": t("shell.theme", { now: t(`theme.${theme()}`) }),
    },
  );
}

function report(state) {
  if (state === "here") return fill(banner);
  const spinner = state === "back" ? null : el("span", { class: "spinner", "aria-hidden": "true" });
  fill(banner, el("p", { class: state }, spinner, t(`shell.${state}`)));
  if (state !== "back") return;
  setTimeout(() => banner.querySelector(".back")?.remove(), SHORTLY);
}

useOwnerToken();
wear(theme());
address();
watch(report);
addEventListener("hashchange", () => {
  if (useOwnerToken()) context = null; // who this is has to be asked anew
  if (location.hash !== "#main") {
    scrollTo(0, 0);
    open().then(() => announce(document.title));
  }
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
open();
