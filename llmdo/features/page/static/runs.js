// All runs of the workspace, the last one first; two of them side by side.

import { moment, money, seconds, tokens, toneOf, wordOf } from "./amounts.js";
import { get, isFile } from "./client.js";
import { counted, h } from "./dom.js";
import { headingOf, itemLink } from "./item.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";

function row(run, chosen, onchoose) {
  const took = run.ended ? seconds((new Date(run.ended) - new Date(run.began)) / 1000) : "";
  const isChosen = chosen.includes(run.run);
  return h(
    "tr",
    {},
    !isFile && h("td", {}, h("input", { type: "checkbox", checked: isChosen, "aria-label": `compare ${run.run}`, onchange: (event) => onchoose(run.run, event.target.checked) })),
    h("th", { scope: "row" }, h("a", { href: href("run", run.run) }, run.title || moment(run.began)), h("span", { class: "below" }, run.item && [itemLink(run.item), " · "], run.title ? `${moment(run.began)} · ${run.run}` : run.run)),
    h("td", {}, run.entry, run.turn > 1 && h("span", { class: "below" }, `turn ${run.turn}`)),
    h("td", { class: ["status", toneOf(run.status)] }, wordOf(run.status)),
    h("td", { class: "number" }, took),
    h("td", { class: "number" }, run.requests.toLocaleString("en")),
    h("td", { class: "number" }, tokens(run.input_tokens, run.output_tokens) || "not measured"),
    h("td", { class: "number" }, money(run.cost_usd) || "no price"),
    h("td", {}, run.questions > 0 && questions(run), run.error && h("span", { class: "excerpt" }, run.error)),
  );
}

function questions(run) {
  const words = counted(run.questions, "question");
  return isFile ? words : h("a", { href: href("inbox") }, words);
}

function filters(data, context) {
  const entries = [...new Set([...context.project.entries.map((entry) => entry.name), ...data.runs.map((run) => run.entry)])];
  const states = ["running", "waiting", "completed", "truncated", "failed", "cancelled", "interrupted", "stopped"];
  const choice = (name, label, values) =>
    h(
      "label",
      {},
      h("span", { class: "dim" }, `${label} `),
      h(
        "select",
        { name, onchange: (event) => context.go("runs", { ...context.query, [name]: event.target.value }) },
        h("option", { value: "" }, "all"),
        values.map((value) => h("option", { value, selected: context.query[name] === value }, value)),
      ),
    );
  const search = h("input", {
    type: "search",
    name: "where",
    value: context.query.where ?? "",
    placeholder: "cost > 0.1 and title ~ refund",
    "aria-label": "Search runs: a text, or conditions",
    onchange: (event) => context.go("runs", { ...context.query, where: event.target.value.trim() }),
  });
  return h("div", { class: "filters" }, search, choice("entry", "Entry", entries), choice("status", "State", states));
}

/** The runs that are asked for; of a search that makes no sense none, and why. */
async function load(context) {
  const { entry, status, where } = context.query;
  try {
    return await get("/api/runs", { entry, status, where }, context);
  } catch (error) {
    if (!where || error.status !== 422) throw error;
    return { runs: [], most: null, notes: [], fault: error };
  }
}

export const runs = {
  name: "runs",
  title: "Runs",
  key: "u",
  routes: ["runs"],
  needs: "/api/runs",
  isOffered: (project) => !project?.read_from,
  load,

  render(data, context) {
    context.onQuery = () => context.refresh();
    let chosen = [];
    const compare = h("button", { type: "button", class: "button", disabled: true, onclick: () => context.go("compare", ...chosen.toReversed()) }, "Compare two");
    const onchoose = (run, isIn) => {
      chosen = isIn ? [...chosen, run] : chosen.filter((each) => each !== run);
      compare.disabled = chosen.length !== 2;
    };
    const heads = [...(isFile ? [] : [""]), "Run", "Entry", "State", "Took", "Requests", "Tokens", "Cost", ""];
    const isNumber = new Set(["Took", "Requests", "Tokens", "Cost"]);
    const isFiltered = context.query.entry || context.query.status || context.query.where;
    return h(
      "div",
      { class: "page" },
      h("header", { class: "heading" }, h("h1", {}, "Runs"), !isFile && [filters(data, context), compare]),
      data.fault && h("p", { class: "note", role: "alert" }, withCode(data.fault.message), data.fault.hint && [" ", withCode(data.fault.hint)]),
      data.notes.map((note) => h("p", { class: "note" }, note)),
      data.most && h("p", { class: "lead" }, `The last ${data.most.toLocaleString("en")}; \`llmdo runs list --limit 0\` lists all.`),
      data.runs.length
        ? h(
            "div",
            { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Runs" },
            h(
              "table",
              { class: "runs" },
              h("thead", {}, h("tr", {}, heads.map((head) => (head ? h("th", { scope: "col", class: isNumber.has(head) ? "number" : null }, head) : h("td", {}))))),
              h("tbody", {}, data.runs.map((run) => row(run, chosen, onchoose))),
            ),
          )
        : !data.fault && empty(isFiltered ? "No such run" : "No run yet", isFiltered ? "Another entry, state or search may have some." : "`llmdo run ENTRY` makes one, and each is kept."),
    );
  },

  search: async (context) =>
    context.project.read_from
      ? []
      : (await get("/api/runs", {}, context)).runs.map((run) => ({
          kind: "run",
          text: headingOf({ ...run, title: run.title || run.run }),
          more: `${run.title ? `${run.run}, ` : ""}${run.entry}, ${run.status}, ${moment(run.began)}`,
          href: href("run", run.run),
        })),
};
