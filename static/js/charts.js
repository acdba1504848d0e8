/** The three charts of a run, drawn by uPlot from the snapshot's series. Colours come from the style sheet. */
import { Marks } from "./chart_marks.js";
import { fillTable, summarise } from "./chart_table.js";

const AREA_OPACITY = 0.12;
const FAR_AWAY = 4; // times as high as what is drawn
const WHOLE_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600];

/**
 * What each chart draws, in drawing order. `stackOn` is added to the series before it is drawn.
 * @type {Record<string, {series: {key: string, label: string, stackOn?: string, fill?: boolean, dash?: number[], isStepped?: boolean, isLimit?: boolean}[], unit: "rate"|"ms"|"count", notes?: string}>} `notes`: what its marks are
 */
export const CHARTS = {
  throughput: {
    unit: "rate",
    series: [
      { key: "fresh", label: "answered", stackOn: "cached", fill: true },
      { key: "cached", label: "cached", fill: true },
      { key: "failed", label: "failed" },
      { key: "rate_limit", label: "limit", dash: [6, 4], isLimit: true },
    ],
  },
  latency: {
    unit: "ms",
    series: [
      { key: "latency_p95", label: "p95" },
      { key: "latency_p50", label: "p50", fill: true },
    ],
  },
  in_flight: {
    unit: "count",
    notes: "Limit changes",
    series: [
      { key: "in_flight", label: "in flight", fill: true },
      { key: "limit", label: "limit", dash: [6, 4], isStepped: true, isLimit: true },
    ],
  },
};

/** Turns rows into columns; a second without a row becomes a gap, never a zero. */
export function columnsOf(series, limits) {
  const names = series.columns;
  const columns = Object.fromEntries([...names, "limit", "rate_limit"].map((name) => [name, []]));
  let previous = null;
  for (const row of series.rows) {
    if (previous !== null && row[0] - previous > series.step * 1.5) pushGap(columns, previous + series.step);
    names.forEach((name, place) => columns[name].push(row[place]));
    columns.limit.push(limitAt(limits.limit_steps, row[0] + series.step - 1));
    columns.rate_limit.push(limits.rate_limit);
    previous = row[0];
  }
  return columns;
}

/** The limit that held in a second; `steps` are [second, limit], oldest first. */
function limitAt(steps, second) {
  return (steps.findLast(([since]) => since <= second) ?? steps[0])[1];
}

function pushGap(columns, second) {
  for (const [name, values] of Object.entries(columns)) values.push(name === "second" ? second : null);
}

/** Merges the newest rows of a tick into what is drawn. False when the step changed: then all is needed. */
export function mergeRows(series, tick) {
  if (series.step !== tick.step) return false;
  const bySecond = new Map(series.rows.map((row) => [row[0], row]));
  for (const row of tick.rows) bySecond.set(row[0], row);
  series.rows = [...bySecond.values()].sort((a, b) => a[0] - b[0]);
  return true;
}

/** The real colour behind a class: custom properties are resolved by the browser, not by us. */
export function colourOf(figure, key) {
  const probe = document.createElement("span");
  probe.className = `series-${key}`;
  figure.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

export function withOpacity(colour, opacity) {
  return colour.replace("rgb(", "rgba(").replace(")", `, ${opacity})`);
}

/** Where a value has none beside it: a line cannot show it, so a point does. Nothing is drawn of a zero. */
export function isolatedIn(values) {
  const isThere = (place) => (values[place] ?? null) !== null;
  return values.flatMap((value, place) => (value && !isThere(place - 1) && !isThere(place + 1) ? [place] : []));
}

function isEmpty(values) {
  return values.every((value) => (value ?? null) === null);
}

function highOf(values) {
  return Math.max(0, ...values.filter((value) => (value ?? null) !== null));
}

function short(number) {
  return Number.isInteger(number) || number >= 100 ? String(Math.round(number)) : number.toFixed(1);
}

/** Below one a second as 6.2/min, as the tiles have it. */
function rate(value) {
  if (value === 0) return "0";
  return value < 0.995 ? `${short(Math.round(value * 600) / 10)}/min` : `${short(value)}/s`;
}

/** How each unit is written: on the axis, in the legend, in the summary and in the table. */
export const UNITS = {
  rate,
  ms: (value) => (value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value)} ms`),
  count: (value) => `${Math.round(value)}`,
  times: (value) => `${Math.round(value * 10) / 10}×`,
  score: (value) => value.toFixed(2),
  dollars: (value) => (value >= 1 || value === 0 ? `$${value.toFixed(2)}` : `$${Number(value.toPrecision(2))}`),
};

const SMALLEST_TOP = { rate: 4, ms: 100, count: 4, times: 1, score: 1, dollars: 0.0001 }; // so that an empty chart has a sensible scale

/** A slow model's few answers a minute fill the chart, too. */
function topOf(unit, high) {
  const isSlow = unit === "rate" && high > 0 && high < 1;
  return isSlow ? high * 1.2 : Math.max((high ?? 0) * 1.1, SMALLEST_TOP[unit]);
}

/** At least ten seconds wide, also before the first one is over. */
function xRange(plot, low, high) {
  const [second = 0, ...others] = plot.data[0];
  if (!others.length) return [second, second + 10];
  return [low, Math.max(high, low + 10)];
}

function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

export class Chart {
  /** @param {HTMLElement} figure */
  constructor(figure, plan = CHARTS[figure.dataset.chart]) {
    this.figure = figure;
    this.plan = plan;
    this.write = UNITS[plan.unit];
    this.marks = new Marks();
    this.canvas = figure.querySelector("[data-canvas]");
    this.table = figure.querySelector("[data-table]");
    this.toggle = figure.querySelector("[data-table-toggle]");
    this.writeLegend();
    this.toggle.hidden = false;
    this.toggle.addEventListener("click", () => this.showTable(this.table.hidden));
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(this.canvas);
  }

  writeLegend() {
    const legend = this.figure.querySelector("[data-legend]");
    legend.replaceChildren(
      ...this.plan.series.map(({ key, label, dash }) => {
        const entry = document.createElement("span");
        entry.className = `series-${key}`;
        const line = document.createElement("i");
        if (dash) line.className = "dashed";
        entry.append(line, label);
        return entry;
      }),
    );
  }

  /** @param {{columns: string[], rows: (number|null)[][], step: number}} series */
  show(series, limits, marks) {
    if (this.plan.notes) this.marks.list = marks;
    this.showColumns(columnsOf(series, limits));
  }

  showColumns(columns) {
    this.columns = columns;
    this.hideUnlimited();
    if (this.plot) this.plot.setData(this.data());
    else this.draw();
    this.figure.querySelector("[data-summary]").textContent = summarise(this.plan, this.columns, this.write);
    if (!this.table.hidden) this.fillTable();
  }

  /** A limit that does not exist has no place in the legend. */
  hideUnlimited() {
    const entries = this.figure.querySelectorAll("[data-legend] > span");
    this.plan.series.forEach(({ key, isLimit }, place) => {
      if (isLimit) entries[place].hidden = isEmpty(this.columns[key]);
    });
  }

  /** A limit that is far away must not press what is drawn to the ground: it is then off the top. */
  highest(high) {
    const drawn = this.plan.series.filter(({ isLimit }) => !isLimit).map(({ key, stackOn }) => highOf(this.columns[key]) + (stackOn ? highOf(this.columns[stackOn]) : 0));
    const most = Math.max(...drawn, 0);
    return most && high > FAR_AWAY * most ? most : high;
  }

  fillTable() {
    fillTable(this.table, this.plan, this.columns, this.write, this.marks.list);
  }

  data() {
    const stacked = this.plan.series.map(({ key, stackOn }) =>
      stackOn ? this.columns[key].map((value, place) => (value === null ? null : value + this.columns[stackOn][place])) : this.columns[key],
    );
    return [this.columns[this.plan.x ?? "second"], ...stacked];
  }

  draw() {
    if (!this.columns || !window.uPlot) return;
    this.plot?.destroy();
    this.canvas.replaceChildren();
    this.plot = new window.uPlot(this.options(), this.data(), this.canvas);
  }

  options() {
    const style = getComputedStyle(this.figure);
    const [ink, line] = [style.getPropertyValue("color"), colourOf(this.figure, "limit")];
    const axis = { stroke: line, font: "12px system-ui", grid: { stroke: withOpacity(ink, 0.08), width: 1 }, ticks: { show: false } };
    return {
      width: this.canvas.clientWidth,
      height: this.canvas.clientHeight,
      padding: [8, 16, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: false, range: (plot, low, high) => xRange(plot, low, high) }, y: { range: (_, __, high) => [0, topOf(this.plan.unit, this.highest(high))] } },
      axes: [
        { ...axis, size: 24, space: 64, incrs: WHOLE_SECONDS, values: (_, ticks) => ticks.map(clock) },
        { ...axis, size: 52, space: 32, values: (_, ticks) => ticks.map(this.write) },
      ],
      series: [{}, ...this.plan.series.map((each) => this.seriesOptions(each))],
      hooks: { setCursor: [(plot) => this.showValues(plot.cursor.idx)], draw: [(plot) => this.marks.place(plot)] },
    };
  }

  seriesOptions({ key, label, fill, dash, isStepped }) {
    const colour = colourOf(this.figure, key);
    const paths = isStepped ? window.uPlot.paths.stepped({ align: 1 }) : undefined;
    const points = { show: false, size: 5, fill: colour, filter: (plot, index) => isolatedIn(plot.data[index]) };
    return { label, stroke: colour, width: 2, dash, paths, fill: fill ? withOpacity(colour, AREA_OPACITY) : undefined, points, spanGaps: false };
  }

  /** The legend carries the value under the pointer; nothing floats over the data. */
  showValues(place) {
    const entries = this.figure.querySelectorAll("[data-legend] > span");
    this.plan.series.forEach(({ key, label }, index) => {
      const value = place === null || place === undefined ? null : this.columns[key][place];
      entries[index].lastChild.textContent = value === null ? label : `${label} ${this.write(value)}`;
    });
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (this.plot && clientWidth) this.plot.setSize({ width: clientWidth, height: clientHeight });
  }

  showTable(isOpen) {
    this.table.hidden = !isOpen;
    this.toggle.setAttribute("aria-expanded", String(isOpen));
    this.toggle.textContent = isOpen ? "Hide the table" : "Data table";
    if (isOpen) this.fillTable();
  }
}
