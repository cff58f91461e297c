// All entries of a project, each with what it can reach at its gravest.

import { counted, h } from "./dom.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";
import { ROW_WORDS, WORDS } from "./words.js";

/** The decisions that have a column: all, and what is not known where there is such a thing. */
function columns(entries) {
  const isUnknown = entries.some((entry) => entry.decisions.unknown);
  return Object.keys(isUnknown ? ROW_WORDS : WORDS);
}

function row(entry, decisions) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: href("reach", entry.name) }, entry.name)),
    h("td", { class: "number" }, entry.workers.toLocaleString("en")),
    decisions.map((decision) => [decision, entry.decisions[decision] ?? 0]).map(([decision, number]) => h("td", { class: ["number", number ? decision : "zero"] }, number.toLocaleString("en"))),
    h("td", { class: "gravest" }, entry.gravest.map((each) => h("code", {}, each))),
  );
}

/** Where a worker is to be seen: in the graph of an entry that comes to it. */
function seen(entry, worker) {
  return entry ? href("reach", entry, { at: worker }) : "#/";
}

export const overview = {
  name: "overview",
  title: "Entries",
  home: "",
  key: "e",
  routes: ["", "reach"],

  render(_data, context) {
    const { entries, workers, notes } = context.project;
    if (!entries.length) {
      return [
        h("div", { class: "page" }, notes.map((note) => h("p", { class: "note" }, withCode(note)))),
        empty("No entry yet", withCode("Set `entry: true` in a worker's header, or add `[entries.NAME]` to `llmdo.toml`.")),
      ];
    }
    return h(
      "div",
      { class: "page" },
      h("h1", {}, "What can be reached"),
      h("p", { class: "lead" }, `${counted(entries.length, "entry", "entries")}, ${counted(workers.length, "worker")}.`),
      notes.map((note) => h("p", { class: "note" }, withCode(note))),
      h(
        "div",
        { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Entries" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "Entry"),
              h("th", { scope: "col", class: "number" }, "Workers"),
              columns(entries).map((decision) => h("th", { scope: "col", class: "number" }, ROW_WORDS[decision])),
              h("th", { scope: "col" }, "The gravest without a question"),
            ),
          ),
          h("tbody", {}, entries.map((entry) => row(entry, columns(entries)))),
        ),
      ),
    );
  },

  search(context) {
    const { entries, workers, toolsets } = context.project;
    return [
      ...entries.map((entry) => ({ kind: "entry", text: entry.name, href: href("reach", entry.name) })),
      ...workers.map(({ name, path, entry }) => ({ kind: "worker", text: name, more: path, href: seen(entry, name) })),
      ...toolsets.map(({ name, worker, entry }) => ({
        kind: "toolset",
        text: name,
        more: `used by ${worker}`,
        href: seen(entry, worker),
      })),
    ];
  },
};
