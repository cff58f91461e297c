// One question: the exact call, all of it, why it asks and through whom, and the answers that it takes.

import { AGAIN, button, fact, pause } from "./actions.js";
import { post } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { href } from "./router.js";
import { withCode } from "./states.js";
import { difference, Folds, values } from "./values.js";

const DONE = {
  allow: "Allowed.",
  always: "Allowed until the run ends.",
  edit: "Changed. The call is decided on again, and asks again where the rules say so.",
  refuse: "Refused. Its model is told.",
  stop: "The run was ended. `llmdo resume` goes on with it.",
};

const GOES_ON = {
  here: "The run goes on.",
  itself: "The run goes on.",
  workers: "A worker of the fleet goes on with the run.",
  no: "The run goes on once nothing else of it waits.",
};

/** What came of an answer, in words. */
function sentenceOf(verb, goesOn) {
  return verb === "stop" ? DONE.stop : `${DONE[verb]} ${GOES_ON[goesOn]}`;
}

/** The card of a question. `onAnswered` is called once an answer is kept, `next` by whoever wants the next one. */
export function questionCard(question, context, { onAnswered, next }) {
  const folds = new Folds(() => drawActions());
  const actions = h("div", { class: "actions" });
  const notice = h("div", { class: "notice", role: "status" });
  let form = null;
  let isOver = false;
  let isSending = false;

  const send = async (verb, more = {}) => {
    if (isOver || isSending) return;
    if ((verb === "allow" || verb === "always") && (question.obstacle || folds.closed.size)) return;
    isSending = true;
    drawActions();
    try {
      const words = sentenceOf(verb, (await keep(verb, more)).goes_on);
      isOver = true;
      form = null;
      fill(notice, h("p", { class: "done" }, withCode(words)), h("button", { type: "button", class: "button", onclick: next }, "Next question"), " ", runLink("Look at the run"));
      context.announce(words);
      onAnswered();
      notice.querySelector("button").focus();
    } catch (error) {
      if (error.name === "AbortError") return;
      isOver = error.status === 409;
      const again = isOver && h("button", { type: "button", class: "button", onclick: () => context.refresh() }, "Look at what waits now");
      fill(notice, h("p", { class: "failed", role: "alert" }, error.message), error.hint && h("p", { class: "dim" }, withCode(error.hint)), again);
    } finally {
      isSending = false;
      drawActions();
    }
  };

  const keep = async (verb, more) => {
    const body = { run: question.run, path: question.path, digest: question.digest, verb, ...more };
    for (;;) {
      try {
        return await post("/api/answer", body, {}, context);
      } catch (error) {
        if (error.status !== 423) throw error;
        fill(notice, h("p", {}, "The run goes on with something else; your answer is given once it stops for its questions."));
        await pause(AGAIN, context.signal);
      }
    }
  };

  const runLink = (text) => h("a", { href: href("run", question.run, "call", question.path.split("/")) }, text);

  const drawActions = () => {
    const folded = folds.closed.size;
    const isShut = isOver || isSending;
    const allowing = question.obstacle
      ? h("p", { class: "obstacle" }, sentence(question.obstacle), ": ", h("code", {}, `llmdo approve ${question.run}`))
      : [
          button("Allow", "a", () => send("allow"), { class: "button primary", disabled: isShut || folded > 0 }),
          button("Allow until the run ends", "A", () => send("always"), { class: "button", disabled: isShut || folded > 0 }),
        ];
    const unfolding = folded > 0 && !isOver && h(
      "p",
      { class: "folded" },
      `${counted(folded, "part")} of this call ${folded === 1 ? "is" : "are"} folded. `,
      button("Unfold all", "u", () => folds.openAll(), { class: "button" }),
    );
    fill(
      actions,
      unfolding,
      h(
        "div",
        { class: "buttons" },
        allowing,
        button("Edit", "e", edit, { class: "button", disabled: isShut }),
        button("Refuse", "x", refuse, { class: "button", disabled: isShut }),
        button("Stop the run", "s", stop, { class: "button quiet", disabled: isShut }),
      ),
      form,
    );
  };

  // A key alone allows nothing: whoever types ahead has not read.
  const focusOn = (key) => actions.querySelector(`[aria-keyshortcuts="${key}"]:enabled`)?.focus();

  const show = (made, focus) => {
    if (isOver) return;
    form = made;
    drawActions();
    focus.focus();
  };
  const cancel = () => h("button", { type: "button", class: "button quiet", onclick: () => { form = null; drawActions(); } }, "Cancel");

  const edit = () => {
    const area = h("textarea", { id: "edited", spellcheck: "false", rows: "12", "aria-describedby": "edit-words" });
    area.value = asciiJson(question.given);
    const wrong = h("p", { class: "failed", role: "alert" });
    const submit = (event) => {
      event.preventDefault();
      const { instead, fault } = edited(area.value, question.given);
      wrong.textContent = fault ?? "";
      if (!fault) send("edit", { instead });
    };
    show(
      h(
        "form",
        { class: "answer-form", onsubmit: submit },
        h("label", { for: "edited" }, "The arguments, as JSON"),
        h("p", { id: "edit-words", class: "dim" }, "The changed call is a new one: what it raises is derived, the rules decide, and it asks again.", question.variables.length > 0 && " A name in brackets is text here, and does not stand for the secret any more."),
        area,
        wrong,
        h("div", { class: "buttons" }, h("button", { class: "button primary" }, "Have this decided"), cancel()),
      ),
      area,
    );
  };

  const refuse = () => {
    const input = h("input", { id: "reason", type: "text", autocomplete: "off", maxlength: "2000" });
    const submit = (event) => {
      event.preventDefault();
      send("refuse", { reason: input.value });
    };
    show(
      h(
        "form",
        { class: "answer-form", onsubmit: submit },
        h("label", { for: "reason" }, "Why not? The model is told"),
        input,
        h("div", { class: "buttons" }, h("button", { class: "button primary" }, "Refuse it"), cancel()),
      ),
      input,
    );
  };

  const stop = () => {
    const sure = h("button", { type: "button", class: "button primary", onclick: () => send("stop") }, "End the run");
    show(
      h("div", { class: "answer-form" }, h("p", {}, "Nothing of this call is done, and nothing goes on. Whoever resumes the run is asked again."), h("div", { class: "buttons" }, sure, cancel())),
      sure,
    );
  };

  context.addKeys([
    { group: "Question", keys: "u", words: "unfold all of the call", run: () => folds.openAll() },
    { group: "Question", keys: "a", words: "go to Allow; Enter allows", run: () => focusOn("a") },
    { group: "Question", keys: "A", words: "go to Allow until the run ends", run: () => focusOn("A") },
    { group: "Question", keys: "e", words: "edit it", run: edit },
    { group: "Question", keys: "x", words: "refuse it", run: refuse },
    { group: "Question", keys: "s", words: "stop the run", run: stop },
    { group: "Question", keys: "o", words: "look at its run", run: () => (location.hash = href("run", question.run, "call", question.path.split("/"))) },
  ]);
  const facts = callFacts(question, folds);
  drawActions();
  return h(
    "article",
    { class: "question", "aria-label": `Question of ${question.path}` },
    h("header", {}, h("h2", {}, h("code", {}, question.tool), ` of ${question.toolset}`), h("p", { class: "dim" }, `${question.entry} · ${question.status} · `, runLink(question.run))),
    facts,
    actions,
    notice,
  );
}

function callFacts(question, folds) {
  return [
    fact("Asked by", callers(question)),
    fact("Because", h("ul", { class: "sentences" }, question.reasons.map((each) => h("li", {}, withCode(each))))),
    fact("Call", values(question.arguments, folds)),
    fact("Values from", sources(question.provenance.values)),
    fact("Read before", readBefore(question.provenance)),
    fact("Meanwhile", h("ul", { class: "sentences" }, question.waits.map((each) => h("li", {}, each)))),
    question.variables.length > 0 &&
      fact("Secrets", h("p", {}, `The value of ${question.variables.join(", ")} is used where its name stands in brackets; it is kept nowhere.`)),
    question.change && fact("Change", difference(question.change, folds)),
    fact("Raises", h("ul", { class: "tags" }, question.capabilities.map((each) => h("li", { class: question.asking.includes(each) ? "needs_approval" : null }, h("code", {}, each))))),
    question.advice.length > 0 && fact("For good", h("ul", { class: "sentences dim" }, question.advice.map((each) => h("li", {}, withCode(each))))),
  ];
}

/** What has each value word for word; where it is not known, that is said. */
function sources(values) {
  if (!values.length) return h("p", { class: "dim" }, "no values");
  return h("ul", { class: "sentences" }, values.map((each) => h("li", {}, h("code", {}, each.name), `: ${each.from}`)));
}

function readBefore({ read, labels }) {
  const known = labels === null ? "Its labels are not known, as no flow rule looked at them." : `Labels: ${Object.keys(labels).join(", ") || "none"}.`;
  const tags = (each) => [...each.raised, ...each.labels.map((label) => `label ${label}`)];
  return [
    read.length ? h("ul", { class: "sentences" }, read.map((each) => h("li", {}, each.words, tags(each).length > 0 && h("span", { class: "dim" }, ` ${tags(each).join(", ")}`)))) : h("p", {}, "Nothing that the journal knows of."),
    h("p", { class: "dim" }, known),
  ];
}

function callers(question) {
  const last = question.path.slice(question.path.lastIndexOf("/") + 1);
  return h("p", { class: "way" }, [...question.callers.map(([path]) => path.slice(path.lastIndexOf("/") + 1)), last].join(" › "));
}

function sentence(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/** Arguments as a person edits them: in ASCII alone, where nothing can hide. */
function asciiJson(given) {
  return JSON.stringify(given, null, 2).replace(/[^\n -~]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function edited(text, before) {
  let instead;
  try {
    instead = JSON.parse(text);
  } catch (error) {
    return { fault: `This is not JSON: ${error.message}` };
  }
  if (instead === null || typeof instead !== "object" || Array.isArray(instead)) return { fault: "The arguments are a JSON object: {...}" };
  if (JSON.stringify(instead) === JSON.stringify(before)) return { fault: "Nothing was changed." };
  return { instead };
}
