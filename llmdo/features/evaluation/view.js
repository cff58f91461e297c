// Evaluations: what came of each, and one as a table of its cases by variants, with a link to each run.

import { moment, wordOf } from "./amounts.js";
import { get } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { lookAgain } from "./looking.js";
import { href } from "./router.js";
import { empty, withCode } from "./states.js";

const ANEW = 2000; // ms until an evaluation with runs that are left is read again
const TONES = { good: "allowed", asks: "needs_approval", bad: "blocked", note: "" };

function size(evaluated) {
  return [
    counted(evaluated.number, "case"),
    evaluated.variants.length > 1 && counted(evaluated.variants.length, "variant"),
    evaluated.repeat > 1 && `${evaluated.repeat} times each`,
  ].filter(Boolean).join(", ");
}

const evals = {
  name: "evals",
  title: "Evals",
  key: "v",
  routes: ["evals"],
  needs: "/api/evals",
  isOffered: (project) => !project?.read_from,
  load: (context) => get("/api/evals", {}, context),

  render(data) {
    if (!data.evaluations.length) return empty("No evaluation yet", withCode("`llmdo eval NAME` runs the cases of evals/NAME.yaml and judges each run."));
    return h(
      "div",
      { class: "page" },
      h("h1", {}, "Evals"),
      h(
        "div",
        { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Evals" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ["Began", "Eval", "Cases", "Passed", "Stands"].map((head) => h("th", { scope: "col" }, head)))),
          h("tbody", {}, data.evaluations.map(row)),
        ),
      ),
    );
  },
};

function row(evaluated) {
  const passed = evaluated.variants.map((variant) => (evaluated.variants.length > 1 ? h("span", { class: "variant-line" }, `${variant.label}: ${variant.passed}`) : variant.passed));
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: href("eval", evaluated.evaluation) }, moment(evaluated.began)), h("span", { class: "below" }, evaluated.evaluation)),
    h("td", {}, evaluated.name),
    h("td", {}, size(evaluated)),
    h("td", {}, passed),
    h("td", { class: evaluated.missed ? "blocked" : null }, standing(evaluated)),
  );
}

function standing(evaluated) {
  const parts = [evaluated.missed && "missed", evaluated.left > 0 && `${counted(evaluated.left, "run")} left`];
  return parts.filter(Boolean).join(", ") || "judged";
}

/** A link to the run of a trial: its mark, and for whoever cannot see that its words. */
function trialLink(trial, text) {
  const words = `run ${trial.number}: ${trial.passed === null ? wordOf(trial.state) : trial.passed ? "passed" : "failed"}`;
  return trial.run ? h("a", { href: href("run", trial.run), title: words, "aria-label": text ? null : words }, text ?? (trial.passed ? "✓" : trial.passed === null ? "·" : "✗")) : h("span", { class: "dim" }, text ?? "·");
}

function tableCell(cell, repeat) {
  const [trial] = cell.trials;
  const runs = repeat > 1 ? [cell.text, " ", h("span", { class: "trial-links" }, cell.trials.map((each) => trialLink(each)))] : trial ? trialLink(trial, cell.text) : cell.text;
  const why = cell.trials.flatMap((each) => (each.passed ? [] : each.why))[0];
  return h("td", { class: ["case-cell", TONES[cell.shade]] }, runs, why && h("span", { class: "excerpt", title: why }, why));
}

function totals({ name, values }) {
  return h("tr", { class: "total" }, h("th", { scope: "row" }, name), values.map((value) => h("td", {}, value)));
}

/** Every case that failed with every reason, its run and the runs of its judges. */
function failing(data, cases) {
  const lines = cases.flatMap((each) =>
    each.cells.flatMap((cell, place) =>
      cell.trials
        .filter((trial) => !trial.passed && trial.why.length)
        .map((trial) =>
          h(
            "li",
            {},
            h("span", { class: "strong" }, each.name),
            data.variants.length > 1 && h("span", { class: "dim" }, ` · ${data.variants[place].label}`),
            trial.why.map((why) => h("span", { class: "why" }, why)),
            h("span", { class: "below" }, trial.run && h("a", { href: href("run", trial.run) }, trial.run), trial.judges.map((run) => [", judged by ", h("a", { href: href("run", run) }, run)])),
          ),
        ),
    ),
  );
  return lines.length > 0 && h("section", { class: "block" }, h("h2", {}, "What failed"), h("ul", { class: "sentences failing-cases" }, lines));
}

const EXPECTATIONS = { none: "nothing is stated in the eval", unknown: "unknown: an earlier llmdo did not keep it" };

/** A value, in which what the other one lacks is set apart. */
function shownValue(value, className) {
  const part = ([text, isMarked]) => (isMarked ? h("mark", { class: className }, text) : text);
  return h("pre", { class: "lines", tabindex: "0", role: "group", "aria-label": "text" }, value.lines.map((line) => h("span", { class: "line" }, line.map(part))), value.left_out > 0 && h("span", { class: "line dim" }, `${counted(value.left_out, "more character")}: the run has all of it`));
}

function expectedCell(each, output) {
  return output.expected ? shownValue(output.expected, "removed") : h("span", { class: "dim" }, EXPECTATIONS[each.expectation]);
}

function outputRow(data, each, output) {
  const label = [data.variants.length > 1 && output.variant, data.repeat > 1 && `run ${output.number}`].filter(Boolean).join(", ");
  const verdict = output.passed ? "passed" : "failed";
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("span", { class: "mono strong" }, each.name), label && h("span", { class: "below" }, label), h("span", { class: "below" }, h("a", { href: href("run", output.run) }, verdict))),
    h("td", {}, expectedCell(each, output)),
    h("td", {}, output.actual ? shownValue(output.actual, "added") : h("span", { class: "dim" }, output.error ?? "no output"), output.expected && h("span", { class: "below" }, output.is_expected ? "as expected" : "differs from what was expected")),
  );
}

/** What each run said, beside what was expected of it. */
function outputs(data, cases) {
  const rows = cases.flatMap((each) => each.outputs.map((output) => outputRow(data, each, output)));
  return (
    rows.length > 0 &&
    h(
      "section",
      { class: "block" },
      h("h2", {}, "Expected and actual"),
      h(
        "div",
        { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Expected and actual" },
        h("table", { class: "outputs" }, h("thead", {}, h("tr", {}, ["Case", "Expected", "Actual"].map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows)),
      ),
    )
  );
}

/** What came of an evaluation so far; `only` what differs between its variants, where that is asked for. */
function report(data, only, toggle) {
  const cases = data.cases.filter((each) => !only || each.differs);
  const several = data.variants.length > 1;
  return [
    data.left > 0 && h("p", { class: "note" }, withCode(`${counted(data.left, "run")} left${data.reason ? `: ${data.reason}` : ""}; \`llmdo eval resume ${data.evaluation}\` goes on`)),
    data.sentences.length > 0 && h("ul", { class: "sentences" }, data.sentences.map((line) => h("li", {}, withCode(line)))),
    several && h("div", { class: "filters" }, h("label", {}, h("input", { type: "checkbox", checked: only, onchange: toggle }), " only what differs")),
    h(
      "div",
      { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Cases by variants" },
      h(
        "table",
        { class: "cases" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Case"), data.variants.map((variant) => h("th", { scope: "col", class: "mono" }, variant.label)))),
        h(
          "tbody",
          {},
          cases.map((each) => h("tr", {}, h("th", { scope: "row" }, h("span", { class: "mono strong" }, each.name), each.title && h("span", { class: "below" }, each.title), several && each.differs && h("span", { class: "badge differs" }, "differs")), each.cells.map((cell) => tableCell(cell, data.repeat)))),
          data.totals.map(totals),
        ),
      ),
    ),
    outputs(data, cases),
    failing(data, cases),
  ];
}

const evaluation = {
  name: "eval",
  title: "Eval",
  below: "evals",
  inNavigation: false,
  needs: "/api/evals",
  routes: ["eval/:evaluation"],
  load: (context) => get("/api/eval", { evaluation: context.parameters.evaluation }, context),

  render(data, context) {
    context.title = `eval ${data.name}`;
    const only = Boolean(context.query.differs);
    const toggle = () => context.go("eval", data.evaluation, only ? {} : { differs: "1" });
    if (data.variants.length > 1) context.addKeys([{ group: "Eval", keys: "d", words: "only what differs, or all", run: toggle }]);
    const place = h("div", {});
    let shown = data;
    fill(place, report(shown, only, toggle));
    lookAgain(context, ANEW, async () => {
      if (!shown.left || place.contains(document.activeElement)) return; // nothing moves away from whoever is about to use it
      const now = await get("/api/eval", { evaluation: data.evaluation }, context);
      if (JSON.stringify(now) === JSON.stringify(shown)) return;
      shown = now;
      fill(place, report(shown, only, toggle));
    });
    return h(
      "div",
      { class: "page" },
      h("header", { class: "heading" }, h("h1", {}, data.name), h("span", { class: "mono dim" }, data.evaluation)),
      h("p", { class: "lead" }, `${size(data)} of entry ${data.entry}, ${moment(data.began)}`),
      place,
    );
  },
};

export const VIEWS = [evals, evaluation];
