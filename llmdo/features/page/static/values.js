// Values of calls and messages: what the server drew, folded where long. Nothing is left out that cannot be unfolded.

import { counted, h } from "./dom.js";

const FIRST = 8; // lines of a value that is folded
const LAST = 4;
const LONG = 900; // characters of a line from which on it is folded
const HEAD = 500;
const TAIL = 200;
const SHORT = 120; // characters of a value in a table that needs no frame
const CHUNK = 400; // lines that are drawn at a time

const SPELLED = /\\u\{[0-9a-f]+\}|\\\{[0-9,]+ blanks\}|\\[\\tr]/g;

/** What is folded on a page, and whether all of it was opened: nobody allows what they could not have seen. */
export class Folds {
  constructor(onChange = () => {}) {
    this.closed = new Set();
    this.onChange = onChange;
  }

  /** A fold: `open` puts what is in it on the page. */
  add(open) {
    const fold = () => {
      if (!this.closed.delete(fold)) return;
      open();
      this.onChange();
    };
    this.closed.add(fold);
    return fold;
  }

  openAll() {
    while (this.closed.size) for (const fold of [...this.closed]) fold();
  }
}

/** A value behind its name, as `drawn` of the server has it. */
export function value(drawn, folds = new Folds()) {
  const number = drawn.lines.reduce((sum, line) => sum + (Array.isArray(line) ? line[0] : 1), 0);
  const size = number > 1 ? `${counted(number, "line")}, ${counted(drawn.bytes, "byte")}` : counted(drawn.bytes, "byte");
  const isLong = drawn.lines.length > 1 || drawn.bytes > LONG;
  return h(
    "div",
    { class: ["value", drawn.lines.length === 1 && drawn.bytes < 80 && "short"] },
    h("div", { class: "value-name" }, h("span", { class: "mono" }, drawn.name), (isLong || drawn.kind === "data") && h("span", { class: "size" }, drawn.kind === "data" ? `${size} of JSON` : size)),
    body(drawn.lines, drawn.kind === "text", folds),
    drawn.scripts.length > 0 && h("p", { class: "caution" }, `Letters of another script: ${drawn.scripts.join(", ")}`),
    isLong && h("p", { class: "digest" }, `sha256 ${drawn.sha256}`),
  );
}

/** Lines, the middle of many folded. */
export function body(lines, isSpelled, folds, lineClass = () => null) {
  const block = h("pre", { class: "lines", tabindex: "0", role: "group", "aria-label": "text" });
  const draw = (some) => some.map((line) => drawLine(line, isSpelled, folds, lineClass));
  if (lines.length <= FIRST + LAST + 2) {
    block.append(...draw(lines).flat());
    return block;
  }
  const middle = lines.slice(FIRST, -LAST);
  const button = h("button", { type: "button", class: "fold", onclick: () => fold() }, `${counted(middle.length, "more line")}`);
  const fold = folds.add(() => {
    const chunks = [];
    for (let at = 0; at < middle.length; at += CHUNK) {
      const chunk = h("span", { class: "chunk" });
      chunk.style.containIntrinsicSize = `auto ${Math.min(CHUNK, middle.length - at) * 18}px`;
      chunk.append(...draw(middle.slice(at, at + CHUNK)).flat());
      chunks.push(chunk);
    }
    button.replaceWith(...chunks);
  });
  block.append(...draw(lines.slice(0, FIRST)).flat(), button, ...draw(lines.slice(-LAST)).flat());
  return block;
}

function drawLine(line, isSpelled, folds, lineClass) {
  const [number, text] = Array.isArray(line) ? line : [1, line];
  const row = h("span", { class: ["line", lineClass(text)] });
  const parts = number > 1 ? [h("span", { class: "times" }, `${number.toLocaleString("en")} times this line:`)] : [];
  if (text.length <= LONG) {
    row.append(...spelled(text, isSpelled));
  } else {
    const middle = text.slice(HEAD, -TAIL);
    const button = h("button", { type: "button", class: "fold", onclick: () => fold() }, counted(middle.length, "more character"));
    const fold = folds.add(() => button.replaceWith(...spelled(middle, isSpelled)));
    row.append(...spelled(text.slice(0, HEAD), isSpelled), button, ...spelled(text.slice(-TAIL), isSpelled));
  }
  return [...parts, row];
}

/** A text in which what was spelled out is set apart. */
function spelled(text, isSpelled) {
  if (!isSpelled || !text.includes("\\")) return [document.createTextNode(text)];
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(SPELLED)) {
    if (match.index > at) parts.push(document.createTextNode(text.slice(at, match.index)));
    parts.push(h("span", { class: "spelled" }, match[0]));
    at = match.index + match[0].length;
  }
  parts.push(document.createTextNode(text.slice(at)));
  return parts;
}

/** A value in a table: without its name, and without a frame if it is short. */
export function cell(drawn, folds) {
  const [line] = drawn.lines;
  const isShort = drawn.lines.length === 1 && typeof line === "string" && line.length <= SHORT;
  return [
    isShort ? h("code", {}, spelled(line, drawn.kind === "text")) : body(drawn.lines, drawn.kind === "text", folds),
    drawn.scripts.length > 0 && h("p", { class: "caution" }, `Letters of another script: ${drawn.scripts.join(", ")}`),
  ];
}

/** Values one below the other. */
export function values(list, folds, none = "no arguments") {
  if (!list.length) return h("p", { class: "dim" }, none);
  return h("div", { class: "values" }, list.map((each) => value(each, folds)));
}

/** What would become of a file, as a unified difference. */
export function difference(change, folds) {
  const kind = (text) => ({ "+": "added", "-": "removed", "@": "place" })[text[0]] ?? null;
  return h(
    "div",
    { class: "value" },
    h("div", { class: "value-name" }, h("span", { class: "mono" }, change.path), change.note && h("span", { class: "size" }, change.note)),
    change.lines.length > 0 && body(change.lines, true, folds, kind),
  );
}
