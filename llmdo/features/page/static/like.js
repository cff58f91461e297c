// Like calls: arguments side by side, ticked one by one, and answered at once, each by the digest of its own call.

import { AGAIN, button, fact, pause } from "./actions.js";
import { ago } from "./amounts.js";
import { post } from "./client.js";
import { counted, fill, h } from "./dom.js";
import { href } from "./router.js";
import { withCode } from "./states.js";
import { cell, Folds, values } from "./values.js";

/** The card of like calls. `onAnswered` is called with each call whose answer is kept, `next` by who wants the next one. */
export function likeCard(like, context, { onAnswered, next }) {
  const common = new Folds(() => drawActions());
  const rows = like.calls.map((call, number) => rowOf(call, number, like, () => drawActions()));
  const actions = h("div", { class: "actions" });
  const notice = h("div", { class: "notice", role: "status" });
  let isSending = false;
  let form = null;

  const open = () => rows.filter((row) => !row.isOver);
  const ticked = () => open().filter((row) => row.box.checked);
  const folded = () => common.closed.size + ticked().reduce((sum, row) => sum + row.folds.closed.size, 0);
  const unfold = () => [common, ...ticked().map((row) => row.folds)].forEach((folds) => folds.openAll());

  const send = async (verb, more = {}) => {
    let left = ticked();
    if (isSending || !left.length || (verb === "allow" && folded())) return;
    isSending = true;
    form = null;
    drawActions();
    try {
      let kept = 0;
      while (left.length) {
        const answers = left.map(({ call }) => ({ run: call.run, path: call.path, digest: call.digest, verb, ...more }));
        const given = (await post("/api/answers", { answers }, {}, context)).answers;
        const busy = left.filter((row, number) => given[number].status === 423);
        left.forEach((row, number) => {
          if (given[number].status === 423) return row.waits();
          row.ends(given[number], verb);
          if (given[number].status === undefined) {
            kept += 1;
            onAnswered(row.call);
          }
          return undefined;
        });
        left = busy;
        if (left.length) await pause(AGAIN, context.signal);
      }
      const words = `${counted(kept, "call")} ${verb === "allow" ? "allowed" : "refused"}.`;
      fill(notice, h("p", { class: "done" }, words), !open().length && h("button", { type: "button", class: "button", onclick: next }, "Next question"));
      context.announce(words);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(notice, h("p", { class: "failed", role: "alert" }, error.message), error.hint && h("p", { class: "dim" }, withCode(error.hint)));
    } finally {
      isSending = false;
      drawActions();
      notice.querySelector("button")?.focus();
    }
  };

  const refuse = () => {
    if (!ticked().length) return;
    const input = h("input", { id: "reason", type: "text", autocomplete: "off", maxlength: "2000" });
    const submit = (event) => {
      event.preventDefault();
      send("refuse", { reason: input.value });
    };
    const cancel = h("button", { type: "button", class: "button quiet", onclick: () => { form = null; drawActions(); } }, "Cancel");
    form = h(
      "form",
      { class: "answer-form", onsubmit: submit },
      h("label", { for: "reason" }, "Why not? The models are told"),
      input,
      h("div", { class: "buttons" }, h("button", { class: "button primary" }, `Refuse ${ticked().length}`), cancel),
    );
    drawActions();
    input.focus();
  };

  const drawActions = () => {
    const number = ticked().length;
    const isShut = isSending || !number;
    const parts = number && folded();
    const hadFocus = actions.contains(document.activeElement) && document.activeElement.getAttribute("aria-keyshortcuts");
    all.checked = number > 0 && number === open().length;
    all.indeterminate = number > 0 && !all.checked;
    all.disabled = !open().length;
    fill(
      actions,
      parts > 0 && h("p", { class: "folded" }, `${counted(parts, "part")} of these calls ${parts === 1 ? "is" : "are"} folded. `, button("Unfold all", "u", unfold, { class: "button" })),
      open().length > 0 && h(
        "div",
        { class: "buttons" },
        button(`Allow ${number}`, "a", () => send("allow"), { class: "button primary", disabled: isShut || parts > 0 }),
        button(`Refuse ${number}`, "x", refuse, { class: "button", disabled: isShut }),
      ),
      form,
    );
    if (hadFocus) focusOn(hadFocus);
  };
  const focusOn = (key) => actions.querySelector(`[aria-keyshortcuts="${key}"]:enabled`)?.focus();
  const tickAll = (checked) => {
    for (const row of open()) row.box.checked = checked;
    drawActions();
  };
  const all = h("input", { type: "checkbox", "aria-label": "all of them", onchange: () => tickAll(all.checked) });

  context.addKeys([
    { group: "Like calls", keys: "t", words: "tick all, or none", run: () => tickAll(ticked().length < open().length) },
    { group: "Like calls", keys: "u", words: "unfold all that is ticked", run: unfold },
    { group: "Like calls", keys: "a", words: "go to Allow; Enter allows what is ticked", run: () => focusOn("a") },
    { group: "Like calls", keys: "x", words: "refuse what is ticked", run: refuse },
  ]);
  const same = like.same.length > 0 && fact("Same in all", values(like.same, common));
  drawActions();
  return h(
    "article",
    { class: "question", "aria-label": `${like.calls.length} like calls` },
    h("header", {}, h("h2", {}, h("code", {}, like.tool), ` of ${like.toolset}`), h("p", { class: "dim" }, `${counted(like.calls.length, "like call")}, asked by ${like.worker}`)),
    fact("Because", h("ul", { class: "sentences" }, like.reasons.map((each) => h("li", {}, withCode(each))))),
    fact("Raises", h("ul", { class: "tags" }, like.raises.map((each) => h("li", {}, h("code", {}, each))))),
    same,
    h(
      "div",
      { class: "wide-table", tabindex: "0", role: "region", "aria-label": "The calls" },
      h(
        "table",
        { class: "like" },
        h("thead", {}, h("tr", {}, h("td", {}, all), like.differing.map((name) => h("th", { scope: "col" }, h("code", {}, name))), h("th", { scope: "col" }, "Run"), h("th", { scope: "col" }, "Waits since"), h("th", { scope: "col" }, "Answer"))),
        h("tbody", {}, rows.map((row) => row.element)),
      ),
    ),
    actions,
    notice,
  );
}

/** What has the values of an argument word for word, each source once. */
function comesFrom(call, name) {
  const within = (each) => each.name === name || each.name.startsWith(`${name}.`) || each.name.startsWith(`${name}[`);
  return [...new Set(call.provenance.values.filter(within).map((each) => each.from))].join(", ");
}

/** The row of a call: a box, its own arguments, its run, and what became of it. */
function rowOf(call, number, like, onChange) {
  const folds = new Folds(onChange);
  const named = new Map(call.arguments.map((each) => [each.name, each]));
  const box = h("input", { type: "checkbox", "aria-label": `call ${number + 1}: ${call.title || call.entry}`, onchange: onChange });
  const state = h("td", { class: "like-state" });
  const row = {
    call,
    box,
    folds,
    isOver: false,
    element: h(
      "tr",
      {},
      h("td", {}, box),
      like.differing.map((name) => h("td", {}, named.has(name) && [cell(named.get(name), folds), h("p", { class: "below" }, comesFrom(call, name))])),
      h("td", {}, h("a", { href: href("inbox", call.run, call.path.split("/")) }, call.title || call.entry)),
      h("td", { class: "size" }, ago(call.asked)),
      state,
    ),
    waits: () => fill(state, "waits until the run stops"),
    ends: (given, verb) => {
      row.isOver = given.status === undefined || given.status === 409;
      if (row.isOver) Object.assign(box, { checked: false, disabled: true });
      fill(state, given.status === undefined ? (verb === "allow" ? "allowed" : "refused") : h("span", { class: "failed", role: "alert" }, `not kept: ${given.error}`));
    },
  };
  return row;
}
