/** The run page: puts live numbers into their places, redraws charts, fetches the leaderboard anew. */
import { mergeMarks } from "./chart_marks.js";
import { Chart, mergeRows } from "./charts.js";
import { Announcer } from "./announcer.js";
import { LiveRun } from "./live.js";
import { LiveState } from "./live_state.js";
import { addressOf, keepTicks } from "./ticks.js";

const LEADERBOARD_MS = 1000;

const page = document.querySelector("[data-run]");
const first = JSON.parse(document.getElementById("snapshot").textContent);
const charts = [...document.querySelectorAll("[data-chart]")].map((figure) => new Chart(figure));
const announcer = new Announcer(page.querySelector("[data-status]"));

let series = first.series;
let marks = first.marks;
let latest = first;
let waiting = null; // the newest frame that came while paused or before the next repaint
let skipped = 0;
let isScheduled = false;

// --- Painting

/** One repaint per animation frame, however many frames came. */
function schedule() {
  if (isScheduled || state.isPaused) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    if (!waiting || state.isPaused) return; // it may have been paused since
    paint(waiting);
    waiting = null;
  });
}

function paint(snapshot) {
  latest = snapshot;
  for (const place of page.querySelectorAll("[data-live]")) {
    const name = place.dataset.live;
    const text = name === "reason" ? snapshot.reason : snapshot.text[name];
    if (text !== undefined && place.textContent !== text) place.textContent = text;
  }
  paintBar(snapshot);
  paintBudget(snapshot);
  paintState(snapshot);
  drawCharts(snapshot);
  refreshLeaderboard(snapshot.leaderboard_version);
  showNewer(snapshot);
  announcer.hear(snapshot);
  document.title = `${Math.round(snapshot.percent)} % · Run ${snapshot.run}`;
  page.dispatchEvent(new CustomEvent("runpaint", { detail: snapshot }));
  state.pulse();
}

/** The second that is still going on would look like a drop; it is drawn when it is over. */
function drawCharts(snapshot) {
  const isFinished = snapshot.is_finished;
  const rows = isFinished || series.rows.length < 3 ? series.rows : series.rows.slice(0, -1);
  for (const chart of charts) chart.show({ ...series, rows }, snapshot, marks);
}

function paintBar({ bar, text }) {
  let x = 0;
  for (const part of page.querySelectorAll("[data-segment]")) {
    const width = Math.min((100 * bar[part.dataset.segment]) / Math.max(bar.planned, 1), 100 - x);
    part.setAttribute("x", x.toFixed(3));
    part.setAttribute("width", width.toFixed(3));
    x += width;
  }
  const progress = page.querySelector("[data-progress]");
  progress.setAttribute("aria-valuenow", bar.fresh + bar.cached + bar.failed);
  progress.setAttribute("aria-valuetext", text.summary);
}

function paintBudget({ budget, raises, text }) {
  page.querySelector("[data-run-notice]").hidden = !text.notice;
  paintRaise(raises);
  page.querySelector("[data-cut]").hidden = !text.cut;
  for (const row of page.querySelectorAll("[data-budget]")) {
    const line = budget[row.dataset.budget];
    row.hidden = !line;
    if (!line) continue;
    row.querySelector("[data-budget-text]").textContent = line.text;
    row.querySelector("rect").setAttribute("width", line.percent);
    row.querySelector("rect").setAttribute("class", line.is_near ? "budget-near" : "bar-fresh");
  }
}

/** The fields of budgets that stopped the run. What a person typed stays. */
function paintRaise(raises) {
  const form = page.querySelector("[data-raise]");
  if (!form) return;
  form.hidden = !Object.keys(raises).length;
  for (const field of form.querySelectorAll("[data-raise-field]")) {
    const [line, input] = [raises[field.dataset.raiseField], field.querySelector("input")];
    if (line && field.hidden) input.value = line.proposal;
    field.hidden = input.disabled = !line;
    field.querySelector("[data-raise-needed]").textContent = line?.needed ?? "";
  }
}

const STATE_ICONS = { queued: "clock", starting: "clock", running: "activity", pausing: "pause", paused: "pause", finishing: "activity", completed: "check", completed_with_errors: "alert", failed: "cross", cancelled: "ban" };
const FAVICONS = { completed: "finished", failed: "failed", completed_with_errors: "failed" };

function show(selector, isShown) {
  for (const part of page.querySelectorAll(selector)) part.hidden = !isShown;
}

function paintState(snapshot) {
  const badge = page.querySelector("[data-run-state] .state");
  if (badge.dataset.state === snapshot.state) return;
  badge.dataset.state = snapshot.state;
  badge.querySelector(".state-text").textContent = snapshot.state_text;
  badge.querySelector("use").setAttribute("href", `#icon-${STATE_ICONS[snapshot.state] ?? "clock"}`);
  show("[data-cancel], [data-limits], [data-while-live]", !snapshot.is_finished);
  show("[data-when-finished]", snapshot.is_finished);
  show("[data-pause-run]", snapshot.can_pause);
  show("[data-pause-now]", snapshot.can_pause_now);
  show("[data-resume-run]", snapshot.can_resume);
  show("[data-raise-link]", Object.keys(snapshot.raises).length > 0);
  show("[data-retry-failed]", snapshot.can_retry);
  const icon = document.querySelector("link[rel=icon]");
  const ending = FAVICONS[snapshot.state] ? `-${FAVICONS[snapshot.state]}` : "";
  icon.href = icon.href.replace(/favicon[^/]*\.svg.*/, `favicon${ending}.svg`);
}

// --- Rows: fetched as HTML, at most once a second, never on top of each other

const board = document.querySelector("[data-leaderboard-rows]");
let shownVersion = first.leaderboard_version;
let isFetching = false;
let fetchedAt = 0;
board?.toggleAttribute("data-final", first.is_finished); // its rows are those of the end

async function refreshLeaderboard(version) {
  if (!board || version === shownVersion) return;
  shownVersion = null; // a run whose failures are retried ends with the same number once more
  board.removeAttribute("data-final");
  if (isFetching) return;
  isFetching = true;
  await new Promise((done) => setTimeout(done, Math.max(fetchedAt + LEADERBOARD_MS - performance.now(), 0)));
  const { leaderboard_version: asked, is_finished: isFinal } = latest;
  try {
    const answer = await fetch(page.dataset.leaderboard, { redirect: "error" });
    if (answer.ok) {
      const rows = new DOMParser().parseFromString(await answer.text(), "text/html");
      replaceRows([...rows.body.childNodes]);
      shownVersion = asked;
      board.toggleAttribute("data-final", isFinal);
    }
  } catch {
    // The server is away; the live state says so, and the next frame tries again.
  }
  fetchedAt = performance.now();
  isFetching = false;
  if (latest.leaderboard_version !== shownVersion && !state.isPaused) refreshLeaderboard(latest.leaderboard_version);
}

/** Keeps the focus where a person had it, and open what was opened. */
function replaceRows(nodes) {
  const focused = board.contains(document.activeElement) ? selectorOf(document.activeElement) : null;
  const opened = [...board.querySelectorAll("details[open][id]")].map((part) => part.id);
  keepTicks(board, () => board.replaceChildren(...nodes));
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  if (focused) board.querySelector(focused)?.focus({ preventScroll: true });
}

function selectorOf(element) {
  return element.matches("summary") ? `#${CSS.escape(element.parentElement.id)} > summary` : addressOf(element);
}

/** The scores table does not move by itself; a bar says what is new. */
function showNewer({ bar }) {
  const notice = page.querySelector("[data-newer]");
  if (!notice) return;
  const fresh = bar.fresh + bar.cached + bar.failed - Number(notice.dataset.done);
  notice.hidden = fresh <= 0;
  notice.textContent = `${fresh.toLocaleString("en")} new result${fresh === 1 ? "" : "s"} – show`;
}

// --- Live

const live = new LiveRun(
  { socket: page.dataset.socket, poll: page.dataset.poll },
  {
    snapshot(frame, isWhole) {
      if (isWhole) series = frame.series;
      else if (!mergeRows(series, frame.series)) live.resync();
      marks = isWhole ? frame.marks : mergeMarks(marks, frame.marks);
      waiting = frame;
      if (state.isPaused) state.showWaiting((skipped += 1));
      schedule();
    },
    state: (name, details) => state.show(name, details),
    end: () => schedule(),
  },
);

const state = new LiveState(page, {
  retry: () => live.retryNow(),
  pause() {
    skipped = 0;
    schedule();
  },
});

page.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
drawCharts(first);
document.addEventListener("themechange", () => charts.forEach((chart) => chart.draw()));
document.addEventListener("visibilitychange", schedule);
live.start(first.is_finished);
