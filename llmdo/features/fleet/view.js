// The fleet: its workers with their beats, what each has, and what waits for one.

import { span } from "./amounts.js";
import { get } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { lookAgain } from "./looking.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";

const ANEW = 2000; // ms until it is asked about again, while somebody looks at it
const LOCK = 12; // letters by which a person tells a lock from others

function short(lock) {
  return h("code", { title: lock }, lock.slice(lock.lastIndexOf(":") + 1).slice(0, LOCK));
}

function state(worker) {
  if (worker.state === "dead") return h("span", { class: "status blocked" }, "dead");
  if (worker.takes_nothing) return h("span", { class: "status needs_approval" }, "another lock than what waits");
  return h("span", { class: ["status", worker.state === "working" ? "allowed" : "needs_approval"] }, worker.state);
}

function taken(run) {
  return h("span", { class: "below" }, h("a", { href: href("run", run.run) }, run.run), ` ${run.entry}, for ${span(run.for_s)}`);
}

function workerRow(worker) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("span", { class: "mono strong" }, worker.host), h("span", { class: "below" }, worker.id)),
    h("td", {}, state(worker)),
    h("td", {}, `${worker.at_work.length.toLocaleString("en")} of ${worker.jobs.toLocaleString("en")}`, worker.at_work.map(taken)),
    h("td", { class: "number" }, worker.ended.toLocaleString("en")),
    h("td", { class: "number" }, worker.per_minute.toFixed(1)),
    h("td", { class: "number" }, `${span(worker.silent_s)} ago`),
    h("td", { class: "number" }, span(worker.age_s)),
    h("td", {}, short(worker.lock)),
  );
}

function waitingRow(each) {
  return h(
    "tr",
    {},
    h("th", { scope: "row", class: "mono" }, each.entry),
    h("td", { class: "number" }, each.items.toLocaleString("en")),
    h("td", { class: "number" }, span(each.longest_s)),
    h("td", {}, short(each.lock), each.nobody_has_the_lock && h("span", { class: "status blocked" }, " no worker has it")),
  );
}

/** A table below its title; `heads` are pairs of a title and whether numbers stand below it. */
function table(title, heads, rows) {
  return h(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": title },
    h(
      "table",
      { class: "fleet" },
      h("thead", {}, h("tr", {}, heads.map(([head, isNumber]) => h("th", { scope: "col", class: isNumber && "number" }, head)))),
      h("tbody", {}, rows),
    ),
  );
}

const WORKER_HEADS = [["Worker"], ["State"], ["At work"], ["Done", true], ["A minute", true], ["Heard of", true], ["There for", true], ["Lock"]];
const WAITING_HEADS = [["Entry"], ["Items", true], ["The first for", true], ["Lock"]];

function summary(fleet) {
  const alive = fleet.workers.filter((worker) => worker.state !== "dead");
  const atWork = fleet.workers.reduce((sum, worker) => sum + worker.at_work.length, 0);
  const waiting = fleet.waiting.reduce((sum, each) => sum + each.items, 0);
  return `${counted(alive.length, "worker")}, ${counted(atWork, "item")} at work, ${waiting.toLocaleString("en")} waiting, ${fleet.per_minute.toFixed(1)} a minute.`;
}

function waiting(fleet) {
  if (!fleet.waiting.length) return null;
  const hasNobody = fleet.waiting.some((each) => each.nobody_has_the_lock);
  return h(
    "section",
    { class: "block" },
    h("h2", {}, "Waiting"),
    hasNobody && h("p", { class: "note" }, withCode("No worker has the lock that some of this waits for. `llmdo batch rebind BATCH` moves what has not started to the lock of a checkout.")),
    table("Waiting", WAITING_HEADS, fleet.waiting.map(waitingRow)),
  );
}

function leftOver(fleet) {
  if (!fleet.left_over.length) return null;
  return h(
    "section",
    { class: "block" },
    h("h2", {}, "Left over"),
    h("p", { class: "lead" }, "Workers had these that are dead or gone. A worker that is alive takes them up soon."),
    h("ul", { class: "facts" }, fleet.left_over.map((each) => h("li", {}, h("a", { class: "mono", href: href("run", each.run) }, each.run), h("span", { class: "below" }, each.worker)))),
  );
}

function body(fleet) {
  return [
    fleet.workers.length
      ? table("Workers", WORKER_HEADS, fleet.workers.map(workerRow))
      : empty("No worker is there", withCode("`llmdo fleet worker --fleet URL` starts one, on any machine.")),
    waiting(fleet),
    leftOver(fleet),
  ];
}

const fleet = {
  name: "fleet",
  title: "Fleet",
  key: "f",
  routes: ["fleet"],
  needs: "/api/fleet",
  isOffered: (project) => Boolean(project?.has_store),
  load: (context) => get("/api/fleet", {}, context),

  render(data, context) {
    const lead = h("p", { class: "lead" });
    const news = h("div", {});
    const place = h("div", {});
    const draw = (now) => {
      lead.textContent = summary(now);
      fill(place, body(now));
    };
    draw(data);
    const look = async () => {
      if (place.querySelector("a:focus")) return; // no link moves away from whoever is about to follow it
      draw(await get("/api/fleet", {}, context));
      fill(news);
    };
    lookAgain(context, ANEW, look, (error) => fill(news, h("p", { class: "note" }, `${error.message}. What is shown is what was known until then.`)));
    return h("div", { class: "page" }, h("header", { class: "heading" }, h("h1", {}, "Fleet"), lead), news, place);
  },
};

export const VIEWS = [fleet];
