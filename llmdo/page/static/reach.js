// What one entry can reach: the list of capabilities, and the way to the one that is chosen.

import { get } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { href } from "./router.js";
import { empty } from "./states.js";
import { witness } from "./witness.js";
import { WORDS } from "./words.js";

/** Whether a row is come by without any question, through somebody else: what nobody sees in one file. */
function isUngated(row) {
  return row.decision === "allowed" && row.through;
}

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
      { type: "button", class: ["row", row.decision], "data-capability": row.capability, onclick: () => onchoose(row) },
      h("code", { class: "capability" }, row.capability),
      isUngated(row) && h("span", { class: "flag" }, "no gate"),
      row.assurance !== "enforced" && h("span", { class: "assurance" }, row.assurance),
      h("span", { class: "way" }, way(row)),
    ),
  );
}

function way(row) {
  const tool = row.attachment ? " (attachment)" : row.tool === row.path.at(-1).name || row.delegation ? "" : ` (${row.tool})`;
  return row.path.map((hop) => hop.name).join(" › ") + tool;
}

function group(decision, rows, onchoose) {
  const inside = rows.filter((row) => row.decision === decision);
  if (!inside.length) return null;
  return h(
    "section",
    { class: "decided" },
    h("h2", { class: decision }, WORDS[decision], h("span", { class: "count" }, String(inside.length))),
    h("ul", {}, inside.map((row) => item(row, onchoose))),
  );
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
    const { rows } = data;
    const choose = (row) => context.go("reach", data.entry, { to: row.capability });
    const list = h("div", { class: "capabilities" }, Object.keys(WORDS).map((decision) => group(decision, rows, choose)));
    const told = h("section", { class: "witness", "aria-label": "The way to it" });
    const show = (query) => {
      const row = rows.find((each) => each.capability === query.to) ?? rows[0];
      for (const button of list.querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.dataset.capability === row?.capability));
      }
      fill(told, row && witness(data, row));
    };
    context.onQuery = show;
    const step = (by) => {
      const at = rows.findIndex((row) => row.capability === (context.query.to ?? rows[0]?.capability));
      const row = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
      if (row) choose(row);
    };
    context.addKeys([
      { group: "Reach", keys: "j", words: "next capability", run: () => step(1) },
      { group: "Reach", keys: "k", words: "capability before", run: () => step(-1) },
    ]);
    show(context.query);
    return h(
      "div",
      { class: "page reach" },
      h("header", { class: "heading" }, choice(data, context), h("p", { class: "lead" }, summary(data))),
      data.notes.map((note) => h("p", { class: "note" }, note)),
      rows.length ? h("div", { class: "columns" }, list, h("div", { class: "beside" }, told)) : empty("Nothing", "This entry raises no capability."),
    );
  },

  search: (context) =>
    context.parameters.entry
      ? get("/api/reach", { entry: context.parameters.entry }, context).then((data) =>
          data.rows.map((row) => ({
            kind: WORDS[row.decision].toLowerCase(),
            text: row.capability,
            more: way(row),
            href: href("reach", data.entry, { to: row.capability }),
          })),
        )
      : [],
};

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
