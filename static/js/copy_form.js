/** Copies what the new-run form says, as a file for the command line or as a request to the API. */

const SHOWN_MS = 2000;

const form = document.querySelector("[data-new-run]");
const buttons = form.querySelector("[data-copy-form]");

/** The estimate panel has both, as the server writes them; in the YAML view the text itself counts. */
function textFor(what) {
  const isWritten = what === "yaml" && form.elements.mode.value === "yaml";
  return isWritten ? form.elements.yaml.value : form.querySelector(`[data-form-as-${what}]`)?.value;
}

async function copy(button) {
  const label = button.querySelector("span");
  button.dataset.words ??= label.textContent;
  const text = textFor(button.dataset.copies);
  if (text) await navigator.clipboard.writeText(text);
  label.textContent = text ? "Copied" : "Fill in the form first";
  setTimeout(() => (label.textContent = button.dataset.words), SHOWN_MS);
}

buttons.hidden = false;
buttons.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) copy(button);
});
