/** Tests a connection, or sends a prompt, and shows in place what came back. */
const sendInPlace = (form, part, place, busy) => {
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    const label = button.querySelector("span");
    const usual = label.textContent;
    button.disabled = true;
    label.textContent = busy;
    try {
      const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { "X-Part": part }, redirect: "error" });
      const shown = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.replaceChildren(...shown.body.childNodes);
    } catch {
      place.textContent = "The site did not answer. Reload the page and try again.";
    } finally {
      button.disabled = false;
      label.textContent = usual;
    }
  });
};

sendInPlace(document.querySelector("[data-test]"), "report", document.querySelector("[data-report]"), "Testing, up to 10 s");
sendInPlace(document.querySelector("[data-try]"), "tried", document.querySelector("[data-tried]"), "Waiting, up to 30 s");
