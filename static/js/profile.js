/** Your profile: offers the time zone that this browser is in. */
const offer = document.querySelector("[data-zone-here]");
const list = document.querySelector("select[name=time_zone]");
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

if (offer && list && [...list.options].some((option) => option.value === here)) {
  offer.querySelector("span").textContent = here;
  offer.hidden = false;
  offer.addEventListener("click", () => {
    list.value = here;
    list.focus();
  });
}
