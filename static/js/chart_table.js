/** A chart in words and as a table, for those who do not see it. */

function write(value) {
  return value === null || value === undefined ? "–" : String(Math.round(value * 10) / 10);
}

/** One sentence on where each series stands and how high it went. */
export function summarise(plan, columns) {
  if (!columns.second.length) return "No data yet.";
  return plan.series
    .filter(({ key }) => key !== "limit")
    .map(({ key, label }) => {
      const values = columns[key].filter((value) => value !== null);
      return `${label}: last ${write(values.at(-1) ?? null)}, highest ${write(values.length ? Math.max(...values) : null)}`;
    })
    .join("; ");
}

export function fillTable(holder, plan, columns) {
  const table = document.createElement("table");
  table.className = "table";
  const head = table.createTHead().insertRow();
  for (const label of ["Second", ...plan.series.map(({ label }) => label)]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.className = "number";
    cell.textContent = label;
    head.append(cell);
  }
  const body = table.createTBody();
  columns.second.forEach((second, place) => {
    const row = body.insertRow();
    for (const value of [second, ...plan.series.map(({ key }) => columns[key][place])]) {
      const cell = row.insertCell();
      cell.className = "number";
      cell.textContent = write(value);
    }
  });
  holder.replaceChildren(table);
}
