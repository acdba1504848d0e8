/** The trend of a configuration: score with its interval, cost and latency, run by run. */
import { Chart, colourOf, withOpacity } from "./charts.js";

const SPREAD_OPACITY = 0.18;
const ALIKE = { x: "run", xLabel: "Run" };
const PLANS = {
  score: { ...ALIKE, unit: "score", notes: "Version", series: [{ key: "score", label: "score" }] },
  cost: { ...ALIKE, unit: "dollars", series: [{ key: "cost", label: "cost" }] },
  latency: {
    ...ALIKE,
    unit: "ms",
    series: [
      { key: "latency_p95", label: "p95" },
      { key: "latency_p50", label: "p50" },
    ],
  },
};

class TrendChart extends Chart {
  /** Runs stand at equal distances, whatever their numbers. */
  data() {
    const drawn = super.data().slice(1);
    const bounds = this.hasBand ? [this.columns.high, this.columns.low] : [];
    return [this.columns.second, ...drawn, ...bounds];
  }

  get hasBand() {
    return this.figure.dataset.chart === "score";
  }

  options() {
    const options = super.options();
    const { run, second } = this.columns;
    const top = options.scales.y.range;
    options.scales.x.range = () => [0.5, second.length + 0.5];
    options.scales.y.range = (plot, low, high) => [Math.min(0, low), top(plot, low, high)[1]];
    options.axes[0] = { ...options.axes[0], incrs: [1, 2, 5, 10, 20, 50], values: (_, ticks) => ticks.map((tick) => (run[tick - 1] ? `#${run[tick - 1]}` : "")) };
    for (const series of options.series.slice(1)) series.points = { show: true, size: 6 };
    if (this.hasBand) this.addBand(options);
    return options;
  }

  /** The interval is drawn between two lines that are not seen and not in the legend. */
  addBand(options) {
    const unseen = { width: 0, points: { show: false } };
    const edge = options.series.length;
    options.series.push({ ...unseen, label: "high" }, { ...unseen, label: "low" });
    options.bands = [{ series: [edge, edge + 1], fill: withOpacity(colourOf(this.figure, "score"), SPREAD_OPACITY) }];
  }
}

/** A flag where a run was the first one of another version. */
function versionMarks({ version }) {
  return version.flatMap((number, place) => (place && number !== version[place - 1] ? [{ id: place, second: place + 1, text: `Version ${number ?? "?"}` }] : []));
}

const data = document.getElementById("trend");
const columns = data ? JSON.parse(data.textContent) : null;
const charts = columns ? [...document.querySelectorAll("[data-chart]")].map((figure) => new TrendChart(figure, PLANS[figure.dataset.chart])) : [];
for (const chart of charts) {
  chart.marks.write = (place) => `Run ${columns.run[place - 1]}:`;
  if (chart.plan.notes) chart.marks.list = versionMarks(columns);
  chart.showColumns({ ...columns, second: columns.run.map((_, place) => place + 1) });
}
document.addEventListener("themechange", () => charts.forEach((chart) => chart.draw()));
