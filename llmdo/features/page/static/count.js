// How many questions wait: in the bar, and in the title of the window, which is seen while it is another one's turn.

import { get } from "./client.js";
import { h } from "./dom.js";

const ANEW = 10_000; // ms until they are counted again, while somebody has the page before them

export class InboxCount {
  constructor() {
    this.number = 0;
    this.badge = h("span", { class: "count" });
    this.title = "";
    this.timer = null;
  }

  /** Counts, and goes on with it until a count fails: whatever is shown next begins again. */
  start() {
    if (this.timer !== null) return;
    this.timer = setInterval(() => document.hidden || this.look(), ANEW);
    this.look();
  }

  async look() {
    try {
      this.is((await get("/api/inbox")).waiting.length);
    } catch {
      clearInterval(this.timer);
      this.timer = null;
    }
  }

  is(number) {
    this.number = number;
    this.badge.textContent = number ? ` (${number.toLocaleString("en")})` : "";
    this.name(this.title);
  }

  /** Names the window. */
  name(title) {
    this.title = title;
    if (title) document.title = this.number ? `(${this.number}) ${title}` : title;
  }
}
