/** Single-key shortcuts. They can be switched off in the help dialog and are never taken from a field. */
const SEQUENCE_MS = 1200;
const OFF = "shortcuts-off";

let goesSince = -Infinity; // a page that was just opened waits for no second letter

function areOn() {
  return localStorage.getItem(OFF) === null;
}

function isTyping(target) {
  return target.closest("input, select, textarea, [contenteditable]") !== null;
}

function rowLinks() {
  return [...document.querySelectorAll("[data-rows] tr:not([data-detail])")]
    .map((row) => row.querySelector("a.primary, a"))
    .filter((link) => link !== null);
}

/** Moves the focus to the next or previous row; Enter then opens it, as on any link. */
function moveRow(step) {
  const links = rowLinks();
  if (!links.length) return;
  const here = links.findIndex((link) => link.closest("tr") === rowInFocus());
  const next = here < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(here + step, 0), links.length - 1);
  links[next].focus();
  links[next].closest("tr").scrollIntoView({ block: "nearest" });
}

/** The row of the focus; what opened below a row belongs to it. */
function rowInFocus() {
  const row = document.activeElement.closest("[data-rows] > tr");
  return row?.matches("[data-detail]") ? row.previousElementSibling : row;
}

function openRow() {
  const row = rowInFocus() ?? document.querySelector("[data-rows] tr");
  row?.querySelector("[data-open]")?.click();
}

function tickRow() {
  rowInFocus()?.querySelector("input[type=checkbox]")?.click();
}

function follow(selector) {
  document.querySelector(selector)?.click();
}

const KEYS = {
  "?": openHelp,
  "/": () => document.querySelector("[data-filter]")?.focus(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  o: openRow,
  "[": () => follow('a[data-key="["]'),
  "]": () => follow('a[data-key="]"]'),
  x: tickRow,
  d: () => document.body.toggleAttribute("data-plain-text"),
  f: () => follow('[data-pause][aria-pressed="true"]:not([hidden])'),
  ".": () => follow("[data-pause]:not([hidden])"),
};

function openHelp() {
  const dialog = document.querySelector("[data-help-dialog]");
  if (dialog && !dialog.open) dialog.showModal();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
  if (!areOn() || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (performance.now() - goesSince < SEQUENCE_MS) {
    goesSince = -Infinity;
    const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) return link.click();
  }
  if (event.key === "g") {
    goesSince = performance.now();
    return;
  }
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

export function listenForKeys() {
  document.addEventListener("keydown", onKey);
  for (const button of document.querySelectorAll("[data-help]")) {
    button.hidden = false;
    button.addEventListener("click", openHelp);
  }
  const choice = document.querySelector("[data-shortcuts]");
  if (!choice) return;
  choice.checked = areOn();
  choice.addEventListener("change", () =>
    choice.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1"),
  );
}
