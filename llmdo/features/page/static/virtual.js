// A list of which only what is seen is in the document: ten thousand rows cost no more than forty.

import { h } from "./dom.js";

const MARGIN = 8; // rows beyond both ends

/** Rows of one height. `draw(number)` makes the element of a row. */
export class VirtualList {
  constructor({ height, draw, properties }) {
    this.height = height;
    this.draw = draw;
    this.count = 0;
    this.space = h("div", { class: "virtual-space", role: "presentation" });
    this.element = h("div", { class: "virtual", tabindex: "0", ...properties }, this.space);
    this.element.addEventListener("scroll", () => this.soon(), { passive: true });
    this.shown = [0, 0];
    this.frame = null;
    this.observer = new ResizeObserver(() => this.soon());
    this.observer.observe(this.element);
  }

  end() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.render();
    });
  }

  /** Says how many rows there are now, and draws those that are seen again. */
  update(count) {
    this.count = count;
    this.space.style.height = `${count * this.height}px`;
    this.render(true);
  }

  render(anew = false) {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / this.height) - MARGIN);
    const last = Math.min(this.count, Math.ceil((scrollTop + clientHeight) / this.height) + MARGIN);
    if (!anew && first === this.shown[0] && last === this.shown[1]) return;
    this.shown = [first, last];
    const rows = [];
    for (let number = first; number < last; number += 1) {
      const row = this.draw(number);
      row.style.transform = `translateY(${number * this.height}px)`;
      rows.push(row);
    }
    this.space.replaceChildren(...rows);
  }

  /** Whether the end of the list is seen. */
  get isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.element;
    return scrollTop + clientHeight >= scrollHeight - 2 * this.height;
  }

  /** Scrolls as little as shows a row. */
  reveal(number) {
    const top = number * this.height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) this.element.scrollTop = top + this.height - clientHeight;
    this.render(true);
  }
}
