// One call of a run, or one request to a model, as a row of its tree and a bar of its waterfall.

import { money, seconds, tokens, toneOf, wordOf } from "../amounts.js";
import { h } from "../dom.js";

const DEEPEST = 12; // levels that are set off
const LEVEL = 16; // px

/** The room before the name of a call. */
export function indent(depth) {
  const element = h("span", { class: "indent" });
  element.style.width = `${Math.min(depth, DEEPEST) * LEVEL}px`;
  return element;
}

/** The row of a call or a request; `place` is its number and how many there are, `isFlat` without the calls around it. */
export function callRow(node, timeline, { place, isFolded, isChosen, isFlat, onchoose, onfold }) {
  const hasBelow = node.parts.length > 0 && !isFlat;
  const lasting = timeline.lasting(node);
  return h(
    "div",
    {
      class: ["call", node.isRequest ? "is-request" : node.worker ? "is-worker" : "is-tool"],
      role: "treeitem",
      id: `call-${place.number}`,
      "aria-level": isFlat ? 1 : node.depth + 1,
      "aria-expanded": hasBelow ? String(!isFolded) : null,
      "aria-selected": String(isChosen),
      "aria-setsize": place.of,
      "aria-posinset": place.number + 1,
      onclick: (event) => (event.target.closest(".chevron") ? onfold() : onchoose()),
    },
    h(
      "span",
      { class: "call-name" },
      !isFlat && [indent(node.depth), h("span", { class: "chevron", "aria-hidden": "true" }, hasBelow ? (isFolded ? "▸" : "▾") : "")],
      isFlat && node.above && h("span", { class: "dim" }, `${node.above.path}/`),
      node.name,
      isFolded && h("span", { class: "dim" }, ` +${countBelow(node).toLocaleString("en")}`),
    ),
    h("span", { class: ["status", toneOf(node.state)] }, wordOf(node.state)),
    h("span", { class: "call-text" }, node.flags.map((word) => h("span", { class: "tag" }, word)), node.decided && h("span", { class: "tag" }, node.decided), node.text),
    h("span", { class: "number call-tokens" }, node.isMeasured ? tokens(node.input, node.output) : node.isRequest && node.state === "success" ? "not measured" : ""),
    h("span", { class: "number call-cost" }, money(node.cost)),
    h("span", { class: "number call-took" }, seconds(lasting.took)),
    h("span", { class: "track" }, h("span", { class: "unseen" }, `from ${seconds(lasting.began)} on`), bars(node, lasting, timeline.clock(timeline.run.ended))),
  );
}

/** When it was, within the time of the run; the time in which it waited for a person is set apart. */
function bars(node, { began, end, waits }, whole) {
  const bar = (from, to, className) => {
    const element = h("span", { class: ["bar", className], "aria-hidden": "true" });
    element.style.left = `${(100 * from) / Math.max(0.001, whole)}%`;
    element.style.width = `${(100 * Math.max(0, to - from)) / Math.max(0.001, whole)}%`;
    return element;
  };
  return [bar(began, end, toneOf(node.state)), waits.map(({ from, to }) => bar(from, to, "wait"))];
}

function countBelow(node) {
  return node.parts.reduce((sum, part) => sum + 1 + countBelow(part), 0);
}
