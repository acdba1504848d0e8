/** What the chosen dataset offers: its inputs for prompts, its columns for the expected answer. */

const DEFAULT = "{{question}}";

/**
 * @param {() => void} changed is told when a prompt was changed here
 * @returns {() => void} shows them anew, when the form was filled by something else
 */
export function watchColumns(form, changed) {
  const known = JSON.parse(document.getElementById("dataset-columns").textContent);
  const expected = form.elements.expected;
  const placeholder = expected?.placeholder ?? "";
  let last = null; // the field of a prompt that a person wrote in
  let before = DEFAULT; // what an untouched prompt says

  form.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-prompt-text] textarea")) last = event.target;
  });
  form.addEventListener("click", (event) => {
    const name = event.target.closest("[data-input-column]")?.dataset.inputColumn;
    if (name === undefined) return;
    const field = last?.isConnected ? last : event.target.closest(".card").querySelector("textarea[name$=-user]");
    if (!field) return;
    field.setRangeText(`{{${name}}}`, field.selectionStart, field.selectionEnd, "end");
    field.focus();
    changed();
  });
  form.elements.dataset.addEventListener("change", () => show(true));
  for (const source of form.elements.dataset_source) source.addEventListener("change", () => show(false));
  show(false);
  return () => show(false);

  function show(isChosen) {
    const isStored = form.elements.dataset_source.value === "stored"; // columns of pasted rows are not known here
    const chosen = (isStored && known[form.elements.dataset.value]) || { inputs: [], columns: [], expected: "" };
    for (const place of form.querySelectorAll("[data-input-columns]")) offer(place, chosen.inputs);
    if (isChosen && chosen.inputs.length) follow(chosen.inputs);
    if (expected) suggest(chosen);
  }

  /** A prompt that is still as it was made names the first input, if the dataset has no question. */
  function follow(inputs) {
    const wanted = inputs.includes("question") ? DEFAULT : `{{${inputs[0]}}}`;
    for (const field of form.querySelectorAll("[data-prompt-text] textarea[name$=-user]")) {
      if (field.value === before) field.value = wanted;
    }
    before = wanted;
  }

  function suggest(chosen) {
    let list = document.getElementById("expected-columns");
    if (!list) {
      list = document.createElement("datalist");
      list.id = "expected-columns";
      expected.after(list);
      expected.setAttribute("list", list.id);
    }
    list.replaceChildren(...chosen.columns.map((name) => new Option(name, name)));
    expected.placeholder = chosen.expected || placeholder;
  }
}

function offer(place, inputs) {
  const words = document.createElement("span");
  words.className = "muted";
  words.textContent = inputs.length ? "Put in an input:" : "";
  place.replaceChildren(words, ...inputs.map(buttonOf));
}

function buttonOf(name) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "chip chip-button mono";
  button.dataset.inputColumn = name;
  button.textContent = name;
  return button;
}
