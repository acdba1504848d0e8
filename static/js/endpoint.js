/** Tests a connection and shows the report in place. */
const form = document.querySelector("[data-test]");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  const label = button.querySelector("span");
  button.disabled = true;
  label.textContent = "Testing, up to 10 s";
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { "X-Part": "report" }, redirect: "error" });
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.querySelector("[data-report]").replaceChildren(...part.body.childNodes);
  } catch {
    document.querySelector("[data-report]").textContent = "The site did not answer. Reload the page and try again.";
  } finally {
    button.disabled = false;
    label.textContent = "Test connection";
  }
});
