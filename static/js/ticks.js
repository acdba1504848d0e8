/** What a person ticked stays ticked when the rows it stands in are fetched again. */
export function keepTicks(place, replace) {
  const ticked = [...place.querySelectorAll("[data-tick]:checked")].map((tick) => tick.value);
  replace();
  for (const tick of place.querySelectorAll("[data-tick]")) tick.checked = ticked.includes(tick.value);
}

/** How to find a link or a tick again among new rows. */
export function addressOf(element) {
  if (element.matches("[data-tick]")) return `[data-tick][value="${CSS.escape(element.value)}"]`;
  return element.hasAttribute("href") ? `a[href="${CSS.escape(element.getAttribute("href"))}"]` : null;
}
