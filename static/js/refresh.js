/** Fetches a part of a page again while somebody looks: every two seconds, never two at once. */
import { timeOf } from "./clock.js";
import { addressOf, keepTicks } from "./ticks.js";

const EVERY_MS = 2000;
const PATIENCE_MS = 8000;

/** Replaces what is in a place; what was ticked stays so, and the focus on the link or tick that had it. */
export function replaceIn(place, nodes) {
  const focused = place.contains(document.activeElement) ? addressOf(document.activeElement) : null;
  keepTicks(place, () => place.replaceChildren(...nodes));
  if (focused) place.querySelector(focused)?.focus();
}

export class Refresher {
  /**
   * @param {() => string} address of the part, asked before every fetch
   * @param {(part: HTMLElement) => void} show puts the answer into the page
   */
  constructor(address, show) {
    this.address = address;
    this.show = show;
    this.badge = document.querySelector("[data-refresh-state]");
    this.text = document.querySelector("[data-refresh-text]");
    this.button = document.querySelector("[data-pause]");
    this.isFetching = this.isPaused = false;
    this.seenAt = new Date();
  }

  start() {
    this.button.hidden = false;
    this.button.addEventListener("click", () => this.togglePause());
    document.addEventListener("visibilitychange", () => this.refresh());
    this.say("live", "Live, every 2 s");
    this.timer = setTimeout(() => this.refresh(), EVERY_MS);
  }

  async refresh() {
    clearTimeout(this.timer);
    if (this.isFetching || this.isPaused || document.hidden) return;
    this.isFetching = true;
    try {
      const answer = await fetch(this.address(), { redirect: "error", signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      const part = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!this.isPaused) this.apply(part.body);
    } catch {
      if (!this.isPaused) this.say("away", `No answer – data from ${timeOf(this.seenAt)}`);
    } finally {
      this.isFetching = false;
      this.timer = setTimeout(() => this.refresh(), EVERY_MS);
    }
  }

  apply(part) {
    this.show(part);
    this.seenAt = new Date();
    this.say("live", "Live, every 2 s");
  }

  togglePause() {
    this.isPaused = !this.isPaused;
    this.button.setAttribute("aria-pressed", String(this.isPaused));
    this.button.querySelector("[data-pause-text]").textContent = this.isPaused ? "Resume updates" : "Pause updates";
    this.button.querySelector("use").setAttribute("href", this.isPaused ? "#icon-play" : "#icon-pause");
    if (this.isPaused) this.say("paused", `Paused at ${timeOf(this.seenAt)}`);
    else this.refresh();
  }

  say(state, words) {
    this.badge.dataset.refreshState = state;
    if (this.text.textContent !== words) this.text.textContent = words;
  }
}
