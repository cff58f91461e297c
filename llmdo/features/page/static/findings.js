// The findings of `llmdo check`: each with its place, its line and what helps, and links to the entry and the worker.

import { get } from "./client.js";
import { fill, h, lines } from "./dom.js";
import { lookAgain } from "./looking.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";

const ANEW = 5000; // ms until the files are checked again, while somebody looks
const TONES = { error: "blocked", warning: "needs_approval", note: "running" };

function placeOf({ path, line, column }) {
  return h("span", { class: "place" }, [path, line, column].filter((each) => each !== null && each !== undefined).join(":"));
}

function excerpt(at) {
  return at.excerpt && lines(`${at.excerpt.line}\n${at.excerpt.mark}`, { class: "source-excerpt", tabindex: "0", "aria-label": `${at.path}:${at.line}` });
}

/** Where what a finding is about is to be seen. */
function links(finding, project) {
  const entry = project.entries.find((each) => each.name === finding.subject);
  const workers = project.workers.filter((each) => each.entry && [finding.path, ...finding.related.map((other) => other.path)].includes(each.path));
  const every = [
    entry && h("a", { href: href("reach", entry.name, { to: finding.capability }) }, `entry ${entry.name}`),
    ...workers.map((each) => h("a", { href: href("reach", each.entry, { at: each.name }) }, `worker ${each.name}`)),
  ].filter(Boolean);
  return every.length > 0 && h("p", { class: "links" }, every.flatMap((link, number) => [number ? ", " : "See ", link]));
}

function item(finding, project) {
  return h(
    "li",
    { class: ["finding", TONES[finding.severity]], "data-code": finding.code },
    h("p", {}, h("span", { class: "badge" }, finding.severity), " ", h("strong", {}, withCode(finding.message))),
    h("p", { class: "dim" }, placeOf(finding), ` · ${finding.code} ${finding.name}`),
    excerpt(finding),
    finding.related.map((other) => h("div", { class: "related" }, h("p", { class: "dim" }, placeOf(other), " ", withCode(other.message)), excerpt(other))),
    finding.hint && h("p", { class: "help" }, h("b", {}, "Hint: "), withCode(finding.hint)),
    links(finding, project),
  );
}

export const findings = {
  name: "findings",
  title: "Findings",
  key: "k",
  routes: ["findings"],
  needs: "/api/check",
  load: (context) => get("/api/check", {}, context),

  render(data, context) {
    const place = h("div", {});
    const lead = h("p", { class: "lead", role: "status" });
    let drawn = null;
    const draw = (now) => {
      const text = JSON.stringify(now);
      if (text === drawn) return false;
      drawn = text;
      lead.textContent = now.findings.length ? `${now.summary}, as llmdo check has them.` : "";
      fill(
        place,
        now.problem && h("p", { class: "note" }, withCode(now.problem.message), now.problem.hint && [" ", withCode(now.problem.hint)]),
        now.findings.length ? h("ol", { class: "findings-list" }, now.findings.map((each) => item(each, context.project))) : !now.problem && empty("No findings", withCode("`llmdo check` has nothing to say about these files.")),
      );
      return true;
    };
    draw(data);
    const fail = (error) => fill(place, h("p", { class: "note" }, withCode(error.message), error.hint && [" ", withCode(error.hint)]));
    lookAgain(
      context,
      ANEW,
      async () => draw(await get("/api/check", {}, context)) && context.announce(lead.textContent || "no findings"),
      (error) => {
        drawn = null;
        fail(error);
      },
    );
    return h("div", { class: "page" }, h("header", { class: "heading" }, h("h1", {}, "Findings"), lead), place);
  },
};
