/** The health strip: asks every ten seconds while somebody looks. Silent while all is well. */
const EVERY_MS = 10_000;
const PATIENCE_MS = 8_000;
const AWAY = "The site does not answer as it should. Numbers may be old; it is asked again by itself.";

const strip = document.querySelector("[data-health]");
let timer = 0;
let isAsking = false;

function line(words) {
  const item = document.createElement("p");
  item.className = "health-item";
  item.textContent = words;
  return item;
}

/** Says so when it is over instead of taking the strip away: the page below must not jump. */
function show(nodes) {
  const words = nodes.map((node) => node.textContent.trim()).join("");
  if (strip.hidden && !words) return;
  const shown = words ? nodes : [line("All is well again.")];
  const text = shown.map((node) => node.textContent.trim()).join("");
  strip.hidden = false;
  strip.dataset.health = words ? "trouble" : "well";
  const before = [...strip.children].map((node) => node.textContent.trim()).join("");
  if (before !== text) strip.replaceChildren(...shown);
}

async function ask() {
  clearTimeout(timer);
  if (isAsking || document.hidden) return;
  isAsking = true;
  try {
    const answer = await fetch(strip.dataset.address, { redirect: "manual", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (answer.status >= 500) throw new Error(`HTTP ${answer.status}`);
    // Whoever is signed out is told so by what they do next.
    if (answer.ok) show([...new DOMParser().parseFromString(await answer.text(), "text/html").body.children]);
  } catch {
    show([line(AWAY)]);
  } finally {
    isAsking = false;
    timer = setTimeout(ask, EVERY_MS);
  }
}

export function watchHealth() {
  if (!strip) return;
  document.addEventListener("visibilitychange", ask);
  timer = setTimeout(ask, EVERY_MS);
}
