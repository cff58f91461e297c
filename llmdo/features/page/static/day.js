// The first view: what waits, what failed last, what changed in reach since the lock, and the worst that nobody is asked about.

import { ago, moment } from "./amounts.js";
import { get, heldOf, isFile } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { headingOf } from "./item.js";
import { lookAgain } from "./looking.js";
import { noEntry } from "./overview.js";
import { href } from "./router.js";
import { withCode } from "./states.js";
import { dangerClass } from "./words.js";

const ANEW = 30_000; // ms until the parts are read again: they take a reading of the project and of many journals
const MOST = 6; // entries

/** A part of the day: a heading that leads to its view, and what is in it. */
function part(name, title, link, ...content) {
  const id = `day-${name}`;
  return h(
    "section",
    { class: ["day-part", id], "aria-labelledby": id },
    h("header", {}, h("h2", { id }, title), link),
    content,
  );
}

const quiet = (...words) => h("p", { class: "dim" }, words);

/** That a part could not be had, and why. */
function failure({ error, hint }) {
  return h("p", { class: "note" }, withCode(error), hint && [" ", h("span", { class: "dim" }, withCode(hint))]);
}

function waiting(data) {
  if (data.error) return part("waiting", "Waits", null, failure(data));
  const all = data.number > 0 && h("a", { href: href("inbox") }, counted(data.number, "question"));
  const list = data.oldest.map((item) =>
    h(
      "li",
      {},
      h("a", { class: "row", href: href("inbox", item.run, item.path.split("/")) }, h("span", { class: "mono strong" }, item.tool), h("span", { class: "size" }, ago(item.asked)), h("span", { class: "way" }, [headingOf(item), item.callers.map(([, worker]) => worker).join(" › ")].filter(Boolean).join(" · "))),
    ),
  );
  return part("waiting", "Waits", all, list.length ? h("ul", {}, list) : quiet("Nothing waits for an answer."), remarks(data));
}

function failed(data) {
  if (data.error) return part("failed", "Failed last", null, failure(data));
  const list = data.runs.map((run) =>
    h(
      "li",
      {},
      h("a", { class: "row", href: href("run", run.run) }, h("span", { class: "strong" }, run.title || run.entry), h("span", { class: "size" }, moment(run.began)), h("span", { class: "way" }, run.error ?? `${run.status} without saying why`)),
    ),
  );
  const words = data.of > 1 ? `None of the last ${counted(data.of, "run")} failed.` : data.of ? "The only run did not fail." : "There is no run yet.";
  const all = data.number > 0 && h("a", { href: href("runs", { status: "failed" }) }, `${data.number.toLocaleString("en")} of the last ${counted(data.of, "run")}`);
  return part("failed", "Failed last", all, list.length ? h("ul", {}, list) : quiet(words), remarks(data));
}

const SIGNS = { widens: "+", unknown: "?", narrows: "−", none: "~" };
const VERDICTS = { widened: "WIDENED", unknown: "not known", narrowed: "narrowed", changed: "changed, not in what entries can do" };

function changed(data) {
  const title = data.before === "HEAD" ? "Changed since the last commit" : "Changed since the lock";
  if (data.error) return part("changed", "Changed", null, failure(data));
  if (!data.has_baseline) {
    const how = data.before === "HEAD" ? "Nothing of it is in the last commit." : "There is no `llmdo.lock`: run `llmdo lock`, and commit it.";
    return part("changed", title, null, quiet(withCode(how)));
  }
  if (data.verdict === "same") return part("changed", title, null, quiet("Nothing: entries can do what they could."), remarks(data));
  const all = h("a", { href: href("diff", `${data.before}..worktree`) }, data.number > data.rows.length ? `All ${data.number.toLocaleString("en")}` : "Look at it");
  const lines = data.rows.map((row) =>
    h("li", { class: row.effect }, h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[row.effect]), " ", h("a", { href: href("diff", `${data.before}..worktree`, { entry: row.entry, to: row.capability }) }, h("code", {}, row.capability)), ` of ${row.entry}: ${row.words}`),
  );
  const facts = data.facts.map((each) => h("li", { class: each.effect }, h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[each.effect]), " ", withCode(each.words)));
  const words = VERDICTS[data.verdict] + (data.verdict === "widened" && data.accepted ? ", all of it accepted" : "");
  return part("changed", title, all, h("p", { class: ["verdict-word", data.verdict] }, words), h("ul", { class: "facts" }, lines, facts), remarks(data));
}

function remarks(data) {
  return data.notes.map((note) => h("p", { class: "note" }, withCode(note)));
}

/** What entries can do at their worst with nobody asked; those that only read are counted. */
function worst(entries) {
  const ordered = entries.toSorted((a, b) => a.place - b.place);
  const grave = ordered.filter((entry) => ["high", "medium"].includes(entry.danger));
  const list = grave.slice(0, MOST).map((entry) => {
    const [first] = entry.worst;
    return h(
      "li",
      {},
      h(
        "a",
        { class: ["row", dangerClass(first.danger)], href: href("reach", entry.name, { to: first.capability }) },
        h("span", { class: "strong" }, entry.name),
        h("code", { class: ["danger", dangerClass(first.danger)] }, first.capability),
        h("span", { class: "way" }, first.way),
      ),
    );
  });
  const rest = entries.length - grave.length;
  const words = [grave.length > list.length && `${grave.length - list.length} more.`, rest > 0 && `${counted(rest, "entry", "entries")} without a question only ${rest === 1 ? "reads" : "read"}, or ${rest === 1 ? "does" : "do"} nothing.`];
  return part("worst", "Worst without a question", h("a", { href: href("reach") }, counted(entries.length, "entry", "entries")), list.length > 0 && h("ul", {}, list), quiet(words.filter(Boolean).join(" ")));
}

/** What a file holds of the day: the run and the changes that were put into it. */
function held() {
  const [run] = heldOf("/api/run");
  const [sides] = heldOf("/api/diff");
  return [
    run && part("run", "Run", null, h("p", {}, h("a", { class: "mono", href: href("run", run.run) }, run.run))),
    sides && part("changed", "Changes", null, h("p", {}, h("a", { href: href("diff", `${sides.before}..${sides.after}`) }, `${sides.before}..${sides.after}`))),
  ];
}

export const day = {
  name: "day",
  title: "Today",
  home: "",
  key: "d",
  routes: [""],

  render(_data, context) {
    const { entries, name, notes } = context.project;
    const parts = h("div", { class: "day-parts" }, isFile && held());
    const reach = entries.length ? worst(entries) : part("worst", "Worst without a question", null, noEntry());
    const draw = (data) => fill(parts, data.waiting && waiting(data.waiting), data.failed && failed(data.failed), changed(data.changed), reach);
    if (isFile) parts.append(reach);
    else {
      fill(parts, h("p", { class: "dim", role: "status" }, "Looking at runs and the lock …"), reach);
      let drawn = null;
      const look = async () => {
        const data = await get("/api/day", {}, context);
        const text = JSON.stringify(data);
        if (text !== drawn) draw(data); // else whoever is on a link would lose it
        drawn = text;
      };
      const fail = (error) => fill(parts, failure({ error: error.message, hint: error.hint }), reach);
      context.onShown = () => look().catch((error) => error.name !== "AbortError" && fail(error));
      lookAgain(context, ANEW, look, fail);
    }
    return h("div", { class: "page day" }, h("h1", {}, name), notes.map((note) => h("p", { class: "note" }, withCode(note))), parts);
  },
};
