/** Rows of a table that open in place: what is below a row is fetched when somebody asks for it. */

/** @param {(address: string) => string} toAddress what is fetched for the `data-open` of a row */
export function wireRows(toAddress) {
  for (const button of document.querySelectorAll("[data-rows] [data-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => toggle(button, toAddress));
  }
}

/** What was fetched once stays, hidden or shown. */
function toggle(button, toAddress) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  const place = placeOf(button);
  place.hidden = isOpen;
  button.setAttribute("aria-expanded", String(!isOpen));
  if (!isOpen && !place.dataset.loaded) fill(place, toAddress(button.dataset.open));
}

function placeOf(button) {
  const row = button.closest("tr");
  if (row.nextElementSibling?.matches("[data-detail]")) return row.nextElementSibling;
  const place = document.createElement("tr");
  place.dataset.detail = "";
  place.id = `below-${button.dataset.open.match(/\d+/g).join("-")}`;
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
    const answer = await fetch(address, { redirect: "error", headers: { "X-Part": "row" } });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    cell.replaceChildren(...part.body.childNodes);
    place.dataset.loaded = "yes";
  } catch {
    say(cell, "This could not be loaded. Close and open the row to try again.");
  }
  cell.removeAttribute("aria-busy");
}

function say(cell, words) {
  const line = document.createElement("p");
  line.className = "opened-waiting small";
  line.textContent = words;
  cell.replaceChildren(line);
}
