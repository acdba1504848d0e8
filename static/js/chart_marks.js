/** Flags on a chart where a limit moved, with the reason on hover and focus. */
const NEAR_PX = 14; // flags closer than this would cover each other: they share one
const LINES = 4;
const MOST = 50;

function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

/** The newest marks of a tick added to those that are known. */
export function mergeMarks(known, news) {
  const byId = new Map([...known, ...news].map((mark) => [mark.id, mark]));
  return [...byId.values()].sort((a, b) => a.id - b.id).slice(-MOST);
}

export class Marks {
  constructor() {
    /** @type {{id: number, second: number, text: string}[]} oldest first */
    this.list = [];
    this.write = clock; // how the place of a flag is written
    this.flags = new Map(); // by the ids they stand for, so that a repaint keeps hover and focus
  }

  /** Puts every flag where its second is on the plot now. */
  place(plot) {
    const groups = this.gather(plot);
    for (const [key, flag] of this.flags) {
      if (!groups.has(key) || flag.parentNode !== plot.over) {
        flag.remove();
        this.flags.delete(key);
      }
    }
    for (const [key, { left, marks }] of groups) {
      const flag = this.flags.get(key) ?? this.raise(plot, key, marks);
      flag.style.left = `${left}px`;
      flag.dataset.side = left > plot.over.clientWidth / 2 ? "left" : "right";
    }
  }

  gather(plot) {
    const groups = [];
    for (const mark of this.list) {
      const left = Math.round(plot.valToPos(mark.second, "x"));
      if (!(left >= 0 && left <= plot.over.clientWidth)) continue;
      const last = groups.at(-1);
      if (last && left - last.left < NEAR_PX) last.marks.push(mark);
      else groups.push({ left, marks: [mark] });
    }
    return new Map(groups.map((group) => [group.marks.map(({ id }) => id).join(), group]));
  }

  raise(plot, key, marks) {
    const lines = marks.slice(-LINES).map(({ second, text }) => `${this.write(second)} ${text}`);
    if (marks.length > LINES) lines.unshift(`${marks.length - LINES} earlier changes`);
    const flag = document.createElement("button");
    flag.type = "button";
    flag.className = "chart-mark";
    const text = document.createElement("span");
    text.className = "chart-mark-text";
    text.textContent = lines.join("\n");
    flag.append(text);
    flag.setAttribute("aria-label", `Limit changed: ${lines.join("; ")}`);
    plot.over.append(flag);
    this.flags.set(key, flag);
    return flag;
  }
}
