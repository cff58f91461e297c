// Starting a run: an entry, its input, and what it may do; it asks its questions in the inbox.

import { get, post } from "./client.js";
import { fill, h } from "./dom.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";
import { dangerClass } from "./words.js";

const AGAIN = 300; // ms until a run that was started is looked for again

/** The part of the form for an input of text, or of JSON where its fields are not known. */
function textInput(entry, given) {
  const words = entry.model ? `The input as JSON, for ${entry.model}` : entry.tool ? `The arguments of ${entry.tool} as JSON` : "The input";
  const area = h("textarea", { id: "input", rows: "8", spellcheck: "false", placeholder: entry.input === null ? "" : `Left empty: ${entry.input}` });
  area.value = given ?? "";
  const value = () => (area.value.trim() === "" ? undefined : area.value);
  return { node: [h("label", { for: "input" }, words), area], value, first: area };
}

const BLANK = Symbol("blank");

/** What a field holds, as a value of JSON. */
function valueOf(field, text) {
  const kind = field.type.replace(/ \| None$/, "");
  if (kind === "str") return text === "" && !field.is_required ? BLANK : text;
  if (text.trim() === "") return field.is_required ? fault(field, "is missing") : BLANK;
  if (kind === "int" || kind === "float") return Number.isFinite(Number(text)) ? Number(text) : fault(field, "is no number");
  try {
    return JSON.parse(text);
  } catch (error) {
    return fault(field, `is not JSON: ${error.message}`);
  }
}

function fault(field, words) {
  throw new Error(`\`${field.name}\` ${words}`);
}

/** The value before, as a person edits it. */
function textOf(field, value) {
  if (value === undefined || value === null) return "";
  return field.type.replace(/ \| None$/, "") === "str" && typeof value === "string" ? value : JSON.stringify(value);
}

/** A field of the form for each of a model, which its file states. */
function fieldsInput(entry, given) {
  let before = {};
  try {
    before = JSON.parse(given ?? entry.input ?? "{}") ?? {};
  } catch {
    // what it was given before was no JSON
  }
  const inputs = entry.fields.map((field) => {
    const isText = field.type.replace(/ \| None$/, "") === "str";
    const input = h(isText ? "textarea" : "input", { id: `field-${field.name}`, rows: isText ? "2" : null, spellcheck: "false", autocomplete: "off" });
    input.value = textOf(field, Object.hasOwn(before, field.name) ? before[field.name] : field.default);
    return { field, input };
  });
  const value = () => JSON.stringify(Object.fromEntries(inputs.map(({ field, input }) => [field.name, valueOf(field, input.value)]).filter(([, each]) => each !== BLANK)));
  const node = inputs.map(({ field, input }) => [h("label", { for: input.id }, field.name, " ", h("span", { class: "dim" }, field.type, field.is_required ? "" : ", may be left empty")), input]);
  return { node, value, first: inputs[0]?.input };
}

/** What the entry may do with nobody asked, before it is started. */
function worst(name, context) {
  const line = context.project.entries.find((each) => each.name === name);
  if (!line) return null;
  const unasked = line.worst.map((each) => h("code", { class: ["danger", dangerClass(each.danger)] }, each.capability));
  return h(
    "p",
    { class: "dim worst" },
    unasked.length ? ["Without a question it may: ", unasked.flatMap((each, number) => [number ? ", " : "", each]), ". "] : "It may do nothing without a question. ",
    h("a", { href: href("reach", name) }, "All that it reaches"),
  );
}

/** The form for one entry; `earlier` is the run whose input it begins with, or that it goes on from. */
function formOf(entry, before, continues, context) {
  const isOfIt = before?.entry === entry.name && !continues;
  const given = isOfIt ? before.input : undefined;
  const input = entry.fields?.length ? fieldsInput(entry, given) : textInput(entry, given);
  const notice = h("div", { class: "notice", role: "status" });
  const button = h("button", { class: "button primary" }, continues ? "Go on" : "Start the run");
  const fail = (error) => {
    if (error.name === "AbortError") return;
    button.disabled = false;
    fill(notice, h("p", { class: "failed", role: "alert" }, withCode(error.message)), error.hint && h("p", { class: "dim" }, withCode(error.hint)));
  };
  const submit = async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    try {
      const text = input.value();
      const body = { entry: entry.name, ...(text !== undefined && { input: text }), ...(continues && { continues }) };
      const { run } = await post("/api/start", body, {}, context);
      fill(notice, h("p", {}, "It is being started …"));
      await whenBegun(run, context);
      context.go("run", run);
    } catch (error) {
      fail(error);
    }
  };
  const left = isOfIt && before.attachments.length > 0 && h("p", { class: "note" }, `What was attached is not attached again: ${before.attachments.join(", ")}.`);
  return h("form", { class: "answer-form", onsubmit: submit }, entry.description && h("p", {}, entry.description), worst(entry.name, context), left, input.node, h("div", { class: "buttons" }, button), notice);
}

/** Returns once the run has begun. */
async function whenBegun(run, context) {
  for (;;) {
    const { has_begun: hasBegun, fault: why } = await get("/api/started", { run }, context);
    if (hasBegun) return;
    if (why) throw new Error(why);
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    context.signal.throwIfAborted();
  }
}

export const start = {
  name: "start",
  title: "Start",
  key: "n",
  routes: ["start", "start/:entry"],
  needs: "/api/startable",
  isOffered: (project) => !project?.read_from,
  load: (context) => get("/api/startable", { run: context.query.again ?? context.query.continues }, context),

  render({ entries, before }, context) {
    const { continues } = context.query;
    context.onQuery = () => context.refresh();
    if (!entries.length) return empty("Nothing here can be started", withCode("Set `entry: true` in a worker's header, or add `[entries.NAME]` to `llmdo.toml`."));
    const wanted = context.parameters.entry ?? before?.entry;
    const entry = wanted ? entries.find((each) => each.name === wanted) : entries[0];
    if (!entry) throw Object.assign(new Error(`there is no entry \`${wanted}\` that llmdo runs`), { status: 404, hint: entries.map((each) => each.name).join(", ") });
    if (continues && !entry.goes_on) throw Object.assign(new Error(`\`${entry.name}\` takes no words, so nothing more can be said to it`), { status: 409, hint: "run it again with another input" });
    const choice = h("select", { id: "entry", disabled: Boolean(continues), onchange: (event) => context.go("start", event.target.value) }, entries.map((each) => h("option", { value: each.name, selected: each === entry }, each.name)));
    const link = before && h("a", { class: "mono", href: href("run", before.run) }, before.run);
    const lead = continues ? ["It goes on from ", link, ", with what was said in it."] : before ? ["With the input of ", link, ", to be changed."] : "It runs as llmdo run does, behind the same rules; its questions wait in the inbox.";
    context.title = `start ${entry.name}`;
    return h("div", { class: "page start" }, h("header", { class: "heading" }, h("h1", {}, h("label", { for: "entry" }, continues ? "Go on with" : "Start")), choice), h("p", { class: "lead" }, lead), formOf(entry, before, continues, context));
  },
};
