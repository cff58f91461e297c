// Two runs side by side: their calls by path, and where they differ.

import { money, moment, seconds, tokens, toneOf, wordOf } from "./amounts.js";
import { get } from "./client.js";
import { counted, h } from "./dom.js";
import { href } from "./router.js";
import { happened } from "./run/growth.js";
import { indent } from "./run/row.js";
import { Timeline } from "./timeline.js";
import { VirtualList } from "./virtual.js";

const ROW = 30; // px

async function whole(run, context) {
  const timeline = new Timeline();
  for await (const growth of happened(run, context)) timeline.add(growth.events, growth.position);
  return timeline.toEnd();
}

/** The calls of both, in the order of the first; what only the second has stands where it has it. */
function together(first, second) {
  const rows = [];
  const add = (left, right, depth) => {
    const paths = [];
    const mine = new Map(left.map((node) => [node.path, node]));
    const theirs = new Map(right.map((node) => [node.path, node]));
    for (const node of left) paths.push(node.path);
    for (const [at, node] of right.entries()) {
      if (mine.has(node.path)) continue;
      const before = right.slice(0, at).findLast((each) => paths.includes(each.path));
      paths.splice(before ? paths.indexOf(before.path) + 1 : 0, 0, node.path);
    }
    for (const path of paths) {
      const [a, b] = [mine.get(path) ?? null, theirs.get(path) ?? null];
      rows.push({ path, name: (a ?? b).name, depth, a, b });
      add(a?.children ?? [], b?.children ?? [], depth + 1);
    }
  };
  add(first.roots, second.roots, 0);
  return rows;
}

function differs({ a, b }) {
  if (!a || !b) return true;
  return a.state !== b.state || a.text !== b.text || a.decided !== b.decided || a.requests !== b.requests || a.flags.join() !== b.flags.join();
}

function cell(node, run, timeline) {
  if (!node) return h("span", { class: "side none" }, "not called");
  return h(
    "a",
    { class: "side", href: href("run", run, "call", node.path.split("/")) },
    h("span", { class: ["status", toneOf(node.state)] }, wordOf(node.state)),
    h("span", { class: "call-text" }, node.decided && h("span", { class: "tag" }, node.decided), node.text),
    h("span", { class: "number" }, node.isMeasured ? tokens(node.input, node.output) : ""),
    h("span", { class: "number" }, money(node.cost)),
    h("span", { class: "number" }, seconds(timeline.lasting(node).took)),
  );
}

function summary(run, timeline) {
  const { used } = timeline;
  return h(
    "div",
    { class: "side-head" },
    h("a", { class: "mono", href: href("run", run.run) }, run.run),
    h("span", { class: ["status", toneOf(run.status)] }, wordOf(run.status)),
    h("span", { class: "dim" }, `${run.entry}, ${moment(run.began)}, ${seconds(timeline.run.ended - timeline.run.began)}, ${counted(used.requests, "request")}${used.priced ? `, ${money(used.cost)}` : ""}`),
  );
}

export const compare = {
  name: "compare",
  title: "Two runs",
  below: "runs",
  inNavigation: false,
  needs: "/api/run/events",
  routes: ["compare/:a/:b"],

  load: async (context) => {
    const { a, b } = context.parameters;
    const about = await Promise.all([get("/api/run", { run: a }, context), get("/api/run", { run: b }, context)]);
    const timelines = await Promise.all(about.map(({ run }) => whole(run.run, context)));
    return { runs: about.map(({ run }) => run), timelines };
  },

  render({ runs, timelines }, context) {
    const rows = together(...timelines);
    const odd = rows.map((row, number) => (differs(row) ? number : -1)).filter((number) => number >= 0);
    let at = -1;
    const draw = (number) => {
      const row = rows[number];
      return h(
        "div",
        { class: ["pair", differs(row) && "differs", number === at && "is-at"], role: "listitem" },
        h("span", { class: "call-name" }, indent(row.depth), differs(row) && [h("span", { class: "sign", "aria-hidden": "true" }, "≠ "), h("span", { class: "unseen" }, "differs: ")], row.name),
        cell(row.a, runs[0].run, timelines[0]),
        cell(row.b, runs[1].run, timelines[1]),
      );
    };
    const list = new VirtualList({ height: ROW, draw, properties: { class: "virtual pairs", role: "list", "aria-label": "Calls of both" } });
    const to = (number) => {
      if (number === undefined) return context.announce("no other call differs");
      at = number;
      list.reveal(number);
      return context.announce(rows[number].path);
    };
    context.title = "two runs";
    context.onShown = () => list.update(rows.length);
    context.onLeave(() => list.end());
    context.addKeys([
      { group: "Two runs", keys: "n, j", words: "next call that differs", run: () => to(odd.find((number) => number > at)) },
      { group: "Two runs", keys: "p, k", words: "call before that differs", run: () => to(odd.findLast((number) => number < at)) },
    ]);
    return h(
      "div",
      { class: "page run-page compare-page" },
      h("header", { class: "heading" }, h("h1", {}, "Two runs"), h("p", { class: "lead" }, odd.length ? `${counted(odd.length, "call")} of ${rows.length.toLocaleString("en")} differ.` : `All ${rows.length.toLocaleString("en")} calls came to the same.`)),
      h("div", { class: "pair pair-head" }, h("span", { class: "dim" }, "Call"), summary(runs[0], timelines[0]), summary(runs[1], timelines[1])),
      h("div", { class: "items-place" }, list.element),
    );
  },
};
