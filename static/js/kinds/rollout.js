/** The replay of an episode: play, pause and scrub. Without a script its links go step by step. */
const CELL = 10;
const STEP_MS = 150; // long enough to follow one agent with the eyes
const DIGITS = 5; // of the numbers that agents see
const MOST_NUMBERS = 12; // of an observation
const LAYERS = 3; // of what agents of the grid world see: walls, food, other agents
const MARKS = ["#", "o", "A"];
const SVG = "http://www.w3.org/2000/svg";
const frame = document.querySelector("[data-replay]");

class Replay {
  constructor(record) {
    this.record = record;
    this.step = Number(frame.dataset.step);
    this.last = record.play.length;
    this.timer = null;
    this.scrub = frame.querySelector("[data-replay-scrub] input");
    this.button = frame.querySelector("[data-replay-play]");
    this.rows = [...frame.querySelectorAll("[data-replay-rows] tr")];
    this.picture = frame.querySelector("[data-replay-picture]");
    this.film = frame.querySelector("[data-replay-film]");
    this.button.hidden = false;
    this.scrub.parentElement.hidden = false;
    this.listen();
  }

  listen() {
    this.button.addEventListener("click", () => this.toggle());
    this.scrub.addEventListener("input", () => { this.stop(); this.show(Number(this.scrub.value)); });
    this.follow("[data-replay-back]", -1);
    this.follow("[data-replay-on]", 1);
    frame.addEventListener("keydown", (event) => {
      if (event.target === this.scrub || event.ctrlKey || event.metaKey || event.altKey) return;
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.stop();
      this.show(this.step + by);
    });
  }

  follow(selector, by) {
    frame.querySelector(selector).addEventListener("click", (event) => {
      event.preventDefault();
      this.stop();
      this.show(this.step + by);
    });
  }

  toggle() {
    if (this.timer) { this.stop(); return; }
    if (this.step >= this.last) this.show(0);
    this.button.textContent = "Pause";
    this.timer = setInterval(() => {
      this.show(this.step + 1);
      if (this.step >= this.last) this.stop();
    }, STEP_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = "Play";
  }

  show(step) {
    this.step = Math.min(Math.max(step, 0), this.last);
    this.scrub.value = this.step;
    frame.querySelector("[data-replay-told]").textContent = `Step ${this.step} of ${this.last}`;
    this.showRows();
    if (this.picture) this.draw();
    if (this.film) this.turnTo(this.record.pictures);
  }

  showRows() {
    const [seen, actions, rewards] = this.record.play[this.step] ?? [[], [], []];
    this.rows.forEach((row, agent) => {
      const before = this.record.play.slice(0, this.step);
      const total = before.reduce((sum, one) => sum + one[2][agent], 0);
      const done = this.record.sketch?.actions?.[actions[agent]] ?? actions[agent];
      const sees = this.seen(seen[agent]);
      const cells = [sees, told(done).slice(0, 200), earned(rewards[agent]), earned(total)];
      cells.forEach((text, place) => { row.cells[place + 2].textContent = text; });
    });
  }

  seen(value) {
    return (this.record.sketch?.form === "grid" && windowOf(value)) || shortened(value);
  }

  /** The newest picture at this step: not every step was drawn. */
  turnTo({ steps, png }) {
    const place = steps.findLastIndex((drawn) => drawn <= this.step);
    this.film.src = `data:image/png;base64,${png[place]}`;
    this.film.alt = `The environment after step ${steps[place]}`;
    frame.querySelector("[data-replay-drawn]").textContent = steps[place];
  }

  draw() {
    const { sketch, play } = this.record;
    let at = sketch.agents;
    const food = new Set(sketch.food.map(String));
    for (const [, , , [now, grown, taken = []]] of play.slice(0, this.step)) {
      at = now;
      [...now, ...taken].forEach((place) => food.delete(String(place)));
      grown.forEach((place) => food.add(String(place)));
    }
    this.drawFood([...food].map((place) => place.split(",").map(Number)));
    const shapes = [...this.picture.querySelectorAll("[data-replay-agents] > *")];
    at.forEach(([x, y], agent) => {
      const [circle, text] = shapes.slice(2 * agent, 2 * agent + 2);
      circle.setAttribute("cx", x * CELL + CELL / 2);
      circle.setAttribute("cy", y * CELL + CELL / 2);
      text.setAttribute("x", x * CELL + CELL / 2);
      text.setAttribute("y", y * CELL + CELL - 3);
    });
  }

  drawFood(places) {
    const dots = places.map(([x, y]) => {
      const dot = document.createElementNS(SVG, "circle");
      dot.setAttribute("class", "replay-food");
      dot.setAttribute("cx", x * CELL + CELL / 2);
      dot.setAttribute("cy", y * CELL + CELL / 2);
      dot.setAttribute("r", 2);
      return dot;
    });
    this.picture.querySelector("[data-replay-food]").replaceChildren(...dots);
  }
}

/** What an agent sees is said as on the server, in runs/kinds/rollout/sights.py. */
function windowOf(value) {
  const places = typeof value === "string" ? value.length / LAYERS : 0;
  const side = Math.sqrt(places);
  if (!places || !Number.isInteger(side)) return "";
  const marks = Array.from({ length: places }, (_, place) => {
    const layer = MARKS.findIndex((_, number) => value[number * places + place] === "1");
    return MARKS[layer] ?? "·";
  });
  marks[Math.floor(places / 2)] = "@";
  const rows = Array.from({ length: side }, (_, row) => marks.slice(row * side, (row + 1) * side).join(" "));
  return rows.join("\n");
}

function shortened(value) {
  const isLong = (Array.isArray(value) || typeof value === "string") && value.length > MOST_NUMBERS;
  return isLong ? `${told(value.slice(0, MOST_NUMBERS))} … ${value.length} in all` : told(value);
}

/** As the server says it, too. */
function told(value) {
  if (Array.isArray(value)) return value.map(told).join(", ");
  return typeof value === "number" ? String(Number(value.toFixed(DIGITS))) : String(value ?? "");
}

function earned(value) {
  return value?.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }) ?? "";
}

async function start() {
  try {
    const answer = await fetch(frame.dataset.record, { redirect: "error" });
    if (answer.ok) new Replay(await answer.json());
  } catch {
    // the links of the page still go step by step
  }
}

if (frame) start();
