/** Element: nodes of the document, made by calls. Text is only ever set as text, so no document can run as script. */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element: `el("p", {class: "quiet", on: {click}}, "some text", other)`. */
export function el(name, given = {}, ...children) {
  return furnish(document.createElement(name), given, children);
}

/** An SVG element, by the same rules. */
export function svg(name, given = {}, ...children) {
  return furnish(document.createElementNS(SVG, name), given, children);
}

/** A code such as NOT_FOUND, which may go on in the next line after an underscore. */
export function codeName(code) {
  const parts = String(code).split(/(?<=_)/);
  return el("code", { class: "name" }, parts.map((part, at) => (at ? [el("wbr"), part] : part)));
}

/** A button that does something and never submits a form. */
export function button(label, onClick, given = {}) {
  return el("button", { type: "button", ...given, on: { click: onClick, ...given.on } }, label);
}

/** A form that does something and never leaves the page. */
export function form(onSubmit, given = {}, ...children) {
  const submit = (event) => {
    event.preventDefault();
    onSubmit();
  };
  return el("form", { ...given, on: { submit } }, ...children);
}

/** The children of a node, all replaced. */
export function fill(node, ...children) {
  node.replaceChildren(...nodesOf(children));
  return node;
}

/** As `fill`, but whoever had the focus by its `data-name` has it again. */
export function refill(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset.name : undefined;
  fill(node, ...children);
  if (focused !== undefined) node.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  return node;
}

function furnish(node, { on = {}, data = {}, ...attributes }, children) {
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  Object.assign(node.dataset, data);
  for (const [name, value] of Object.entries(attributes)) describe(node, name, value);
  node.append(...nodesOf(children));
  return node;
}

function describe(node, name, value) {
  if (value === null || value === undefined) return;
  if (value === false && !name.startsWith("aria-")) return;
  if (name === "value" || name === "checked" || name === "selected") node[name] = value;
  else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
}

function nodesOf(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
