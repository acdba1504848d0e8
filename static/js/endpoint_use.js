/** Fetches the use of the endpoints again while somebody looks: every two seconds, never two at once. */
const EVERY_MS = 2000;
const PATIENCE_MS = 8000;

const place = document.querySelector("[data-use]");
const badge = document.querySelector("[data-use-state]");
const text = document.querySelector("[data-use-text]");
const button = document.querySelector("[data-pause]");

let timer = 0;
let isFetching = false;
let isPaused = false;
let seenAt = new Date();

function say(state, words) {
  badge.dataset.useState = state;
  if (text.textContent !== words) text.textContent = words;
}

function clock(date) {
  return date.toLocaleTimeString([], { hour12: false });
}

/** Keeps the focus on the link a person had it on. */
function replace(nodes) {
  const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  place.replaceChildren(...nodes);
  if (focused) place.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

async function refresh() {
  clearTimeout(timer);
  if (isFetching || isPaused || document.hidden) return;
  isFetching = true;
  try {
    const answer = await fetch(place.dataset.use, { redirect: "error", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!isPaused) {
      replace([...part.body.childNodes]);
      seenAt = new Date();
      say("live", "Live, every 2 s");
    }
  } catch {
    if (!isPaused) say("away", `No answer – data from ${clock(seenAt)}`);
  } finally {
    isFetching = false;
    timer = setTimeout(refresh, EVERY_MS);
  }
}

function togglePause() {
  isPaused = !isPaused;
  button.setAttribute("aria-pressed", String(isPaused));
  button.querySelector("[data-pause-text]").textContent = isPaused ? "Resume updates" : "Pause updates";
  button.querySelector("use").setAttribute("href", isPaused ? "#icon-play" : "#icon-pause");
  if (isPaused) say("paused", `Paused at ${clock(seenAt)}`);
  else refresh();
}

if (place) {
  button.hidden = false;
  button.addEventListener("click", togglePause);
  document.addEventListener("visibilitychange", refresh);
  say("live", "Live, every 2 s");
  timer = setTimeout(refresh, EVERY_MS);
}
