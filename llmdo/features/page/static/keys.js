// The keyboard: what a key does, and `?`, which lists them all.

import { h } from "./dom.js";

const NAMES = { Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "Space" };
const PATIENCE = 1200; // ms between two keys that belong together

/**
 * Keys in groups: `{group, keys: "g r", words, run}`. The last group that knows a key has it, so that a view can have
 * keys of its own; `run` returns false where it leaves a key to the browser.
 */
export class Keyboard {
  constructor() {
    this.layers = [];
    this.before = "";
    this.timer = null;
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** Adds keys, and returns what takes them away. */
  add(keys) {
    this.layers.push(keys);
    return () => (this.layers = this.layers.filter((each) => each !== keys));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
    if (isTyping(event) || document.querySelector("dialog[open]")) return;
    const together = this.before ? `${this.before} ${event.key}` : event.key;
    clearTimeout(this.timer);
    const every = this.layers.flat();
    const meant = every.findLast((each) => each.keys.split(", ").includes(together));
    this.before = "";
    if (meant) {
      if (meant.run(event) !== false) event.preventDefault();
    } else if (every.some((each) => each.keys.split(", ").some((keys) => keys.startsWith(`${event.key} `)))) {
      this.before = event.key;
      this.timer = setTimeout(() => (this.before = ""), PATIENCE);
    }
  }

  /** The list of all keys, as a dialog. */
  list() {
    const groups = Map.groupBy(this.layers.flat(), (each) => each.group);
    const close = h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close");
    const dialog = h(
      "dialog",
      { class: "sheet", "aria-labelledby": "keys-title" },
      h("header", {}, h("h2", { id: "keys-title" }, "Keyboard"), close),
      h(
        "div",
        { class: "keys" },
        [...groups].map(([group, keys]) =>
          h(
            "section",
            {},
            h("h3", {}, group),
            h("dl", {}, keys.map((each) => [h("dt", {}, caps(each.keys)), h("dd", {}, each.words)])),
          ),
        ),
      ),
    );
    showDialog(dialog);
  }
}

function caps(keys) {
  return keys.split(", ").flatMap((alternative, number) => [
    number ? " or " : null,
    ...alternative.split(/ (?=.)/).flatMap((key, place) => [place ? " then " : null, h("kbd", {}, NAMES[key] ?? key)]),
  ]);
}

/** Shows a dialog, and takes it out of the document once it is closed. */
export function showDialog(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside it
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** Whether a key is for what has the focus: of a box that is ticked, the space bar alone. */
function isTyping({ target, key }) {
  if (!(target instanceof Element)) return false;
  if (target.matches("input[type=checkbox]")) return key === " ";
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}
