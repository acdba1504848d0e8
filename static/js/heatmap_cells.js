/**
 * The cells of a heatmap in words and as a table, for those who do not see it.
 *
 * @typedef {{candidate: number, name: string, values: (number|null)[], failed: [number, number][], tries?: number[]}} Row
 * @typedef {{size: number, cases: number[], question?: string}} Column of one case, or of several
 */
const TABLE_CANDIDATES = 10;

function counted(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

function cell(row, text, tag = "td") {
  const made = Object.assign(document.createElement(tag), { textContent: text });
  row.append(made);
  return made;
}

export class HeatmapCells {
  /** @param {{rows: Row[], columns: Column[]}} data values are in thousandths */
  constructor({ rows, columns }) {
    this.rows = rows;
    this.columns = columns;
    this.failures = rows.map(({ failed }) => new Map(failed));
    this.hint = rows.length && columns.length ? "Point at a cell to read it." : "No trial is planned.";
  }

  has(row, column) {
    return row >= 0 && column >= 0 && row < this.rows.length && column < this.columns.length;
  }

  failed(row, column) {
    return this.failures[row].get(column) ?? 0;
  }

  tries(row, column) {
    const { values, tries } = this.rows[row];
    return tries ? tries[column] : Number(values[column] !== null);
  }

  failedShare(row, column) {
    const failed = this.failed(row, column);
    return failed / (failed + this.tries(row, column));
  }

  /** The trials behind a cell, as the address of the scores names them; empty if there are none. */
  query(row, column) {
    const { cases } = this.columns[column];
    if (!this.tries(row, column) && !this.failed(row, column)) return "";
    return `candidate=${this.rows[row].candidate}&case=${cases.join(",")}`;
  }

  words(row, column) {
    return `${this.rows[row].name}, ${this.columnWords(column)}: ${this.result(row, column)}`;
  }

  columnWords(column) {
    const { size, cases, question } = this.columns[column];
    if (!cases.length) return counted(size, "case");
    if (size === 1) return `case ${cases[0]}${question ? ` “${question}”` : ""}`;
    const more = size > cases.length ? ", of which Enter opens these" : "";
    return `${counted(size, "case")} of similar difficulty (${cases.slice(0, 5).join(", ")}${cases.length > 5 ? " …" : ""}${more})`;
  }

  result(row, column) {
    const [value, tries, failed] = [this.rows[row].values[column], this.tries(row, column), this.failed(row, column)];
    if (value === null) return failed ? `${counted(failed, "trial")} failed` : "not tried yet";
    const mean = tries > 1 ? `, mean of ${counted(tries, "trial")}` : "";
    return `${(value / 1000).toFixed(3)}${mean}${failed ? `, ${failed} failed` : ""}`;
  }

  /** A row for each column of the picture, since tables are read row by row. */
  fillTable(holder) {
    const shown = this.rows.slice(0, TABLE_CANDIDATES);
    const table = Object.assign(document.createElement("table"), { className: "table" });
    const rest = this.rows.length - shown.length;
    table.createCaption().textContent = rest > 0 ? `The best ${shown.length} of ${this.rows.length} candidates drawn` : "Scores by case and candidate";
    const head = table.createTHead().insertRow();
    for (const text of ["Case", ...shown.map(({ name }) => name)]) cell(head, text, "th").scope = "col";
    const body = table.createTBody();
    this.columns.forEach((_, column) => {
      const row = body.insertRow();
      cell(row, this.columnWords(column), "th").scope = "row";
      shown.forEach((__, place) => cell(row, this.result(place, column)));
    });
    holder.replaceChildren(table);
  }
}
