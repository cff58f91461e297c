// A run: its calls as they come, replayed by a slider, and each of them in full.

import { callPane } from "./call.js";
import { get, isFile } from "./client.js";
import { fill, h } from "./dom.js";
import { href } from "./router.js";
import { growing } from "./run/growth.js";
import { RunHead } from "./run/head.js";
import { Replay } from "./run/replay.js";
import { callRow } from "./run/row.js";
import { empty } from "./states.js";
import { Timeline } from "./timeline.js";
import { VirtualList } from "./virtual.js";

const ROW = 30; // px

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
    this.isRunning = false;
    this.replay = new Replay(this.timeline, () => this.soon());
    this.head = new RunHead(about.run);
    this.detail = h("div", { class: "beside", "aria-live": "off" });
    this.list = new VirtualList({
      height: ROW,
      draw: (number) => this.drawRow(number),
      properties: { class: "virtual calls", role: "tree", "aria-label": "Calls", onkeydown: (event) => this.pressed(event) },
    });
  }

  keys() {
    const { replay } = this;
    const keys = [
      ["j, ArrowDown", "next call", () => this.step(1)],
      ["k, ArrowUp", "call before", () => this.step(-1)],
      ["l, ArrowRight", "unfold", () => this.fold(false)],
      ["h, ArrowLeft", "fold, or go to the caller", () => this.fold(true)],
      ["n", "next call that was not just done", () => this.nextOdd()],
      ...(isFile ? [] : [["o", "answer its question", () => (location.hash = this.questionHref())]]),
      ["[", "one event back", () => replay.step(-1)],
      ["]", "one event on", () => replay.step(1)],
      [" ", "replay, or pause", (event) => (event.target.closest("button, a, summary") ? false : replay.toggle())],
      ["f", "to the end, and follow", () => replay.goLive()],
    ];
    return keys.map(([key, words, run]) => ({ group: "Run", keys: key, words, run }));
  }

  element() {
    const { head } = this;
    const calls = h("section", { class: "call-tree", "aria-label": "Calls" }, this.list.element);
    this.page = h(
      "div",
      { class: ["page", "run-page", this.chosen && "is-named"] },
      head.heading,
      head.facts,
      head.news,
      this.replay.element,
      h("div", { class: "columns run-columns" }, calls, this.detail),
    );
    return this.page;
  }

  /** Follows the run until the view is left. */
  async follow() {
    const onFault = (error) => {
      this.isRunning = false;
      this.head.tell(error.message);
    };
    for await (const growth of growing(this.id, this.timeline, this.context, onFault)) this.grow(growth);
  }

  grow(growth) {
    const had = this.timeline.events.length;
    this.timeline.add(growth.events, growth.position);
    const wasRunning = this.isRunning;
    this.isRunning = growth.is_running;
    if (growth.has_more) return; // drawn once, when all is there
    this.replay.follow();
    this.soon();
    if (this.timeline.events.length > had && this.chosen) this.showChosen();
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
    const { timeline, replay, isRunning } = this;
    const follows = replay.isLive && isRunning && !this.chosen && this.list.isAtEnd;
    this.rows = timeline.rows(this.closed);
    this.list.update(this.rows.length);
    if (follows) this.list.reveal(this.rows.length - 1);
    replay.draw();
    this.head.draw(timeline, { isLive: replay.isLive, isRunning, fault: this.about.fault });
    this.head.answer?.setAttribute("href", this.questionHref());
  }

  drawRow(number) {
    const node = this.rows[number];
    return callRow(node, this.timeline.run, {
      place: { number, of: this.rows.length },
      isFolded: this.closed.has(node.path),
      isChosen: node.path === this.chosen,
      onchoose: () => this.choose(node.path),
      onfold: () => this.toggle(node),
    });
  }

  /** Where the question of the call that is chosen is answered; where it asks nothing, that of any. */
  questionHref() {
    const isWaiting = (node) => node?.state === "waiting";
    const chosen = this.timeline.nodes.get(this.chosen);
    const waiting = isWaiting(chosen) ? chosen : [...this.timeline.nodes.values()].find(isWaiting);
    return waiting ? href("inbox", this.id, waiting.path.split("/")) : href("inbox");
  }

  toggle(node) {
    if (!this.closed.delete(node.path)) this.closed.add(node.path);
    this.draw();
  }

  choose(path) {
    if (path === this.chosen) return this.showChosen();
    location.hash = path === null ? href("run", this.id) : href("run", this.id, "call", path.split("/"));
    return this.name(path); // at once: the next key may come before the address is heard of
  }

  /** Shows another call without loading the run anew. */
  name(path) {
    this.chosen = path;
    this.page.classList.toggle("is-named", path !== null);
    const number = this.rows.findIndex((row) => row.path === path);
    if (number >= 0) {
      this.list.reveal(number);
      this.list.element.setAttribute("aria-activedescendant", `call-${number}`);
    } else {
      this.list.render(true);
    }
    this.head.answer?.setAttribute("href", this.questionHref());
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

  end() {
    this.replay.stop();
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
      if (path !== view.chosen) view.name(path);
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
