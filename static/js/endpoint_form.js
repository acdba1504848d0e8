/** The form of an endpoint: the options of the chosen kind, and the models found on its server. */
const form = document.querySelector(".endpoint-form");
const kind = form?.querySelector("[name=kind]");
const button = form?.querySelector("[data-find-models]");
const found = form?.querySelector("[data-found]");

const showOptions = () => {
  for (const group of form.querySelectorAll("[data-options-of]")) group.hidden = group.dataset.optionsOf !== kind.value;
};

const findModels = async (event) => {
  event.preventDefault();
  button.disabled = true;
  try {
    const answer = await fetch(button.formAction, { method: "POST", body: new FormData(form), headers: { "X-Part": "models" }, redirect: "error" });
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    found.replaceChildren(...part.body.childNodes);
  } catch {
    found.textContent = "The site did not answer. Reload the page and try again.";
  } finally {
    button.disabled = false;
  }
};

const filterModels = (event) => {
  if (!event.target.matches("[data-filter-models]")) return;
  const wanted = event.target.value.trim().toLowerCase();
  for (const choice of found.querySelectorAll("[data-model]")) choice.hidden = !choice.dataset.model.toLowerCase().includes(wanted);
};

if (kind) {
  showOptions();
  kind.addEventListener("change", showOptions);
  button.addEventListener("click", findModels);
  found.addEventListener("input", filterModels);
}
