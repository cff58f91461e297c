// What stands above the calls of a run: how it is, what it used, and what is to be known of it.

import { money, moment, seconds, tokens, toneOf, wordOf } from "../amounts.js";
import { holds, isFile } from "../client.js";
import { counted, fill, h } from "../dom.js";
import { itemLink } from "../item.js";
import { href } from "../router.js";
import { withCode } from "../states.js";

/** The heading of a run, and the lines below it. */
export class RunHead {
  constructor({ run: id, entry, title, item }) {
    this.id = id;
    this.badge = h("span", { class: "badge" });
    this.facts = h("dl", { class: "run-facts" });
    this.news = h("div", { class: "run-news" });
    this.heading = h("header", { class: "heading" }, h("h1", {}, title || entry), title && h("span", { class: "dim" }, entry), item && itemLink(item), h("span", { class: "mono dim" }, id), this.badge, !isFile && this.again(entry));
  }

  again(entry) {
    this.more = h("a", { href: href("start", entry, { continues: this.id }), hidden: true }, "Say more to it");
    return [h("a", { href: href("start", entry, { again: this.id }) }, "Run again with another input"), this.more];
  }

  /** Draws the run as a timeline has it; `isLive` says whether that is at its end, `fault` why it could not go on. */
  draw(timeline, { isLive, isRunning, fault }) {
    const { run, used } = timeline;
    const state = isLive ? (isRunning ? "running" : (run.status ?? "stopped")) : "replayed";
    this.badge.className = `badge ${toneOf(state)}`;
    this.badge.textContent = wordOf(state);
    if (this.more) this.more.hidden = state !== "completed";
    fill(
      this.facts,
      factsOf(timeline).map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
    );
    fill(
      this.news,
      isFile && isRunning && h("p", { class: "note" }, "It went on when this file was written, which shows what was known until then."),
      fault && h("p", { class: "note" }, "It could not go on: ", withCode(fault)),
      run.continues && h("p", { class: "lead" }, "Goes on from ", other(run.continues)),
      isLive && run.truncated && h("p", { class: "note" }, "The output is not complete: ", run.truncated),
      isLive && run.error && run.status !== "waiting" && h("p", { class: ["note", run.status === "failed" && "blocked"] }, withCode(run.error), run.hint && h("span", { class: "dim" }, " ", withCode(run.hint))),
      isLive && used.waiting > 0 && this.waiting(used.waiting),
    );
  }

  waiting(number) {
    const words = `${counted(number, "question")} waiting`;
    if (isFile) return h("p", { class: "note" }, `${words}.`);
    this.answer = h("a", { href: href("inbox") }, "answer");
    return h("p", { class: "note" }, `${words}: `, this.answer);
  }

  /** Says what hinders the page from following. */
  tell(message) {
    fill(this.news, h("p", { class: "note" }, `${message}. What is shown is what was known until then.`));
  }
}

/** A link to another run, where that is to be seen. */
function other(run) {
  return holds("/api/run", { run }) ? h("a", { href: href("run", run) }, run) : h("span", { class: "mono" }, run);
}

function factsOf(timeline) {
  const { run, used, paused } = timeline;
  const unpriced = used.requests - used.priced;
  const cost = used.priced ? money(used.cost) + (unpriced ? ` and ${counted(unpriced, "request")} without a price` : "") : used.requests ? "no price" : "";
  return [
    ["Began", run.began ? moment(run.began) : ""],
    ["Took", run.began ? seconds(timeline.clock(run.ended)) : ""],
    ["Stood still", paused >= 1 ? seconds(paused) : ""],
    ["Calls", used.calls.toLocaleString("en")],
    ["Requests", used.requests.toLocaleString("en")],
    ["Tokens", used.requests && used.unmeasured === used.requests ? "not measured" : tokens(used.input, used.output)],
    ["Cost", cost],
    ["Denied", used.denied ? String(used.denied) : ""],
  ].filter(([, text]) => text);
}
