/** A prompt as a list of messages: rows that are added and removed without asking the server. */

function makeMessage(box, number, role, text) {
  const prefix = box.dataset.promptText;
  const row = document.querySelector("[data-message-template]").content.cloneNode(true);
  for (const element of row.querySelectorAll("*")) {
    for (const attribute of [...element.attributes]) {
      element.setAttribute(attribute.name, attribute.value.replaceAll("message-of-99999", prefix).replace("99999", number));
    }
  }
  row.querySelector("select").value = role;
  row.querySelector("textarea").value = text;
  box.querySelector("[data-messages]").append(row);
}

/** System and user are hidden while there are messages, and come back with the last of them. */
function show(box) {
  const rows = box.querySelectorAll("[data-message]");
  box.querySelector("[data-plain]").hidden = rows.length > 0;
  box.querySelector("[data-add-message] span").textContent = rows.length ? "Add a message" : "Write as messages";
}

function numbersIn(box) {
  return [...box.querySelectorAll("[data-message] > input[type=hidden]")].map((field) => Number(field.value));
}

function addMessage(box) {
  const numbers = numbersIn(box);
  if (numbers.length) {
    makeMessage(box, Math.max(...numbers) + 1, "user", "");
  } else {
    const [system, user] = [...box.querySelectorAll("[data-plain] textarea")].map((field) => field.value);
    if (system) makeMessage(box, 0, "system", system);
    makeMessage(box, system ? 1 : 0, "user", user);
  }
  show(box);
  [...box.querySelectorAll("[data-message] textarea")].at(-1).focus();
}

/** As many rows as a draft has, which then fills them. */
export function setMessages(form, prefix, numbers) {
  const box = form.querySelector(`[data-prompt-text="${CSS.escape(prefix)}"]`);
  if (!box) return;
  box.querySelector("[data-messages]").replaceChildren();
  for (const number of numbers) makeMessage(box, number, "user", "");
  show(box);
}

export function watchMessages(form, onChange) {
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-add-message], [data-remove-message]");
    if (!button) return;
    event.preventDefault();
    const box = button.closest("[data-prompt-text]");
    if (button.matches("[data-add-message]")) {
      addMessage(box);
    } else {
      button.closest("[data-message]").remove();
      show(box);
      box.querySelector("[data-add-message]").focus();
    }
    onChange();
  });
}
