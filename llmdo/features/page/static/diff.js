// Two revisions: what widened in red, what narrowed in green, on one graph, with the lines that did it.

import { get, heldOf, isFile } from "./client.js";
import { counted, fill, h, lines } from "./dom.js";
import { Canvas } from "./graph/canvas.js";
import { badgeKey, lineKey } from "./graph/draw.js";
import { modelOf, stepsOf } from "./graph/model.js";
import { empty, failing, withCode } from "./states.js";
import { place, sourceLine, way } from "./witness.js";
import { WORDS } from "./words.js";

const SIGNS = { widens: "+", unknown: "?", narrows: "−", none: "~" };
const EFFECTS = { widens: "widened", unknown: "not known", narrows: "narrowed", none: "changed" };
const ORDER = ["widened", "unknown", "narrowed", "changed", "same"];

/** The two sides that a part of an address such as `main..worktree` names. */
export function sidesOf(range = "") {
  const [before, after] = range.split("..");
  return { before: before || "HEAD", after: after || "worktree" };
}

/** Those of an address; of a file without one, those that it holds. */
function sidesIn(context) {
  const { range } = context.parameters;
  return (!range && heldOf("/api/diff")[0]) || sidesOf(range);
}

/** The graph of both sides as one: what only one of them has says so by its `side`. */
function union(graphs) {
  const nothing = { uses: [], workers: [] };
  const [old, now] = [graphs.before ?? nothing, graphs.after ?? nothing];
  const workers = merged(old.workers, now.workers, (before, after) => ({ ...after, uses: uses(before, after) }));
  return { entry: graphs.entry, uses: uses(old, now), workers };
}

function uses(old, now) {
  return merged(old.uses, now.uses, (before, after) => ({ ...after, was: before.decision }));
}

function merged(old, now, both) {
  const byName = new Map(old.map((each) => [each.name, each]));
  const after = now.map((each) => {
    const known = byName.get(each.name);
    byName.delete(each.name);
    return known ? both(known, each) : { ...each, side: "after" };
  });
  return [...after, ...[...byName.values()].map((each) => ({ ...each, side: "before" }))];
}

/** What is marked: everything that only one side has, and above it the way to what is chosen. */
function marksOf(model, change) {
  const marks = { lines: new Map(), boxes: new Map(), badges: new Map() };
  for (const each of model.nodes.values()) {
    if (each.side) marks.boxes.set(each.id, { class: `only-${each.side}` });
    for (const badge of each.badges) if (badge.side) marks.badges.set(badgeKey(each.id, badge.name), { class: `only-${badge.side}` });
    for (const edge of each.out) {
      if (edge.side) marks.lines.set(lineKey(each.id, edge.id), { class: `only-${edge.side}`, label: SIDES[edge.side] });
    }
  }
  return change?.row ? withWay(model, change, marks) : marks;
}

const SIDES = { after: "new", before: "gone" };

function withWay(model, change, marks) {
  const shade = `way ${change.effect}`;
  const on = (id) => marks.boxes.set(id, { class: `${marks.boxes.get(id)?.class ?? ""} ${shade}` });
  on(model.root);
  for (const { hop, from, to, isStart, isBadge } of stepsOf(model, change.row.path, change.row.delegation)) {
    if (isBadge) {
      marks.badges.set(badgeKey(from, hop.name), { class: shade, decision: hop.decision });
      continue;
    }
    const edge = model.nodes.get(from)?.out.find((each) => each.id === to);
    const gate = hop.decision === "allowed" ? (isStart ? "" : "no gate") : WORDS[hop.decision].toLowerCase();
    const label = edge?.side ? `${SIDES[edge.side]}${gate ? `, ${gate}` : ""}` : gate;
    marks.lines.set(lineKey(from, to), { class: shade, label });
    on(to);
  }
  return marks;
}

function sign(effect) {
  return [h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[effect]), h("span", { class: "unseen" }, EFFECTS[effect])];
}

function rowButton(entry, change, onchoose) {
  return h(
    "li",
    {},
    h(
      "button",
      {
        type: "button",
        class: ["row", change.effect],
        "data-entry": entry.name,
        "data-capability": change.capability,
        onclick: () => onchoose(entry, change),
      },
      h("code", { class: "capability" }, sign(change.effect), " ", change.capability),
      change.accepted && h("span", { class: "assurance" }, "accepted"),
      h("span", { class: "words" }, change.words),
      change.row && h("span", { class: "way" }, way(change.row)),
    ),
  );
}

function entryPart(entry, onchoose) {
  const names = [entry.name, entry.was && ` (was ${entry.was})`, entry.below.length > 0 && `, below ${entry.below.join(", ")}`];
  return h(
    "section",
    { class: "decided" },
    h(
      "h2",
      { class: entry.verdict },
      h("span", { class: "name" }, names.filter(Boolean).join("")),
      " ",
      h("span", { class: "verdict-word" }, entry.verdict, entry.status === "kept" ? null : `, ${entry.status}`),
    ),
    h("ul", {}, entry.rows.map((change) => rowButton(entry, change, onchoose))),
  );
}

/** The line that allows a step; tinted where the other side has no such step. */
function sourceStep(change, hop, isCause) {
  const mark = isCause ? (change.is_before ? "−" : "+") : " ";
  return h("li", { class: isCause && change.effect }, place(hop.at), sourceLine(hop.at, mark));
}

function details(change) {
  const { row } = change;
  return [
    h(
      "header",
      {},
      h("h2", {}, h("code", {}, change.capability)),
      h("p", { class: ["verdict", change.effect] }, h("strong", {}, EFFECTS[change.effect]), ` ${change.words}`),
      change.accepted && h("p", {}, `Accepted: ${change.accepted}`),
    ),
    row &&
      h(
        "ol",
        { class: "source" },
        row.path.map((hop, number) => hop.at && sourceStep(change, hop, number > 0 && !change.steps[number - 1])),
      ),
    row?.reasons.length > 0 &&
      h(
        "div",
        { class: "because" },
        h("h3", {}, change.is_before ? "Why it was so" : "Why"),
        h("ul", {}, row.reasons.map((reason) => h("li", {}, withCode(reason.text), " ", place(reason.at) ?? reason.by))),
      ),
  ];
}

/** The view, once the difference is there. */
class Difference {
  constructor(data, context, sides) {
    Object.assign(this, { data, context, sides });
    this.changed = [...data.entries, ...data.workers]
      .filter((entry) => entry.rows.length || entry.verdict !== "same")
      .sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
    this.canvases = new Map();
    const choose = (entry, change) => this.go(entry, change);
    this.list = h("div", { class: "capabilities" }, this.changed.map((entry) => entryPart(entry, choose)), this.rest());
    this.drawn = h("div", { class: "drawn" });
    this.detail = h("section", { class: "witness", "aria-label": "What is chosen" });
    context.onQuery = () => this.show();
    context.onShown = () => this.show();
    context.addKeys([
      { group: "Changes", keys: "j", words: "next change", run: () => this.step(1) },
      { group: "Changes", keys: "k", words: "change before", run: () => this.step(-1) },
      { group: "Changes", keys: "t", words: "to the graph", run: () => this.canvas?.focused()?.focus() },
    ]);
  }

  go(entry, change) {
    this.context.go("diff", `${this.sides.before}..${this.sides.after}`, { entry: entry.name, to: change.capability });
  }

  every() {
    return this.changed.flatMap((entry) => entry.rows.map((change) => ({ entry, change })));
  }

  chosen() {
    const { entry, to } = this.context.query;
    const every = this.every();
    return every.find((each) => each.entry.name === entry && each.change.capability === to) ?? every[0];
  }

  step(by) {
    const every = this.every();
    const at = every.findIndex((each) => each.change === this.chosen()?.change);
    const next = every[Math.max(0, Math.min(every.length - 1, at + by))];
    if (next) this.go(next.entry, next.change);
  }

  async show() {
    const chosen = this.chosen();
    for (const button of this.list.querySelectorAll("button.row")) {
      const isChosen = button.dataset.entry === chosen?.entry.name && button.dataset.capability === chosen?.change.capability;
      button.setAttribute("aria-pressed", String(isChosen));
      if (isChosen && this.context.query.to) button.scrollIntoView({ block: "nearest" });
    }
    if (!chosen) return;
    fill(this.detail, details(chosen.change));
    const name = chosen.entry.below[0] ?? chosen.entry.name;
    try {
      const { canvas, model } = await this.canvasOf(name);
      if (chosen.change !== this.chosen()?.change) return;
      if (this.canvas !== canvas) fill(this.drawn, canvas.node);
      this.canvas = canvas;
      const marks = marksOf(model, chosen.change);
      canvas.show(marks, new Set(marks.boxes.keys()));
    } catch (error) {
      if (error.name !== "AbortError") fill(this.drawn, failing(error));
    }
  }

  async canvasOf(name) {
    if (!this.canvases.has(name)) {
      const graphs = await get("/api/diff/graph", { ...this.sides, entry: name }, this.context);
      const model = modelOf(union(graphs));
      const onchoose = (box) => (box.more || box.isOpen) && canvas.unfold(box.id);
      const label = `Who calls whom below ${name}, on both sides`;
      const canvas = new Canvas(model, { label, announce: this.context.announce, onchoose });
      this.canvases.set(name, { canvas, model });
    }
    return this.canvases.get(name);
  }

  rest() {
    const { data } = this;
    const silent = data.entries.filter((entry) => entry.verdict === "same").length;
    return [
      data.edits.length > 0 && h("section", { class: "decided" }, h("h2", { class: "widens" }, "Edited by hand"), data.edits.map((each) => h("p", {}, withCode(each)))),
      (data.facts.length > 0 || data.renames.length > 0) &&
        h(
          "section",
          { class: "decided facts" },
          h("h2", {}, "Also"),
          h(
            "ul",
            {},
            data.renames.map((each) => h("li", {}, withCode(each))),
            data.facts.map((each) =>
              h("li", { class: each.effect }, sign(each.effect), " ", withCode(each.words), each.accepted && ` (accepted: ${each.accepted})`),
            ),
          ),
        ),
      silent > 0 && h("p", { class: "dim" }, `${counted(silent, "entry", "entries")} the same.`),
    ];
  }

  node() {
    const { data, context, sides } = this;
    return h(
      "div",
      { class: "page reach" },
      h(
        "header",
        { class: "heading" },
        h("h1", { class: data.verdict }, h("span", { class: "verdict-word" }, title(data))),
        range(sides, context),
      ),
      !data.has_baseline && h("p", { class: "note" }, `Nothing to compare with at ${data.before}: everything is new.`),
      data.notes.map((note) => h("p", { class: "note" }, withCode(note))),
      this.every().length
        ? h("div", { class: "columns" }, this.list, h("div", { class: "beside" }, this.drawn, this.detail))
        : [empty(data.verdict === "unknown" ? "What entries can do is not known" : "No entry can do more or less", data.facts.length ? "What differs besides is listed below." : null), h("div", { class: "alone" }, this.rest())],
      h("details", { class: "whole" }, h("summary", {}, "As llmdo diff prints it"), lines(data.text, { tabindex: "0" })),
    );
  }
}

function title(data) {
  const accepted = data.verdict === "widened" && data.accepted ? ", all of it accepted" : "";
  if (data.verdict === "unknown") return "Not known";
  return data.verdict === "same" ? "Nothing changed" : `${data.verdict[0].toUpperCase()}${data.verdict.slice(1)}${accepted}`;
}

/** The two revisions, to be chosen again where there is a server to ask. */
function range(sides, context) {
  if (isFile) return h("p", { class: "lead" }, h("code", {}, sides.after), " against ", h("code", {}, sides.before));
  const field = (name, label) => {
    const id = `side-${name}`;
    return [h("label", { class: "dim", for: id }, label), h("input", { id, type: "text", value: sides[name], spellcheck: "false", autocomplete: "off" })];
  };
  const go = (event) => {
    event.preventDefault();
    const value = (name) => event.target.querySelector(`#side-${name}`).value.trim();
    context.go("diff", `${value("before")}..${value("after")}`);
  };
  return h("form", { class: "range", onsubmit: go }, field("before", "from"), field("after", "to"), h("button", { class: "button" }, "Compare"));
}

export const diff = {
  name: "diff",
  title: "Changes",
  key: "c",
  routes: ["diff", "diff/:range"],
  needs: "/api/diff",
  load: (context) => get("/api/diff", sidesIn(context), context),

  render(data, context) {
    const sides = sidesIn(context);
    context.title = `${sides.before}..${sides.after}`;
    return new Difference(data, context, sides).node();
  },
};
