/** The runs list: counters and the rows of runs that go on are fetched again; new runs are announced, so that no row moves. */
import { wireColumns } from "./columns.js";
import { Refresher, replaceIn } from "./refresh.js";

const list = document.querySelector("[data-runs]");

/** Asks for the rows that can still change; finished ones are as they will be. */
function address() {
  const asked = new URL(list.dataset.runs, location.href);
  for (const row of list.querySelectorAll("[data-run-row][data-is-live]")) asked.searchParams.append("run", row.dataset.runRow);
  return asked.href;
}

function show(part) {
  replaceIn(document.querySelector("[data-counters]"), [...part.querySelector("[data-counters]").childNodes]);
  showAlerts(part.querySelector("[data-alerts]"));
  showNew(Number(part.querySelector("[data-new]").dataset.new));
  for (const row of part.querySelectorAll("[data-run-row]")) {
    const shown = list.querySelector(`[data-run-row="${row.dataset.runRow}"]`);
    if (!shown || shown.querySelector("details[open]")) continue; // a menu stays open under the pointer
    shown.toggleAttribute("data-is-live", row.hasAttribute("data-is-live"));
    replaceIn(shown, [...row.childNodes]);
  }
}

const wordsOf = (element) => element.textContent.replace(/\s+/g, " ");

/** Alerts stay as they are until somebody asks for the new ones, so that no row moves: a strip offers them. */
function showAlerts(fresh) {
  const place = document.querySelector("[data-alerts]");
  const offer = document.querySelector("[data-late-alerts]");
  offer.hidden = wordsOf(place) === wordsOf(fresh);
  if (offer.hidden) return;
  const text = offer.querySelector("[data-late-text]");
  const words = changeOf(place, fresh);
  if (text.textContent !== words) text.textContent = words;
  offer.querySelector("button").onclick = () => {
    offer.hidden = true;
    replaceIn(place, [...fresh.childNodes]);
    (place.querySelector("#alerts-title") ?? document.querySelector("#content")).focus();
  };
}

function changeOf(place, fresh) {
  const more = [...fresh.querySelectorAll("[data-alert]")].filter(
    ({ dataset }) => !place.querySelector(`[data-alert="${dataset.alert}"]`),
  ).length;
  if (!more) return "What needs attention has changed.";
  const others = place.querySelector("[data-alert]") ? "more " : "";
  return more === 1 ? `1 ${others}run needs attention.` : `${more} ${others}runs need attention.`;
}

/** What is done with ticked runs shows once one is ticked. */
function wireTicked() {
  const actions = document.querySelector("[data-several]");
  if (!actions) return;
  const look = () => (actions.hidden = !list.querySelector("[data-tick]:checked"));
  document.addEventListener("change", look);
  look();
}

function showNew(count) {
  const notice = document.querySelector("[data-new-runs]");
  notice.hidden = count === 0;
  notice.textContent = `${count} new run${count === 1 ? "" : "s"} – show`;
}

if (list) new Refresher(address, show).start();
wireColumns();
wireTicked();
