// A run: its calls as they come, replayed by a slider, and each of them in full.

import { callPane } from "./call.js";
import { money, moment, seconds, tokens, toneOf, wordOf } from "./amounts.js";
import { events, get } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";
import { Timeline } from "./timeline.js";
import { VirtualList } from "./virtual.js";

const ROW = 30; // px
const STEP = 60; // ms of a replay between two events

/** What is shown of one run, for as long as it is. */
class RunView {
  constructor(context, about) {
    this.context = context;
    this.id = about.run.run;
    this.about = about;
    this.timeline = new Timeline();
    this.closed = new Set();
    this.rows = [];
    this.chosen = context.parameters.path?.join("/") ?? null;
    this.isLive = true; // whether the slider is at its end, and stays there
    this.isRunning = false;
    this.playing = null;
    this.list = new VirtualList({
      height: ROW,
      draw: (number) => this.drawRow(number),
      properties: { class: "virtual calls", role: "tree", "aria-label": "Calls", onkeydown: (event) => this.pressed(event) },
    });
    this.parts();
  }

  parts() {
    this.facts = h("dl", { class: "run-facts" });
    this.news = h("div", { class: "run-news" });
    this.slider = h("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Replay", oninput: () => this.slid() });
    this.when = h("output", { class: "when" });
    this.play = h("button", { type: "button", class: "button", onclick: () => this.togglePlay(), "aria-keyshortcuts": "Space" }, "Replay");
    this.live = h("button", { type: "button", class: "button live", onclick: () => this.goLive() }, "To the end");
    this.detail = h("div", { class: "beside", "aria-live": "off" });
  }

  keys() {
    const group = "Run";
    return [
      { group, keys: "j, ArrowDown", words: "next call", run: () => this.step(1) },
      { group, keys: "k, ArrowUp", words: "call before", run: () => this.step(-1) },
      { group, keys: "l, ArrowRight", words: "unfold", run: () => this.fold(false) },
      { group, keys: "h, ArrowLeft", words: "fold, or go to the caller", run: () => this.fold(true) },
      { group, keys: "n", words: "next call that was not just done", run: () => this.nextOdd() },
      { group, keys: "o", words: "answer its question", run: () => this.toQuestion() },
      { group, keys: "[", words: "one event back", run: () => this.goTo(this.timeline.at - 1) },
      { group, keys: "]", words: "one event on", run: () => this.goTo(this.timeline.at + 1) },
      { group, keys: " ", words: "replay, or pause", run: (event) => (event.target.closest("button, a, summary") ? false : this.togglePlay()) },
      { group, keys: "f", words: "to the end, and follow", run: () => this.goLive() },
    ];
  }

  element() {
    return h(
      "div",
      { class: ["page", "run-page", this.chosen && "is-named"] },
      h(
        "header",
        { class: "heading" },
        h("h1", {}, this.about.run.entry),
        h("span", { class: "mono dim" }, this.id),
        this.state,
      ),
      this.facts,
      this.news,
      h("div", { class: "replay" }, this.play, this.slider, this.when, this.live),
      h("div", { class: "columns run-columns" }, h("section", { class: "call-tree", "aria-label": "Calls" }, this.list.element), this.detail),
    );
  }

  get state() {
    this.badge ??= h("span", { class: "badge" });
    return this.badge;
  }

  /** Follows the run until the view is left. */
  async follow() {
    for (;;) {
      try {
        for await (const growth of events("/api/run/watch", { run: this.id, after: this.timeline.last }, this.context)) {
          this.grow(growth);
        }
      } catch (error) {
        if (error.name === "AbortError") return;
        this.isRunning = false;
        fill(this.news, h("p", { class: "note" }, `${error.message}. What is shown is what was known until then.`));
      }
      if (this.context.signal.aborted) return;
      await new Promise((resolve) => setTimeout(resolve, 1500));
      if (this.context.signal.aborted) return;
    }
  }

  grow(growth) {
    const had = this.timeline.events.length;
    this.timeline.add(growth.events, growth.position);
    const wasRunning = this.isRunning;
    this.isRunning = growth.is_running;
    if (growth.has_more) return; // drawn once, when all is there
    if (this.isLive) this.timeline.toEnd();
    const isNew = this.timeline.events.length > had;
    this.soon();
    if (isNew && this.chosen) this.showChosen();
    if (wasRunning && !growth.is_running) this.askAbout();
    document.body.dataset.events = String(this.timeline.events.length);
  }

  async askAbout() {
    try {
      this.about = await get("/api/run", { run: this.id }, this.context);
      this.soon();
    } catch {
      // what is shown stays
    }
  }

  /** Draws once for all that comes within a frame. */
  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { timeline } = this;
    const follows = this.isLive && this.list.isAtEnd;
    this.rows = timeline.rows(this.closed);
    this.list.update(this.rows.length);
    if (follows && this.isRunning && !this.chosen) this.list.reveal(this.rows.length - 1);
    this.slider.max = String(timeline.events.length);
    this.slider.value = String(timeline.at);
    const at = timeline.at ? timeline.events[timeline.at - 1].at - timeline.events[0].at : 0;
    this.when.textContent = seconds(at);
    this.slider.setAttribute("aria-valuetext", `${seconds(at)}, event ${timeline.at} of ${timeline.events.length}`);
    this.live.hidden = this.isLive;
    this.drawFacts();
  }

  drawFacts() {
    const { run, used } = this.timeline;
    const state = this.isLive ? (this.isRunning ? "running" : (run.status ?? "stopped")) : "replayed";
    this.state.className = `badge ${toneOf(state)}`;
    this.state.textContent = wordOf(state);
    const cost = used.priced ? money(used.cost) + (used.priced < used.requests ? ` and ${counted(used.requests - used.priced, "request")} without a price` : "") : used.requests ? "no price" : "";
    const spent = used.requests && used.unmeasured === used.requests ? "not measured" : tokens(used.input, used.output);
    fill(
      this.facts,
      [
        ["Began", run.began ? moment(run.began) : ""],
        ["Took", run.began ? seconds(run.ended - run.began) : ""],
        ["Calls", used.calls.toLocaleString("en")],
        ["Requests", used.requests.toLocaleString("en")],
        ["Tokens", spent],
        ["Cost", cost],
        ["Denied", used.denied ? String(used.denied) : ""],
      ]
        .filter(([, text]) => text)
        .map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
    );
    fill(this.news, this.newsOf(run, used));
  }

  newsOf(run, used) {
    const waiting = this.isLive && used.waiting > 0;
    return [
      this.about.fault && h("p", { class: "note" }, "It could not go on: ", withCode(this.about.fault)),
      run.continues && h("p", { class: "lead" }, "Goes on from ", h("a", { href: href("run", run.continues) }, run.continues)),
      run.error && run.status !== "waiting" && this.timeline.at === this.timeline.events.length && h("p", { class: ["note", run.status === "failed" && "blocked"] }, withCode(run.error), run.hint && h("span", { class: "dim" }, " ", withCode(run.hint))),
      waiting && h("p", { class: "note" }, `${counted(used.waiting, "question")} waiting: `, h("a", { href: this.questionHref() }, "answer")),
    ];
  }

  questionHref() {
    const waiting = [...this.timeline.nodes.values()].find((node) => node.state === "waiting");
    return waiting ? href("inbox", this.id, waiting.path.split("/")) : href("inbox");
  }

  toQuestion() {
    const node = this.timeline.nodes.get(this.chosen);
    location.hash = node?.state === "waiting" ? href("inbox", this.id, node.path.split("/")) : this.questionHref();
  }

  drawRow(number) {
    const node = this.rows[number];
    const { run } = this.timeline;
    const whole = Math.max(0.001, run.ended - run.began);
    const bar = h("span", { class: ["bar", toneOf(node.state)] });
    const end = node.state === "running" || node.state === "waiting" ? run.ended : node.ended;
    bar.style.left = `${(100 * Math.max(0, node.began - run.began)) / whole}%`;
    bar.style.width = `${(100 * Math.max(0, end - node.began)) / whole}%`;
    const indent = h("span", { class: "indent" });
    indent.style.width = `${Math.min(node.depth, 12) * 16}px`;
    const hasBelow = node.children.length > 0;
    const isFolded = this.closed.has(node.path);
    return h(
      "div",
      {
        class: ["call", node.worker ? "is-worker" : "is-tool"],
        role: "treeitem",
        id: `call-${number}`,
        "aria-level": node.depth + 1,
        "aria-expanded": hasBelow ? String(!isFolded) : null,
        "aria-selected": String(node.path === this.chosen),
        "aria-setsize": this.rows.length,
        "aria-posinset": number + 1,
        onclick: (event) => (event.target.closest(".chevron") ? this.toggle(node) : this.choose(node.path)),
      },
      h(
        "span",
        { class: "call-name" },
        indent,
        h("span", { class: "chevron", "aria-hidden": "true" }, hasBelow ? (isFolded ? "▸" : "▾") : ""),
        node.name,
        isFolded && h("span", { class: "dim" }, ` +${countBelow(node).toLocaleString("en")}`),
      ),
      h("span", { class: ["status", toneOf(node.state)] }, wordOf(node.state)),
      h("span", { class: "call-text" }, node.flags.map((word) => h("span", { class: "tag" }, word)), node.decided && h("span", { class: "tag" }, node.decided), node.text),
      h("span", { class: "number call-tokens" }, node.isMeasured ? tokens(node.input, node.output) : ""),
      h("span", { class: "number call-cost" }, money(node.cost)),
      h("span", { class: "number call-took" }, seconds(end - node.began)),
      h("span", { class: "track", "aria-hidden": "true" }, bar),
    );
  }

  toggle(node) {
    if (!this.closed.delete(node.path)) this.closed.add(node.path);
    this.draw();
  }

  choose(path) {
    if (path === this.chosen) return this.showChosen();
    location.hash = path === null ? href("run", this.id) : href("run", this.id, "call", path.split("/"));
    return this.named(path); // at once: the next key may come before the address is heard of
  }

  /** Shows another call without loading the run anew. */
  named(path) {
    this.chosen = path;
    document.querySelector(".run-page")?.classList.toggle("is-named", path !== null);
    const number = this.rows.findIndex((row) => row.path === path);
    if (number >= 0) {
      this.list.reveal(number);
      this.list.element.setAttribute("aria-activedescendant", `call-${number}`);
    } else {
      this.list.render(true);
    }
    return this.showChosen();
  }

  async showChosen() {
    if (this.chosen === null) return fill(this.detail, h("p", { class: "dim hint" }, "Choose a call to see what it was given, what was decided about it and what came of it."));
    const path = this.chosen;
    const back = h("a", { class: "back", href: href("run", this.id) }, "‹ All calls");
    try {
      const call = await get("/api/run/call", { run: this.id, path }, this.context);
      const text = JSON.stringify(call);
      if (path !== this.chosen || this.drawn === text) return undefined;
      this.drawn = text;
      return fill(this.detail, back, callPane(this.id, call, this.context));
    } catch (error) {
      if (error.name === "AbortError" || path !== this.chosen) return undefined;
      this.drawn = null;
      return fill(this.detail, back, empty("No such call", error.message));
    }
  }

  pressed(event) {
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    const row = event.key === "Home" ? this.rows[0] : this.rows.at(-1);
    if (row) this.choose(row.path);
  }

  get number() {
    return this.rows.findIndex((row) => row.path === this.chosen);
  }

  step(by) {
    const row = this.rows[Math.max(0, Math.min(this.rows.length - 1, this.number + by))];
    if (row) this.choose(row.path);
  }

  fold(isFolding) {
    const node = this.timeline.nodes.get(this.chosen);
    if (!node) return;
    if (isFolding && (this.closed.has(node.path) || !node.children.length)) {
      if (node.above) this.choose(node.above.path);
    } else if (node.children.length && this.closed.has(node.path) !== isFolding) {
      this.toggle(node);
    }
  }

  nextOdd() {
    const isOdd = (node) => !["success", "running"].includes(node.state) || node.flags.length > 0;
    const after = [...this.rows.slice(this.number + 1), ...this.rows.slice(0, this.number + 1)];
    const row = after.find(isOdd);
    if (row) this.choose(row.path);
    else this.context.announce("every call was just done");
  }

  slid() {
    this.goTo(Number(this.slider.value));
  }

  goTo(number) {
    this.timeline.goTo(number);
    this.isLive = this.timeline.at === this.timeline.events.length;
    this.soon();
  }

  goLive() {
    this.stopPlaying();
    this.goTo(this.timeline.events.length);
  }

  togglePlay() {
    if (this.playing) return this.stopPlaying();
    if (this.isLive) this.timeline.goTo(0);
    this.play.textContent = "Pause";
    const step = Math.max(1, Math.ceil(this.timeline.events.length / 600)); // a long run takes no longer than half a minute
    this.playing = setInterval(() => {
      this.goTo(this.timeline.at + step);
      if (this.isLive) this.stopPlaying();
    }, STEP);
    return undefined;
  }

  stopPlaying() {
    clearInterval(this.playing);
    this.playing = null;
    this.play.textContent = "Replay";
  }

  end() {
    this.stopPlaying();
    this.list.end();
    delete document.body.dataset.events;
  }

  search() {
    return this.timeline.rows().map((node) => ({
      kind: node.worker ? "worker" : "call",
      text: node.path,
      more: node.text,
      href: href("run", this.id, "call", node.path.split("/")),
    }));
  }
}

function countBelow(node) {
  return node.children.reduce((sum, child) => sum + 1 + countBelow(child), 0);
}

let shown = null;

export const run = {
  name: "run",
  title: "Run",
  below: "runs",
  inNavigation: false,
  needs: "/api/run",
  routes: ["run/:run", "run/:run/call/*path"],
  load: (context) => get("/api/run", { run: context.parameters.run }, context),

  render(about, context) {
    const view = new RunView(context, about);
    shown = view;
    context.title = `${about.run.entry} ${about.run.run}`;
    context.addKeys(view.keys());
    context.onLeave(() => {
      view.end();
      if (shown === view) shown = null;
    });
    context.onParameters = (parameters) => {
      if (parameters.run !== view.id && parameters.run !== context.parameters.run) return false;
      const path = parameters.path?.join("/") ?? null;
      if (path !== view.chosen) view.named(path);
      return true;
    };
    context.onShown = () => {
      view.draw();
      view.showChosen();
      view.follow();
    };
    return view.element();
  },

  search: () => (shown ? shown.search() : []),
};
