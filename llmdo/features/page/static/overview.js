// All entries of a project, the worst first, each with what it can reach at its worst; and a filter.

import { counted, fill, h } from "./dom.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";
import { dangerClass, ROW_WORDS, WORDS } from "./words.js";

/** The decisions that have a column: all, and what is not known where there is such a thing. */
function columns(entries) {
  const isUnknown = entries.some((entry) => entry.decisions.unknown);
  return Object.keys(isUnknown ? ROW_WORDS : WORDS);
}

function row(entry, decisions) {
  const dangers = { allowed: entry.danger, needs_approval: "medium", unknown: "medium", blocked: "none" };
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: href("reach", entry.name) }, entry.name)),
    h("td", { class: "number" }, entry.workers.toLocaleString("en")),
    decisions.map((decision) => [decision, entry.decisions[decision] ?? 0]).map(([decision, number]) => h("td", { class: ["number", number ? dangerClass(dangers[decision]) : "zero"] }, number.toLocaleString("en"))),
    h("td", { class: "worst" }, entry.worst.map((each) => h("a", { href: href("reach", entry.name, { to: each.capability }) }, h("code", { class: ["danger", dangerClass(each.danger)] }, each.capability)))),
  );
}

/** Where a worker is to be seen: in the graph of an entry that comes to it. */
function seen(entry, worker) {
  return entry ? href("reach", entry, { at: worker }) : href("reach");
}

const VERBS = { reaches: ["allowed", "needs_approval"], unasked: ["allowed"] };

/** Whether a capability is another one, is below it, or is a scope of it. */
function isWithin(capability, other) {
  return capability === other || [".", ":", " "].some((sign) => capability.startsWith(other + sign));
}

/** A test of entries by a text such as `reaches proc.exec`, `unasked fs.write`, or parts of a name. */
function wanted(text) {
  const words = text.trim().split(/\s+/).filter(Boolean);
  const tests = [];
  while (words.length) {
    const word = words.shift();
    const decisions = Object.hasOwn(VERBS, word) ? VERBS[word] : null;
    if (!decisions) tests.push((entry) => entry.name.toLowerCase().includes(word.toLowerCase()));
    else if (words.length) {
      const capability = words.shift();
      tests.push((entry) => decisions.some((decision) => entry.reaches[decision].some((each) => isWithin(each, capability))));
    }
  }
  return (entry) => tests.every((test) => test(entry));
}

/** What can be put into the filter: what any entry reaches, by its name and by those above it. */
function suggestions(entries) {
  const names = new Set();
  for (const { reaches } of entries) {
    for (const capability of Object.values(reaches).flat()) {
      const labels = capability.split(/[: ]/)[0].split(".");
      for (let number = 1; number <= labels.length; number += 1) names.add(labels.slice(0, number).join("."));
    }
  }
  return h("datalist", { id: "reached" }, [...names].sort().flatMap((name) => Object.keys(VERBS).map((verb) => h("option", { value: `${verb} ${name}` }))));
}

function table(entries) {
  const decisions = columns(entries);
  return h(
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
          decisions.map((decision) => h("th", { scope: "col", class: "number" }, ROW_WORDS[decision])),
          h("th", { scope: "col" }, "The worst without a question"),
        ),
      ),
      h("tbody", {}, entries.map((entry) => row(entry, decisions))),
    ),
  );
}

export const overview = {
  name: "overview",
  title: "Entries",
  home: "reach",
  key: "e",
  routes: ["reach"],

  render(_data, context) {
    const { entries, workers, notes } = context.project;
    const remarks = notes.map((note) => h("p", { class: "note" }, withCode(note)));
    if (!entries.length) return [h("div", { class: "page" }, remarks), noEntry()];
    const ordered = entries.toSorted((a, b) => a.place - b.place);
    const lead = h("p", { class: "lead", role: "status" });
    const place = h("div", {});
    const field = h("input", { id: "filter", type: "search", list: "reached", value: context.query.filter ?? "", placeholder: "reaches proc.exec", spellcheck: "false", autocomplete: "off" });
    const draw = () => {
      const shown = ordered.filter(wanted(field.value));
      const counts = `${counted(entries.length, "entry", "entries")}, ${counted(workers.length, "worker")}`;
      lead.textContent = shown.length < entries.length ? `${shown.length.toLocaleString("en")} of ${counts}.` : `${counts}.`;
      fill(place, shown.length ? table(shown) : h("p", { class: "note" }, "No entry is like that. ", h("code", {}, "reaches proc.exec"), " are those that may run a command, asked or not, ", h("code", {}, "unasked proc.exec"), " those where nobody is asked."));
    };
    const keep = () => {
      history.replaceState(null, "", href("reach", { filter: field.value.trim() })); // what is typed leaves no trail of steps back
      draw();
    };
    field.addEventListener("input", keep);
    context.onQuery = ({ filter = "" }) => {
      if (filter !== field.value.trim()) field.value = filter;
      draw();
    };
    context.addKeys([{ group: "Entries", keys: "f", words: "filter", run: () => field.focus() }]);
    draw();
    return h(
      "div",
      { class: "page" },
      h("header", { class: "heading" }, h("h1", {}, "What can be reached"), h("div", { class: "filters" }, h("label", { class: "dim", for: "filter" }, "Filter"), field, suggestions(entries))),
      lead,
      remarks,
      place,
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

/** How there comes to be an entry. */
export function noEntry() {
  return empty("No entry yet", withCode("Set `entry: true` in a worker's header, or add `[entries.NAME]` to `llmdo.toml`."));
}
