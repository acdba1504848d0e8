/** The pictures below a leaderboard: fetched once the page is there, and again while the run goes on. */
import { Heatmap } from "./heatmap.js";
import { replaceIn } from "./refresh.js";

const AGAIN_MS = 5000; // at the soonest, after the last answer

const page = document.querySelector("[data-run]");
const holder = document.querySelector("[data-pictures]");
const figure = document.querySelector("[data-heatmap]");
const heatmap = new Heatmap(figure);

let wanted = JSON.parse(document.getElementById("snapshot").textContent).leaderboard_version;
let shown = null; // the state that was asked for last
let isOver = false;
let isFetching = false;
let timer = 0;

async function ask(address) {
  const answer = await fetch(address, { redirect: "error" });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return answer;
}

async function drawHeatmap() {
  heatmap.show(await (await ask(figure.dataset.heatmap)).json());
}

async function drawRest() {
  const part = new DOMParser().parseFromString(await (await ask(holder.dataset.pictures)).text(), "text/html");
  replaceIn(holder, [...part.body.childNodes]);
}

/** One after the other and never twice at once: the numbers above them come first. */
async function refresh() {
  if (isFetching || wanted === shown || document.hidden) return;
  isFetching = true;
  shown = wanted;
  try {
    await drawHeatmap();
    await drawRest();
  } catch {
    heatmap.fail(); // the next news tries again
  }
  isFetching = false;
  if (wanted !== shown) refreshLater();
}

function refreshLater() {
  if (isOver) return refresh();
  timer ||= setTimeout(() => {
    timer = 0;
    refresh();
  }, AGAIN_MS);
}

page.addEventListener("runpaint", ({ detail }) => {
  wanted = detail.leaderboard_version;
  isOver = detail.is_finished;
  if (wanted === shown) return;
  shown = null; // a run whose failures are retried ends with the same number once more
  refreshLater();
});
document.addEventListener("visibilitychange", refresh);
refresh();
