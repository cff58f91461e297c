// What models were sent and what they answered, request by request, as it happened; more of it as somebody reads on.

import { money, seconds, tokens, wordOf } from "../amounts.js";
import { get, isFile } from "../client.js";
import { counted, fill, h } from "../dom.js";
import { href } from "../router.js";
import { failing } from "../states.js";
import { Folds, value } from "../values.js";

const AT_ONCE = 12; // requests that are drawn at a time
const KINDS = { "user-prompt": "Input", "tool-return": "Result", "retry-prompt": "Correction", text: "Text", "tool-call": "Call", thinking: "Thinking", "system-prompt": "Instructions" };

/** The messages of one run as far as they were asked for: of each worker, its requests in their order. */
export class Answers {
  constructor(run, context) {
    this.run = run;
    this.context = context;
    this.known = new Map();
    this.coming = new Map();
  }

  /** The messages of the request of that number, and the ones before it. */
  async of(path, number) {
    while (!this.known.get(path)?.[number - 1]) {
      if (!this.coming.has(path)) this.coming.set(path, this.ask(path).finally(() => this.coming.delete(path)));
      await this.coming.get(path);
    }
    const known = this.known.get(path);
    return [known[number - 1], known[number - 2]];
  }

  async ask(path) {
    const before = this.known.get(path) ?? [];
    const { requests } = await get("/api/run/requests", { run: this.run, path, after: isFile ? null : before.length }, this.context);
    if (!requests.length) throw new Error("its messages are not in the journal");
    this.known.set(path, [...before, ...requests]);
  }
}

/** Requests with their messages: the first ones, and others once their place is seen. */
export class Messages {
  /** `isNamed`: whether each names its worker; `isLast`: whether the last ones are drawn first, as of a run that goes on. */
  constructor(answers, { isNamed = false, isLast = false } = {}) {
    this.answers = answers;
    this.isNamed = isNamed;
    this.isLast = isLast;
    this.drawn = [];
    this.from = 0;
    this.most = AT_ONCE;
    this.requests = [];
    this.before = h("button", { type: "button", class: "button", hidden: true, onclick: () => this.earlier() });
    this.place = h("div", {});
    this.rest = h("p", { class: "dim", hidden: true });
    this.element = h("div", { class: "messages" }, this.before, this.place, this.rest);
    this.observer = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && this.more());
    this.observer.observe(this.rest);
  }

  end() {
    this.observer.disconnect();
  }

  earlier() {
    this.from = Math.max(0, this.from - AT_ONCE);
    this.most += AT_ONCE;
    this.forget(0);
    this.update(this.requests);
  }

  more() {
    this.most += AT_ONCE;
    this.update(this.requests);
    this.observer.unobserve(this.rest);
    this.observer.observe(this.rest); // it may be seen still, which is told once
  }

  forget(number) {
    for (const each of this.drawn.splice(number)) each.element.remove();
  }

  /** Draws those of `requests` that are to be seen, and again the ones that changed. */
  update(requests) {
    if (this.isLast && !this.requests.length) this.from = Math.max(0, requests.length - AT_ONCE);
    if (this.from >= requests.length) this.from = 0;
    this.requests = requests;
    const wanted = requests.slice(this.from, this.from + this.most);
    this.forget(wanted.length);
    for (const [number, request] of wanted.entries()) {
      const sign = `${request.key} ${request.state}`;
      if (this.drawn[number]?.sign === sign) continue;
      const element = this.section(request);
      if (this.drawn[number]) this.drawn[number].element.replaceWith(element);
      else this.place.append(element);
      this.drawn[number] = { sign, element };
    }
    this.before.hidden = !this.from;
    fill(this.before, this.from > 0 && counted(this.from, "earlier request"));
    const left = requests.length - this.from - wanted.length;
    this.rest.hidden = !left;
    fill(this.rest, left > 0 && counted(left, "more request"));
  }

  section(request) {
    const body = h("div", {});
    const { run } = this.answers;
    const link = h("a", { href: href("run", run, "call", request.path.split("/"), Object.fromEntries([request.place])) }, `${request.name[0].toUpperCase()}${request.name.slice(1)}`);
    const facts = [request.model, request.isMeasured && `tokens ${tokens(request.input, request.output)}`, money(request.cost), request.state !== "running" && seconds(request.ended - request.began)];
    const draw = async () => {
      try {
        const [shown, before] = await this.answers.of(request.path, request.place[1]);
        fill(body, parts(run, shown, this.requests.length > 1 ? before : null));
      } catch (error) {
        if (error.name !== "AbortError") fill(body, failing(error, draw));
      }
    };
    if (request.state === "success") {
      fill(body, h("p", { class: "dim" }, "Loading…"));
      draw();
    } else {
      fill(body, h("p", { class: request.state === "failed" ? "failed" : "dim" }, request.state === "failed" ? request.text : request.state === "running" ? "Not answered yet." : `Not answered: ${wordOf(request.state)}.`));
    }
    return h(
      "section",
      { class: "request" },
      h("h3", {}, this.isNamed && h("span", { class: "mono" }, `${request.path} `), link),
      h("p", { class: "dim" }, facts.filter(Boolean).join(" · ")),
      body,
    );
  }
}

/** The messages of a request; what `before`, which stands above it, had as well is not shown again. */
function parts(run, shown, before) {
  const folds = new Folds();
  const isNew = (name) => !before || JSON.stringify(before[name]) !== JSON.stringify(shown[name]);
  return [
    shown.after && h("p", { class: "dim" }, `After ${shown.after}.`),
    isNew("instructions") && (shown.instructions ? value(shown.instructions, folds) : h("p", { class: "dim" }, "Instructions: the journal has their digest alone.")),
    isNew("tools") && (shown.tools ? tools(shown.tools, folds) : h("p", { class: "dim" }, "Tools: not in the journal.")),
    shown.given.map((each) => part(run, "Given", each, folds)),
    shown.answered.map((each) => part(run, "Answered", each, folds)),
  ];
}

function tools(list, folds) {
  return h(
    "details",
    {},
    h("summary", {}, `Tools: ${list.map((tool) => tool.name).join(", ") || "none"}`),
    list.map((tool) => value(tool.definition, folds)),
  );
}

function part(run, verb, each, folds) {
  const title = [verb, KINDS[each.kind] ?? each.kind, each.tool].filter(Boolean).join(" · ");
  return h(
    "div",
    { class: ["part", verb === "Answered" && "is-answer"] },
    h("p", { class: "part-title" }, each.call ? h("a", { href: href("run", run, "call", each.call.split("/")) }, title) : title),
    each.value ? value(each.value, folds) : h("p", { class: "dim" }, "The journal has its digest alone."),
  );
}
