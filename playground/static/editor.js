// The files of a project that was opened from texts, with the findings as somebody types.

import { get } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { href } from "./router.js";
import { session } from "./session.js";
import { empty, withCode } from "./states.js";

const PAUSE = 250; // ms without a key until it is read again

function item({ severity, code, message, hint, path, line }, go) {
  return h("li", { class: ["finding", severity] }, h("button", { type: "button", class: "link", onclick: () => go(path, line) }, `${path}:${line ?? 1}`), " ", code, " ", withCode(message), hint && h("span", { class: "hint" }, " ", withCode(hint)));
}

/** The findings of the project as it is now, a place each. */
async function current() {
  try {
    const { text } = await get("/api/printed", { command: "check" });
    return JSON.parse(text).findings;
  } catch (error) {
    return [{ severity: "error", code: "", message: error.message, hint: error.hint, path: "", line: null }];
  }
}

export const editor = {
  name: "files",
  title: "Files",
  key: "t",
  routes: ["files", "files/*path"],
  isOffered: () => session.texts.size > 0,

  async load() {
    return session.texts.size ? current() : [];
  },

  render(findings, context) {
    const paths = [...session.texts.keys()];
    if (!paths.length) return empty("Nothing can be edited here", "Open an example, or paste a text.");
    const path = context.parameters.path?.join("/") ?? paths[0];
    if (!session.texts.has(path)) return empty("There is no such file");
    const list = h("ul", { class: "causes", "aria-live": "polite" });
    const count = h("h2", {});
    const area = h("textarea", { class: "mono", rows: "24", spellcheck: "false", "aria-label": path });
    area.value = session.texts.get(path);
    const go = (other, line) => (other && other !== path ? context.go("files", other.split("/"), { line }) : select(line));
    const select = (line) => {
      const before = area.value.split("\n").slice(0, Math.max(0, (line ?? 1) - 1)).join("\n");
      const start = before ? before.length + 1 : 0;
      area.focus();
      area.setSelectionRange(start, Math.max(start, (area.value + "\n").indexOf("\n", start)));
    };
    const show = (all) => {
      fill(count, all.length ? counted(all.length, "finding") : "No finding");
      fill(list, all.map((each) => item(each, go)));
    };
    let timer = 0;
    let turn = 0;
    area.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const mine = ++turn;
        await session.edit(path, area.value);
        const all = await current();
        if (mine === turn) show(all);
      }, PAUSE);
    });
    context.onLeave(() => {
      clearTimeout(timer);
      if (session.texts.get(path) !== area.value) session.edit(path, area.value);
    });
    context.onShown = () => context.query.line && select(Number(context.query.line));
    show(findings);
    return h(
      "div",
      { class: "page editing" },
      h("h1", {}, "Files"),
      h("ul", { class: "files" }, paths.map((each) => h("li", {}, h("a", { href: href("files", each.split("/")), "aria-current": each === path ? "page" : null }, each)))),
      area,
      h("section", {}, count, list),
    );
  },
};
