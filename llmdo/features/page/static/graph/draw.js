// A placed picture as SVG. What a line or a badge means is said by its form and by a word, not by its colour alone.

import { h, s } from "../dom.js";
import { DANGER_WORDS, dangerClass, LEGS, stepDanger, WORDS } from "../words.js";

export const lineKey = (from, to) => `${from}\n${to}`;
export const badgeKey = (id, name) => `${id}\n[${name}`;

/** A line through points, its corners rounded. */
function curve(points) {
  const [first, ...rest] = points;
  if (rest.length < 2) return `M${at(first)}L${rest.map(at).join("")}`;
  const middles = rest.slice(0, -1).map((point, number) => {
    const next = rest[number + 1];
    return number === rest.length - 2 ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
  });
  return `M${at(first)}${middles.map((middle, number) => `Q${at(rest[number])} ${at(middle)}`).join("")}`;
}

const at = ({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`;

/** The head of a line, as the line itself may be dashed. */
function head(points) {
  const [before, end] = points.slice(-2);
  const angle = Math.atan2(end.y - before.y, end.x - before.x);
  const corner = (turn) => ({ x: end.x - 8 * Math.cos(angle + turn), y: end.y - 8 * Math.sin(angle + turn) });
  return `M${at(end)}L${at(corner(0.42))}L${at(corner(-0.42))}Z`;
}

/** The stroke of a line; where it is on both legs, one for each, side by side. */
function strokes(points, legs = []) {
  if (!legs.length) return s("path", { d: curve(points) });
  const [first, last] = [points[0], points.at(-1)];
  const length = Math.hypot(last.x - first.x, last.y - first.y) || 1;
  return legs.map((leg, number) => {
    const by = (number - (legs.length - 1) / 2) * 6;
    const [x, y] = [((first.y - last.y) / length) * by, ((last.x - first.x) / length) * by];
    return s("path", { class: ["stroke", leg], d: curve(points.map((point) => ({ x: point.x + x, y: point.y + y }))) });
  });
}

/** The width of a label on a line. */
export function labelWidth(label) {
  return label.length * 6 + 12;
}

function line(each, marks) {
  const mark = marks.lines?.get(lineKey(each.from, each.to));
  const gate = dangerClass(stepDanger(each.decision, { danger: "none" })); // of a way that is marked its danger wins, as the graver
  const classes = ["line", each.decision, gate, mark?.class];
  const label = mark?.label ?? (each.decision === "allowed" ? null : WORDS[each.decision].toLowerCase());
  const middle = each.points[Math.floor((each.points.length - 1) / 2)];
  const after = each.points[Math.ceil((each.points.length - 1) / 2)];
  const [x, y] = [(middle.x + after.x) / 2, (middle.y + after.y) / 2];
  const wide = label ? labelWidth(label) : 0;
  return {
    isMarked: Boolean(mark),
    line: s("g", { class: classes }, strokes(each.points, mark?.legs), s("path", { class: "head", d: head(each.points) })),
    label:
      label &&
      s(
        "g",
        { class: ["label", each.decision, gate, mark?.class] },
        s("rect", { x: x - wide / 2, y: y - 9, width: wide, height: 18, rx: 4 }),
        s("text", { x, y: y + 3.5, "text-anchor": "middle" }, label),
      ),
  };
}

/** A sign for a decision that says it without colour: full, half full, crossed. */
function sign(decision, x, y) {
  if (decision === "blocked") return s("path", { class: "sign", d: `M${x - 3},${y - 3}l6,6m0,-6l-6,6` });
  const ring = s("circle", { class: ["sign", decision === "allowed" && "full"], cx: x, cy: y, r: 3.2 });
  return decision === "allowed" ? ring : [ring, s("path", { class: "sign full", d: `M${x},${y - 3.2}a3.2,3.2 0 0 0 0,6.4z` })];
}

function badge(each, box, marks) {
  const mark = marks.badges?.get(badgeKey(box.id, each.name));
  const decision = mark?.decision ?? each.decision; // of the call that is chosen, else the mildest of all
  return s(
    "g",
    { class: ["badge", decision, !mark?.decision && dangerClass(each.danger), mark?.class], transform: `translate(${each.x} ${each.y})` },
    s("title", {}, `${each.name}: ${WORDS[decision].toLowerCase()}${mark?.legs ? `; ${mark.label}` : ""}`),
    mark?.legs?.includes("in") && s("rect", { class: "ring", x: -3, y: -3, width: each.width + 6, height: 28, rx: 6 }),
    s("rect", { width: each.width, height: 22, rx: 4 }),
    sign(decision, 10, 11),
    s("text", { x: 18, y: 15 }, each.text),
  );
}

function described(box) {
  const uses = box.badges.map((each) => `${each.name} (${WORDS[each.decision].toLowerCase()})`).join(", ");
  const kind = { missing: "missing worker" }[box.kind] ?? box.kind;
  return `${kind} ${box.name}${uses ? `, uses ${uses}` : ""}${box.more ? `, ${box.more} folded` : ""}`;
}

function body(box, marks, onchoose) {
  const mark = marks.boxes?.get(box.id);
  const [left, top] = [box.x - box.width / 2, box.y - box.height / 2];
  return s(
    "g",
    {
      class: ["box", box.kind, mark?.class],
      transform: `translate(${left.toFixed(1)} ${top.toFixed(1)})`,
      role: "button",
      tabindex: "-1",
      "data-id": box.id,
      "aria-label": described(box),
      "aria-pressed": String(Boolean(mark?.isChosen)),
      onclick: () => onchoose(box),
    },
    s("title", {}, box.name),
    s("rect", { class: "outline", width: box.width.toFixed(1), height: box.height, rx: box.kind === "entry" ? 16 : 6 }),
    box.kind === "folder" && s("path", { class: "pictogram", d: "M12,11h5l2,2h7v9h-14z" }),
    s("text", { class: "title", x: box.kind === "folder" ? 32 : 12, y: 21 }, box.title),
    box.badges.map((each) => badge(each, box, marks)),
  );
}

/** What unfolds what a box hides, or folds it again. */
function unfolder(box, isUpright, onfold) {
  if (!box.more && !box.isOpen) return null;
  const text = box.more ? `+${box.more}` : "−";
  const wide = Math.max(22, text.length * 7 + 10);
  const x = isUpright ? box.x - wide / 2 : box.x + box.width / 2 + 4;
  const y = isUpright ? box.y + box.height / 2 + 4 : box.y - 10;
  return s(
    "g",
    {
      class: "unfold",
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
      role: "button",
      tabindex: "-1",
      "data-unfolds": box.id,
      "aria-label": box.more ? `unfold ${box.more} below ${box.name}` : `fold what is below ${box.name}`,
      onclick: () => onfold(box),
    },
    s("rect", { width: wide, height: 20, rx: 10 }),
    s("text", { x: wide / 2, y: 14, "text-anchor": "middle" }, text),
  );
}

/**
 * The drawing. `marks` has `lines`, `boxes` and `badges`, each a Map of `{class}` by the keys above; of a line also
 * `label`, and of what is on a leg `legs`, of which each is drawn. What is marked is drawn above the rest.
 */
export function drawing(picture, marks, { label, onchoose, onfold }) {
  const lines = picture.lines.map((each) => line(each, marks));
  lines.sort((a, b) => a.isMarked - b.isMarked);
  return s(
    "svg",
    {
      class: "graph",
      viewBox: `0 0 ${Math.ceil(picture.width)} ${Math.ceil(picture.height)}`,
      width: Math.ceil(picture.width),
      height: Math.ceil(picture.height),
      role: "group",
      "aria-label": label,
    },
    lines.map((each) => each.line),
    picture.boxes.map((box) => body(box, marks, onchoose)),
    picture.boxes.map((box) => unfolder(box, picture.isUpright, onfold)),
    lines.map((each) => each.label),
  );
}

/** What the signs of badges mean, and the lines of both legs where these are marked. */
export function legend({ hasLegs = false } = {}) {
  const signs = Object.entries(WORDS).map(([decision, word]) =>
    h(
      "span",
      {},
      s("svg", { class: "graph", width: 10, height: 10, viewBox: "0 0 10 10", "aria-hidden": "true" }, s("g", { class: ["badge", dangerClass("none")] }, sign(decision, 5, 5))),
      word.toLowerCase(),
    ),
  );
  const colours = Object.entries(DANGER_WORDS).map(([danger, words]) => h("span", {}, h("span", { class: ["swatch", dangerClass(danger)], "aria-hidden": "true" }), words));
  return [...signs, ...colours, ...(hasLegs ? Object.entries(LEGS).map(([leg, words]) => sample(leg, words)) : [])];
}

/** A piece of a line of a leg, and what it means. */
function sample(leg, words) {
  const points = [{ x: 1, y: 5 }, { x: 30, y: 5 }];
  const drawn = s("g", { class: ["line", "leg", leg] }, strokes(points, [leg]));
  return h("span", {}, s("svg", { class: "graph", width: 32, height: 10, viewBox: "0 0 32 10", "aria-hidden": "true" }, drawn), `${leg}, ${words}`);
}
