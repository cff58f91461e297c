// What a view is before it has something to show, and where it has nothing.

import { h } from "./dom.js";

/** While something is on its way; it is drawn only once that takes long enough to be noticed. */
export function loading(what) {
  return h("div", { class: "state loading", role: "status" }, h("span", { class: "bar" }), `Loading ${what}`);
}

/** Where there is nothing: what would be here, and how it comes to be. */
export function empty(title, ...more) {
  return h("div", { class: "state" }, h("h2", {}, title), more.filter(Boolean).map((each) => h("p", {}, each)));
}

/** That something went wrong, what helps, and a way to try again. */
export function failing(error, again) {
  const at = error.at?.path ? ` (${error.at.path}${error.at.line ? `:${error.at.line}` : ""})` : "";
  return h(
    "div",
    { class: "state failing", role: "alert" },
    h("h2", {}, withCode(`${error.message}${at}`)),
    error.hint && h("p", {}, withCode(error.hint)),
    again && h("button", { type: "button", class: "button", onclick: again }, "Try again"),
  );
}

/** A sentence in which names in backticks are set apart. */
export function withCode(text) {
  return String(text)
    .split("`")
    .map((part, number) => (number % 2 ? h("code", {}, part) : part));
}
