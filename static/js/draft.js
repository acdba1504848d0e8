/** Unfinished runs, kept in this browser until they are launched or thrown away. Every page looks whether one was. */
const LARGEST = 1_000_000; // characters of one draft: browsers give a site about five million
const MOST = 5; // drafts of a person; the oldest goes first
const LAUNCHED = "launched_draft"; // the cookie with which the server says that a draft became a run
const SIGNED_OUT = "evalsite.signed-out";

const person = document.body.dataset.person;
const place = `evalsite.drafts.${person}`;
let isSignedOut = !person;

/** @typedef {{id: string, saved: number, from: string, entries: [string, string][], leftOut: string[]}} Draft */

/** @returns {Draft[]} the newest first */
export function readDrafts() {
  try {
    return person ? JSON.parse(localStorage.getItem(place) ?? "[]") : [];
  } catch {
    return []; // storage is forbidden here, or holds what is not ours
  }
}

/** Keeps it without its longest texts if they are too large. @returns {Draft?} what was kept */
export function keepDraft(draft) {
  if (isSignedOut) return null;
  const kept = fitting(draft);
  const others = readDrafts().filter((other) => other.id !== draft.id);
  return write([kept, ...others.slice(0, MOST - 1)]) || write([kept]) ? kept : null;
}

export function forgetDraft(id) {
  const drafts = readDrafts();
  const rest = drafts.filter((draft) => draft.id !== id);
  if (rest.length < drafts.length) write(rest);
}

/** @param {Draft} draft */
function fitting(draft) {
  const entries = [...draft.entries];
  const leftOut = [];
  while (JSON.stringify(entries).length > LARGEST) {
    const sizes = entries.map(([, value]) => value.length);
    const [gone] = entries.splice(sizes.indexOf(Math.max(...sizes)), 1);
    leftOut.push(gone[0]);
  }
  return { ...draft, entries, leftOut };
}

function write(drafts) {
  try {
    if (drafts.length) localStorage.setItem(place, JSON.stringify(drafts));
    else localStorage.removeItem(place);
    return true;
  } catch {
    return false; // full, or forbidden
  }
}

function forgetLaunched() {
  const found = document.cookie.match(new RegExp(`(?:^|; )${LAUNCHED}=([\\w-]+)`));
  if (!found) return;
  forgetDraft(found[1]);
  document.cookie = `${LAUNCHED}=; path=/; max-age=0; samesite=lax`;
}

/** Signing out leaves nothing behind, nor do other tabs, where somebody may still type. */
function forgetAll() {
  isSignedOut = true;
  write([]);
  try {
    localStorage.setItem(SIGNED_OUT, person);
    localStorage.removeItem(SIGNED_OUT);
  } catch {
    // Nothing was kept, then.
  }
}

export function watchDrafts() {
  forgetLaunched();
  for (const form of document.querySelectorAll("[data-sign-out]")) form.addEventListener("submit", forgetAll);
  addEventListener("storage", (event) => {
    if (event.key === SIGNED_OUT && event.newValue === person) isSignedOut = true;
  });
}
