// Sessions of other clients: a list of them, and the decisions of one in their order.

import { moment } from "./amounts.js";
import { get } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { lookAgain } from "./looking.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";
import { values } from "./values.js";

const ANEW = 5000; // ms until a session is read again, which may go on
const TONES = { asks: "needs_approval", denied: "blocked" };

function table(title, kind, heads, rows) {
  return h(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": title },
    h("table", { class: kind }, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows)),
  );
}

function chain(session) {
  return [
    session.chain === "holds" ? h("span", { class: "status allowed" }, "holds") : h("span", { class: "status blocked" }, "broken"),
    session.unfinished && h("span", { class: "below" }, "being written"),
  ];
}

function row(session) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: href("session", session.session) }, moment(session.began)), h("span", { class: "below" }, session.session)),
    h("td", {}, session.client),
    h("td", {}, session.agents.join(", ")),
    h("td", { class: "number" }, session.allowed.toLocaleString("en")),
    h("td", { class: "number" }, session.asked.toLocaleString("en")),
    h("td", { class: "number" }, session.denied.toLocaleString("en")),
    h("td", {}, chain(session)),
  );
}

const sessions = {
  name: "sessions",
  title: "Sessions",
  key: "s",
  routes: ["sessions"],
  needs: "/api/sessions",
  isOffered: (project) => !project?.read_from,
  load: (context) => get("/api/sessions", {}, context),

  render(data) {
    return h(
      "div",
      { class: "page" },
      h("h1", {}, "Sessions"),
      data.notes.map((note) => h("p", { class: "note" }, withCode(note))),
      data.most && h("p", { class: "lead" }, withCode(`The last ${data.most.toLocaleString("en")}; \`llmdo hook sessions --limit 0\` lists all.`)),
      data.sessions.length
        ? table("Sessions", "sessions", ["Began", "Client", "Agents", "Allowed", "Asked", "Denied", "Chain"], data.sessions.map(row))
        : empty("No session yet", withCode("`llmdo hook install CLIENT` has a client ask before each call, and every decision is kept.")),
    );
  },

  search: async (context) =>
    context.project.read_from
      ? []
      : (await get("/api/sessions", {}, context)).sessions.map((session) => ({
          kind: "session",
          text: session.session,
          more: `${session.client}, ${moment(session.began)}`,
          href: href("session", session.session),
        })),
};

/** The call of a decision: its tool, and all about it once that is wanted. */
function call(decision) {
  const first = decision.arguments[0]?.lines[0] ?? "";
  const shown = Array.isArray(first) ? first[1] : first;
  const more = h("div", {});
  const open = (event) => {
    if (!event.target.open || more.firstChild) return;
    fill(
      more,
      values(decision.arguments),
      decision.raised.length > 0 && [h("p", { class: "dim" }, "Raises:"), h("ul", { class: "tags" }, decision.raised.map((each) => h("li", {}, h("code", {}, each))))],
      decision.labels.length > 0 && [h("p", { class: "dim" }, "Read before:"), h("ul", { class: "tags" }, decision.labels.map((each) => h("li", {}, h("code", {}, each))))],
    );
  };
  return h("details", { ontoggle: open }, h("summary", {}, h("code", {}, decision.tool), ` of ${decision.toolset} `, h("span", { class: "excerpt" }, shown)), more);
}

function decisionRow(decision) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, moment(decision.time), h("span", { class: "below" }, `record ${decision.number.toLocaleString("en")}`)),
    h("td", {}, h("span", { class: ["status", TONES[decision.word]] }, decision.word), h("span", { class: "below" }, `by ${decision.by}${decision.is_left ? ", left to it" : ""}`)),
    h("td", { class: "mono" }, decision.path),
    h("td", {}, call(decision)),
    h("td", {}, decision.why.length ? h("ul", { class: "sentences" }, decision.why.map((each) => h("li", {}, withCode(each)))) : h("span", { class: "dim" }, "no rule stood in its way")),
  );
}

/** The facts of a session, and what is wrong with its chain. */
function head(data) {
  const { session } = data;
  const facts = `${session.agents.join(", ") || "no agent"}: ${session.allowed.toLocaleString("en")} allowed, ${session.asked.toLocaleString("en")} asked, ${session.denied.toLocaleString("en")} denied.`;
  return [
    h("p", { class: "lead" }, facts),
    session.chain === "holds"
      ? h("p", { class: "dim" }, "The chain holds, with the head ", h("code", {}, data.head), session.unfinished && "; another record is being written")
      : h("div", { class: "note blocked" }, h("p", {}, "The chain is broken: somebody changed the file, or it is damaged."), h("ul", { class: "sentences" }, session.faults.slice(0, 20).map((fault) => h("li", {}, fault)), session.faults.length > 20 && h("li", {}, `and ${counted(session.faults.length - 20, "more fault")}`))),
  ];
}

/** The links to what is before and after the decisions that are shown. */
function pages(data, after, place) {
  if (data.chosen <= data.most && !after) return null;
  const last = Math.min(after + data.most, data.chosen);
  return h(
    "nav",
    { class: "filters", "aria-label": "Decisions" },
    after > 0 && h("a", { href: place(Math.max(0, after - data.most)) }, "Earlier"),
    h("span", { class: "dim" }, `${Math.min(after + 1, last).toLocaleString("en")} to ${last.toLocaleString("en")} of ${data.chosen.toLocaleString("en")}`),
    last < data.chosen && h("a", { href: place(last) }, "Later"),
  );
}

const session = {
  name: "session",
  title: "Session",
  below: "sessions",
  inNavigation: false,
  needs: "/api/sessions",
  routes: ["session/:session"],
  load: (context) => get("/api/session", asked(context), context),

  render(data, context) {
    const { session: name } = context.parameters;
    const { only } = context.query;
    const after = Number(context.query.after ?? 0) || 0;
    context.title = `session ${name}`;
    context.onQuery = () => context.refresh();
    const query = (start) => ({ ...(only && { only }), ...(start && { after: String(start) }) });
    const toggle = () => context.go("session", name, only ? {} : { only: "stopped" });
    const turn = (start) => () => start >= 0 && start < data.chosen && context.go("session", name, query(start));
    context.addKeys([
      { group: "Session", keys: "d", words: "only what was not allowed, or all", run: toggle },
      { group: "Session", keys: "]", words: "later decisions", run: turn(after + data.most) },
      { group: "Session", keys: "[", words: "earlier decisions", run: turn(after ? Math.max(0, after - data.most) : -1) },
    ]);
    const place = h("div", {});
    let shown = data;
    const draw = () =>
      fill(
        place,
        head(shown),
        h("div", { class: "filters" }, h("label", {}, h("input", { type: "checkbox", checked: Boolean(only), onchange: toggle }), " only what was not allowed")),
        pages(shown, after, (start) => href("session", name, query(start))),
        shown.decisions.length ? table("Decisions", "decisions", ["At", "Decision", "Who", "Call", "Why"], shown.decisions.map(decisionRow)) : empty("No such decision"),
      );
    draw();
    lookAgain(context, ANEW, async () => {
      if (place.contains(document.activeElement) || place.querySelector("details[open]")) return; // nothing moves away from whoever reads it
      const now = await get("/api/session", asked(context), context);
      if (JSON.stringify(now) === JSON.stringify(shown)) return;
      shown = now;
      draw();
    });
    return h("div", { class: "page" }, h("header", { class: "heading" }, h("h1", {}, data.session.client), h("span", { class: "mono dim" }, name)), place);
  },
};

function asked(context) {
  return { session: context.parameters.session, after: context.query.after, only: context.query.only };
}

export const VIEWS = [sessions, session];
