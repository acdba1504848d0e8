/** The new-run form: rows of prompts and steps, presets that fill fields, and an estimate that follows. */
import { keepFormAsDraft } from "./draft_form.js";
import { watchDryRun } from "./dry_run.js";
import { watchColumns } from "./input_columns.js";
import { setMessages, watchMessages } from "./prompt_messages.js";

const ESTIMATE_MS = 300;
const ANNOUNCE_MS = 2000;
const SAID_IN_THE_PANEL = new Set([413, 429]); // too large, too often

const form = document.querySelector("[data-new-run]");
const panel = form.querySelector("[data-estimate-panel]");
const estimateAddress = form.getAttribute("data-estimate"); // form.dataset is the field of that name
const presets = JSON.parse(document.getElementById("presets").textContent);
const limits = form.querySelector("[data-limits]");
const note = form.querySelector("[data-preset-note]");

// --- The estimate: recomputed by the server a moment after the last change

let timer = 0;
let asked = 0;
let announceTimer = 0;

function estimateSoon() {
  clearTimeout(timer);
  timer = setTimeout(estimateNow, ESTIMATE_MS);
}

async function estimateNow() {
  const mine = ++asked;
  panel.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(estimateAddress, { method: "POST", body: new FormData(form), redirect: "error" });
    if (mine !== asked) return; // an answer to an older question is not shown
    if (!answer.ok && !SAID_IN_THE_PANEL.has(answer.status)) return;
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    panel.replaceChildren(...part.body.childNodes);
    announce();
  } catch {
    // The server is away: the last estimate stays, and launching will say so itself.
  } finally {
    if (mine === asked) panel.removeAttribute("aria-busy");
  }
}

function announce() {
  clearTimeout(announceTimer);
  announceTimer = setTimeout(() => {
    const sum = panel.querySelector(".estimate-sum");
    form.querySelector("[data-estimate-status]").textContent = sum ? sum.textContent : "";
  }, ANNOUNCE_MS);
}

// --- Rows, as of prompts and of steps: every kind of run that has some brings a template for one

function makeRow(thing, number) {
  const row = document.querySelector(`[data-template=${thing}]`).content.cloneNode(true);
  const stale = "99999";
  for (const element of row.querySelectorAll("*")) {
    for (const attribute of [...element.attributes]) {
      if (attribute.value.includes(stale)) element.setAttribute(attribute.name, attribute.value.replace(stale, number));
    }
  }
  form.querySelector(`[data-rows-of=${thing}]`).append(row);
}

function setRows(thing, numbers) {
  form.querySelector(`[data-rows-of=${thing}]`).replaceChildren();
  for (const number of numbers) makeRow(thing, number);
}

function addRow(thing) {
  const numbers = [...form.querySelectorAll(`input[name=${thing}s]`)].map((field) => Number(field.value));
  const number = Math.max(-1, ...numbers) + 1;
  makeRow(thing, number);
  document.getElementById(`id_${thing}-${number}-name`).focus();
  changed();
}

form.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches("[data-add]")) {
    event.preventDefault();
    addRow(button.dataset.add);
  }
  if (button.matches("[data-remove]")) {
    event.preventDefault();
    const row = button.closest("[data-row]");
    row.remove();
    form.querySelector(`[data-add=${row.dataset.row}]`).focus();
    changed();
  }
});

// --- Presets

function fillFromPreset(name) {
  const numbers = presets[name];
  if (!numbers) return;
  for (const [field, value] of Object.entries(numbers)) {
    const input = form.elements[field];
    if (input) input.value = value ?? "";
  }
  note.textContent = `These numbers are from the preset ${name}.`;
}

limits.addEventListener("input", () => {
  const before = form.elements.preset.value;
  if (before === "custom") return;
  form.elements.preset.value = "custom";
  const back = document.createElement("button");
  back.type = "button";
  back.className = "link-button";
  back.textContent = `Reset to ${before}`;
  back.addEventListener("click", () => {
    form.elements.preset.value = before;
    fillFromPreset(before);
    changed();
  });
  note.replaceChildren(back);
});

// --- A choice says what other fields stand for while they are empty

function showPlaceholders() {
  for (const choice of form.querySelectorAll("select[data-placeholders]")) {
    const texts = JSON.parse(choice.selectedOptions[0]?.dataset.placeholders ?? "{}");
    for (const [name, text] of Object.entries(texts)) form.elements[name].placeholder = text;
  }
}

// --- YAML: starts as what the form says, unless something was written there

let filledYaml = "";

function fillYaml() {
  const box = form.elements.yaml;
  const source = panel.querySelector("[data-form-as-yaml]");
  if (!source || (box.value.trim() && box.value !== filledYaml)) return;
  filledYaml = source.value;
  box.value = filledYaml;
}

/** What was only shown there is not kept, so that it follows the form the next time. */
function clearYaml() {
  const box = form.elements.yaml;
  if (box.value === filledYaml) box.value = filledYaml = "";
}

form.addEventListener("change", (event) => {
  if (event.target.name === "preset") fillFromPreset(event.target.value);
  if (event.target.name === "mode") event.target.value === "yaml" ? fillYaml() : clearYaml();
});
form.addEventListener("change", showPlaceholders);
form.addEventListener("input", estimateSoon);
form.addEventListener("change", estimateSoon);

// --- The draft, and launching

const showColumns = watchColumns(form, changed);
const draft = keepFormAsDraft({ form, setRows, setMessages, onFilled });
watchMessages(form, changed);
watchDryRun({ form, onDone: estimateNow });

function changed() {
  estimateSoon();
  draft.keepSoon();
}

function onFilled() {
  showColumns();
  showPlaceholders();
  estimateNow();
}

let isLaunched = false;

// A second press while the first is on its way would only be answered with the same run.
form.addEventListener("submit", (event) => {
  isLaunched = event.submitter?.matches("[data-launch]") ?? false;
  if (isLaunched) setTimeout(() => (event.submitter.disabled = true));
});

addEventListener("pageshow", (event) => {
  if (event.persisted && isLaunched) location.reload(); // its key is used up, and may have made a run
  form.querySelector("[data-launch]").disabled = false;
  if (event.persisted) estimateNow();
});
