// The shell: what stands around every view, and which of them is shown.

import { get, heldOf, isFile, opened, takeToken } from "./client.js";
import { InboxCount } from "./count.js";
import { fill, h, visible } from "./dom.js";
import { Keyboard } from "./keys.js";
import { href, matched, parsed } from "./router.js";
import { Search } from "./search.js";
import { failing, loading } from "./states.js";
import { VIEWS } from "./views.js";

const SOON = 150; // ms after which somebody who waits is told so

/** The page: one view at a time, and what all of them share. */
class App {
  constructor() {
    this.keyboard = new Keyboard();
    this.main = h("main", { id: "main", tabindex: "-1" });
    this.news = h("p", { class: "unseen", "aria-live": "polite" });
    this.top = h("header", { class: "top" });
    this.project = null;
    this.count = new InboxCount();
    this.shown = null;
    this.number = 0;
  }

  async start() {
    fill(document.getElementById("app"), skipLink(), this.top, this.main, this.news);
    this.search = new Search(this);
    this.keyboard.add(this.keys());
    this.forget = () => {};
    addEventListener("hashchange", () => this.show());
    if (isFile && !location.hash) history.replaceState(null, "", document.body.dataset.first);
    await this.show();
  }

  keys() {
    return [
      { group: "Everywhere", keys: "?", words: "list all keys", run: () => this.keyboard.list() },
      { group: "Everywhere", keys: "/", words: "search", run: () => this.search.open() },
      { group: "Everywhere", keys: "r", words: "read everything again", run: () => this.show({ anew: true }) },
    ];
  }

  /** Reads the project, which says what views there are. */
  async read() {
    this.project = await get("/api/project");
    this.forget();
    const views = VIEWS.filter((view) => view.key && this.isOffered(view));
    this.forget = this.keyboard.add(
      views.map((view) => ({
        group: "Go to",
        keys: `g ${view.key}`,
        words: view.title.toLowerCase(),
        run: () => this.go(view.home ?? view.name),
      })),
    );
  }

  isOffered(view) {
    return (!isFile || !view.needs || heldOf(view.needs).length > 0) && (view.isOffered?.(this.project) ?? true);
  }

  /** Goes to an address, as `href` has it. */
  go(...parts) {
    location.hash = href(...parts);
  }

  /** Shows what the address says. */
  async show({ anew = false } = {}) {
    const { parts, query } = parsed(location.hash);
    const { view, parameters } = meant(parts);
    const place = JSON.stringify([view?.name, parameters]);
    if (!anew && this.shown?.place === place && this.shown.context.onQuery) {
      this.shown.context.query = query;
      document.body.dataset.ready = String(this.number); // before, as it may begin to load
      this.shown.context.onQuery(query);
      return;
    }
    if (!anew && view && this.shown?.view === view && this.shown.context.onParameters?.(parameters, query)) {
      Object.assign(this.shown, { place });
      Object.assign(this.shown.context, { parameters, query });
      document.body.dataset.ready = String(this.number);
      return;
    }
    this.leave();
    const number = ++this.number;
    const context = this.contextOf(parameters, query);
    this.shown = { place, view, context };
    document.body.dataset.view = view?.name ?? "";
    const slow = setTimeout(() => fill(this.main, loading(view?.title.toLowerCase() ?? "")), SOON);
    try {
      if (!this.project || anew) await this.read();
      context.project = this.project;
      this.draw(view);
      if (!view) throw notThere(parts);
      const data = view.load ? await view.load(context) : null;
      if (number !== this.number) return;
      clearTimeout(slow);
      const node = await view.render(data, context);
      if (number !== this.number) return;
      fill(this.main, node);
      this.named(view, context);
      context.onShown?.();
    } catch (error) {
      clearTimeout(slow);
      if (error.name === "AbortError" || number !== this.number) return;
      if (!error.hint && error.status === undefined) console.error(error);
      this.draw(view);
      fill(this.main, failing(error, () => this.show({ anew: true })));
      this.named(view, context);
    } finally {
      clearTimeout(slow);
      // For whoever waits for a view to be there; one that another view replaced before it came is not.
      if (number === this.number) document.body.dataset.ready = String(number);
    }
  }

  leave() {
    delete document.body.dataset.ready;
    this.shown?.context.ended.abort();
    this.shown?.context.leaving.forEach((each) => each());
  }

  /** What a view is handed. */
  contextOf(parameters, query) {
    const ended = new AbortController();
    const leaving = [];
    return {
      parameters,
      query,
      project: this.project,
      ended,
      signal: ended.signal,
      leaving,
      go: (...to) => this.go(...to),
      refresh: () => this.show({ anew: true }),
      count: (number) => this.count.is(number),
      announce: (text) => fill(this.news, text),
      addKeys: (keys) => leaving.push(this.keyboard.add(keys)),
      onLeave: (run) => leaving.push(run),
    };
  }

  named(view, context) {
    const title = context.title ?? view?.title ?? "not found";
    if (!this.main.querySelector("h1")) this.main.prepend(h("h1", { class: "unseen" }, title));
    this.count.name(visible([title, this.project?.name, "llmdo"].filter(Boolean).join(" · ")));
    if (!isFile && this.project && !this.project.read_from) this.count.start();
    fill(this.news, title);
  }

  draw(view) {
    const links = VIEWS.filter((each) => each.inNavigation !== false && this.isOffered(each)).map((each) =>
      h(
        "a",
        { href: href(each.home ?? each.name), "aria-current": each === view || each.name === view?.below ? "page" : null },
        each.title,
        each.name === "inbox" && this.count.badge,
      ),
    );
    fill(
      this.top,
      h("a", { class: "name", href: "#/" }, this.project?.name ?? "llmdo"),
      this.project?.read_from && h("span", { class: "tag" }, `read from ${this.project.read_from}, not enforced`),
      h("nav", { "aria-label": "Views" }, links),
      h(
        "button",
        { type: "button", class: "search-open", onclick: () => this.search.open(), "aria-keyshortcuts": "/" },
        h("span", {}, "Search"),
        h("kbd", {}, "/"),
      ),
      h(
        "button",
        { type: "button", class: "button icon", onclick: () => this.keyboard.list(), "aria-label": "Keyboard" },
        "?",
      ),
    );
    // Where there is no room for all of them, that of the view is among those that are seen.
    const marked = this.top.querySelector("nav a[aria-current]");
    if (marked) marked.parentElement.scrollLeft = marked.offsetLeft + marked.offsetWidth - marked.parentElement.clientWidth;
  }
}

function skipLink() {
  const skip = (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  };
  return h("a", { class: "skip", href: "#main", onclick: skip }, "Skip to content");
}

/** The view that parts of an address mean, and its parameters. */
function meant(parts) {
  for (const view of VIEWS) {
    for (const pattern of view.routes) {
      const parameters = matched(pattern, parts);
      if (parameters) return { view, parameters };
    }
  }
  return { view: null, parameters: {} };
}

function notThere(parts) {
  const message = `${isFile ? "this file has" : "there is"} no page ${parts.join("/")}`;
  return Object.assign(new Error(message), { status: 404, hint: isFile ? "`llmdo page` shows everything" : "the bar above leads to all" });
}

takeToken();
opened().then(() => new App().start());
