// What the cards of questions share: their sections, their buttons, and the patience of an answer.

import { h } from "./dom.js";

export const AGAIN = 700; // ms until an answer is given once more to a run that still goes on

/** A button with its key. A key alone allows nothing: it leads to the button, which then says that Enter confirms. */
export function button(words, key, run, properties) {
  const cap = h("kbd", { "aria-hidden": "true" }, key);
  const named = (text) => () => (cap.textContent = text);
  return h("button", { type: "button", onclick: run, "aria-keyshortcuts": key, onfocus: named("Enter confirms"), onblur: named(key), ...properties }, words, " ", cap);
}

export function fact(title, ...content) {
  return h("section", { class: "fact" }, h("h3", {}, title), h("div", {}, content));
}

export function pause(time, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, time);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    });
  });
}
