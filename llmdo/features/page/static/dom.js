// Elements, and text as text. Nothing here, and nothing that uses it, ever makes an element out of a string.

const SVG = "http://www.w3.org/2000/svg";

// What draws nothing, or draws what follows in another order, as `shown` has it in Python.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\u3164\u115f\u1160\uffa0\u2800]/gu;
const UNSEEN_IN_LINES = new RegExp(`(?![\\n\\t])${UNSEEN.source}`, "gu");

function spelled(character) {
  return character === " " ? " " : `\\u{${character.codePointAt(0).toString(16)}}`;
}

/** A text of one line with every control, bidi and invisible character spelled out, such as `\u{202e}`. */
export function visible(text) {
  return String(text).replace(UNSEEN, spelled);
}

/** The same of a text that may have several lines: line breaks and tabs stay. */
export function visibleLines(text) {
  return String(text).replace(UNSEEN_IN_LINES, spelled);
}

/**
 * An element: `h("p", {class: "dim"}, "text", child, [more])`.
 *
 * Strings and numbers become text, with what is invisible in them spelled out; null, undefined and false nothing. A
 * property that begins with `on` is a listener, `class` may be a list; true and false set and leave out an attribute.
 */
export function h(name, properties = {}, ...children) {
  return filled(document.createElement(name), properties, children);
}

/** The same in SVG. */
export function s(name, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, name), properties, children);
}

/** Attributes that people see or hear; all others are for the page itself, and stay as they are. */
const SHOWN = new Set(["alt", "aria-label", "placeholder", "title"]);

function filled(element, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.setAttribute("class", [value].flat().filter(Boolean).join(" "));
    else if (key === "value" && "value" in element) element.value = value;
    else element.setAttribute(key, value === true ? "" : SHOWN.has(key) ? visible(value) : String(value));
  }
  append(element, children);
  return element;
}

/** Adds children as `h` takes them. */
export function append(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

/** Puts children in the place of all that an element has. */
export function fill(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

/** A text of several lines, such as a message or a file, as it is: what is invisible in it spelled out. */
export function lines(text, properties = {}) {
  const element = h("pre", properties);
  element.append(visibleLines(text));
  return element;
}

/** `1 worker`, `2 workers`. */
export function counted(number, single, many = `${single}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? single : many}`;
}
