// Where boxes and lines are, by dagre. Names are of one width a letter, so nothing has to be measured.

import { Graph, layout } from "../vendor/dagre.js";
import { visible } from "../dom.js";

const LETTER = 7.6; // px of a name, whose letters are of one width
const SMALL = 6.7; // px of a badge's
const PADDING = 12;
const ROW = 22;
const GAP = 6;
const HEAD = 32;
const MOST_LETTERS = 30; // of a name; all of it is in its title
const WIDEST_BADGES = 236;

/** A name as a box has room for, its middle left out: names differ at their ends. */
export function fitted(name, most = MOST_LETTERS) {
  const text = visible(name);
  const letters = [...text];
  if (letters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - half).join("")}…${letters.slice(-half).join("")}`;
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/gu;

function width(text, letter) {
  return ([...text].length + (text.match(WIDE)?.length ?? 0)) * letter;
}

/** The size of a box, and where its badges are in it. */
function measured(box) {
  const title = fitted(box.name);
  const badges = [];
  let [x, y, right] = [0, HEAD, 0];
  for (const badge of box.badges) {
    const text = fitted(badge.name, 28);
    const wide = width(text, SMALL) + 24;
    if (x && x + wide > WIDEST_BADGES) [x, y] = [0, y + ROW + 4];
    badges.push({ ...badge, text, x: x + PADDING, y, width: wide });
    x += wide + GAP;
    right = Math.max(right, x - GAP);
  }
  const inner = Math.max(width(title, LETTER) + (box.kind === "folder" ? 18 : 0), right);
  const height = box.badges.length ? y + ROW + PADDING - 2 : HEAD;
  return { ...box, title, badges, width: Math.max(56, inner + 2 * PADDING), height };
}

/** A picture with places: boxes have `x`, `y` (of their middles), `width` and `height`, lines have `points`. */
export function placed({ boxes, lines }, { isUpright = false, gap = 78 } = {}) {
  const graph = new Graph();
  graph.setGraph({
    rankdir: isUpright ? "TB" : "LR",
    ranksep: isUpright ? 46 : gap,
    nodesep: 18,
    edgesep: 14,
    marginx: 16,
    marginy: 16,
  });
  const sized = boxes.map(measured);
  for (const box of sized) {
    const more = box.more ? 40 : 0; // what unfolds stands behind the box
    graph.setNode(box.id, { width: box.width + (isUpright ? 0 : more), height: box.height + (isUpright && more ? 26 : 0) });
  }
  for (const { from, to } of lines) if (from !== to) graph.setEdge(from, to, {});
  layout(graph);
  const size = graph.graph();
  return {
    isUpright,
    width: Math.max(size.width || 0, 80),
    height: Math.max(size.height || 0, 60),
    boxes: sized.map((box) => {
      const at = graph.node(box.id);
      const [left, top] = [at.x - at.width / 2, at.y - at.height / 2];
      return { ...box, x: left + box.width / 2, y: top + box.height / 2 };
    }),
    lines: lines.filter(({ from, to }) => from !== to).map((line) => ({ ...line, points: graph.edge(line.from, line.to).points })),
  };
}
