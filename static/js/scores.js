/** The table of scores: a row opens in place, and the browser remembers which columns are wanted. */
const ONE_YEAR = 365 * 24 * 3600;
const OPEN_MENU = "score-columns-open";

// --- Rows

function wireRows() {
  for (const button of document.querySelectorAll("[data-rows] [data-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => toggle(button));
  }
}

/** What was fetched once stays, hidden or shown. */
function toggle(button) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  const place = placeOf(button);
  place.hidden = isOpen;
  button.setAttribute("aria-expanded", String(!isOpen));
  if (!isOpen && !place.dataset.loaded) fill(place, button.dataset.open);
}

function placeOf(button) {
  const row = button.closest("tr");
  if (row.nextElementSibling?.matches("[data-detail]")) return row.nextElementSibling;
  const place = document.createElement("tr");
  place.dataset.detail = "";
  place.id = `below-${button.dataset.open.match(/trials\/(\d+)/)[1]}`;
  place.insertCell().colSpan = row.cells.length;
  row.after(place);
  button.setAttribute("aria-controls", place.id);
  return place;
}

async function fill(place, address) {
  const [cell] = place.cells;
  say(cell, "Loading…");
  cell.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address + location.search, { redirect: "error" }); // its link keeps the filters
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    cell.replaceChildren(...part.body.childNodes);
    place.dataset.loaded = "yes";
  } catch {
    say(cell, "The trial could not be loaded. Close and open the row to try again.");
  }
  cell.removeAttribute("aria-busy");
}

function say(cell, words) {
  const line = document.createElement("p");
  line.className = "opened-waiting small";
  line.textContent = words;
  cell.replaceChildren(line);
}

// --- Columns: in the address, and remembered for the next visit

function wireColumns() {
  const menu = document.querySelector("[data-columns]");
  if (!menu) return;
  menu.querySelector("[data-columns-apply]").hidden = true;
  // Filters carry the columns on only where the address has them: else the browser remembers.
  if (!new URL(location.href).searchParams.has("show")) {
    for (const box of menu.querySelectorAll("[name=show]")) box.removeAttribute("name");
  }
  menu.addEventListener("change", (event) => show(menu, event.target.id));
  const last = document.getElementById(sessionStorage.getItem(OPEN_MENU) ?? "");
  sessionStorage.removeItem(OPEN_MENU);
  if (!last) return;
  menu.open = true;
  last.focus();
}

function show(menu, changed) {
  const names = [...menu.querySelectorAll("input:checked")].map((box) => box.value);
  document.cookie = `score_columns=${["question", ...names].join(".")}; path=/; max-age=${ONE_YEAR}; samesite=lax`;
  sessionStorage.setItem(OPEN_MENU, changed);
  const address = new URL(location.href);
  address.searchParams.delete("show");
  for (const name of ["question", ...names]) address.searchParams.append("show", name);
  location.replace(address);
}

wireRows();
wireColumns();
