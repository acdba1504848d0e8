/** The health strip: asks every ten seconds while somebody looks. Silent while all is well. */
const EVERY_MS = 10_000;
const PATIENCE_MS = 8_000;
const AWAY = "The site does not answer as it should. Numbers may be old; it is asked again by itself.";

const strip = document.querySelector("[data-health]");
const late = document.querySelector("[data-late-health]");
const wordsOf = (nodes) => nodes.map((node) => node.textContent.trim()).join("");
const atLoad = strip && wordsOf([...strip.children]);
let timer = 0;
let isAsking = false;

function line(words) {
  const item = document.createElement("p");
  item.className = "health-item";
  item.textContent = words;
  return item;
}

/** What was there at the load keeps its place, seen or not; anything else comes over the page. Nothing moves. */
function show(nodes) {
  const words = wordsOf(nodes);
  const wasTrouble = late.querySelector("[data-health=trouble]") || (atLoad && strip.dataset.health === "trouble");
  strip.dataset.health = words === atLoad ? "trouble" : "past";
  if (words === atLoad && words) late.replaceChildren();
  else if (words) tell("trouble", nodes);
  else if (wasTrouble) tell("well", [line("All is well again.")]);
  else late.replaceChildren(); // by now everybody has read that it is well
}

/** In a new box: one that grows would move. */
function tell(state, nodes) {
  if (wordsOf([...late.children]) === wordsOf(nodes)) return;
  const box = document.createElement("div");
  box.className = "health";
  box.dataset.health = state;
  box.append(...nodes);
  late.replaceChildren(box);
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
