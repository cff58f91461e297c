// Search over everything: entries, workers and toolsets of the project, and what views add of their own.

import { fill, h } from "./dom.js";
import { showDialog } from "./keys.js";
import { VIEWS } from "./views.js";

const MOST = 50; // results that anybody looks through

/**
 * The palette. A view's `search(context)` returns, at once or later, items `{kind, text, more, href}`.
 */
export class Search {
  constructor(app) {
    this.app = app;
  }

  async open() {
    const input = h("input", {
      type: "search",
      role: "combobox",
      placeholder: "Entries, workers, toolsets, capabilities, runs",
      "aria-label": "Search",
      "aria-controls": "results",
      "aria-expanded": "true",
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
    });
    const list = h("ul", { id: "results", role: "listbox", "aria-label": "Results" });
    const none = h("p", { class: "none", role: "status" });
    const dialog = h("dialog", { class: "sheet palette", "aria-label": "Search" }, input, list, none);
    let items = [];
    let shown = [];
    let at = 0;
    const choose = (item) => {
      dialog.close();
      location.hash = item.href;
    };
    const mark = () => {
      for (const [number, element] of [...list.children].entries()) {
        element.setAttribute("aria-selected", String(number === at));
        if (number === at) element.scrollIntoView({ block: "nearest" });
      }
      if (shown.length) input.setAttribute("aria-activedescendant", `result-${at}`);
      else input.removeAttribute("aria-activedescendant");
    };
    const draw = () => {
      shown = best(items, input.value);
      at = 0;
      fill(
        list,
        shown.slice(0, MOST).map((item, number) =>
          h(
            "li",
            { id: `result-${number}`, role: "option", "aria-selected": "false", onclick: () => choose(item) },
            h("span", { class: "kind" }, item.kind),
            h("span", { class: "text" }, item.text),
            item.more && h("span", { class: "more" }, item.more),
          ),
        ),
      );
      list.hidden = !shown.length;
      fill(none, !shown.length && "Nothing of that name.", shown.length > MOST && `The first ${MOST} of ${shown.length}.`);
      mark();
    };
    input.addEventListener("input", draw);
    input.addEventListener("keydown", (event) => {
      const last = Math.min(shown.length, MOST) - 1;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) at = Math.max(0, Math.min(last, at + step));
      else if (event.key === "Enter" && shown[at]) choose(shown[at]);
      else return;
      event.preventDefault();
      mark();
    });
    showDialog(dialog);
    draw();
    const context = this.app.shown?.context;
    for (const view of VIEWS) {
      if (!view.search || !context?.project) continue;
      // A view that has nothing to say must not keep the others from being found.
      Promise.resolve(view.search(context)).then(
        (more) => {
          items = [...items, ...more];
          if (dialog.open) draw();
        },
        () => {},
      );
    }
  }
}

/** The items that hold every word, those that begin with the first of them before others. */
function best(items, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const holding = items.filter((item) => {
    const whole = `${item.kind} ${item.text} ${item.more ?? ""}`.toLowerCase();
    return words.every((word) => whole.includes(word));
  });
  if (!words.length) return holding;
  const rank = (item) => (item.text.toLowerCase().startsWith(words[0]) ? 0 : item.text.toLowerCase().includes(words[0]) ? 1 : 2);
  return holding.map((item) => [rank(item), item]).sort((a, b) => a[0] - b[0]).map(([, item]) => item);
}
