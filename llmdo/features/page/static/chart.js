// Amounts over time, as bars that entries share, and the same as a table.

import { counted, h, s } from "./dom.js";

const MOST_NAMES = 5; // that have a colour of their own
const MOST_BARS = 92; // of more days a bar is a week
const HEIGHT = 100;
const DAY = 86400000; // ms

/** The spans that are drawn, without a gap: each a day, or a week where there are many. */
export function spansOf(first, last) {
  const days = Math.round((Date.parse(last) - Date.parse(first)) / DAY) + 1;
  const length = days > MOST_BARS ? 7 : 1;
  return Array.from({ length: Math.ceil(days / length) }, (_, number) => {
    const at = (day) => new Date(Date.parse(first) + day * DAY).toISOString().slice(0, 10);
    const [from, to] = [number * length, Math.min(days, (number + 1) * length) - 1];
    return { from: at(from), to: at(to), name: from === to ? at(from) : `${at(from)} to ${at(to)}` };
  });
}

/** Names by how much there is of each, the most first; those after the fifth share a place. */
export function shares(names, amountOf) {
  const sorted = [...names].sort((a, b) => amountOf(b) - amountOf(a) || (a < b ? -1 : 1));
  return new Map(sorted.map((name, place) => [name, sorted.length > MOST_NAMES + 1 ? Math.min(place, MOST_NAMES) : place]));
}

/** The colours of the names. */
export function legend(places) {
  const others = [...places.values()].filter((place) => place === MOST_NAMES).length;
  const shown = [...places].filter(([, place]) => place < MOST_NAMES || others === 1);
  const item = (place, ...words) => h("li", {}, h("span", { class: ["swatch", `series-${place}`], "aria-hidden": "true" }), words);
  return h("ul", { class: "chart-legend" }, shown.map(([name, place]) => item(place, h("span", { class: "mono" }, name))), others > 1 && item(MOST_NAMES, counted(others, "other entry", "other entries")));
}

/**
 * One chart: `bars` has for each span what each name has of it, `[{name, amount}]`, and in `unknown` whether some of it
 * is not known; `words` says an amount.
 */
export function chart(title, spans, bars, places, words, note) {
  const sums = bars.map(({ parts }) => parts.reduce((sum, part) => sum + part.amount, 0));
  const most = Math.max(...sums, 0);
  const whole = sums.reduce((sum, each) => sum + each, 0);
  const top = sums.indexOf(most);
  const summary = `${title}: ${words(whole)} in all${most ? `, most of it ${spans[top].name}: ${words(most)}` : ""}${note ? `; ${note}` : ""}`;
  const drawn = bars.flatMap(({ parts, unknown }, number) => {
    let height = 0;
    const sorted = [...parts].sort((a, b) => places.get(a.name) - places.get(b.name));
    const rects = sorted.filter((part) => part.amount).map((part) => {
      const own = (HEIGHT * part.amount) / most;
      height += own;
      return s("rect", { class: `series-${places.get(part.name)}`, x: number + 0.1, y: HEIGHT - height, width: 0.8, height: own }, s("title", {}, `${spans[number].name}, ${part.name}: ${words(part.amount)}`));
    });
    return unknown ? [...rects, s("rect", { class: "unknown", x: number + 0.1, y: HEIGHT - height - 6, width: 0.8, height: 6 }, s("title", {}, `${spans[number].name}: some of it is not known`))] : rects;
  });
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, h("span", { class: "strong" }, title), " ", h("span", { class: "dim" }, words(whole)), note && h("span", { class: "below" }, note)),
    h("div", { class: "chart-area" }, h("span", { class: "most" }, most ? words(most) : ""), s("svg", { viewBox: `0 -8 ${spans.length} ${HEIGHT + 8}`, preserveAspectRatio: "none", role: "img", "aria-label": summary }, drawn)),
    h("p", { class: "ends" }, h("span", {}, spans[0].from), h("span", {}, spans.at(-1).to)),
  );
}
