// One call of a run in full: what it was given, what was decided and by whom, what came of it; what its model was shown.

import { money, moment, seconds, tokens, wordOf } from "./amounts.js";
import { get, isFile } from "./client.js";
import { fill, h, lines } from "./dom.js";
import { href } from "./router.js";
import { failing, withCode } from "./states.js";
import { Folds, value, values } from "./values.js";
import { WORDS } from "./words.js";

/** The pane of a call. */
export function callPane(run, call, context) {
  const folds = new Folds();
  const messages = h("div", {});
  return h(
    "article",
    { class: "call-pane", "aria-label": call.path },
    h("h2", {}, h("code", {}, call.path)),
    h("p", { class: "dim" }, facts(call)),
    call.input && fact("Given", value(call.input, folds)),
    call.decisions.map((each, number) => decision(each, call.decisions.length > 1 ? number + 1 : null, folds)),
    !call.decisions.length && undecided(run, call, folds),
    call.answers.length > 0 && fact("Answered", h("ul", { class: "sentences" }, call.answers.map((each) => h("li", {}, answer(each))))),
    call.probes.length > 0 && fact("Probe", h("ul", { class: "sentences" }, call.probes.map((each) => h("li", {}, withCode(each))))),
    call.attempts.length > 0 && fact("Failed requests", h("ul", { class: "sentences" }, call.attempts.map((each) => h("li", {}, `${each.model}: ${each.error}. ${each.message}`)))),
    call.result && fact(call.result.name === "error" ? "Error" : "Result", value(call.result, folds), call.hint && h("p", { class: "dim" }, withCode(call.hint))),
    call.frames.length > 0 && fact("Frames", h("ol", { class: "frames" }, call.frames.map(frame))),
    call.requests > 0 && fact("Messages", h("button", { type: "button", class: "button", onclick: () => showRequests(run, call, messages, context) }, `What its model was shown, ${call.requests === 1 ? "1 request" : `${call.requests} requests`}`), messages),
  );
}

function facts(call) {
  return [
    wordOf(call.outcome) || "not ended",
    moment(call.began),
    `took ${seconds(call.ended - call.began - call.waited)}`,
    call.waited ? `waited ${seconds(call.waited)} for a person` : null,
    call.requests ? `tokens ${tokens(call.input_tokens, call.output_tokens) || "not measured"}` : null,
    call.cost_usd ? money(call.cost_usd) : null,
    call.models.join(", "),
  ]
    .filter(Boolean)
    .join(" · ");
}

function fact(title, ...content) {
  return h("section", { class: "fact" }, h("h3", {}, title), h("div", {}, content));
}

function decision(decided, number, folds) {
  const word = decided.allowed ? "Allowed" : decided.changed ? "Changed" : "Denied";
  const tone = decided.allowed ? "allowed" : decided.changed ? "needs_approval" : "blocked";
  return [
    fact(number ? `Call ${number}` : "Call", h("p", { class: "dim" }, h("code", {}, decided.tool), ` of ${decided.toolset}, called by ${decided.worker || "code"}`), values(decided.arguments, folds)),
    fact(
      "Decided",
      h("p", {}, h("strong", { class: ["verdict-word", tone] }, word), ` by ${decided.by}; the rules say `, h("span", { class: ["verdict-word", decided.decision] }, WORDS[decided.decision].toLowerCase())),
      h("ul", { class: "sentences" }, decided.why.map((each) => h("li", {}, withCode(each)))),
      h("ul", { class: "tags" }, decided.raised.map((each) => h("li", {}, h("code", {}, each)))),
      decided.changed && [h("p", { class: "dim" }, "Wanted instead:"), values(decided.changed, folds)],
      decided.refusal && h("p", {}, h("span", { class: "dim" }, "Its model was told: "), decided.refusal),
    ),
  ];
}

function undecided(run, call, folds) {
  if (call.question) {
    const only = call.question.terminal_only ? ", which only a person at a terminal may give" : "";
    return [
      fact("Call", values(call.question.arguments, folds)),
      fact("Waits", h("p", {}, `It waits for an answer${only}`, isFile ? "." : [": ", h("a", { href: href("inbox", run, call.path.split("/")) }, "look at the question")]), h("ul", { class: "sentences" }, call.question.reasons.map((each) => h("li", {}, withCode(each))))),
    ];
  }
  return call.written ? fact("Call", h("p", { class: "dim" }, "Nothing was decided about it."), values(call.written, folds)) : null;
}

function answer(given) {
  const verb = given.edited ? "changed" : given.allowed ? "allowed" : "refused";
  const more = [given.lasts && "until the run ends", given.at_terminal && "at a terminal"].filter(Boolean);
  return [`${verb} by ${given.by}`, ...more].join(", ") + (given.reason ? `: ${given.reason}` : "");
}

function frame(at) {
  return h("li", {}, h("span", { class: "place" }, `${at.path}:${at.line} in ${at.function}`), at.source && lines(at.source));
}

async function showRequests(run, call, place, context) {
  fill(place, h("p", { class: "dim", role: "status" }, "Loading…"));
  try {
    const { requests } = await get("/api/run/requests", { run, path: call.path }, context);
    fill(place, requests.map((each) => request(run, each)));
  } catch (error) {
    if (error.name !== "AbortError") fill(place, failing(error, () => showRequests(run, call, place, context)));
  }
}

const KINDS = { "user-prompt": "Input", "tool-return": "Result", "retry-prompt": "Correction", text: "Text", "tool-call": "Call", thinking: "Thinking", "system-prompt": "Instructions" };

function request(run, shown) {
  const folds = new Folds();
  return h(
    "section",
    { class: "request" },
    h("h3", {}, `Request ${shown.number} to ${shown.model}`),
    shown.after && h("p", { class: "dim" }, `After ${shown.after}.`),
    shown.instructions ? value(shown.instructions, folds) : h("p", { class: "dim" }, "Instructions: the journal has their digest alone."),
    shown.tools ? tools(shown.tools, folds) : h("p", { class: "dim" }, "Tools: not in the journal."),
    shown.given.map((each) => part(run, "Given", each, folds)),
    shown.answered.map((each) => part(run, "Answered", each, folds)),
  );
}

function tools(list, folds) {
  return h(
    "details",
    {},
    h("summary", {}, `Tools: ${list.map((tool) => tool.name).join(", ") || "none"}`),
    list.map((tool) => value(tool.definition, folds)),
  );
}

function part(run, verb, each, folds) {
  const title = [verb, KINDS[each.kind] ?? each.kind, each.tool].filter(Boolean).join(" · ");
  return h(
    "div",
    { class: ["part", verb === "Answered" && "is-answer"] },
    h("p", { class: "part-title" }, each.call ? h("a", { href: href("run", run, "call", each.call.split("/")) }, title) : title),
    each.value ? value(each.value, folds) : h("p", { class: "dim" }, "The journal has its digest alone."),
  );
}
