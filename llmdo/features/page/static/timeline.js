// A run as it grew: its events in their order, and the calls that they make up to any of them.

/** The states and the flags of a call or a request in which something went wrong. */
const FAULTY = new Set(["error", "failed", "denied", "refused", "stopped", "retried", "unsure", "truncated", "cancelled", "interrupted"]);
const FLAWS = new Set(["crashed", "did not fit", "truncated"]);

/** Whether something went wrong in a call or a request itself, whatever went wrong below it. */
export function isFault(node) {
  return FAULTY.has(node.state) || node.flags.some((word) => FLAWS.has(word));
}

/** The calls of a run after a number of its events, and their requests to models. */
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
    this.requests = []; // in the order in which they were sent
    this.pauses = []; // times in which no process worked on it; the last may still last
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
        key: event.path,
        above,
        children: [],
        parts: [], // the same with its requests, in the order in which they began
        asking: null, // its request that is not answered yet
        waiting: null, // the last time in which it waited for a person
        waits: [], // those of it and of the calls below it, in the order in which they began
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
      };
      this.nodes.set(event.path, node);
      (above ? above.children : this.roots).push(node);
      above?.parts.push(node);
      this.used.calls += 1;
    }
    for (let each = node; each; each = each.above) each.ended = event.at;
    return node;
  }

  /** A process begins: until then none worked on the run, whether the one before it said that it ended or not. */
  resume(at) {
    const last = this.pauses.at(-1);
    if (last?.to === Infinity) last.to = at;
    else if (this.run.sessions > 1) this.pauses.push({ from: this.before, to: at });
  }

  /** Seconds for which processes had worked on the run by a time. */
  clock(at) {
    const paused = this.pauses.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(at, to) - from), 0);
    return Math.max(0, at - this.run.began - paused);
  }

  /** Seconds for which it stood, until its last event. */
  get paused() {
    const { began, ended } = this.run;
    return began === null ? 0 : ended - began - this.clock(ended);
  }

  /** When a call or a request began and ended by that clock, and the times between in which it, or a call below it, waited for a person. */
  lasting(node) {
    const isOpen = node.state === "running" || node.state === "waiting";
    const end = this.clock(isOpen ? this.run.ended : node.ended);
    const began = Math.min(end, this.clock(node.began));
    const waits = node.waits.map(({ from, to }) => ({ from: this.clock(from), to: Math.min(end, this.clock(to ?? this.run.ended)) }));
    let took = 0;
    let reached = began;
    for (const { from, to } of waits) { // those of calls side by side overlap
      took += Math.max(0, Math.min(from, end) - reached);
      reached = Math.max(reached, to);
    }
    return { began, end, waits, took: took + Math.max(0, end - reached) };
  }

  take(event) {
    const { run } = this;
    this.before = run.ended ?? event.at;
    run.ended = event.at;
    switch (event.kind) {
      case "run":
        Object.assign(run, { began: event.at, entry: event.path, input: event.input, continues: event.continues });
        return;
      case "session":
        run.sessions += 1;
        this.resume(event.at);
        Object.assign(run, { status: null, error: null, hint: null, truncated: null });
        return;
      case "end":
        Object.assign(run, { status: event.outcome, error: event.error, hint: event.hint, truncated: event.truncated });
        this.close(event);
        this.pauses.push({ from: event.at, to: Infinity });
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
      case "sent":
        if (node.asking) node.asking.state = "open"; // its process was killed
        this.ask(node, event.at);
        break;
      case "request":
        this.takeRequest(node, event);
        break;
      case "attempt":
        node.attempts += 1;
        flag(node, "retried");
        this.settleRequest(node, event, { state: "failed", text: event.message, place: ["attempt", node.attempts] });
        break;
      case "decision":
        this.settle(node, event.at);
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
        if (node.state !== "waiting") {
          this.used.waiting += 1;
          node.waiting = { from: event.at, to: null };
          for (let each = node; each; each = each.above) each.waits.push(node.waiting);
        }
        Object.assign(node, { state: "waiting", toolset: event.toolset, tool: event.tool, why: event.why, terminal: event.terminal_only });
        break;
      case "answered":
        this.settle(node, event.at);
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

  /** A request of a worker, from when it is sent. */
  ask(node, at) {
    node.asking = {
      isRequest: true,
      path: node.path,
      name: `request ${node.requests + 1}`,
      place: ["request", node.requests + 1],
      above: node,
      depth: node.depth + 1,
      parts: [],
      waits: [],
      flags: [],
      began: at,
      ended: at,
      state: "running",
      model: "",
      text: "",
      input: 0,
      output: 0,
      isMeasured: false,
      cost: null,
      get key() {
        return `${this.path} ${this.place.join(" ")}`;
      },
    };
    node.parts.push(node.asking);
    this.requests.push(node.asking);
    return node.asking;
  }

  settleRequest(node, event, changes) {
    Object.assign(node.asking ?? this.ask(node, event.at), { ended: event.at, model: event.model, ...changes });
    node.asking = null;
  }

  takeRequest(node, event) {
    const isMeasured = Boolean(event.measured || event.input_tokens + event.output_tokens);
    this.settleRequest(node, event, {
      state: "success",
      text: event.text || event.calls.map((tool) => `calls ${tool}`).join(", "),
      flags: event.truncated ? ["truncated"] : [],
      input: event.input_tokens,
      output: event.output_tokens,
      isMeasured,
      cost: event.cost_usd === null ? null : Number(event.cost_usd),
    });
    node.requests += 1;
    node.input += event.input_tokens;
    node.output += event.output_tokens;
    this.used.requests += 1;
    this.used.input += event.input_tokens;
    this.used.output += event.output_tokens;
    if (isMeasured) node.isMeasured = true;
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

  settle(node, at) {
    if (node.state !== "waiting") return;
    this.used.waiting -= 1;
    node.waiting.to = at;
  }

  /** What a process left open when it ended. */
  close(event) {
    for (const node of this.nodes.values()) {
      if (node.asking) node.asking.state = "open";
      node.asking = null;
      if (node.state === "running") node.state = node.above || event.outcome === "waiting" ? "open" : endOf(event.outcome);
    }
  }

  /** All calls and requests, callers first, but what is below those in `closed`. */
  rows(closed = new Set()) {
    const rows = [];
    const add = (node) => {
      rows.push(node);
      if (!closed.has(node.key)) node.parts.forEach(add);
    };
    this.roots.forEach(add);
    return rows;
  }

  /** The calls and requests in which something went wrong, in the same order. */
  faults() {
    return this.rows().filter(isFault);
  }
}

function flag(node, word) {
  if (!node.flags.includes(word)) node.flags.push(word);
}

function endOf(outcome) {
  return outcome === "completed" || outcome === "truncated" ? "success" : outcome;
}
