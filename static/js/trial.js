/** The trial page: its record is fetched when somebody asks for it. Without a script the link opens it. */
const link = document.querySelector("[data-record]");

async function show() {
  const place = document.getElementById("record");
  place.hidden = false;
  place.textContent = "Loading…";
  try {
    const answer = await fetch(link.href, { redirect: "error" });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    place.textContent = await answer.text(); // as text: it is the model's, not ours
    link.hidden = true;
  } catch {
    place.textContent = "The record could not be loaded. Try again.";
  }
  place.focus();
}

link?.addEventListener("click", (event) => {
  event.preventDefault();
  show();
});
