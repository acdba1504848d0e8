/** The new-run form as a draft: kept while somebody types, and put back when the form is opened again. */
import { forgetDraft, keepDraft, readDrafts } from "./draft.js";

const KEEP_MS = 400; // after the last change
const NOT_KEPT = new Set(["csrfmiddlewaretoken", "key", "draft"]); // a launch gets a key of its own
const OTHER_DAY_MS = 18 * 3600 * 1000;

/** What a form says, as [name, value]. */
function readForm(form) {
  return [...new FormData(form)].filter(([name]) => !NOT_KEPT.has(name));
}

/** Puts entries into the form. Rows that it does not have yet are made by `setRows`. */
function fillForm(form, entries, { setRows, setMessages }) {
  const given = new Map();
  for (const [name, value] of entries) given.set(name, [...(given.get(name) ?? []), value]);
  for (const { dataset } of form.querySelectorAll("[data-template]")) setRows(dataset.template, given.get(`${dataset.template}s`) ?? []);
  for (const [name, numbers] of given) if (/^\w+-\d+-messages$/.test(name)) setMessages(form, name.replace(/-messages$/, ""), numbers);
  for (const field of form.elements) {
    if (!field.name || field.type === "submit" || NOT_KEPT.has(field.name)) continue;
    const values = given.get(field.name) ?? [];
    if (field.type === "checkbox") field.checked = take(values, field.value);
    else if (!values.length) continue; // a field that the draft does not know
    else if (field.type === "radio") field.checked = values.includes(field.value);
    else if (field.type !== "hidden") setText(field, values[0]);
  }
  for (const [name, values] of given) nameUnlisted(form, name, values);
  for (const details of form.querySelectorAll("details")) {
    if ([...details.querySelectorAll("input, textarea, select")].some(isSaying)) details.open = true;
  }
}

/** Whether a field says something that the fold around it would hide. */
function isSaying(field) {
  if (field.type === "checkbox") return field.checked;
  return field.matches("select") ? !field.selectedOptions[0]?.defaultSelected && field.selectedIndex > 0 : Boolean(field.value);
}

/** A choice that is not offered any more is shown, and refused by name. */
function setText(field, value) {
  field.value = value;
  if (field.matches("select") && field.value !== value) field.add(new Option(value, value, false, true));
}

function take(values, value) {
  const at = values.indexOf(value);
  if (at >= 0) values.splice(at, 1);
  return at >= 0;
}

/** A model that was ticked and is not offered here is typed, one a line. */
function nameUnlisted(form, name, values) {
  const box = /^(\w+-\d+-)?models$/.test(name) && form.elements[name.replace(/models$/, "other_models")];
  if (box && values.length) box.value = [...values, ...box.value.split("\n").filter(Boolean)].join("\n");
}

function timeOf(draft) {
  const saved = new Date(draft.saved);
  const day = Date.now() - saved > OTHER_DAY_MS ? { day: "numeric", month: "short" } : {};
  return saved.toLocaleString("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: document.documentElement.dataset.zone, ...day });
}

/**
 * Keeps the form's draft, and puts back the one that fits.
 * @param {{form: HTMLFormElement, setRows: Function, setMessages: Function, onFilled: Function}} given
 */
export function keepFormAsDraft({ form, setRows, setMessages, onFilled }) {
  const notice = document.querySelector("[data-draft]");
  const [words, button] = [notice.querySelector("[data-draft-words]"), notice.querySelector("[data-draft-button]")];
  const asOpened = readForm(form);
  const start = form.getAttribute("data-start"); // blank, given or refused
  let mine = newDraft();
  let timer = 0;
  let isChanged = false;
  let isNoticeAboutSize = false;

  function newDraft() {
    return { id: crypto.randomUUID?.() ?? String(Math.random()).slice(2), from: location.search };
  }

  function keepNow() {
    clearTimeout(timer);
    if (!isChanged) return;
    isChanged = false;
    const kept = keepDraft({ ...mine, saved: Date.now(), entries: readForm(form) });
    sayWhatIsNotKept(kept);
  }

  function keepSoon() {
    isChanged = true;
    clearTimeout(timer);
    timer = setTimeout(keepNow, KEEP_MS);
  }

  function say(text, label, action) {
    isNoticeAboutSize = false;
    words.textContent = text;
    button.textContent = label;
    button.hidden = !label;
    button.onclick = action;
    notice.hidden = false;
  }

  function sayWhatIsNotKept(kept) {
    if (kept && !kept.leftOut.length) {
      if (isNoticeAboutSize) notice.hidden = true;
      return;
    }
    if (!kept) say("This browser cannot keep a draft of this run: launch it before you leave the page.", "");
    else say(`Too large for a draft: ${labels(kept)}. Everything else is kept in this browser.`, "");
    isNoticeAboutSize = true;
  }

  function labels(draft) {
    return draft.leftOut.map((name) => form.elements[name]?.labels?.[0]?.textContent ?? name).join(", ");
  }

  function fill(entries) {
    fillForm(form, entries, { setRows, setMessages });
    isChanged = false;
    onFilled();
  }

  function restore(draft) {
    mine = { ...draft, from: location.search };
    keepDraft(mine);
    fill(draft.entries);
    const without = draft.leftOut.length ? ` without what was too large for it: ${labels(draft)}` : "";
    say(`Draft of ${timeOf(draft)} restored${without}.`, "Throw it away", () => throwAway(draft));
  }

  function throwAway(draft) {
    const last = { ...draft, entries: readForm(form) };
    forgetDraft(draft.id);
    mine = newDraft();
    fill(asOpened);
    say("The draft was thrown away.", "Bring it back", () => restore(last));
  }

  function isComeBackTo(draft) {
    const [visit] = performance.getEntriesByType("navigation");
    return draft.from === location.search && ["reload", "back_forward"].includes(visit?.type);
  }

  const [newest] = readDrafts();
  if (start === "refused") {
    mine.id = form.elements.draft.value || mine.id;
    history.replaceState(null, ""); // so that Back and Reload open the form again, with the draft
  } else if (newest && (start === "blank" || isComeBackTo(newest))) {
    restore(newest);
  } else if (newest) {
    say(`You have an unfinished draft of ${timeOf(newest)}.`, "Continue with it", () => {
      keepNow(); // what was typed here meanwhile is a draft of its own
      restore(newest);
    });
  }

  form.autocomplete = "off"; // else the browser puts back some of the fields, without their rows
  form.addEventListener("input", keepSoon);
  form.addEventListener("change", keepSoon);
  addEventListener("pagehide", keepNow);
  form.addEventListener("submit", () => {
    keepNow();
    form.elements.draft.value = mine.id;
  });
  return { keepSoon };
}
