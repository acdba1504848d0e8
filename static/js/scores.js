/** The table of scores: a row opens in place, and the browser remembers which columns are wanted. */
import { wireColumns } from "./columns.js";
import { wireRows } from "./open_rows.js";

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

wireRows((address) => address + location.search); // its link keeps the filters
wireTicks();
wireColumns();
