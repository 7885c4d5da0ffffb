/** Chart: tokens by mode and budget, as a small drawing with a table for those who do not see it. */

import { el, svg } from "./element.js";
import { count } from "./numbers.js";
import { t } from "./texts.js";

const WIDTH = 420;
const HEIGHT = 190;
const EDGE = { left: 46, right: 12, top: 12, bottom: 34 };

/** The drawing: `lines` are `{name, points: [[budget, tokens], …], label}`; `now` is the budget that is chosen. */
export function chart(lines, now) {
  const points = lines.flatMap((line) => line.points);
  if (!points.length) return el("p", { class: "quiet" }, t("chart.none"));
  const x = scale(
    points.map(([budget]) => budget),
    EDGE.left,
    WIDTH - EDGE.right,
  );
  const y = scale(
    points.map(([, tokens]) => tokens),
    HEIGHT - EDGE.bottom,
    EDGE.top,
  );
  const drawing = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    class: "chart",
    role: "img",
    "aria-label": t("chart.label"),
  });
  drawing.append(...axes(x, y), ...lines.map((line) => path(line, x, y)));
  if (now) drawing.append(cursorAt(x(Math.min(Math.max(now, x.least), x.most)), now));
  return el("figure", { class: "figure" }, drawing, legend(lines), table(lines));
}

/** A logarithmic scale, because a budget of 500 matters as much beside 1,000 as 8,000 beside 16,000. */
function scale(values, from, to) {
  const least = Math.max(1, Math.min(...values));
  const most = Math.max(least * 2, ...values);
  const place = (value) =>
    from + ((Math.log(Math.max(value, least)) - Math.log(least)) / Math.log(most / least)) * (to - from);
  return Object.assign(place, { least, most });
}

function ticks({ least, most }) {
  const found = [];
  for (let power = 10 ** Math.floor(Math.log10(least)); power <= most; power *= 10) {
    for (const step of [1, 2, 5]) if (power * step >= least && power * step <= most) found.push(power * step);
  }
  return found.length > 6 ? found.filter((value) => /^[15]/.test(String(value))) : found;
}

function axes(x, y) {
  const across = ticks(x).map((value) =>
    svg("text", { x: x(value), y: HEIGHT - EDGE.bottom + 14, "text-anchor": "middle" }, count(value)),
  );
  const up = ticks(y).flatMap((value) => [
    svg("line", { x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(value), y2: y(value), class: "rule" }),
    svg("text", { x: EDGE.left - 6, y: y(value) + 3, "text-anchor": "end" }, count(value)),
  ]);
  const title = svg(
    "text",
    { x: (EDGE.left + WIDTH - EDGE.right) / 2, y: HEIGHT - 4, "text-anchor": "middle" },
    t("chart.budget"),
  );
  return [...up, ...across, title];
}

function path(line, x, y) {
  const steps = line.points.map(
    ([budget, tokens], at) => `${at ? "L" : "M"}${x(budget).toFixed(1)} ${y(tokens).toFixed(1)}`,
  );
  return svg("path", { d: steps.join(""), class: `line line-${line.name}` });
}

function cursorAt(at, budget) {
  return svg(
    "g",
    { class: "now" },
    svg("line", { x1: at, x2: at, y1: EDGE.top, y2: HEIGHT - EDGE.bottom }),
    svg("text", { x: at, y: EDGE.top - 2, "text-anchor": "middle" }, count(budget)),
  );
}

function legend(lines) {
  return el(
    "ul",
    { class: "legend", "aria-hidden": "true" },
    lines.map((line) => el("li", { class: `line-${line.name}` }, line.label)),
  );
}

function table(lines) {
  const budgets = [...new Set(lines.flatMap((line) => line.points.map(([budget]) => budget)))].sort((a, b) => a - b);
  const cell = (line, budget) => line.points.find(([at]) => at === budget)?.[1];
  return el(
    "div",
    { class: "unseen" },
    el(
      "table",
      {},
      el("caption", {}, t("chart.label")),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, t("chart.budget")),
          lines.map((line) => el("th", { scope: "col" }, line.label)),
        ),
      ),
      el(
        "tbody",
        {},
        budgets.map((budget) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, count(budget)),
            lines.map((line) => el("td", {}, cell(line, budget) === undefined ? "–" : count(cell(line, budget)))),
          ),
        ),
      ),
    ),
  );
}
