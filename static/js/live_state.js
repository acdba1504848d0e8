/** Says how fresh the page is, in words: live, delayed, reconnecting, polling, offline, on hold, final. */
import { timeOf } from "./clock.js";

function clockTime(date) {
  return date ? timeOf(date) : "the last load";
}

/** @type {Record<string, (details: object) => string>} */
const WORDS = {
  connecting: () => "Connecting",
  live: () => "Live",
  delayed: ({ silentSeconds }) => `Delayed – last update ${silentSeconds} s ago`,
  reconnecting: ({ attempt, retrySeconds }) => `Reconnecting, attempt ${attempt}${retrySeconds > 0 ? `, in ${retrySeconds} s` : ""}`,
  polling: () => "Polling every 5 s",
  offline: ({ dataTime }) => `Offline – data from ${clockTime(dataTime)}`,
  ended: () => "Final",
  refused: ({ message }) => message,
};

export class LiveState {
  /**
   * @param {HTMLElement} page
   * @param {{retry: () => void, pause: () => void}} act
   */
  constructor(page, act) {
    this.page = page;
    this.badge = page.querySelector("[data-live-state]");
    this.text = page.querySelector("[data-live-text]");
    this.dot = page.querySelector(".live-dot");
    this.retry = page.querySelector("[data-retry]");
    this.pauseButton = page.querySelector("[data-pause]");
    this.banner = page.querySelector("[data-banner]");
    this.isPaused = false;
    this.retry.addEventListener("click", act.retry);
    this.pauseButton.addEventListener("click", () => {
      this.isPaused = !this.isPaused;
      this.waiting = 0;
      this.showPause();
      act.pause();
    });
  }

  show(name, details) {
    this.name = name;
    this.details = details;
    this.pauseButton.hidden = name === "ended" || name === "refused";
    this.retry.hidden = !["reconnecting", "offline", "polling"].includes(name);
    this.page.dataset.stale = String(name === "offline");
    if (name === "refused") this.showRefusal(details);
    else this.showCrowd(details.crowd);
    if (name === "ended") this.isPaused = false;
    this.write();
  }

  /** @param {number} count updates that came while the page was held */
  showWaiting(count) {
    this.waiting = count;
    this.write();
  }

  showPause() {
    this.pauseButton.setAttribute("aria-pressed", String(this.isPaused));
    this.pauseButton.querySelector("[data-pause-text]").textContent = this.isPaused ? "Follow again" : "Hold page";
    this.pauseButton.querySelector("use").setAttribute("href", this.isPaused ? "#icon-play" : "#icon-lock");
    this.write();
  }

  write() {
    const name = this.isPaused ? "paused" : (this.name ?? "connecting");
    const text = this.isPaused ? `On hold – ${this.waiting ?? 0} update${this.waiting === 1 ? "" : "s"} waiting` : WORDS[name](this.details ?? {});
    if (this.badge.dataset.liveState !== name) this.badge.dataset.liveState = name;
    if (this.text.textContent !== text) this.text.textContent = text;
  }

  showRefusal({ code, message }) {
    this.banner.hidden = false;
    this.banner.textContent = `${message} `;
    if (code !== 4401) return;
    const link = document.createElement("a");
    link.href = `${this.page.dataset.signIn}?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = "Sign in again";
    this.banner.append(link);
  }

  /** @param {string} [crowd] how many other pages are live, if they are too many */
  showCrowd(crowd) {
    const text = crowd ? `${crowd} Close some tabs; this page looks again every 10 s.` : "";
    this.banner.hidden = !crowd;
    if (this.banner.textContent !== text) this.banner.textContent = text;
  }

  /** One quiet pulse per repaint; the style sheet leaves it out with reduced motion. */
  pulse() {
    delete this.dot.dataset.pulse;
    requestAnimationFrame(() => (this.dot.dataset.pulse = ""));
  }
}
