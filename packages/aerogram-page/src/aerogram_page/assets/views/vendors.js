/** Vendors: who is who, as a graph to walk along, and the same record in four levels of detail. */

import { announce } from "../announcer.js";
import { Choice } from "../choice.js";
import { copyButton } from "../copying.js";
import { button, el, fill, form } from "../element.js";
import { failure, failureWords } from "../failure.js";
import { dataOf } from "../fitting.js";
import { Graph } from "../graph.js";
import { noticeList } from "../notices.js";
import { count } from "../numbers.js";
import { addressOf } from "../route.js";
import { ask } from "../server.js";
import { table } from "../table.js";
import { t } from "../texts.js";
import { tree } from "../tree.js";
import { Turn } from "../turn.js";

/** Open the view. */
export async function open(stage) {
  const contents = await ask("contents", undefined, { signal: stage.signal });
  await new VendorsView(stage, contents.vendors).update();
}

class VendorsView {
  constructor({ main, params, context, signal, note }, names) {
    Object.assign(this, { _context: context, _turn: new Turn(signal), _note: note, _names: names });
    this._name = el("input", {
      type: "search",
      id: "vendor",
      list: "vendors",
      dir: "auto",
      value: params.get("name") || names[0] || "",
      on: { change: () => this.update() },
    });
    this._modes = new Choice(
      t("budget.modes"),
      context.modes.map((mode) => [mode, t(`mode.${mode}`)]),
      params.get("mode") ?? "preview",
      () => this.update(),
    );
    this._outcome = el("div", {});
    fill(
      main,
      el("h1", {}, t("vendors.title")),
      el("p", { class: "lead" }, t("vendors.lead")),
      this._form(),
      this._outcome,
    );
  }

  _form() {
    return form(
      () => this.update(),
      { class: "card controls" },
      el(
        "div",
        { class: "control grow" },
        el("label", { for: "vendor" }, t("vendors.name")),
        this._name,
        el(
          "datalist",
          { id: "vendors" },
          this._names.map((name) => el("option", { value: name })),
        ),
      ),
      this._modes.node,
      el("button", { class: "primary" }, t("vendors.look")),
    );
  }

  _asked(mode) {
    return {
      source: { call: this._call() },
      mode,
      dialect: this._context.defaults.dialect,
      budget: null,
    };
  }

  _call() {
    return { operation: "find_vendor_info", arguments: { vendor_name: this._name.value.trim() } };
  }

  /** Look the vendor up: the whole graph to draw, and the record as the chosen mode shows it. */
  async update() {
    if (!this._name.value.trim()) return;
    const signal = this._turn.next();
    this._note({ name: this._name.value.trim(), mode: this._modes.value });
    try {
      const [whole, shown] = await Promise.all([
        ask("shrink", this._asked("full"), { signal }),
        ask("shrink", this._asked(this._modes.value), { signal }),
      ]);
      this._show(whole, shown);
    } catch (error) {
      if (!signal.aborted)
        fill(
          this._outcome,
          failure(error, () => this.update()),
        );
    }
  }

  _show(whole, shown) {
    if (whole.problem) return fill(this._outcome, this._unknown(whole.problem));
    const { vendor_name: name, entities = [], relationships = [] } = dataOf(whole);
    this._edges = relationships.map(edgeOf);
    this._about = el("div", { class: "about stack" });
    this._graph = new Graph(entities, this._edges, (gone) => this._tell(gone));
    this._entities = new Map(entities.map((entity) => [entity.id, entity]));
    const named = idsIn(dataOf(shown));
    fill(
      this._outcome,
      el(
        "div",
        { class: "columns vendor-columns" },
        el(
          "div",
          { class: "stack" },
          el(
            "section",
            { class: "card", "aria-labelledby": "graph-title" },
            el(
              "div",
              { class: "row between" },
              el("h2", { id: "graph-title", dir: "auto" }, name),
              el(
                "span",
                { class: "chip number" },
                t("vendors.counts", { nodes: count(entities.length), edges: count(relationships.length) }),
              ),
            ),
            noticeList(whole.notices),
            el("p", { class: "small quiet" }, t("graph.how")),
            el("p", { class: "small quiet sideways" }, t("graph.sideways")),
            el("div", { class: "graph-frame" }, this._graph.drawing),
            typeLegend(entities),
          ),
          this._list(),
          this._record(shown, named),
        ),
        el("section", { class: "card aside", "aria-label": t("vendors.entity"), "aria-live": "polite" }, this._about),
      ),
    );
    this._graph.dim((id) => !named.size || named.has(id));
    const own = entities.find((entity) => entity.name === name) ?? entities[0];
    if (own) this._graph.goTo(own.id, { isFocused: false });
  }

  /** A name that means nobody, or several: the nearest are a click away. */
  _unknown(problem) {
    const near = problem.details?.did_you_mean ?? problem.details?.candidates ?? [];
    return el(
      "div",
      { class: "notice", role: "alert" },
      failureWords(near.length ? { ...problem, remediation: null } : problem),
      near.length
        ? el(
            "div",
            { class: "row" },
            t("vendors.near"),
            near.map((name) =>
              button(name.name ?? name, () => {
                this._name.value = name.name ?? name;
                this.update();
              }),
            ),
          )
        : null,
    );
  }

  _record(shown, named) {
    return el(
      "section",
      { class: "card", "aria-labelledby": "record-title" },
      el(
        "div",
        { class: "row between" },
        el("h2", { id: "record-title" }, t("vendors.record")),
        copyButton(() => ({ call: this._call(), mode: this._modes.value, budget: null })),
      ),
      el(
        "ul",
        { class: "plain row small" },
        shown.modes.map(({ mode, size }) =>
          el(
            "li",
            { class: `chip number ${mode === this._modes.value ? "blue" : ""}` },
            `${t(`mode.${mode}`)} ${count(size)}`,
          ),
        ),
      ),
      el(
        "p",
        { class: "small quiet" },
        t("vendors.named", {
          n: count([...named].filter((id) => this._entities.has(id)).length),
          total: count(this._entities.size),
        }),
      ),
      tree(dataOf(shown), (pointer) => (/^\/(entities|relationships)\/\d+$/.test(pointer) ? { shut: true } : null)),
      el("p", {}, el("a", { href: addressOf("dialects", { vendor: this._name.value.trim() }) }, t("search.dialects"))),
    );
  }

  _tell({ node, edge }) {
    if (edge)
      return announce(`${this._entities.get(edge.source)?.name} ${edge.type} ${this._entities.get(edge.target)?.name}`);
    const ties = this._edges.filter(({ source, target }) => source === node.id || target === node.id);
    const isVendor = this._names.includes(node.name) && node.name !== this._name.value;
    fill(
      this._about,
      el(
        "div",
        {},
        el("h2", { dir: "auto" }, node.name),
        el("span", { class: `chip type-${(node.type ?? "").toLowerCase()}` }, node.type),
        " ",
        el("code", { class: "small quiet" }, node.id),
      ),
      el(
        "dl",
        { class: "facts-list small" },
        Object.entries(node)
          .filter(
            ([name, value]) =>
              !["id", "name", "type", "chunk_ids"].includes(name) &&
              (typeof value !== "object" || Array.isArray(value)),
          )
          .map(([name, value]) => [
            el("dt", {}, name),
            el("dd", { dir: "auto" }, Array.isArray(value) ? value.join(", ") : String(value)),
          ]),
      ),
      el(
        "div",
        { class: "row" },
        isVendor
          ? button(t("vendors.open"), () => {
              this._name.value = node.name;
              this.update();
            })
          : null,
        el("a", { href: addressOf("search", { q: node.name }) }, t("vendors.search")),
      ),
      el("h3", {}, t("vendors.ties")),
      el(
        "ul",
        { class: "plain ties" },
        ties.map((tie) => this._tieButton(tie, node.id)),
      ),
    );
  }

  _tieButton(tie, from) {
    const isOut = tie.source === from;
    const id = isOut ? tie.target : tie.source;
    return el("li", {}, this._link(id, `${isOut ? "→" : "←"} ${tie.type} · `, { isFocused: false }));
  }

  /** The way to an entity; one that is not among those that are shown is its id. */
  _link(id, before = "", how = {}) {
    const entity = this._entities.get(id);
    return entity ? button(before + entity.name, () => this._graph.goTo(id, how), { class: "link" }) : before + id;
  }

  /** The same as a table, for those who would rather read than look. */
  _list() {
    return el(
      "details",
      { class: "card graph-list" },
      el("summary", {}, t("graph.list")),
      table(
        t("graph.list"),
        ["graph.from", "graph.tie", "graph.to"].map((key) => t(key)),
        this._edges.map((edge) => [this._link(edge.source), edge.type, this._link(edge.target)]),
      ),
    );
  }
}

/** A tie's own name: an entity may have the same id, as where each is the first row of its table. */
const nameOfTie = (id) => `tie ${id}`;

function edgeOf(tie) {
  return {
    id: nameOfTie(tie.id),
    type: tie.type ?? tie.relationship_type,
    source: tie.source ?? tie.source_id,
    target: tie.target ?? tie.target_id,
  };
}

/** Every entity and relationship that a record names, in whichever mode it is. */
function idsIn(data) {
  const {
    entity_ids: entities = [],
    relationship_ids: ties = [],
    top_entities: top = [],
    entities: shown = [],
    relationships = [],
  } = data ?? {};
  const idOf = ({ id }) => id;
  const tied = [...ties, ...relationships.map(idOf)];
  return new Set([...entities, ...[...top, ...shown].map(idOf), ...tied.map(nameOfTie)]);
}

function typeLegend(entities) {
  const types = [...new Set(entities.map(({ type }) => type ?? "other"))];
  return el(
    "ul",
    { class: "plain row small type-legend" },
    types.map((type) => el("li", { class: `type-${type.toLowerCase()}` }, type)),
  );
}
