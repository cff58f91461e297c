// What waits for a person, over all runs: a list, and beside it the question that is chosen.

import { ago } from "./amounts.js";
import { get } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { headingOf } from "./item.js";
import { likeCard } from "./like.js";
import { lookAgain } from "./looking.js";
import { questionCard } from "./question.js";
import { href } from "./router.js";
import { empty, failing } from "./states.js";

const ANEW = 2000; // ms until the list is read again, while somebody looks at it

function addressOf(item) {
  return href("inbox", item.run, item.path.split("/"), item.calls ? { like: 1 } : {});
}

const isSame = (item, other) => item.run === other?.run && item.path === other?.path;

/** What is listed: like calls once, at the place of the first of them; a call that must be answered alone by itself. */
function listedOf({ waiting, groups }) {
  return groups.flatMap((group) => {
    const items = waiting.filter((item) => group.calls.some((call) => isSame(item, call)));
    if (items.length < 2 || group.obstacle) return items;
    return [{ ...items[0], calls: items }];
  });
}

const holds = (item, place) => (item.calls ?? [item]).some((each) => isSame(each, place));

function listItem(item, isChosen) {
  const number = item.calls?.length;
  return h(
    "li",
    {},
    h(
      "a",
      { class: "row waiting-row", href: addressOf(item), "aria-current": isChosen ? "true" : null },
      h("span", { class: "mono strong" }, item.tool),
      h("span", { class: "size" }, ago(item.asked)),
      !number && headingOf(item) && h("span", { class: "way" }, headingOf(item)),
      h("span", { class: "way" }, number ? `${counted(number, "like call")} of ${item.worker}` : item.callers.map(([, worker]) => worker).join(" › ")),
      h("code", { class: "excerpt" }, item.excerpt),
      item.terminal_only && h("span", { class: "flag" }, "terminal only"),
    ),
  );
}

export const inbox = {
  name: "inbox",
  title: "Inbox",
  key: "i",
  routes: ["inbox", "inbox/:run", "inbox/:run/*path"],
  needs: "/api/inbox",
  isOffered: (project) => !project?.read_from,
  load: (context) => get("/api/inbox", {}, context),

  render(data, context) {
    const { parameters } = context;
    const isNamed = Boolean(parameters.path);
    const isOfRun = (item) => (item.calls ?? [item]).some((each) => each.run === parameters.run);
    let { waiting } = data;
    let items = listedOf(data);
    const heading = h("h1", {}, "Inbox");
    const lead = h("p", { class: "lead", role: "status" });
    const list = h("ul", { class: "rows" });
    const place = h("div", { class: "beside" });
    const columns = h("div", { class: ["columns", "inbox-columns", isNamed && "is-named"] }, h("nav", { "aria-label": "What waits" }, list), place);
    const nothing = h("div", {});
    const chosen = () => (isNamed ? { run: parameters.run, path: parameters.path.join("/"), calls: context.query.like } : parameters.run ? items.find(isOfRun) : items[0]);
    const draw = () => {
      context.count(waiting.length);
      lead.textContent = waiting.length ? `${counted(waiting.length, "question")} waiting.` : "";
      fill(list, items.map((item) => listItem(item, holds(item, chosen()))));
      fill(nothing, !items.length && !isNamed && empty("Nothing waits", "When a run asks for leave, its question is shown here, with all of the call."));
      columns.hidden = !items.length && !isNamed;
    };
    const to = (step) => {
      const at = items.findIndex((item) => holds(item, chosen()));
      const next = items[Math.max(0, Math.min(items.length - 1, at + step))];
      if (next) location.hash = addressOf(next);
    };
    const without = (call) => {
      waiting = waiting.filter((item) => !isSame(item, call));
      items = items.flatMap((item) => {
        if (!item.calls) return isSame(item, call) ? [] : [item];
        const calls = item.calls.filter((each) => !isSame(each, call));
        return calls.length > 1 ? [{ ...calls[0], calls }] : calls;
      });
      draw();
    };
    const showQuestion = async () => {
      const which = chosen();
      if (!which) return fill(place, items.length > 0 && h("p", {}, "Nothing of this run waits any more."));
      const next = () => {
        const other = items.find((item) => !holds(item, which));
        location.hash = other ? addressOf(other) : href("inbox");
        if (!isNamed) context.refresh();
      };
      const asked = { run: which.run, path: which.path };
      try {
        const card = which.calls
          ? likeCard(await get("/api/like", asked, context), context, { onAnswered: without, next })
          : questionCard(await get("/api/question", asked, context), context, { onAnswered: () => without(which), next });
        fill(place, isNamed && h("a", { class: "back", href: href("inbox") }, "‹ Inbox"), card);
      } catch (error) {
        if (error.name === "AbortError") return undefined;
        const gone = error.status === 409 ? Object.assign(error, { hint: "somebody answered it, or its run has gone on" }) : error;
        fill(place, h("a", { class: "back", href: href("inbox") }, "‹ Inbox"), failing(gone, context.refresh));
      }
      return undefined;
    };
    draw();
    context.onShown = showQuestion;
    context.addKeys([
      { group: "Inbox", keys: "j", words: "next question", run: () => to(1) },
      { group: "Inbox", keys: "k", words: "question before", run: () => to(-1) },
    ]);
    lookAgain(context, ANEW, async () => {
      const now = await get("/api/inbox", {}, context);
      if (JSON.stringify(now.waiting) === JSON.stringify(waiting)) return;
      const hadNone = !items.length;
      ({ waiting } = now);
      items = listedOf(now);
      draw();
      if (hadNone && !isNamed) showQuestion();
      context.announce(`${counted(waiting.length, "question")} waiting`);
    }); // without an answer: what is shown says itself where it is stale
    return h("div", { class: "page" }, h("header", { class: "heading" }, heading, lead), data.notes.map((note) => h("p", { class: "note" }, note)), nothing, columns);
  },

  search: async (context) =>
    context.project.read_from
      ? []
      : (await get("/api/inbox", {}, context)).waiting.map((item) => ({
          kind: "question",
          text: item.path,
          more: `${item.tool} ${item.excerpt}`,
          href: addressOf(item), // each by itself
        })),
};
