/** The jump box: Ctrl+K, type, Enter. What can be jumped to is looked up by the server. */
const TYPING_PAUSE_MS = 120;

const dialog = document.querySelector("[data-jump-dialog]");
const field = dialog?.querySelector("input");
const list = dialog?.querySelector("[data-jump-places]");
const status = dialog?.querySelector("[data-jump-status]");

let timer = 0;
let asked = 0;

function links() {
  return [...list.querySelectorAll("a")];
}

async function look() {
  const mine = ++asked;
  try {
    const address = `${dialog.dataset.address}?q=${encodeURIComponent(field.value)}`;
    const answer = await fetch(address, { redirect: "error" });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return; // an answer to an older question is not shown
    list.replaceChildren(...part.body.childNodes);
    const count = links().length;
    status.textContent = `${count} place${count === 1 ? "" : "s"}`;
  } catch {
    if (mine === asked) list.textContent = status.textContent = "The site does not answer. Try again.";
  }
}

function open() {
  if (document.querySelector("dialog[open]")) return;
  field.value = "";
  dialog.showModal();
  field.focus();
  look();
}

/** Up and down walk from the field through the places and back. */
function walk(step) {
  const stops = [field, ...links()];
  const here = stops.indexOf(document.activeElement);
  stops[(here + step + stops.length) % stops.length].focus();
}

function onKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    walk(step);
  } else if (event.key === "Enter" && event.target === field) {
    event.preventDefault();
    clearTimeout(timer);
    look().then(() => links()[0]?.click());
  }
}

export function listenForJump() {
  if (!dialog) return;
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  for (const button of document.querySelectorAll("[data-jump]")) {
    button.hidden = false;
    button.addEventListener("click", open);
  }
  dialog.addEventListener("keydown", onKey);
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, TYPING_PAUSE_MS);
  });
}
