/** The speed-up curve of a benchmark: measured, with its spread, against the ideal and the predicted ceiling. */
import { Chart, colourOf, withOpacity } from "./charts.js";

const SPREAD_OPACITY = 0.18;
const PLAN = {
  unit: "times",
  x: "concurrency",
  xLabel: "Calls in flight",
  series: [
    { key: "ideal", label: "ideal", dash: [2, 4] },
    { key: "ceiling", label: "ceiling", dash: [6, 4] },
    { key: "measured", label: "measured" },
  ],
};

class SpeedupChart extends Chart {
  /** The spread is drawn as a band between two lines that are not seen and not in the legend. */
  data() {
    return [...super.data(), this.columns.highest, this.columns.lowest];
  }

  options() {
    const options = super.options();
    const unseen = { width: 0, points: { show: false } };
    const edge = options.series.length;
    options.scales.x.range = (_, __, high) => [0, high * 1.04];
    options.axes[0] = { ...options.axes[0], incrs: undefined, values: (_, ticks) => ticks };
    options.series.at(-1).points = { show: true, size: 7 };
    options.series.push({ ...unseen, label: "highest" }, { ...unseen, label: "lowest" });
    options.bands = [{ series: [edge, edge + 1], fill: withOpacity(colourOf(this.figure, "measured"), SPREAD_OPACITY) }];
    return options;
  }
}

/** Where no limit binds, the ceiling is the ideal: one line says it. */
function planFor({ ideal, ceiling }) {
  if (ideal.some((value, place) => value !== ceiling[place])) return PLAN;
  const [first, , ...rest] = PLAN.series;
  return { ...PLAN, series: [{ ...first, label: "ideal = ceiling" }, ...rest] };
}

const columns = JSON.parse(document.getElementById("curve").textContent);
const chart = new SpeedupChart(document.querySelector("[data-chart]"), planFor(columns));
chart.showColumns(columns);
document.addEventListener("themechange", () => chart.draw());
