// A graph on a page: folding, zoom, and the keyboard. What is in it, and what is marked in it, others say.

import { fill, h } from "../dom.js";
import { drawing, labelWidth, legend } from "./draw.js";
import { placed } from "./layout.js";
import { folderOf, pictureOf } from "./model.js";

const NARROW = 640; // px below which a graph grows downwards
const SMALLEST = 0.5; // at which a name can be read
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const SPACE = 78; // px between levels, for a label on a line
const LARGE = 300; // boxes, above which drawing takes long enough to say so

/** The view of one model. `marksOf(chosen)` says what is marked, and `alwaysOf()` what is drawn whatever is folded. */
export class Canvas {
  constructor(model, { label, onchoose, announce, select = null }) {
    Object.assign(this, { model, label, onchoose, announce, select });
    this.fold = { by: "levels", open: new Set(), only: null };
    this.marks = {};
    this.always = new Set();
    this.zoom = null;
    this.at = model.root;
    this.area = h("div", { class: "area", onkeydown: (event) => this.pressed(event) });
    this.tools = h("div", { class: "tools" });
    this.legend = h("figcaption", { class: "legend" });
    this.node = h("figure", { class: "canvas" }, this.tools, this.area, this.legend);
  }

  /** Draws what is to be seen: `marks` on it, `always` whatever is folded. */
  show(marks, always) {
    Object.assign(this, { marks, always });
    this.draw();
  }

  draw() {
    const isUpright = (this.area.clientWidth || innerWidth) < NARROW;
    const picture = pictureOf(this.model, this.fold, this.always);
    const labels = [...(this.marks.lines?.values() ?? [])].map((mark) => labelWidth(mark.label ?? ""));
    const gap = Math.max(SPACE, ...labels.map((wide) => wide + 24));
    const key = JSON.stringify([isUpright, gap, picture.boxes.map((box) => [box.id, box.more, box.isOpen])]);
    if (key !== this.key) this.placed = placed(picture, { isUpright, gap });
    this.key = key;
    if (!this.placed.boxes.some((box) => box.id === this.at)) this.at = this.model.root;
    const had = this.area.contains(document.activeElement);
    const [left, top] = [this.area.scrollLeft, this.area.scrollTop];
    this.svg = drawing(this.placed, this.marks, {
      label: this.label,
      onchoose: (box) => this.choose(box),
      onfold: (box) => this.unfold(box.id),
    });
    fill(this.area, this.svg);
    fill(this.legend, legend(this.marks));
    this.sized();
    this.area.scrollTo(left, top);
    fill(this.tools, this.controls());
    this.roving(had);
  }

  /** As large as there is room for, or as somebody wants it. */
  sized() {
    const room = this.area.clientWidth || this.placed.width;
    const zoom = this.zoom ?? Math.min(1, Math.max(SMALLEST, room / this.placed.width));
    this.svg.setAttribute("width", Math.round(this.placed.width * zoom));
    this.svg.setAttribute("height", Math.round(this.placed.height * zoom));
    this.shownZoom = zoom;
  }

  zoomed(by) {
    this.zoom = by === null ? null : Math.max(0.2, Math.min(2, this.shownZoom * by));
    this.sized();
  }

  choose(box) {
    this.at = box.id;
    if (box.kind === "folder") this.unfold(box.id);
    else this.onchoose(box);
  }

  unfold(id) {
    const { open } = this.fold;
    const isOpen = open.has(id);
    if (isOpen) open.delete(id);
    else open.add(id);
    this.draw();
    this.announce(isOpen ? "folded" : `unfolded, ${this.placed.boxes.length} boxes`);
  }

  foldBy(by) {
    this.fold = { ...this.fold, by, open: new Set() };
    this.draw();
  }

  controls() {
    const folders = new Set([...this.model.nodes.values()].filter((each) => each.kind === "worker").map(folderOf));
    const modes = [["levels", "Two levels"], ...(folders.size > 1 ? [["folders", "Folders"]] : []), ["nothing", "All"]];
    const drawn = this.placed.boxes.filter((box) => box.kind !== "entry" && box.kind !== "folder").length;
    const every = this.model.nodes.size - 1;
    return [
      h(
        "div",
        { class: "segments", role: "group", "aria-label": "Fold" },
        modes.map(([by, text]) =>
          h("button", { type: "button", "aria-pressed": String(this.fold.by === by), onclick: () => this.foldBy(by) }, text),
        ),
      ),
      this.select && this.selector(),
      h("span", { class: "dim" }, drawn < every ? `${drawn} of ${every} workers` : null, every > LARGE && drawn > LARGE ? " (large)" : null),
      h(
        "div",
        { class: "segments zoom", role: "group", "aria-label": "Size" },
        h("button", { type: "button", "aria-label": "Smaller", onclick: () => this.zoomed(1 / 1.25) }, "−"),
        h("button", { type: "button", onclick: () => this.zoomed(null) }, "Fit"),
        h("button", { type: "button", "aria-label": "Larger", onclick: () => this.zoomed(1.25) }, "+"),
      ),
    ];
  }

  /** The field for selectors, which the server reads as the command line does. */
  selector() {
    const field = h("input", {
      type: "text",
      value: this.selected ?? "",
      placeholder: "Select: +NAME, cap:net, path:…",
      "aria-label": "Selector",
      spellcheck: "false",
      autocomplete: "off",
    });
    const why = h("span", { class: "wrong", role: "alert" }, this.wrong);
    return h("form", { class: "selector", onsubmit: (event) => this.chosen(event, field.value.trim()) }, field, why);
  }

  async chosen(event, text) {
    event.preventDefault();
    this.selected = text;
    this.wrong = null;
    try {
      this.fold.only = text ? new Set(await this.select(text)) : null;
    } catch (error) {
      this.wrong = error.hint ? `${error.message}; ${error.hint}` : error.message;
    }
    this.draw();
    this.tools.querySelector("input")?.focus();
  }

  /** One box takes part in the order of the page; arrows go on from it to the nearest in their direction. */
  roving(isFocused) {
    for (const element of this.area.querySelectorAll("[data-id]")) {
      element.setAttribute("tabindex", element.dataset.id === this.at ? "0" : "-1");
    }
    if (isFocused) this.focused()?.focus();
  }

  focused() {
    return [...this.area.querySelectorAll("[data-id]")].find((element) => element.dataset.id === this.at);
  }

  pressed(event) {
    const from = this.placed.boxes.find((box) => box.id === this.at);
    if (STEPS[event.key]) {
      const next = nearest(this.placed.boxes, from, STEPS[event.key]);
      if (next) {
        this.at = next.id;
        this.roving(true);
        this.focused().scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    } else if (event.key === "Enter") this.choose(from);
    else if (event.key === " " && (from.more || from.isOpen)) this.unfold(from.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** The box that lies nearest in a direction, as an eye would go. */
function nearest(boxes, from, [right, down]) {
  const far = (box) => {
    const [x, y] = [box.x - from.x, box.y - from.y];
    const along = x * right + y * down;
    return along > 4 ? along + 2 * Math.abs(x * down + y * right) : Infinity;
  };
  const next = boxes.reduce((best, box) => (far(box) < far(best) ? box : best), from);
  return next === from ? null : next;
}
