/** Every page: theme switch, filters that send themselves, copy buttons, menus, shortcuts, jump box, drafts, health. */
import { watchDrafts } from "./draft.js";
import { watchHealth } from "./health.js";
import { listenForJump } from "./jump.js";
import { listenForKeys } from "./keyboard.js";

const ONE_YEAR = 365 * 24 * 3600;
const TYPING_PAUSE_MS = 400;

/** Switches the theme at once, and tells the site; without a script the same form does it by a reload. */
function wireThemes() {
  for (const form of document.querySelectorAll("[data-themes]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const theme = event.submitter?.value ?? "system";
      for (const name of ["theme", "theme_unsaved"]) {
        document.cookie = `${name}=${theme}; path=/; max-age=${ONE_YEAR}; samesite=lax`;
      }
      keepTheme(form, theme);
      document.documentElement.dataset.theme = theme;
      for (const button of document.querySelectorAll("[data-themes] button")) {
        button.setAttribute("aria-pressed", String(button.value === theme));
      }
      document.dispatchEvent(new CustomEvent("themechange"));
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.dispatchEvent(new CustomEvent("themechange")),
  );
}

/** For the person's other devices. Until the site has it, the cookie theme_unsaved says what was chosen here. */
function keepTheme(form, theme) {
  const body = new FormData(form);
  body.set("theme", theme);
  fetch(form.action, { method: "POST", body, redirect: "manual", keepalive: true }).catch(() => {});
}

/** Filters apply when chosen, or a moment after the last letter typed. Empty ones stay out of the address. */
function wireFilters() {
  for (const form of document.querySelectorAll("[data-auto-submit]")) {
    form.querySelector("[data-no-script]")?.setAttribute("hidden", "");
    form.addEventListener("submit", () => {
      for (const field of form.elements) {
        if (field.name && !field.value) field.disabled = true;
      }
    });
    form.addEventListener("change", (event) => {
      if (event.target.matches("select")) submitAlone(form, event.target);
      else if (!event.target.matches("[type=search]")) form.requestSubmit();
    });
    let timer = 0;
    for (const search of form.querySelectorAll("input[type=search]")) {
      search.addEventListener("input", () => {
        clearTimeout(timer);
        const length = search.value.trim().length;
        if (length === 0 || length >= 3) timer = setTimeout(() => remember(search) || form.requestSubmit(), TYPING_PAUSE_MS);
      });
    }
  }
  const field = sessionStorage.getItem("focus") && document.getElementById(sessionStorage.getItem("focus"));
  sessionStorage.removeItem("focus");
  if (field) {
    field.focus();
    field.setSelectionRange?.(field.value.length, field.value.length);
  }
}

function remember(field) {
  sessionStorage.setItem("focus", field.id);
}

/** "Start from" has two lists of which only one can be meant: the one just used. */
function submitAlone(form, chosen) {
  if (form.classList.contains("start-from")) {
    for (const other of form.querySelectorAll("select")) {
      if (other !== chosen) other.value = "";
    }
  }
  form.requestSubmit();
}

function wireCopy() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const label = button.querySelector("span");
    const words = label.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      label.textContent = "Copied";
      setTimeout(() => (label.textContent = words), 2000);
    });
  }
}

function wireConfirm() {
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
}

/** A menu is a <details>: it works without this. With it, Escape and a click elsewhere close it. */
function wireMenus() {
  const opened = () => document.querySelectorAll("details[data-menu][open]");
  document.addEventListener("click", (event) => {
    for (const menu of opened()) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of opened()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
}

wireThemes();
wireMenus();
wireFilters();
wireCopy();
wireConfirm();
listenForKeys();
listenForJump();
watchDrafts();
watchHealth();
document.querySelector("[data-errors]")?.focus();
