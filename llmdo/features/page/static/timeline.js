// A run as it grew: its events in their order, and the calls that they make up to any of them.

/** The calls of a run after a number of its events. */
export class Timeline {
  constructor() {
    this.events = [];
    this.last = 0; // the place in the journal after which nothing is known yet
    this.reset();
  }

  reset() {
    this.at = 0;
    this.nodes = new Map();
    this.roots = [];
    this.run = { began: null, ended: null, status: null, error: null, hint: null, truncated: null, entry: null, sessions: 0 };
    this.used = { requests: 0, input: 0, output: 0, unmeasured: 0, cost: 0, priced: 0, denied: 0, waiting: 0, calls: 0 };
  }

  /** Takes in events that are new; those that are there already are passed over. */
  add(events, position) {
    const last = this.events.at(-1)?.n ?? 0;
    for (const event of events) if (event.n > last) this.events.push(event);
    this.last = Math.max(this.last, position);
  }

  /** Goes to the state after so many events. */
  goTo(number) {
    const target = Math.max(0, Math.min(number, this.events.length));
    if (target < this.at) this.reset();
    while (this.at < target) this.take(this.events[this.at++]);
    return this;
  }

  toEnd() {
    return this.goTo(this.events.length);
  }

  node(event) {
    let node = this.nodes.get(event.path);
    if (!node) {
      const cut = event.path.lastIndexOf("/");
      const above = cut < 0 ? null : (this.nodes.get(event.path.slice(0, cut)) ?? null);
      node = {
        path: event.path,
        name: event.path.slice(cut + 1),
        depth: above ? above.depth + 1 : 0,
        above,
        children: [],
        began: event.at,
        ended: event.at,
        state: "running",
        worker: null,
        toolset: "",
        text: "",
        by: "",
        why: "",
        requests: 0,
        input: 0,
        output: 0,
        isMeasured: false,
        cost: null,
        models: [],
        attempts: 0,
        answers: 0,
        flags: [],
        asked: null, // the time in which it waits for a person, until when is not known
        waits: null, // when it, or a call below it, waited: pairs of times
      };
      this.nodes.set(event.path, node);
      (above ? above.children : this.roots).push(node);
      this.used.calls += 1;
    }
    for (let each = node; each; each = each.above) each.ended = event.at;
    return node;
  }

  take(event) {
    const { run } = this;
    run.ended = event.at;
    switch (event.kind) {
      case "run":
        Object.assign(run, { began: event.at, entry: event.path, input: event.input, continues: event.continues });
        return;
      case "session":
        run.sessions += 1;
        Object.assign(run, { status: null, error: null, hint: null, truncated: null });
        return;
      case "end":
        Object.assign(run, { status: event.outcome, error: event.error, hint: event.hint, truncated: event.truncated });
        this.close(event);
        return;
      case "imported":
        return;
    }
    this.takeCall(this.node(event), event);
  }

  takeCall(node, event) {
    switch (event.kind) {
      case "call":
        Object.assign(node, { worker: event.worker, text: node.text || event.input, state: "running" });
        break;
      case "request":
        this.takeRequest(node, event);
        break;
      case "attempt":
        node.attempts += 1;
        flag(node, "retried");
        break;
      case "decision":
        this.settle(node);
        if (node.asked) node.asked[1] = event.at;
        node.asked = null;
        Object.assign(node, { toolset: event.toolset, by: event.by, why: event.why, tool: event.tool });
        if (event.by !== "rules") node.decided = `${event.outcome} by ${event.by}`;
        if (event.edited) flag(node, "edited");
        node.state = event.outcome === "denied" && !event.edited ? "denied" : "running";
        if (node.state === "denied") {
          this.used.denied += 1;
          node.text = event.why;
        }
        break;
      case "asked":
        if (node.state !== "waiting") this.used.waiting += 1;
        if (!node.asked) {
          node.asked = [event.at, Infinity];
          for (let each = node; each; each = each.above) (each.waits ??= []).push(node.asked);
        }
        Object.assign(node, { state: "waiting", toolset: event.toolset, tool: event.tool, why: event.why, terminal: event.terminal_only });
        break;
      case "answered":
        this.settle(node);
        node.answers += 1;
        node.decided = `${event.edited ? "edited" : event.allowed ? "allowed" : "refused"} by ${event.by}`;
        node.state = "running";
        break;
      case "finished":
      case "invalid":
      case "return":
        if (event.outcome === "asks") break; // of its own accord: it is asked about next
        node.state = event.outcome;
        node.text = event.text;
        if (event.frames) flag(node, "crashed");
        if (event.kind === "invalid") flag(node, "did not fit");
    }
  }

  takeRequest(node, event) {
    node.requests += 1;
    node.input += event.input_tokens;
    node.output += event.output_tokens;
    this.used.requests += 1;
    this.used.input += event.input_tokens;
    this.used.output += event.output_tokens;
    if (event.measured || event.input_tokens + event.output_tokens) node.isMeasured = true;
    else this.used.unmeasured += 1;
    if (event.cost_usd !== null) {
      node.cost = (node.cost ?? 0) + Number(event.cost_usd);
      this.used.cost += Number(event.cost_usd);
      this.used.priced += 1;
    }
    if (!node.models.includes(event.model)) node.models.push(event.model);
    if (event.truncated) flag(node, "truncated");
    if (event.text) node.text = event.text;
    if (!node.above && !event.calls.length) node.state = "success"; // nothing else is kept of the entry's own end
  }

  settle(node) {
    if (node.state === "waiting") this.used.waiting -= 1;
  }

  /** What a process left open when it ended. */
  close(event) {
    for (const node of this.nodes.values()) {
      if (node.state === "running") node.state = node.above || event.outcome === "waiting" ? "open" : endOf(event.outcome);
    }
  }

  /** All calls, callers first, but what is below those in `closed`. */
  rows(closed = new Set()) {
    const rows = [];
    const add = (node) => {
      rows.push(node);
      if (!closed.has(node.path)) node.children.forEach(add);
    };
    this.roots.forEach(add);
    return rows;
  }
}

function flag(node, word) {
  if (!node.flags.includes(word)) node.flags.push(word);
}

function endOf(outcome) {
  return outcome === "completed" || outcome === "truncated" ? "success" : outcome;
}

/** How long a call took until then, without the time in which it, or a call below it, waited for a person. */
export function tookOf(node, end) {
  let took = 0;
  let reached = node.began;
  for (const [start, over] of node.waits ?? []) { // in the order in which they began
    took += Math.max(0, Math.min(start, end) - reached);
    reached = Math.max(reached, over);
  }
  return took + Math.max(0, end - reached);
}
