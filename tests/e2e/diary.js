/** Put into every page before its own scripts: writes down what changed on it, and when. */
(() => {
  const diary = { texts: {}, states: [], closes: [], boards: [], shift: 0, shifts: [] };
  window.diary = diary;

  function note(list, value) {
    if (!list.length || list.at(-1)[1] !== value) list.push([Date.now() / 1000, value]);
  }

  function onChange({ target }) {
    const element = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
    const place = element?.closest("[data-live], [data-live-text], [data-leaderboard-rows]");
    if (!place) return;
    if (place.matches("[data-live]")) note((diary.texts[place.dataset.live] ??= []), place.textContent);
    if (place.matches("[data-live-text]")) note(diary.states, place.textContent);
    if (place.matches("[data-leaderboard-rows]")) {
      const scores = [...place.querySelectorAll('[data-label="Score"]')].map((cell) => cell.textContent.trim());
      note(diary.boards, scores.join(" "));
    }
  }
  new MutationObserver((changes) => changes.forEach(onChange)).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
  });

  window.WebSocket = class extends WebSocket {
    constructor(...values) {
      super(...values);
      this.addEventListener("close", ({ code }) => diary.closes.push(code));
    }
  };

  // The browser also prints violations of its own accord; said again in words that tests know.
  document.addEventListener("securitypolicyviolation", (event) =>
    console.error(`CSP: ${event.violatedDirective} refused ${event.blockedURI}`),
  );

  function tellMove({ node, previousRect: was, currentRect: is }) {
    return `${node?.className || node?.nodeName} from ${was.x} ${was.y} to ${is.x} ${is.y}`;
  }

  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      diary.shift += entry.value;
      diary.shifts.push([entry.startTime, entry.value, ...entry.sources.map(tellMove)]);
    }
  }).observe({ type: "layout-shift", buffered: true });
})();
