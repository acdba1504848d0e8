/** The dry run of the new-run form: its trials are fetched and shown below the form, without leaving it. */

/**
 * @param {{form: HTMLFormElement, onDone: Function}} given `onDone`: the answers are in the cache now
 */
export function watchDryRun({ form, onDone }) {
  const [button, part] = [form.querySelector("[data-dry-run]"), form.querySelector("[data-dry-part]")];

  function say(text) {
    const line = document.createElement("p");
    line.textContent = text;
    part.replaceChildren(line);
  }

  async function tryNow() {
    button.disabled = true;
    part.hidden = false;
    part.setAttribute("aria-busy", "true");
    say("Making the first trials. This takes as long as the models do, at most half a minute.");
    part.scrollIntoView({ block: "nearest" });
    try {
      const answer = await fetch(button.formAction, {
        method: "POST",
        body: new FormData(form),
        headers: { "X-Part": "dry-run" },
        redirect: "error",
      });
      const found = new DOMParser().parseFromString(await answer.text(), "text/html");
      part.replaceChildren(...found.body.childNodes);
      part.querySelector("h2")?.focus();
      onDone();
    } catch {
      say("The server could not be reached. Nothing is known of the trials; try again.");
    } finally {
      button.disabled = false;
      part.removeAttribute("aria-busy");
    }
  }

  form.addEventListener("submit", (event) => {
    if (event.submitter !== button) return;
    event.preventDefault();
    tryNow();
  });
}
