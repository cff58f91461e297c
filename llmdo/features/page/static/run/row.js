// One call of a run as a row of its tree.

import { money, seconds, tokens, toneOf, wordOf } from "../amounts.js";
import { h } from "../dom.js";
import { tookOf } from "../timeline.js";

const DEEPEST = 12; // levels that are set off
const LEVEL = 16; // px

/** The room before the name of a call. */
export function indent(depth) {
  const element = h("span", { class: "indent" });
  element.style.width = `${Math.min(depth, DEEPEST) * LEVEL}px`;
  return element;
}

/** The row of a call: `run` is that of the timeline, `place` its number and how many there are. */
export function callRow(node, run, { place, isFolded, isChosen, onchoose, onfold }) {
  const end = node.state === "running" || node.state === "waiting" ? run.ended : node.ended;
  const hasBelow = node.children.length > 0;
  return h(
    "div",
    {
      class: ["call", node.worker ? "is-worker" : "is-tool"],
      role: "treeitem",
      id: `call-${place.number}`,
      "aria-level": node.depth + 1,
      "aria-expanded": hasBelow ? String(!isFolded) : null,
      "aria-selected": String(isChosen),
      "aria-setsize": place.of,
      "aria-posinset": place.number + 1,
      onclick: (event) => (event.target.closest(".chevron") ? onfold() : onchoose()),
    },
    h(
      "span",
      { class: "call-name" },
      indent(node.depth),
      h("span", { class: "chevron", "aria-hidden": "true" }, hasBelow ? (isFolded ? "▸" : "▾") : ""),
      node.name,
      isFolded && h("span", { class: "dim" }, ` +${countBelow(node).toLocaleString("en")}`),
    ),
    h("span", { class: ["status", toneOf(node.state)] }, wordOf(node.state)),
    h("span", { class: "call-text" }, node.flags.map((word) => h("span", { class: "tag" }, word)), node.decided && h("span", { class: "tag" }, node.decided), node.text),
    h("span", { class: "number call-tokens" }, node.isMeasured ? tokens(node.input, node.output) : ""),
    h("span", { class: "number call-cost" }, money(node.cost)),
    h("span", { class: "number call-took" }, seconds(tookOf(node, end))),
    h("span", { class: "track", "aria-hidden": "true" }, bar(node, run, end)),
  );
}

/** When it was, within the time of the run. */
function bar(node, run, end) {
  const whole = Math.max(0.001, run.ended - run.began);
  const element = h("span", { class: ["bar", toneOf(node.state)] });
  element.style.left = `${(100 * Math.max(0, node.began - run.began)) / whole}%`;
  element.style.width = `${(100 * Math.max(0, end - node.began)) / whole}%`;
  return element;
}

function countBelow(node) {
  return node.children.reduce((sum, child) => sum + 1 + countBelow(child), 0);
}
