/** Graph: entities and what ties them together, drawn. It can be followed with the mouse and with the arrow keys. */

import { svg } from "./element.js";
import { t } from "./texts.js";

const WIDTH = 760;
const HEIGHT = 520;
const ROUNDS = 240;
const IDEAL = 120;
const LONGEST_NAME = 22;
const NAME_HEIGHT = 15;
const NODE = 13;

/**
 * A drawing of `{nodes: [{id, name, type}], edges: [{id, source, target, type}]}`;
 * `selected({node} | {edge})` is told what the reader goes to.
 */
export class Graph {
  constructor(nodes, edges, selected) {
    this._selected = selected;
    this._nodes = new Map(nodes.map((node) => [node.id, node]));
    this._edges = edges.filter((edge) => this._nodes.has(edge.source) && this._nodes.has(edge.target));
    this._places = layout(nodes, this._edges);
    this._names = nameSpots(nodes, this._places);
    this._marks = new Map();
    this.drawing = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "graph",
      role: "group",
      "aria-label": t("graph.label"),
    });
    this.drawing.append(
      ...this._edges.map((edge) => this._edgeMark(edge)),
      ...nodes.map((node) => this._nodeMark(node)),
    );
    this._at = null;
  }

  /** Go to a node. */
  goTo(id, { isFocused = true } = {}) {
    if (!this._nodes.has(id)) return;
    this._at = id;
    const near = new Set(this._around(id).flatMap((edge) => [edge.source, edge.target]));
    for (const [key, mark] of this._marks) {
      const edge = this._edges.find((one) => one.id === key);
      const isNear = edge ? edge.source === id || edge.target === id : near.has(key) || key === id;
      mark.classList.toggle("near", isNear);
      mark.classList.toggle("at", key === id);
    }
    this._hold(id, isFocused);
    this._reveal(id);
    this._selected({ node: this._nodes.get(id) });
  }

  /** Where the drawing is wider than its frame, bring a node into the middle. */
  _reveal(id) {
    const frame = this.drawing.parentElement;
    if (!frame) return;
    const scale = this.drawing.clientWidth / WIDTH;
    frame.scrollLeft = this._places.get(id).x * scale - frame.clientWidth / 2;
  }

  /** Show which entities a reply names; the others fade. */
  dim(isNamed) {
    for (const [id, mark] of this._marks) mark.classList.toggle("unnamed", !isNamed(id));
  }

  _around(id) {
    return this._edges.filter((edge) => edge.source === id || edge.target === id);
  }

  _hold(key, isFocused) {
    for (const [name, mark] of this._marks) mark.setAttribute("tabindex", name === key ? 0 : -1);
    if (isFocused) this._marks.get(key).focus();
  }

  _nodeMark(node) {
    const { x, y } = this._places.get(node.id);
    const { dx, dy, anchor, isCrowded } = this._names.get(node.id);
    const mark = svg(
      "g",
      {
        class: `node type-${(node.type ?? "other").toLowerCase()}${isCrowded ? " crowded" : ""}`,
        transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
        role: "button",
        tabindex: -1,
        "aria-label": `${node.name}, ${node.type}`,
        data: { id: node.id },
        on: { click: () => this.goTo(node.id), keydown: (event) => this._nodeKey(event, node.id) },
      },
      svg("circle", { r: NODE }),
      svg("text", { x: dx, y: dy, "text-anchor": anchor }, shortened(node.name)),
    );
    this._marks.set(node.id, mark);
    return mark;
  }

  _edgeMark(edge) {
    const [from, to] = [this._places.get(edge.source), this._places.get(edge.target)];
    const line = { x1: from.x, y1: from.y, x2: to.x, y2: to.y };
    const mark = svg(
      "g",
      {
        class: "edge",
        role: "button",
        tabindex: -1,
        data: { id: edge.id },
        "aria-label": `${this._nodes.get(edge.source).name} ${edge.type} ${this._nodes.get(edge.target).name}`,
        on: { click: () => this._follow(edge), keydown: (event) => this._edgeKey(event, edge) },
      },
      svg("line", { ...line, class: "grip" }),
      svg("line", { ...line, class: "tie" }),
      svg("text", { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 - 4, "text-anchor": "middle" }, edge.type),
    );
    this._marks.set(edge.id, mark);
    return mark;
  }

  /** To the other end of an edge, from where the reader is. */
  _follow(edge) {
    this._selected({ edge });
    this.goTo(edge.source === this._at ? edge.target : edge.source);
  }

  _nodeKey(event, id) {
    const names = [...this._nodes.keys()];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) this.goTo(names[(names.indexOf(id) + step + names.length) % names.length]);
    else if (event.key === "ArrowDown" && this._around(id).length) this._hold(this._around(id)[0].id, true);
    else if (event.key === "Enter" || event.key === " ") this.goTo(id);
    else return;
    event.preventDefault();
  }

  _edgeKey(event, edge) {
    const around = this._around(this._at);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) this._hold(around[(around.indexOf(edge) + step + around.length) % around.length].id, true);
    else if (event.key === "ArrowUp" || event.key === "Escape") this._hold(this._at, true);
    else if (event.key === "Enter" || event.key === " ") this._follow(edge);
    else return;
    event.preventDefault();
  }
}

const shortened = (name) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name);

/** Where a name may stand beside its node, the best first: its distance, and which end of it is there. */
const SPOTS = [
  { dx: 0, dy: 29, anchor: "middle" },
  { dx: 0, dy: -19, anchor: "middle" },
  { dx: 18, dy: 4, anchor: "start" },
  { dx: -18, dy: 4, anchor: "end" },
];

/** A spot for each name where it covers no node and no other name; a name that has none is shown when it is gone to. */
function nameSpots(nodes, places) {
  const taken = nodes.map(({ id }) => circleAt(places.get(id)));
  return new Map(
    nodes.map(({ id, name }) => {
      const boxes = SPOTS.map((spot) => boxOf(shortened(name), places.get(id), spot));
      const at = boxes.findIndex((box) => isInside(box) && !taken.some((other) => overlaps(box, other)));
      if (at >= 0) taken.push(boxes[at]);
      return [id, { ...SPOTS[Math.max(at, 0)], isCrowded: at < 0 }];
    }),
  );
}

const circleAt = ({ x, y }) => ({ left: x - NODE, right: x + NODE, top: y - NODE, bottom: y + NODE });

/** The room that a name takes, about: letters of other scripts than the Latin one are twice as wide. */
function boxOf(name, { x, y }, { dx, dy, anchor }) {
  const width = [...name].reduce((sum, letter) => sum + (letter > "\u2fff" ? 12.5 : 7.2), 4);
  const left = x + dx - { start: 0, middle: width / 2, end: width }[anchor];
  return { left, right: left + width, top: y + dy - NAME_HEIGHT + 3, bottom: y + dy + 3 };
}

const isInside = ({ left, right, top, bottom }) => left >= 0 && right <= WIDTH && top >= 0 && bottom <= HEIGHT;

const overlaps = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Places by forces: ties pull, everything else pushes. It begins on a circle, so it always ends the same. */
function layout(nodes, edges) {
  const points = nodes.map((_, at) => {
    const turn = (2 * Math.PI * at) / nodes.length;
    return { x: at ? 250 * Math.cos(turn) : 0, y: at ? 180 * Math.sin(turn) : 0 };
  });
  const index = new Map(nodes.map(({ id }, at) => [id, at]));
  const ties = edges.map(({ source, target }) => [index.get(source), index.get(target)]);
  for (let round = 0; round < ROUNDS; round += 1) relax(points, ties, 30 * (1 - round / ROUNDS) + 1);
  return inFrame(nodes, points);
}

function relax(points, ties, heat) {
  const moves = points.map(() => ({ x: 0, y: 0 }));
  const push = (a, b, force) => {
    const [dx, dy] = [points[a].x - points[b].x || 0.1, points[a].y - points[b].y || 0.1];
    const far = Math.hypot(dx, dy);
    const strength = force(far) / far;
    moves[a].x += dx * strength;
    moves[a].y += dy * strength;
    moves[b].x -= dx * strength;
    moves[b].y -= dy * strength;
  };
  for (let a = 0; a < points.length; a += 1) for (let b = 0; b < a; b += 1) push(a, b, (far) => (IDEAL * IDEAL) / far);
  for (const [a, b] of ties) if (a !== b) push(a, b, (far) => -(far * far) / IDEAL);
  points.forEach((point, at) => {
    const far = Math.hypot(moves[at].x, moves[at].y) || 1;
    point.x += (moves[at].x / far) * Math.min(far, heat);
    point.y += (moves[at].y / far) * Math.min(far, heat);
  });
}

function inFrame(nodes, points) {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const fit = (value, all, size, edge) => {
    const [least, most] = [Math.min(...all), Math.max(...all)];
    return most === least ? size / 2 : edge + ((value - least) / (most - least)) * (size - 2 * edge);
  };
  return new Map(
    nodes.map(({ id }, at) => [id, { x: fit(points[at].x, xs, WIDTH, 90), y: fit(points[at].y, ys, HEIGHT, 40) }]),
  );
}
