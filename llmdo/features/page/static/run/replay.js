// The slider of a run: how much of what happened is shown.

import { h } from "../dom.js";
import { seconds } from "../amounts.js";

const STEP = 60; // ms between two steps of a replay
const STEPS = 600; // at most: of a long run each is several events

/** Moves a timeline to and fro; `onMove` is called whenever it has moved. */
export class Replay {
  constructor(timeline, onMove) {
    this.timeline = timeline;
    this.onMove = onMove;
    this.isLive = true; // whether the slider is at its end, and stays there
    this.timer = null;
    this.slider = h("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Replay", oninput: () => this.goTo(Number(this.slider.value)) });
    this.when = h("output", { class: "when" });
    this.play = h("button", { type: "button", class: "button", onclick: () => this.toggle(), "aria-keyshortcuts": "Space" }, "Replay");
    this.live = h("button", { type: "button", class: "button live", onclick: () => this.goLive() }, "To the end");
    this.element = h("div", { class: "replay" }, this.play, this.slider, this.when, this.live);
  }

  /** Draws where the timeline is. */
  draw() {
    const { events, at, run } = this.timeline;
    const past = seconds(run.began ? this.timeline.clock(run.ended) : 0);
    this.slider.max = String(events.length);
    this.slider.value = String(at);
    this.slider.setAttribute("aria-valuetext", `${past}, event ${at} of ${events.length}`);
    this.when.textContent = past;
    this.live.hidden = this.isLive;
  }

  /** Takes along what is new, where nobody looks back. */
  follow() {
    if (this.isLive) this.timeline.toEnd();
  }

  goTo(number) {
    this.timeline.goTo(number);
    this.isLive = this.timeline.at === this.timeline.events.length;
    this.onMove();
  }

  /** By so many events. */
  step(by) {
    this.goTo(this.timeline.at + by);
  }

  goLive() {
    this.stop();
    this.goTo(this.timeline.events.length);
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.isLive) this.timeline.goTo(0);
    this.play.textContent = "Pause";
    const by = Math.max(1, Math.ceil(this.timeline.events.length / STEPS));
    this.timer = setInterval(() => {
      this.step(by);
      if (this.isLive) this.stop();
    }, STEP);
    return undefined;
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Replay";
  }
}
