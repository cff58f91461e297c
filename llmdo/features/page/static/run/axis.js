// What stands above the calls of a run: the names of their columns, and the time that all bars share.

import { h } from "../dom.js";

const MOST = 4; // ticks
const COLUMNS = [["Call"], ["State"], ["", "call-text"], ["Tokens", "number call-tokens"], ["Cost", "number call-cost"], ["Took", "number call-took"]];
const LONG_STEPS = [60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400]; // seconds

/** The columns with ticks of `whole` seconds, a line where the run stood, and how far two ticks are apart, as a share. */
export function axis(whole, pauses) {
  const step = between(whole);
  const at = (seconds, properties, text) => {
    const element = h("span", properties, text);
    element.style.left = `${(100 * seconds) / Math.max(0.001, whole)}%`;
    return element;
  };
  const ticks = Array.from({ length: Math.ceil((0.95 * whole) / step) }, (_, number) => at(number * step, { class: "tick" }, label(number * step, step)));
  const stood = pauses.map((seconds) => at(seconds, { class: "pause", title: "no process worked on the run here" }));
  return {
    element: h("div", { class: "calls-head", "aria-hidden": "true" }, COLUMNS.map(([name, className]) => h("span", { class: className }, name)), h("span", { class: "axis" }, ticks, stood)),
    share: whole ? step / whole : 1,
  };
}

/** The seconds between two ticks: 1, 2 or 5 of a power of ten, or a round number of minutes or hours. */
function between(whole) {
  const least = Math.max(0.001, whole / MOST);
  if (least > 20) return LONG_STEPS.find((each) => each >= least) ?? 86400 * Math.ceil(least / 86400);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((each) => each * power >= least * 0.999);
}

function label(seconds, step) {
  if (!seconds) return "0 s";
  if (step >= 3600) return `${Number((seconds / 3600).toFixed(1))} h`;
  if (step >= 60) return `${seconds / 60} min`;
  return `${seconds.toFixed(step < 0.01 ? 3 : step < 0.1 ? 2 : step < 1 ? 1 : 0)} s`;
}
