// What llmdo says of the project that is open: the findings with their lines, the switch, and what was left out.

import { get } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { blobAddress } from "./github.js";
import { href } from "./router.js";
import { session } from "./session.js";
import { withCode } from "./states.js";
import { dangerClass } from "./words.js";

const MOST_PLACES = 8; // of one finding that are listed at first

function placeOf(path, line) {
  const { repository } = session.source;
  const words = line ? `${path}:${line}` : path;
  if (repository) return h("a", { class: "place", href: blobAddress(repository, path, line), rel: "noreferrer" }, words);
  if (session.texts.has(path)) return h("a", { class: "place", href: href("files", path.split("/"), { line }) }, words);
  return h("span", { class: "place" }, words);
}

/** A place, with its lines once somebody opens it. */
function excerpt({ path, line, agent }) {
  const lines = h("pre", { tabindex: "0", "aria-label": `Lines of ${path}` });
  const shown = async () => {
    if (lines.childElementCount) return;
    try {
      const { first, lines: texts } = await get("/api/lines", { path, line: line ?? 1 });
      fill(lines, texts.map((text, number) => h("span", { class: ["line", first + number === line && "at"] }, `${String(first + number).padStart(4)}  ${text}\n`)));
    } catch (error) {
      fill(lines, error.message);
    }
  };
  const words = h("summary", {}, h("code", {}, line ? `${path}:${line}` : path), agent && h("span", { class: "dim" }, ` ${agent}`));
  return h("details", { ontoggle: (event) => event.target.open && shown() }, words, h("p", {}, placeOf(path, line)), lines);
}

function places(all) {
  const list = h("div", { class: "places" }, all.slice(0, MOST_PLACES).map(excerpt));
  if (all.length <= MOST_PLACES) return list;
  const more = h("button", { type: "button", class: "button", onclick: () => fill(list, all.map(excerpt)) }, `Show all ${all.length}`);
  return [list, more];
}

function cause(each, number) {
  return h(
    "li",
    { class: ["finding", each.severity], "data-code": each.code },
    h("p", { class: "message" }, h("span", { class: "number" }, `${number + 1}. `), withCode(each.message)),
    (each.ways ?? []).map((way) => h("p", { class: "way" }, withCode(way))),
    each.hint && h("p", { class: "hint" }, h("b", {}, "Change: "), withCode(each.hint)),
    h("p", { class: "dim" }, [each.code, each.name, each.severity, each.gate].filter(Boolean).join(" · ")),
    places(each.places ?? [{ path: each.path, line: each.line }]),
  );
}

/** The switch: what if effects after a stranger's words asked? */
function whatIf(context) {
  const turn = async ({ target }) => {
    await get("/api/switch", { asked: target.checked });
    session.isStrict = target.checked;
    context.refresh();
  };
  return h(
    "p",
    { class: "switch" },
    h("label", {}, h("input", { type: "checkbox", checked: session.isStrict, onchange: turn }), " What if every effect after a stranger's words asked?"),
    session.isStrict && h("span", { class: "dim" }, " Each agent's page shows which would: as under ", h("code", {}, 'preset = "strict"'), " in ", h("code", {}, "[flows]"), "."),
  );
}

function agents(context) {
  const { entries } = context.project;
  if (!entries.length) return null;
  const item = ({ name, danger, decisions, worst }) =>
    h("tr", {}, h("th", { scope: "row" }, h("a", { href: href("reach", name) }, name)), h("td", { class: ["number", decisions.allowed ? dangerClass(danger) : "zero"] }, String(decisions.allowed)), h("td", { class: "worst" }, worst.map((each) => h("code", { class: ["danger", dangerClass(each.danger)] }, each.capability))));
  return h(
    "section",
    {},
    h("h2", {}, "What each can do"),
    h("p", { class: "dim" }, "By design or not: what is here is true of the project, and no finding by itself."),
    h("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Agents" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Agent"), h("th", { scope: "col", class: "number" }, "Without a question"), h("th", { scope: "col" }, "The worst of it"))), h("tbody", {}, entries.toSorted((a, b) => a.place - b.place).slice(0, 200).map(item)))),
    entries.length > 200 && h("p", {}, h("a", { href: href("reach") }, `All ${entries.length}`)),
  );
}

/** Where it is from: the repository at its commit, or the name of what was opened. */
function origin() {
  const { title, repository } = session.source;
  if (!repository) return title;
  return [title, " at ", h("a", { href: `${blobAddress(repository, "", null).replace("/blob/", "/tree/")}`, rel: "noreferrer" }, repository.sha.slice(0, 12))];
}

/** The whole view. */
export function findingsOf(data, context) {
  const { headline = [], findings, read_from } = data;
  context.title = session.source.title;
  const close = () => {
    session.close();
    history.replaceState(null, "", `${location.pathname}#/`);
    context.refresh();
  };
  return h(
    "div",
    { class: "page findings" },
    h("h1", {}, origin()),
    headline.map((each) => h("p", { class: "lead" }, withCode(each))),
    read_from && h("p", { class: "dim" }, `Read from ${read_from}; not enforced by llmdo.`),
    session.leftOut.length > 0 && h("section", { class: "left-out", role: "note" }, h("h2", {}, "Left out"), h("ul", {}, session.leftOut.map((each) => h("li", {}, withCode(each))))),
    data.error && h("p", { class: "note" }, withCode(`The check is not whole: ${data.error.message}`), data.error.hint && [" ", withCode(data.error.hint)]),
    whatIf(context),
    h("section", {}, h("h2", {}, findings.length ? counted(findings.length, "finding") : "No finding"), h("ol", { class: "causes" }, findings.map(cause))),
    agents(context),
    more("Not read", data.unread, (each) => [withCode(each.message), places(each.places)]),
    more("A person is asked first", data.asked, (each) => withCode(each.message)),
    more("Run by clients themselves, whatever a model chooses", data.by_clients, byClient),
    more("Given by default", data.defaults, (each) => `${each.format} gives ${counted(each.agents, "agent")} what their files do not name.`),
    h("p", {}, h("button", { type: "button", class: "button", onclick: close }, "Open another project")),
  );
}

/** A part with a line for each; nothing where there is none. */
function more(title, items, words) {
  if (!items?.length) return null;
  return h("section", {}, h("h2", {}, title), h("ul", { class: "sentences" }, items.map((each) => h("li", {}, words(each)))));
}

function byClient({ agent, event, command, path, line }) {
  return [`${event} of `, h("code", {}, agent), ": ", h("code", {}, command), " ", placeOf(path, line)];
}
