/** The table of scores: a row opens in place, and the browser remembers which columns are wanted. */
import { wireRows } from "./open_rows.js";

const ONE_YEAR = 365 * 24 * 3600;
const OPEN_MENU = "score-columns-open";

// --- Ticks: made here, as 50 of them would be a part of the page that most people do not need

function wireTicks() {
  const form = document.getElementById("ticked");
  if (!form) return;
  const buttons = form.querySelectorAll("[data-ticked]");
  for (const button of document.querySelectorAll("[data-rows] [data-open]")) {
    const [, number] = button.dataset.open.match(/trials\/(\d+)/) ?? [];
    const [, candidate, place] = button.dataset.open.match(/tries\/(\d+)\/(\d+)/) ?? []; // several tries
    const tick = number ? tickOf("trial", number) : tickOf("row", `${candidate},${place}`);
    tick.setAttribute("form", form.id);
    tick.setAttribute("aria-label", button.getAttribute("aria-label").replace(/^Show (.*) here$/, "Choose $1"));
    button.after(tick);
  }
  document.addEventListener("change", () => {
    const count = document.querySelectorAll(".tick:checked").length;
    for (const button of buttons) {
      button.hidden = !count;
      button.querySelector("span").textContent = `${button.dataset.ticked} ${count} chosen`;
    }
  });
}

function tickOf(name, value) {
  const tick = document.createElement("input");
  tick.type = "checkbox";
  tick.className = "tick";
  tick.name = name;
  tick.value = value;
  return tick;
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

wireRows((address) => address + location.search); // its link keeps the filters
wireTicks();
wireColumns();
