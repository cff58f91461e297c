// A run: its calls and requests as they come, on the time they share, with their messages; replayed by a slider.

import { callPane } from "./call.js";
import { get, isFile } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { href } from "./router.js";
import { axis } from "./run/axis.js";
import { growing } from "./run/growth.js";
import { RunHead } from "./run/head.js";
import { Answers, Messages } from "./run/messages.js";
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
    this.isRunning = false;
    this.answers = new Answers(this.id, context);
    this.take(context.parameters, context.query);
    this.replay = new Replay(this.timeline, () => this.soon());
    this.head = new RunHead(about.run);
    this.detail = h("div", { class: "beside", "aria-live": "off", tabindex: "0", role: "region", "aria-label": "Messages and details" });
    this.axis = h("div", {});
    this.none = h("p", { class: "dim hint", hidden: true }, "Nothing went wrong in it. ", h("kbd", {}, "e"), " shows all calls.");
    this.errors = h("button", { type: "button", class: "button", "aria-keyshortcuts": "e", onclick: () => this.toggleErrors() });
    this.list = new VirtualList({
      height: ROW,
      draw: (number) => this.drawRow(number),
      properties: { class: "virtual calls", role: "tree", "aria-label": "Calls", onkeydown: (event) => this.pressed(event) },
    });
  }

  /** Takes over what an address says: the call or the request that is chosen, and whether errors are shown alone. */
  take({ path }, { request, attempt, errors }) {
    this.path = path?.join("/") ?? null;
    this.place = request ? ["request", request] : attempt ? ["attempt", attempt] : null;
    this.chosen = this.path && [this.path, ...(this.place ?? [])].join(" ");
    this.isOfErrors = Boolean(errors);
  }

  /** The address of a call or a request, or of none, with errors alone or not. */
  address(node, isOfErrors = this.isOfErrors) {
    const query = { ...(node?.place && Object.fromEntries([node.place])), errors: isOfErrors ? "1" : "" };
    return node ? href("run", this.id, "call", node.path.split("/"), query) : href("run", this.id, query);
  }

  keys() {
    const { replay } = this;
    const keys = [
      ["j, ArrowDown", "next call", () => this.step(1)],
      ["k, ArrowUp", "call before", () => this.step(-1)],
      ["l, ArrowRight", "unfold", () => this.fold(false)],
      ["h, ArrowLeft", "fold, or go to the caller", () => this.fold(true)],
      ["n", "next call that was not just done", () => this.nextOdd()],
      ["e", "errors alone, or all", () => this.toggleErrors()],
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
    const calls = h("section", { class: "call-tree", "aria-label": "Calls" }, this.axis, this.none, this.list.element);
    this.replay.element.append(this.errors);
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
    if (this.timeline.events.length > had && this.path) this.showChosen();
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
    const faults = timeline.faults();
    this.rows = this.isOfErrors ? faults : timeline.rows(this.closed);
    this.drawAxis();
    this.errors.textContent = this.isOfErrors ? "All calls" : `Errors alone: ${faults.length.toLocaleString("en")}`;
    this.errors.setAttribute("aria-pressed", String(this.isOfErrors));
    this.none.hidden = !this.isOfErrors || faults.length > 0;
    this.list.element.hidden = !this.rows.length;
    this.list.update(this.rows.length);
    if (follows) this.list.reveal(this.rows.length - 1);
    replay.draw();
    this.head.draw(timeline, { isLive: replay.isLive, isRunning, fault: this.about.fault });
    this.head.answer?.setAttribute("href", this.questionHref());
    this.drawMessages();
  }

  drawAxis() {
    const { timeline } = this;
    const { element, share } = axis(timeline.clock(timeline.run.ended), timeline.pauses.filter(({ to }) => to < Infinity).map(({ from }) => timeline.clock(from)));
    fill(this.axis, this.rows.length > 0 && element);
    this.list.element.style.setProperty("--tick", `${100 * share}%`);
  }

  drawRow(number) {
    const node = this.rows[number];
    return callRow(node, this.timeline, {
      place: { number, of: this.rows.length },
      isFolded: this.closed.has(node.key),
      isChosen: node.key === this.chosen,
      isFlat: this.isOfErrors,
      onchoose: () => this.choose(node),
      onfold: () => this.toggle(node),
    });
  }

  /** The requests whose messages are shown: all, those of the worker that is chosen, or the one that is. */
  get wanted() {
    const { requests } = this.timeline;
    if (this.place) return requests.filter((request) => request.key === this.chosen);
    return this.path ? requests.filter((request) => request.path === this.path) : requests;
  }

  /** The messages of what is chosen, from their beginning. */
  newMessages() {
    this.messages?.end();
    this.messages = new Messages(this.answers, { isNamed: !this.path, isLast: !this.path && this.isRunning });
    return this.messages;
  }

  drawMessages() {
    const { scrollTop, clientHeight, scrollHeight } = this.detail;
    const follows = this.isRunning && scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 4;
    this.messages?.update(this.wanted);
    if (follows) this.detail.scrollTop = this.detail.scrollHeight;
  }

  toggleErrors() {
    location.hash = this.address(this.node, !this.isOfErrors);
  }

  get node() {
    return this.rows.find((row) => row.key === this.chosen) ?? (this.path && { path: this.path, place: this.place });
  }

  /** Where the question of the call that is chosen is answered; where it asks nothing, that of any. */
  questionHref() {
    const isWaiting = (node) => node?.state === "waiting";
    const chosen = this.timeline.nodes.get(this.path);
    const waiting = isWaiting(chosen) ? chosen : [...this.timeline.nodes.values()].find(isWaiting);
    return waiting ? href("inbox", this.id, waiting.path.split("/")) : href("inbox");
  }

  toggle(node) {
    if (!this.closed.delete(node.key)) this.closed.add(node.key);
    this.draw();
  }

  choose(node) {
    if (node.key === this.chosen) return this.showChosen();
    location.hash = this.address(node);
    return this.name({ path: node.path.split("/") }, { ...(node.place && Object.fromEntries([node.place])), errors: this.isOfErrors }); // at once: the next key may come before the address is heard of
  }

  /** Shows what an address says without loading the run again. */
  name(parameters, query) {
    const before = [this.chosen, this.isOfErrors];
    this.take(parameters, query);
    if (this.isOfErrors !== before[1]) this.draw();
    if (this.isOfErrors !== before[1]) this.context.announce(this.isOfErrors ? `${counted(this.rows.length, "error")} shown alone` : "all calls are shown");
    this.page.classList.toggle("is-named", this.chosen !== null);
    const { number } = this;
    if (number >= 0) {
      this.list.reveal(number);
      this.list.element.setAttribute("aria-activedescendant", `call-${number}`);
    } else {
      this.list.render(true);
    }
    this.head.answer?.setAttribute("href", this.questionHref());
    return this.chosen === before[0] ? undefined : this.showChosen();
  }

  async showChosen() {
    const { chosen, path } = this;
    if (this.shown !== chosen) Object.assign(this, { shown: chosen, drawn: null });
    if (path === null || this.place) return this.drawn === null && this.showMessages();
    const back = this.back();
    try {
      const call = await get("/api/run/call", { run: this.id, path }, this.context);
      const text = JSON.stringify(call);
      if (chosen !== this.chosen || this.drawn === text) return undefined;
      this.drawn = text;
      const messages = call.requests || call.attempts.length ? this.newMessages() : null;
      fill(this.detail, back, callPane(this.id, call, messages?.element));
      return this.drawMessages();
    } catch (error) {
      if (error.name === "AbortError" || chosen !== this.chosen) return undefined;
      this.drawn = null;
      return fill(this.detail, back, empty("No such call", error.message));
    }
  }

  /** The messages of the whole run, or of the request that is chosen. */
  showMessages() {
    this.drawn = "";
    const { element } = this.newMessages();
    fill(this.detail, this.path && this.back(), h("h2", {}, this.path ? h("code", {}, this.path) : "Messages"), element);
    this.detail.scrollTop = 0;
    return this.drawMessages();
  }

  back() {
    return h("a", { class: "back", href: this.address(null) }, "‹ All calls");
  }

  pressed(event) {
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    const row = event.key === "Home" ? this.rows[0] : this.rows.at(-1);
    if (row) this.choose(row);
  }

  get number() {
    return this.rows.findIndex((row) => row.key === this.chosen);
  }

  step(by) {
    const row = this.rows[Math.max(0, Math.min(this.rows.length - 1, this.number + by))];
    if (row) this.choose(row);
  }

  fold(isFolding) {
    const node = this.rows[this.number];
    if (!node || this.isOfErrors) return;
    if (isFolding && (this.closed.has(node.key) || !node.parts.length)) {
      if (node.above) this.choose(node.above);
    } else if (node.parts.length && this.closed.has(node.key) !== isFolding) {
      this.toggle(node);
    }
  }

  nextOdd() {
    const isOdd = (node) => !["success", "running"].includes(node.state) || node.flags.length > 0;
    const after = [...this.rows.slice(this.number + 1), ...this.rows.slice(0, this.number + 1)];
    const row = after.find(isOdd);
    if (row) this.choose(row);
    else this.context.announce("every call was just done");
  }

  end() {
    this.replay.stop();
    this.list.end();
    this.messages?.end();
    delete document.body.dataset.events;
  }

  search() {
    return [...this.timeline.nodes.values()].map((node) => ({
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
    context.onParameters = (parameters, query) => {
      if (parameters.run !== view.id && parameters.run !== context.parameters.run) return false;
      view.name(parameters, query);
      return true;
    };
    context.onQuery = (query) => view.name(context.parameters, query);
    context.onShown = () => {
      view.draw();
      view.showChosen();
      view.follow();
    };
    return view.element();
  },

  search: () => (shown ? shown.search() : []),
};
