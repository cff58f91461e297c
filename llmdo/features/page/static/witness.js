// The way to a capability, step by step: the gate on each, the file and line that allow it, and the rules that decide.

import { h } from "./dom.js";
import { href } from "./router.js";
import { withCode } from "./states.js";
import { AFTER_STRANGERS, dangerClass, LEGS, ROW_WORDS, stepDanger, WORDS } from "./words.js";

const SENTENCES = {
  allowed: "Nobody is asked on the way.",
  needs_approval: "A person is asked before it happens.",
  blocked: "It cannot happen.",
  unknown: "What its tools do is seen once llmdo lock has imported or asked it.",
};

/** Whether a row is come by without any question, through somebody else: what nobody sees in one file. */
export function isUngated(row) {
  return row.decision === "allowed" && row.through;
}

/** A path in one line, with the tool at its end. */
export function way(row) {
  return row.path.map((hop, number) => named(hop, number === row.path.length - 1 && row)).join(" › ");
}

/** The name of a step; of the last one of a row with the tool that is called there. */
function named(hop, row) {
  if (!row) return hop.name;
  if (row.decision === "unknown") return `${hop.name} (not known)`;
  if (row.attachment) return `${hop.name} (attachment)`;
  const isNamed = row.delegation || row.tool === hop.name || ["*", "(start)"].includes(row.tool);
  return isNamed ? hop.name : `${hop.name} (${row.tool})`;
}

/** File and line, as a terminal or an editor takes them. */
export function place(at) {
  return at && h("span", { class: "place" }, at.line ? `${at.path}:${at.line}` : at.path);
}

/** What stands at a place, as a line of its file. */
export function sourceLine(at, sign = "") {
  return at?.text && h("code", { class: "line" }, sign && h("span", { class: "sign" }, `${sign} `), at.text);
}

function step(hop, number, row, isUngated) {
  const isLast = number === row.path.length - 1;
  const gate = number || row.path.length === 1 ? hop.decision : null; // an entry starts its worker without a call
  return h(
    "li",
    { class: gate && [gate, dangerClass(stepDanger(gate, row))] },
    h("span", { class: "name" }, named(hop, isLast && row)),
    gate && h("span", { class: isUngated ? "flag" : "gate" }, gate === "allowed" ? "no gate" : WORDS[gate].toLowerCase()),
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
      h("p", { class: ["verdict", dangerClass(row.danger)] }, h("strong", {}, ROW_WORDS[row.decision]), ` ${SENTENCES[row.decision]}`),
    ),
    h(
      "ol",
      { class: "path" },
      h("li", { class: "start" }, h("span", { class: "name" }, data.entry), place(data.at)),
      row.path.map((hop, number) => step(hop, number, row, isUngated(row))),
    ),
    h(
      "div",
      { class: "because" },
      h("h3", {}, row.decision === "blocked" ? "Why not" : "Why"),
      h("ul", {}, row.reasons.map((reason) => h("li", {}, withCode(reason.text), " ", place(reason.at) ?? h("span", { class: "dim" }, reason.by)))),
      row.assurance !== "enforced" && h("p", { class: "dim" }, ASSURANCES[row.assurance]),
    ),
    afterStrangers(data.after?.find((each) => each.capability === row.capability), data),
  ];
}

/** Both legs of the way to what may be done after a stranger's words. */
export function followUpWitness(data, flow) {
  return [h("header", {}, h("h2", {}, h("code", {}, flow.capability))), afterStrangers(flow, data)];
}

/** Both legs in one line, as `llmdo reach` has them. */
export function legs(flow) {
  const leg = (hops, tool) => hops.map((hop, number) => called(hop, number === hops.length - 1 && tool)).join(" › ");
  return `${leg(flow.source, flow.tools[0]) || "the input"} ⇒ ${leg(flow.path, flow.tools[1])}`;
}

/** The name of a step of a leg, at its end with the tool that is called there. */
function called(hop, tool) {
  return tool && ![hop.name, "*", "(start)"].includes(tool) ? `${hop.name} (${tool})` : hop.name;
}

const AFTER = {
  allowed: "Nobody is asked then.",
  needs_approval: "A person is asked then.",
  blocked: "It cannot happen then.",
};

/** What holds once a stranger's words were read: the way in, and the way on. */
function afterStrangers(flow, data) {
  if (!flow) return null;
  return h(
    "div",
    { class: "after" },
    h("h3", {}, h("a", { href: href("reach", data.entry, { after: flow.capability }) }, AFTER_STRANGERS)),
    h("p", { class: ["verdict", dangerClass(flow.danger)] }, h("strong", {}, ROW_WORDS[flow.decision]), ` ${AFTER[flow.decision]}`),
    leg("in", flow.source, flow.tools[0], data),
    leg("out", flow.path, flow.tools[1], data),
    h("ul", {}, flow.reasons.map((reason) => h("li", {}, withCode(reason.text), " ", place(reason.at)))),
  );
}

function leg(name, hops, tool, data) {
  const steps = hops.length ? hops : [{ name: `the input of ${data.entry}`, at: data.at }];
  return h(
    "div",
    { class: "leg" },
    h("p", { class: "dim" }, h("strong", {}, name), `, ${LEGS[name]}`),
    h(
      "ol",
      { class: "path" },
      steps.map((hop, number) =>
        h("li", {}, h("span", { class: "name" }, called(hop, number === hops.length - 1 && tool)), place(hop.at)),
      ),
    ),
  );
}

const ASSURANCES = {
  declared: "Declared: its code says what it does, and llmdo does not look inside.",
  open: "Open: nothing limits what this can do.",
  unknown: "Nobody has seen yet what these tools declare.",
};
