/** Times as the pages write them: in the zone that the person chose, else in the browser's. */
export function timeOf(date) {
  return date.toLocaleTimeString([], { hour12: false, timeZone: document.documentElement.dataset.zone });
}
