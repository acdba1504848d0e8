/** A chart in words and as a table, for those who do not see it. */

function text(value, write) {
  return value === null || value === undefined ? "–" : write(value);
}

/** One sentence on where each series stands and how high it went. */
export function summarise(plan, columns, write) {
  if (!columns[plan.x ?? "second"].length) return "No data yet.";
  return plan.series
    .filter(({ isLimit }) => !isLimit)
    .map(({ key, label }) => {
      const values = columns[key].filter((value) => value !== null);
      return `${label}: last ${text(values.at(-1), write)}, highest ${text(values.length ? Math.max(...values) : null, write)}`;
    })
    .join("; ");
}

/** Which marks belong to a row: those from its second up to the next row's. */
function notesOf(marks, seconds, place) {
  const from = place === 0 ? -Infinity : seconds[place];
  const to = seconds[place + 1] ?? Infinity;
  return marks.filter(({ second }) => second >= from && second < to).map(({ text }) => text).join("; ");
}

export function fillTable(holder, plan, columns, write, marks = []) {
  const shown = plan.series.filter(({ key, isLimit }) => !isLimit || columns[key].some((value) => (value ?? null) !== null));
  const table = document.createElement("table");
  table.className = "table";
  const head = table.createTHead().insertRow();
  for (const label of [plan.xLabel ?? "Second", ...shown.map(({ label }) => label)]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.className = "number";
    cell.textContent = label;
    head.append(cell);
  }
  if (plan.notes) head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: plan.notes }));
  const body = table.createTBody();
  columns[plan.x ?? "second"].forEach((second, place) => {
    const row = body.insertRow();
    for (const value of [String(second), ...shown.map(({ key }) => text(columns[key][place], write))]) {
      const cell = row.insertCell();
      cell.className = "number";
      cell.textContent = value;
    }
    if (plan.notes) row.insertCell().textContent = notesOf(marks, columns.second, place);
  });
  holder.replaceChildren(table);
}
