/** Endpoints at work: the whole part is fetched again. */
import { Refresher, replaceIn } from "./refresh.js";

const place = document.querySelector("[data-use]");

if (place) {
  new Refresher(
    () => place.dataset.use,
    (part) => replaceIn(place, [...part.childNodes]),
  ).start();
}
