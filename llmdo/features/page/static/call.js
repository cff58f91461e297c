// One call of a run in full: what it was given, what was decided and by whom, what came of it; what its model was shown.

import { money, moment, seconds, tokens, wordOf } from "./amounts.js";
import { isFile } from "./client.js";
import { h, lines } from "./dom.js";
import { href } from "./router.js";
import { withCode } from "./states.js";
import { Folds, value, values } from "./values.js";
import { WORDS } from "./words.js";

/** The pane of a call; `messages` are those of its requests, where it has some. */
export function callPane(run, call, messages) {
  const folds = new Folds();
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
    messages && h("section", { "aria-label": "Messages" }, messages),
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
  const tone = decided.allowed ? null : decided.changed ? "needs_approval" : "blocked";
  return [
    fact(number ? `Call ${number}` : "Call", h("p", { class: "dim" }, h("code", {}, decided.tool), ` of ${decided.toolset}, called by ${decided.worker || "code"}`), values(decided.arguments, folds)),
    fact(
      "Decided",
      h("p", {}, h("strong", { class: ["verdict-word", tone] }, word), ` by ${decided.by}; the rules say `, h("span", { class: "verdict-word" }, WORDS[decided.decision].toLowerCase())),
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
