// Runs over time as charts: cost and tokens by day, entry, worker and model; decisions by rule; the slowest and dearest calls.

import { money, seconds } from "./amounts.js";
import { chart, legend, shares, spansOf } from "./chart.js";
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
  const heads = [BY[by], "Runs", "Requests", "Tokens sent", "Tokens received", "Cost", "", "Took", "Failures", "Questions", "Refusals"];
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
            number(total.refusals),
          ),
        ),
      ),
    ),
  );
}

const NO_PRICE = "no price";
const CHARTS = [
  { title: "Runs", of: (total) => total.runs },
  { title: "Cost", of: (total) => Number(total.cost_usd ?? 0), words: money },
  { title: "Questions", of: (total) => total.questions },
  { title: "Refusals", of: (total) => total.refusals },
];

/** What each day or week had of each entry; one without any run is there as well. */
function spansWith({ days, first }) {
  const last = new Date().toISOString().slice(0, 10);
  return spansOf(first, days.reduce((latest, { day }) => (day > latest ? day : latest), last)).map((span) => ({ ...span, entries: days.filter(({ day }) => day >= span.from && day <= span.to).flatMap((each) => each.entries) }));
}

function charts(spans) {
  const every = spans.flatMap((span) => span.entries);
  const sum = (of) => every.reduce((whole, total) => whole + of(total), 0);
  const places = shares(new Set(every.map((total) => total.name)), (name) => sum((total) => (total.name === name ? total.runs : 0)));
  const unpriced = sum((total) => total.unpriced);
  const isUnpriced = (span) => span.entries.some((total) => total.unpriced > 0);
  const drawn = CHARTS.map(({ title, of, words }) => {
    const isCost = title === "Cost";
    if (isCost && unpriced && unpriced === sum((total) => total.requests)) return h("figure", { class: "chart" }, h("figcaption", {}, h("span", { class: "strong" }, title), " ", h("span", { class: "dim" }, NO_PRICE)), h("p", { class: "dim" }, "The price of no request is known, so that nothing can be drawn."));
    const bars = spans.map((span) => ({ parts: span.entries.map((total) => ({ name: total.name, amount: of(total) })), unknown: isCost && isUnpriced(span) }));
    return chart(title, spans, bars, places, words ?? ((amount) => amount.toLocaleString("en")), isCost && unpriced ? `${counted(unpriced, "request")} without a price` : null);
  });
  return h("section", { class: "block charts-block", "aria-label": "Charts" }, legend(places), h("div", { class: "charts" }, drawn), asTable(spans));
}

function cost(total) {
  if (total.cost_usd === null) return NO_PRICE;
  return money(total.cost_usd) + (total.unpriced ? ` and ${counted(total.unpriced, "request")} without a price` : "");
}

/** The amounts of the charts in words: a row for each span and entry, and one of zeros where nothing ran. */
function asTable(spans) {
  const isOfDays = spans[0].from === spans[0].to;
  const cells = (total) => [h("td", {}, total.name), [total.runs, cost(total), total.questions, total.refusals].map((value) => h("td", { class: "number" }, value.toLocaleString("en")))];
  const nothing = { name: "no run", runs: 0, cost_usd: 0, unpriced: 0, questions: 0, refusals: 0 };
  const rows = spans.flatMap((span) => [...merged(span.entries).values(), ...(span.entries.length ? [] : [nothing])].map((total) => h("tr", {}, h("th", { scope: "row", class: "mono" }, span.name), cells(total))));
  return h(
    "details",
    {},
    h("summary", {}, `The charts as a table, by ${isOfDays ? "day" : "week"} in UTC`),
    h(
      "div",
      { class: "scrolls", tabindex: "0", role: "region", "aria-label": "The charts as a table" },
      h("table", { class: "chart-table" }, h("thead", {}, h("tr", {}, [isOfDays ? "Day" : "Week", "Entry", "Runs", "Cost", "Questions", "Refusals"].map((head, place) => h("th", { scope: "col", class: place > 1 && "number" }, head)))), h("tbody", {}, rows)),
    ),
  );
}

/** The totals of a week by entry. */
function merged(entries) {
  const known = new Map();
  for (const total of entries) {
    const before = known.get(total.name);
    known.set(total.name, before ? together(before, total) : total);
  }
  return known;
}

function together(before, total) {
  const summed = Object.fromEntries(["runs", "questions", "refusals", "unpriced"].map((key) => [key, before[key] + total[key]]));
  const isKnown = before.cost_usd !== null || total.cost_usd !== null;
  return { name: total.name, ...summed, cost_usd: isKnown ? Number(before.cost_usd ?? 0) + Number(total.cost_usd ?? 0) : null };
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
    const [used, notable, days] = await Promise.all([get("/api/totals", { by, since }, context), get("/api/notable", { since }, context), get("/api/days", { since }, context)]);
    return { by, since, used, notable, days };
  },

  render({ by, since, used, notable, days }, context) {
    context.onQuery = () => context.refresh();
    const notes = [...new Set([...used.notes, ...notable.notes, ...days.notes])];
    return h(
      "div",
      { class: "page" },
      h("header", { class: "heading" }, h("h1", {}, "Over time"), h("div", { class: "filters" }, choice("by", "By", BY, by, context), choice("since", "Since", SINCE, since, context))),
      h("p", { class: "lead" }, `${counted(notable.runs, "run")} that began in ${SINCE[since] ?? since}.`),
      notes.map((note) => h("p", { class: "note" }, note)),
      used.totals.length
        ? [
            charts(spansWith(days)),
            table(by, used.totals),
            decisions(notable.decisions),
            h("div", { class: "halves" }, calls("Slowest calls of tools", notable.slowest, (call) => seconds(call.seconds), "No tool was called."), calls("Dearest calls of workers", notable.dearest, (call) => money(call.cost_usd), "No request has a price.")),
          ]
        : empty("No run in this time", "Choose a longer time, or run something."),
    );
  },
};
