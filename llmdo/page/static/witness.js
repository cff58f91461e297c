// The way to a capability, step by step: the gate on each, the file and line that allow it, and the rules that decide.

import { h } from "./dom.js";
import { WORDS } from "./words.js";

const SENTENCES = {
  allowed: "Nothing stands on this path.",
  needs_approval: "Somebody is asked before this happens.",
  blocked: "This cannot happen.",
};

/** File and line, as a terminal or an editor takes them. */
export function place(at) {
  return at && h("span", { class: "place" }, at.line ? `${at.path}:${at.line}` : at.path);
}

function step(hop, number, path, row) {
  const last = number === path.length - 1;
  const tool = last && !row.delegation && row.tool !== hop.name ? ` (${row.tool})` : "";
  const gate = number || path.length === 1 ? hop.decision : null;
  return h(
    "li",
    { class: gate && gate },
    gate && h("span", { class: ["gate", gate] }, gate === "allowed" ? "no gate" : WORDS[gate].toLowerCase()),
    h("span", { class: "name" }, `${hop.name}${tool}${last && row.attachment ? " (attachment)" : ""}`),
    place(hop.at),
  );
}

/** The way to what a row is about. */
export function witness(data, row) {
  return [
    h(
      "header",
      {},
      h("h2", {}, h("code", {}, row.capability)),
      h("p", { class: ["verdict", row.decision] }, h("strong", {}, WORDS[row.decision]), ` ${SENTENCES[row.decision]}`),
    ),
    h(
      "ol",
      { class: "path" },
      h("li", { class: "start" }, h("span", { class: "name" }, data.entry), place(data.at)),
      row.path.map((hop, number) => step(hop, number, row.path, row)),
    ),
    h(
      "div",
      { class: "because" },
      h("h3", {}, row.decision === "blocked" ? "Why not" : "Because"),
      h("ul", {}, row.reasons.map((reason) => h("li", {}, h("span", {}, reason.text), " ", place(reason.at)))),
      row.assurance !== "enforced" && h("p", { class: "dim" }, ASSURANCES[row.assurance]),
    ),
  ];
}

const ASSURANCES = {
  declared: "Declared: its code says what it does, and llmdo does not look inside.",
  open: "Open: nothing limits what this can do.",
};
