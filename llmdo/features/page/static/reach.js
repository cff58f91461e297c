// What one entry can reach: the list of capabilities beside the graph, and the way to the one that is chosen.

import { about } from "./about.js";
import { get, isFile } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { Canvas } from "./graph/canvas.js";
import { badgeKey, lineKey } from "./graph/draw.js";
import { modelOf, stepsOf, workerId } from "./graph/model.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";
import { followUpWitness, isUngated, legs, way, witness } from "./witness.js";
import { AFTER_STRANGERS, dangerClass, ROW_WORDS, stepDanger, WORDS } from "./words.js";

function choice(data, context) {
  const names = context.project.entries.map((entry) => entry.name);
  if (names.length < 2) return h("h1", {}, data.entry);
  return h(
    "h1",
    {},
    h("label", { class: "unseen", for: "entry" }, "Entry"),
    h(
      "select",
      { id: "entry", onchange: (event) => context.go("reach", event.target.value) },
      names.map((name) => h("option", { value: name, selected: name === data.entry }, name)),
    ),
  );
}

function item(row, onchoose) {
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: ["row", row.decision, dangerClass(row.danger)], "data-capability": row.capability, onclick: () => onchoose(row) },
      h("code", { class: "capability" }, row.capability),
      isUngated(row) && h("span", { class: "flag" }, "no gate"),
      row.assurance !== "enforced" && h("span", { class: "assurance" }, row.assurance),
      h("span", { class: "way" }, way(row)),
    ),
  );
}

function group(decision, rows, onchoose) {
  const inside = rows.filter((row) => row.decision === decision);
  if (!inside.length) return null;
  return h(
    "section",
    { class: "decided" },
    h("h2", { class: decision }, ROW_WORDS[decision], " ", h("span", { class: "count" }, String(inside.length))),
    h("ul", {}, inside.map((row) => item(row, onchoose))),
  );
}

/** What may be done after a stranger's words, with both legs of the way. */
function followUps(flows, onchoose) {
  if (!flows?.length) return null;
  return h(
    "section",
    { class: "decided" },
    h("h2", {}, AFTER_STRANGERS, " ", h("span", { class: "count" }, String(flows.length))),
    h("ul", {}, flows.map((flow) => followUp(flow, onchoose))),
  );
}

function followUp(flow, onchoose) {
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: ["row", flow.decision, dangerClass(flow.danger)], "data-after": flow.capability, onclick: () => onchoose(flow) },
      h("code", { class: "capability" }, flow.capability),
      h("span", { class: "assurance" }, WORDS[flow.decision].toLowerCase()),
      h("span", { class: "way" }, legs(flow)),
    ),
  );
}

/** What is marked in the graph for the way to a row, and which boxes are on it. */
function marksOf(model, row) {
  const marks = { lines: new Map(), boxes: new Map([[model.root, { class: "way" }]]), badges: new Map() };
  for (const { hop, from, to, isStart, isBadge } of stepsOf(model, row.path, row.delegation)) {
    const shade = ["way", hop.decision, dangerClass(stepDanger(hop.decision, row)), isUngated(row) && "ungated"].filter(Boolean).join(" ");
    if (isBadge) {
      marks.badges.set(badgeKey(from, hop.name), { class: shade, decision: hop.decision });
      continue;
    }
    const label = isStart ? "" : hop.decision === "allowed" ? "no gate" : WORDS[hop.decision].toLowerCase();
    marks.lines.set(lineKey(from, to), { class: shade, label });
    marks.boxes.set(to, { class: "way" });
  }
  return marks;
}

/** The same for both legs of what may follow a stranger's words; a line may be on both. */
function legMarksOf(model, flow) {
  const marks = { lines: new Map(), boxes: new Map([[model.root, { class: "way" }]]), badges: new Map() };
  for (const [leg, path] of [["in", flow.source], ["out", flow.path]]) {
    for (const { hop, from, to, isBadge } of stepsOf(model, path)) {
      const [kind, key] = isBadge ? [marks.badges, badgeKey(from, hop.name)] : [marks.lines, lineKey(from, to)];
      const legs = [...(kind.get(key)?.legs ?? []), leg];
      const isOut = legs.includes("out");
      const decision = isOut ? (isBadge ? flow.decision : hop.decision) : null;
      const gate = hop.decision === "allowed" ? "" : `, ${WORDS[hop.decision].toLowerCase()}`;
      const shade = ["leg", ...legs, ...(isOut ? ["way", decision, dangerClass(stepDanger(decision, flow))] : [])].join(" ");
      kind.set(key, { class: shade, legs, label: legs.join(" and ") + gate, ...(isBadge && isOut ? { decision } : {}) });
      if (!isBadge) marks.boxes.set(to, { class: "way" });
    }
  }
  return { ...marks, hasLegs: true };
}

/** The view, once its data are there. */
class Reach {
  constructor(data, context) {
    Object.assign(this, { data, context });
    this.model = modelOf(data);
    const choose = (row) => context.go("reach", data.entry, { to: row.capability });
    this.list = h(
      "div",
      { class: "capabilities" },
      Object.keys(ROW_WORDS).map((decision) => group(decision, data.rows, choose)),
      followUps(data.after, (flow) => context.go("reach", data.entry, { after: flow.capability })),
    );
    this.detail = h("section", { class: "witness", "aria-label": "What is chosen" });
    this.canvas = new Canvas(this.model, {
      label: `Who calls whom below ${data.entry}`,
      announce: context.announce,
      onchoose: (box) => context.go("reach", data.entry, box.kind === "worker" ? { at: box.name } : {}),
      select: isFile
        ? null
        : async (text) => (await get("/api/select", { entry: data.entry, select: text }, context)).workers,
    });
    context.addKeys(this.keys());
    context.onQuery = () => this.show();
    context.onShown = () => {
      this.show();
      const watch = new ResizeObserver(() => this.canvas.draw());
      watch.observe(this.canvas.node);
      context.onLeave(() => watch.disconnect());
    };
  }

  keys() {
    const { canvas } = this;
    const keys = [
      ["j", "next capability", () => this.step(1)],
      ["k", "capability before", () => this.step(-1)],
      ["t", "to the graph: arrows walk, Enter chooses, Space unfolds", () => canvas.focused()?.focus()],
      ["l", "two levels of the graph", () => canvas.foldBy("levels")],
      ["o", "one box a folder", () => canvas.foldBy("folders")],
      ["a", "all of the graph", () => canvas.foldBy("nothing")],
      ["+", "graph larger", () => canvas.zoomed(1.25)],
      ["-", "graph smaller", () => canvas.zoomed(1 / 1.25)],
      ["0", "graph as large as there is room", () => canvas.zoomed(null)],
    ];
    return keys.map(([key, words, run]) => ({ group: "Reach", keys: key, words, run }));
  }

  /** The row that is chosen: the worst where nobody chose any. */
  row() {
    const { rows } = this.data;
    return rows.find((row) => row.capability === this.context.query.to) ?? rows[0];
  }

  /** What may be done after a stranger's words, where such a row is chosen. */
  flow() {
    return this.data.after?.find((flow) => flow.capability === this.context.query.after);
  }

  step(by) {
    const { rows, after } = this.data;
    const every = [...rows, ...(after ?? [])];
    const next = Math.max(0, Math.min(every.length - 1, every.indexOf(this.flow() ?? this.row()) + by));
    const key = next < rows.length ? "to" : "after";
    if (every.length) this.context.go("reach", this.data.entry, { [key]: every[next].capability });
  }

  show() {
    const { data, context, model, canvas } = this;
    const worker = data.workers.find((each) => each.name === context.query.at);
    const flow = worker ? null : this.flow();
    const row = worker || flow ? null : this.row();
    for (const button of this.list.querySelectorAll("button")) {
      const { capability, after } = button.dataset;
      const isChosen = flow ? after === flow.capability : capability !== undefined && capability === row?.capability;
      button.setAttribute("aria-pressed", String(isChosen));
      if (isChosen && this.isShown) this.lead(button);
    }
    if (worker) {
      const id = workerId(worker.name);
      canvas.show({ boxes: new Map([[id, { class: "chosen", isChosen: true }]]) }, waysDown(model, id));
      fill(this.detail, about(data, worker));
    } else if (flow) {
      const marks = legMarksOf(model, flow);
      canvas.show(marks, new Set(marks.boxes.keys()));
      fill(this.detail, followUpWitness(data, flow));
    } else if (row) {
      const marks = marksOf(model, row);
      canvas.show(marks, new Set(marks.boxes.keys()));
      fill(this.detail, witness(data, row));
    } else canvas.show({}, new Set());
    this.isShown = true;
  }

  /** Leads the eye to what was chosen: in the list, or where that stands below, to the graph. */
  lead(button) {
    const isBelow = this.list.getBoundingClientRect().top > this.detail.getBoundingClientRect().top;
    const target = isBelow ? this.canvas.node : button;
    target.scrollIntoView({ block: isBelow ? "start" : "nearest" });
  }

  node() {
    const { data, context } = this;
    const none = empty("It reaches nothing", "No worker below this entry raises a capability.");
    return h(
      "div",
      { class: "page reach" },
      h("header", { class: "heading" }, choice(data, context), h("p", { class: "lead" }, summary(data))),
      data.notes.map((note) => h("p", { class: "note" }, withCode(note))),
      h(
        "div",
        { class: "columns" },
        data.rows.length ? this.list : none,
        h("div", { class: "beside" }, this.canvas.node, data.rows.length ? this.detail : null),
      ),
    );
  }
}

/** The boxes on a shortest way from the root to one. */
function waysDown(model, wanted) {
  const caller = new Map([[model.root, null]]);
  const rest = [model.root];
  while (rest.length && !caller.has(wanted)) {
    const id = rest.shift();
    for (const edge of model.nodes.get(id).out) {
      if (caller.has(edge.id)) continue;
      caller.set(edge.id, id);
      rest.push(edge.id);
    }
  }
  const path = new Set();
  for (let id = wanted; id; id = caller.get(id)) path.add(id);
  return path;
}

function summary(data) {
  const through = data.rows.filter(isUngated).length;
  const ceiling = data.ceiling ? `ceiling of ${counted(data.ceiling.may.length, "capability", "capabilities")}` : "no ceiling";
  return [
    counted(data.workers.length, "worker"),
    `depth ${data.depth}`,
    ceiling,
    through && `${counted(through, "capability", "capabilities")} through others without a gate`,
  ]
    .filter(Boolean)
    .join(" · ");
}

export const reach = {
  name: "reach",
  title: "Reach",
  below: "overview",
  inNavigation: false,
  routes: ["reach/:entry"],
  load: (context) => get("/api/reach", { entry: context.parameters.entry }, context),

  render(data, context) {
    context.title = data.entry;
    return new Reach(data, context).node();
  },

  search: (context) =>
    context.parameters.entry
      ? get("/api/reach", { entry: context.parameters.entry }, context).then((data) =>
          [
            ...data.rows.map((row) => ({
              kind: ROW_WORDS[row.decision].toLowerCase(),
              text: row.capability,
              more: way(row),
              href: href("reach", data.entry, { to: row.capability }),
            })),
            ...(data.after ?? []).map((flow) => ({
              kind: AFTER_STRANGERS.toLowerCase(),
              text: flow.capability,
              more: legs(flow),
              href: href("reach", data.entry, { after: flow.capability }),
            })),
          ],
        )
      : [],
};
