// The item of a batch, or the case of an evaluation, that a run is for.

import { isFile } from "./client.js";
import { h } from "./dom.js";
import { href } from "./router.js";

/** The name of an item, which leads to all items of its batch, or to all cases of its evaluation. */
export function itemLink({ batch, evaluation, name }) {
  if (isFile) return h("span", { class: "mono dim" }, name);
  return h("a", { class: "mono", href: evaluation ? href("eval", evaluation) : href("batch", batch) }, name);
}

/** The item and the title of a run, in brackets and after them as in `llmdo runs`; empty if it has neither. */
export function headingOf({ item, title }) {
  return [item && `[${item.name}]`, title].filter(Boolean).join(" ");
}
