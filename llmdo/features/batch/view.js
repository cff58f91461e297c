// Batches: how each stands, its items with tries and time, and some of them taken once more.

import { money, moment, seconds, toneOf, wordOf } from "./amounts.js";
import { get, post } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { lookAgain } from "./looking.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";
import { VirtualList } from "./virtual.js";

const ANEW = 1500; // ms until a batch that is at work is looked at again
const ROW = 32; // px
const MOST_ASKED = 100; // runs whose time is asked for at once
const AT_WORK = "Items are at work: those that failed can be retried once that is over.";
const HEADS = ["", "", "Item", "State", "Tries", "Took", "Result", "Cost"];
const STATES = ["completed", "running", "queued", "waiting", "unsure", "failed", "refused", "cancelled"];

function progress(counts) {
  const total = STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const bar = h(
    "span",
    { class: "progress", role: "img", "aria-label": words(counts) },
    STATES.filter((state) => counts[state]).map((state) => {
      const part = h("span", { class: toneOf(state) });
      part.style.width = `${(100 * counts[state]) / total}%`;
      return part;
    }),
  );
  return bar;
}

function words(counts) {
  return STATES.filter((state) => counts[state]).map((state) => `${counts[state].toLocaleString("en")} ${state}`).join(", ") || "no items";
}

function used(batch) {
  return [counted(batch.requests, "request"), batch.tokens > 0 && counted(batch.tokens, "token"), money(batch.cost_usd) + (batch.unpriced && batch.cost_usd ? " and more" : "")].filter(Boolean).join(", ");
}

const batches = {
  name: "batches",
  title: "Batches",
  key: "b",
  routes: ["batches"],
  needs: "/api/batches",
  isOffered: (project) => !project?.read_from,
  load: (context) => get("/api/batches", {}, context),

  render(data) {
    if (!data.batches.length) return empty("No batch yet", "`llmdo batch ENTRY --inputs FILE` runs an entry for many inputs.");
    return h(
      "div",
      { class: "page" },
      h("h1", {}, "Batches"),
      h(
        "div",
        { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Batches" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ["Began", "Entry", "Items", "", "Used"].map((head) => h(head ? "th" : "td", head ? { scope: "col" } : {}, head)))),
          h(
            "tbody",
            {},
            data.batches.map((batch) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, h("a", { href: href("batch", batch.batch) }, moment(batch.began)), h("span", { class: "below" }, batch.batch)),
                h("td", {}, batch.entry),
                h("td", {}, words(batch.items)),
                h("td", { class: "wide" }, progress(batch.items)),
                h("td", {}, used(batch)),
              ),
            ),
          ),
        ),
      ),
    );
  },
};

/** What is shown of one batch, for as long as it is. */
class BatchView {
  constructor(context, data) {
    this.context = context;
    this.data = data;
    this.chosen = new Set();
    this.state = context.query.state ?? "";
    this.head = h("div", {});
    this.problem = null;
    this.asking = new Map();
    this.took = new Map(); // seconds by run, state and tries; null: it has no journal, undefined: it is asked for
    this.list = new VirtualList({ height: ROW, draw: (number) => this.drawRow(number), properties: { class: "virtual items", role: "list", "aria-label": "Items" } });
    this.update(data);
  }

  update(data) {
    this.data = data;
    this.items = data.items.filter((item) => !this.state || item.state === this.state);
    for (const key of this.chosen) if (!data.items.some((item) => item.key === key && canRetry(item))) this.chosen.delete(key);
    this.drawHead();
    this.list.update(this.items.length);
  }

  get isAtWork() {
    const { items } = this.data.batch;
    return this.data.goes_on || items.running > 0;
  }

  drawHead() {
    const { batch, fault } = this.data;
    const failed = this.failed;
    const states = STATES.filter((state) => batch.items[state]);
    fill(
      this.head,
      h("p", { class: "lead" }, `${words(batch.items)}; ${used(batch)}`),
      progress(batch.items),
      batch.reason && h("p", { class: "note" }, batch.reason),
      fault && h("p", { class: "note" }, withCode(fault)),
      this.problem && h("p", { class: "note", role: "alert" }, this.problem.message, " ", this.problem.hint && withCode(this.problem.hint)),
      batch.items.waiting > 0 && h("p", { class: "note" }, `${counted(batch.items.waiting, "item")} waiting for answers: `, h("a", { href: href("inbox") }, "the inbox")),
      h(
        "div",
        { class: "filters batch-tools" },
        h(
          "label",
          {},
          h("span", { class: "dim" }, "State "),
          h("select", { onchange: (event) => this.context.go("batch", batch.batch, { state: event.target.value }) }, h("option", { value: "" }, "all"), states.map((state) => h("option", { value: state, selected: state === this.state }, state))),
        ),
        failed > 0 && !this.isAtWork && [
          this.chosen.size > 0 && h("button", { type: "button", class: "button", onclick: () => this.retryChosen(), "aria-keyshortcuts": "t" }, `Retry ${counted(this.chosen.size, "chosen item")}`),
          h("button", { type: "button", class: "button", onclick: () => this.retry([]) }, `Retry all ${failed.toLocaleString("en")} that failed`),
        ],
        failed > 0 && h("span", { class: "dim" }, this.isAtWork ? AT_WORK : this.chosen.size ? "" : "Tick items to retry some of them."),
      ),
    );
  }

  get failed() {
    const { failed, refused } = this.data.batch.items;
    return (failed ?? 0) + (refused ?? 0);
  }

  retryChosen() {
    if (this.isAtWork) return this.context.announce(AT_WORK);
    return this.chosen.size ? this.retry([...this.chosen]) : this.context.announce("no item is chosen");
  }

  drawRow(number) {
    const item = this.items[number];
    const took = this.tookOf(item);
    const toggle = (event) => {
      if (event.target.checked) this.chosen.add(item.key);
      else this.chosen.delete(item.key);
      this.drawHead();
    };
    return h(
      "div",
      { class: "item", role: "listitem" },
      canRetry(item) ? h("input", { type: "checkbox", checked: this.chosen.has(item.key), "aria-label": `choose ${item.shown}`, onchange: toggle }) : h("span", {}),
      h("span", { class: "number" }, item.number.toLocaleString("en")),
      item.tries && took !== null ? h("a", { class: "mono", href: href("run", item.run) }, item.shown) : h("span", { class: "mono" }, item.shown),
      h("span", { class: ["status", toneOf(item.state)] }, wordOf(item.state)),
      h("span", { class: "number" }, item.tries ? counted(item.tries, "try", "tries") : "not tried"),
      h("span", { class: "number" }, seconds(took)),
      h("span", { class: "call-text" }, item.title && [h("span", { class: "dim" }, item.title), " "], item.text),
      h("span", { class: "number" }, money(item.cost_usd)),
    );
  }

  /** For how long processes worked on the run of an item; it is asked for with those of all rows that are seen. */
  tookOf(item) {
    if (!item.tries) return undefined;
    const key = `${item.run} ${item.state} ${item.tries}`;
    if (!this.took.has(key)) {
      this.took.set(key, undefined);
      this.asking.set(item.run, key);
      this.soon ??= setTimeout(() => this.askForTimes(), 0);
    }
    return this.took.get(key);
  }

  async askForTimes() {
    this.soon = null;
    const runs = [...this.asking.keys()].slice(0, MOST_ASKED);
    const keys = runs.map((run) => this.asking.get(run));
    runs.forEach((run) => this.asking.delete(run));
    if (this.asking.size) this.soon = setTimeout(() => this.askForTimes(), 0);
    try {
      const answer = await get("/api/batch/took", { runs: runs.join(",") }, this.context);
      runs.forEach((run, number) => this.took.set(keys[number], answer.seconds[run]));
      this.list.render(true);
    } catch (error) {
      if (error.name !== "AbortError") keys.forEach((key) => this.took.delete(key)); // it is asked for with the next look
    }
  }

  async retry(items) {
    try {
      this.problem = null;
      await post("/api/batch/retry", { batch: this.data.batch.batch, items }, {}, this.context);
      this.chosen.clear();
      this.context.announce("items are taken once more");
      await this.look();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.problem = error;
      this.drawHead();
    }
  }

  async look() {
    this.update(await get("/api/batch", { batch: this.data.batch.batch }, this.context));
  }

  follow() {
    lookAgain(this.context, ANEW, async () => this.isAtWork && this.look());
    this.context.onLeave(() => this.list.end());
  }
}

function canRetry(item) {
  return item.state === "failed" || item.state === "refused";
}

const batch = {
  name: "batch",
  title: "Batch",
  below: "batches",
  inNavigation: false,
  needs: "/api/batches",
  routes: ["batch/:batch"],
  load: (context) => get("/api/batch", { batch: context.parameters.batch }, context),

  render(data, context) {
    const view = new BatchView(context, data);
    context.title = `batch ${data.batch.batch}`;
    context.onQuery = (query) => {
      view.state = query.state ?? "";
      view.update(view.data);
    };
    context.onShown = () => view.list.update(view.items.length);
    context.addKeys([
      { group: "Batch", keys: "t", words: "retry the chosen items", run: () => view.retryChosen() },
      { group: "Batch", keys: "c", words: "choose all that failed, or none", run: () => choose(view) },
    ]);
    view.follow();
    return h("div", { class: "page run-page batch-page" }, h("header", { class: "heading" }, h("h1", {}, data.batch.entry), h("span", { class: "mono dim" }, data.batch.batch)), view.head, h("div", { class: "items-head", "aria-hidden": "true" }, HEADS.map((head) => h("span", { class: ["Tries", "Took", "Cost"].includes(head) && "number" }, head))), h("div", { class: "items-place" }, view.list.element));
  },
};

function choose(view) {
  const failed = view.items.filter(canRetry).map((item) => item.key);
  if (!failed.length) view.context.announce("no item that is shown failed");
  view.chosen = new Set(failed.every((key) => view.chosen.has(key)) ? [] : failed);
  view.update(view.data);
}

export const VIEWS = [batches, batch];
