// Runs over time: cost and tokens by day, entry, worker and model; decisions by rule; the slowest and dearest calls.

import { money, seconds } from "./amounts.js";
import { get } from "./client.js";
import { counted, h } from "./dom.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";
import { WORDS } from "./words.js";

const BY = { day: "Day", entry: "Entry", worker: "Worker", model: "Model" };
const SINCE = { "1d": "a day", "7d": "a week", "30d": "a month", "365d": "a year" };

function choice(name, label, values, chosen, context) {
  return h(
    "label",
    {},
    h("span", { class: "dim" }, `${label} `),
    h("select", { name, onchange: (event) => context.go("totals", { ...context.query, [name]: event.target.value }) }, Object.entries(values).map(([value, words]) => h("option", { value, selected: value === chosen }, words))),
  );
}

function bar(amount, most) {
  if (!most) return null;
  const inner = h("span", {});
  inner.style.width = `${(100 * amount) / most}%`;
  return h("span", { class: "amount-bar", "aria-hidden": "true" }, inner);
}

function table(by, totals) {
  const amounts = totals.map((total) => Number(total.cost_usd ?? 0) || (total.input_tokens ?? 0) + (total.output_tokens ?? 0));
  const most = Math.max(...amounts, 0);
  const number = (value) => h("td", { class: "number" }, value === null ? "–" : value.toLocaleString("en"));
  const unknown = (missing) => missing > 0 && h("span", { class: "below" }, `unknown of ${missing.toLocaleString("en")}`);
  const heads = [BY[by], "Runs", "Requests", "Tokens sent", "Tokens received", "Cost", "", "Took", "Failures", "Questions"];
  return h(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": `By ${by}` },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, heads.map((head, place) => (head ? h("th", { scope: "col", class: place ? "number" : null }, head) : h("td", {}))))),
      h(
        "tbody",
        {},
        totals.map((total, place) =>
          h(
            "tr",
            {},
            h("th", { scope: "row", class: "mono" }, total.name),
            number(total.runs),
            number(total.requests),
            h("td", { class: "number" }, total.input_tokens === null ? "unknown" : total.input_tokens.toLocaleString("en"), total.input_tokens !== null && unknown(total.unmeasured)),
            h("td", { class: "number" }, total.output_tokens === null ? "unknown" : total.output_tokens.toLocaleString("en")),
            h("td", { class: "number" }, total.cost_usd === null ? "unknown" : money(total.cost_usd), total.cost_usd !== null && unknown(total.unpriced)),
            h("td", { class: "wide" }, bar(amounts[place], most)),
            h("td", { class: "number" }, seconds(total.seconds)),
            number(total.failures),
            number(total.questions),
          ),
        ),
      ),
    ),
  );
}

function decisions(lines) {
  const most = Math.max(...lines.map((line) => line.allowed + line.denied), 0);
  return h(
    "section",
    { class: "block" },
    h("h2", {}, "Decisions by rule"),
    h(
      "div",
      { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Decisions by rule" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Because"), h("th", { scope: "col" }, "The rules say"), h("th", { scope: "col", class: "number" }, "Allowed"), h("th", { scope: "col", class: "number" }, "Denied"), h("td", {}))),
        h(
          "tbody",
          {},
          lines.map((line) =>
            h(
              "tr",
              {},
              h("td", { class: "reason" }, withCode(line.reason)),
              h("td", {}, WORDS[line.decision].toLowerCase()),
              h("td", { class: "number" }, line.allowed.toLocaleString("en")),
              h("td", { class: "number" }, line.denied.toLocaleString("en")),
              h("td", { class: "wide" }, bar(line.allowed + line.denied, most)),
            ),
          ),
        ),
      ),
    ),
  );
}

function calls(title, list, amount, none) {
  return h(
    "section",
    { class: "block" },
    h("h2", {}, title),
    list.length
      ? h("ol", { class: "notable" }, list.map((call) => h("li", {}, h("span", { class: "number" }, amount(call)), h("a", { class: "mono", href: href("run", call.run, "call", call.path.split("/")) }, call.path), h("span", { class: "below" }, call.run))))
      : h("p", { class: "dim" }, none),
  );
}

export const totals = {
  name: "totals",
  title: "Over time",
  key: "t",
  routes: ["totals"],
  needs: "/api/totals",
  isOffered: (project) => !project?.read_from,

  load: async (context) => {
    const { by = "day", since = "30d" } = context.query;
    const [used, notable] = await Promise.all([get("/api/totals", { by, since }, context), get("/api/notable", { since }, context)]);
    return { by, since, used, notable };
  },

  render({ by, since, used, notable }, context) {
    context.onQuery = () => context.refresh();
    const notes = [...new Set([...used.notes, ...notable.notes])];
    return h(
      "div",
      { class: "page" },
      h("header", { class: "heading" }, h("h1", {}, "Over time"), h("div", { class: "filters" }, choice("by", "By", BY, by, context), choice("since", "Since", SINCE, since, context))),
      h("p", { class: "lead" }, `${counted(notable.runs, "run")} that began in ${SINCE[since] ?? since}.`),
      notes.map((note) => h("p", { class: "note" }, note)),
      used.totals.length
        ? [
            table(by, used.totals),
            decisions(notable.decisions),
            h("div", { class: "halves" }, calls("Slowest calls of tools", notable.slowest, (call) => seconds(call.seconds), "No tool was called."), calls("Dearest calls of workers", notable.dearest, (call) => money(call.cost_usd), "No request has a price.")),
          ]
        : empty("No run in this time", "Choose a longer time, or run something."),
    );
  },
};
