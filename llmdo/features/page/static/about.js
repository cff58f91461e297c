// What one worker may do within the tree of an entry: what it uses, what that raises, and whom it calls.

import { h } from "./dom.js";
import { href } from "./router.js";
import { place } from "./witness.js";
import { dangerClass, worstOf, WORDS } from "./words.js";

function decided(raised) {
  return Object.entries(raised).map(([decision, dangers]) =>
    h(
      "p",
      { class: "raised" },
      h("span", { class: ["gate", decision, dangerClass(worstOf(Object.values(dangers)))] }, WORDS[decision].toLowerCase()),
      Object.keys(dangers).map((each) => h("code", {}, each)),
    ),
  );
}

function use(data, each) {
  const name = each.kind === "worker" ? h("a", { href: href("reach", data.entry, { at: each.name }) }, each.name) : each.name;
  return h(
    "li",
    {},
    h("p", {}, h("span", { class: "name" }, name), " ", h("span", { class: "dim" }, each.kind)),
    Object.keys(each.raised).length ? decided(each.raised) : h("p", { class: "dim" }, "raises nothing"),
  );
}

/** What a worker of an entry may do. */
export function about(data, worker) {
  return [
    h(
      "header",
      {},
      h("h2", {}, h("span", { class: "name" }, worker.name)),
      place({ path: worker.path }),
      worker.description && h("p", { class: "dim" }, worker.description),
    ),
    h("ul", { class: "uses" }, worker.uses.length ? worker.uses.map((each) => use(data, each)) : h("li", {}, "It uses nothing.")),
  ];
}
