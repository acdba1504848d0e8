/** The import page: checks a file as soon as it is chosen, without losing the choice. */
const form = document.querySelector("[data-import]");
const place = form.querySelector("[data-preview]");
const importButton = form.querySelector("[data-import-button]");
const TYPING_PAUSE_MS = 600;

let timer = 0;
let asked = 0;

function allow(isGood) {
  importButton.disabled = !isGood;
  importButton.title = isGood ? "" : "Check the rows first";
  importButton.classList.toggle("button-primary", isGood);
  form.querySelector("[value=preview]").classList.toggle("button-primary", !isGood);
}

/** The server would not read it; say so before it is sent. */
function isTooLarge() {
  const file = form.elements.file.files[0]?.size ?? 0;
  const pasted = new Blob([form.elements.text.value]).size;
  const isLargeFile = file > Number(form.dataset.largestFile);
  if (!isLargeFile && pasted <= Number(form.dataset.largestPaste)) return false;
  const size = isLargeFile ? file : pasted;
  const notice = form.querySelector(isLargeFile ? "[data-too-large]" : "[data-long-paste]").content.cloneNode(true);
  notice.querySelector("[data-megabytes]").textContent = (size / 1024 / 1024).toFixed(1);
  place.replaceChildren(notice);
  allow(false);
  return true;
}

async function preview() {
  clearTimeout(timer);
  const mine = ++asked;
  if (isTooLarge()) return;
  const data = new FormData(form);
  if (!data.get("name")) data.set("name", "preview"); // the rows can be checked before they have a name
  data.set("step", "preview");
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(location.pathname, { method: "POST", body: data, headers: { "X-Part": "preview" }, redirect: "error" });
    const text = await answer.text();
    if (mine !== asked) return; // an answer to an older question is not shown
    const part = new DOMParser().parseFromString(text, "text/html");
    place.replaceChildren(...part.body.childNodes);
    allow(answer.ok && place.querySelector("[data-preview-ok]") !== null);
  } finally {
    if (mine === asked) place.removeAttribute("aria-busy");
  }
}

form.addEventListener("submit", (event) => {
  if (event.submitter?.value !== "preview" && !isTooLarge()) return;
  event.preventDefault();
  if (event.submitter?.value === "preview") preview();
});
form.elements.file.addEventListener("change", () => {
  const [file] = form.elements.file.files;
  if (!file) return;
  if (!form.elements.name.value) form.elements.name.value = file.name.replace(/\.[^.]+$/, "");
  form.elements.text.value = "";
  preview();
});
function previewSoon() {
  clearTimeout(timer);
  allow(false);
  const hasRows = form.elements.text.value.trim() || form.elements.file.files.length;
  if (hasRows) timer = setTimeout(preview, TYPING_PAUSE_MS);
}

form.elements.text.addEventListener("input", previewSoon);
form.elements.expected.addEventListener("input", previewSoon);
allow(place.querySelector("[data-preview-ok]") !== null);
