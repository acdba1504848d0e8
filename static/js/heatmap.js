/** Candidates and cases on a canvas: read cell by cell with pointer or arrow keys, and as a table. */
import { colourOf } from "./charts.js";
import { HeatmapCells } from "./heatmap_cells.js";

const STOPS = 5; // colours of the scale in the style sheet
const LEVELS = 100; // between them
const WIDEST_CELL = 48;
const LABELS_FROM = 12; // pixels of a row's height: below it names would overlap
const LABELS_WIDTH = 232;
const ROOM_FOR_LABELS = 640; // pixels of the whole picture
const GAP_FROM = 5; // pixels of a cell: below it a gap would hide it
const HATCH = 6;
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function numbersOf(colour) {
  return colour.match(/[\d.]+/g).slice(0, 3).map(Number);
}

export class Heatmap {
  constructor(figure) {
    this.figure = figure;
    this.canvas = figure.querySelector("[data-canvas]");
    this.readout = figure.querySelector("[data-readout]");
    this.table = figure.querySelector("[data-table]");
    this.toggle = figure.querySelector("[data-table-toggle]");
    this.chosen = null; // [row, column]
    this.listen();
  }

  listen() {
    const { canvas } = this;
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    document.addEventListener("themechange", () => this.draw());
    canvas.addEventListener("pointermove", (event) => this.choose(this.cellAt(event)));
    canvas.addEventListener("pointerleave", () => document.activeElement !== canvas && this.choose(null));
    canvas.addEventListener("pointerdown", (event) => this.onPress(event));
    canvas.addEventListener("click", (event) => this.onClick(event));
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && this.choose(this.chosen ?? [0, 0]));
    this.toggle.addEventListener("click", () => this.showTable(this.table.hidden));
  }

  show(data) {
    this.cells = new HeatmapCells(data);
    if (this.chosen && !this.cells.has(...this.chosen)) this.chosen = null;
    const isEmpty = !data.columns.length || !data.rows.length;
    this.canvas.hidden = isEmpty;
    this.toggle.hidden = isEmpty;
    this.figure.querySelector("[data-keys]").hidden = isEmpty;
    this.figure.querySelector("[data-caption]").textContent = data.caption;
    this.draw();
    this.read();
    if (!this.table.hidden) this.cells.fillTable(this.table);
  }

  fail() {
    if (!this.cells) this.readout.textContent = "The picture could not be loaded. Reload the page to try again.";
  }

  // --- Drawing: the grid once, the chosen cell over it

  draw() {
    const { canvas } = this;
    const { clientWidth: width, clientHeight: height } = canvas.parentElement;
    if (!this.cells || canvas.hidden || !width) return;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    this.place(width, height);
    this.picture = new OffscreenCanvas(canvas.width, canvas.height);
    const pen = this.picture.getContext("2d");
    pen.scale(scale, scale);
    this.drawCells(pen);
    if (this.left) this.drawNames(pen);
    this.paint();
  }

  /** Where the cells are. */
  place(width, height) {
    const { rows, columns } = this.cells;
    this.down = height / rows.length;
    this.left = this.down >= LABELS_FROM && width >= ROOM_FOR_LABELS ? LABELS_WIDTH : 0;
    this.across = Math.min((width - this.left) / columns.length, WIDEST_CELL);
  }

  drawCells(pen) {
    const colours = this.scaleColours();
    const hatch = this.hatch(pen);
    const blank = colourOf(this.figure, "blank");
    this.cells.rows.forEach((row, y) => {
      row.values.forEach((value, x) => {
        const box = this.box(y, x);
        pen.fillStyle = value === null ? blank : colours[Math.round((Math.min(Math.max(value, 0), 1000) / 1000) * LEVELS)];
        pen.fillRect(...box);
      });
      for (const [x] of row.failed) this.drawFailures(pen, hatch, y, x);
    });
  }

  /** Hatched as far up as trials failed: all of it where none has a score. */
  drawFailures(pen, hatch, y, x) {
    const [left, top, width, height] = this.box(y, x);
    const part = height * this.cells.failedShare(y, x);
    pen.fillStyle = colourOf(this.figure, "blank");
    pen.fillRect(left, top + height - part, width, part);
    pen.fillStyle = hatch;
    pen.fillRect(left, top + height - part, width, part);
  }

  box(y, x) {
    const [gapX, gapY] = [this.across >= GAP_FROM ? 1 : 0, this.down >= GAP_FROM ? 1 : 0];
    const [left, right] = [Math.round(this.left + x * this.across), Math.round(this.left + (x + 1) * this.across)];
    const [top, bottom] = [Math.round(y * this.down), Math.round((y + 1) * this.down)];
    return [left, top, Math.max(right - left - gapX, 1), Math.max(bottom - top - gapY, 1)];
  }

  scaleColours() {
    const stops = Array.from({ length: STOPS }, (_, place) => numbersOf(colourOf(this.figure, `heat-${place}`)));
    return Array.from({ length: LEVELS + 1 }, (_, level) => {
      const [place, rest] = [Math.floor((level / LEVELS) * (STOPS - 1)), ((level / LEVELS) * (STOPS - 1)) % 1];
      const next = stops[Math.min(place + 1, STOPS - 1)];
      return `rgb(${stops[place].map((part, index) => Math.round(part + (next[index] - part) * rest)).join(" ")})`;
    });
  }

  hatch(pen) {
    const tile = new OffscreenCanvas(HATCH, HATCH);
    const lines = tile.getContext("2d");
    lines.strokeStyle = colourOf(this.figure, "failed");
    lines.lineWidth = 1.5;
    for (const shift of [-HATCH, 0, HATCH]) {
      lines.moveTo(shift, HATCH);
      lines.lineTo(shift + HATCH, 0);
    }
    lines.stroke();
    return pen.createPattern(tile, "repeat");
  }

  drawNames(pen) {
    pen.fillStyle = colourOf(this.figure, "limit");
    pen.font = `12px ${getComputedStyle(this.figure).fontFamily}`;
    pen.textBaseline = "middle";
    this.cells.rows.forEach(({ name }, y) => pen.fillText(shorten(pen, name, this.left - 12), 0, (y + 0.5) * this.down));
  }

  paint() {
    if (!this.picture) return;
    const pen = this.canvas.getContext("2d");
    pen.resetTransform();
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.picture, 0, 0);
    if (!this.chosen) return;
    const scale = window.devicePixelRatio || 1;
    pen.scale(scale, scale);
    const [left, top, width, height] = this.box(...this.chosen);
    const frame = [Math.max(left - 1, 2), Math.max(top - 1, 2), Math.max(width + 2, 4), Math.max(height + 1, 4)];
    for (const [colour, thickness] of [["ground", 4], ["chosen", 2]]) { // two colours: one of them shows on any cell
      pen.strokeStyle = colourOf(this.figure, colour);
      pen.lineWidth = thickness;
      pen.strokeRect(...frame);
    }
  }

  // --- Choosing

  cellAt({ offsetX, offsetY }) {
    if (!this.cells) return null;
    const [row, column] = [Math.floor(offsetY / this.down), Math.floor((offsetX - this.left) / this.across)];
    return this.cells.has(row, column) ? [row, column] : null;
  }

  choose(cell) {
    if (String(cell) === String(this.chosen)) return;
    this.chosen = cell;
    this.paint();
    this.read();
  }

  read() {
    if (this.cells) this.readout.textContent = this.chosen ? this.cells.words(...this.chosen) : this.cells.hint;
  }

  /** A finger cannot point without pressing: its first press reads a cell out, the second opens it. */
  onPress(event) {
    const cell = this.cellAt(event);
    this.isSecondPress = String(cell) === String(this.chosen);
    this.choose(cell);
  }

  onClick(event) {
    if (event.pointerType === "mouse" || this.isSecondPress) this.open();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.cells) return;
    const [row, column] = this.chosen ?? [0, 0];
    const [lastRow, lastColumn] = [this.cells.rows.length - 1, this.cells.columns.length - 1];
    if (event.key === "Enter") this.open();
    else if (event.key === "Home") this.choose([row, 0]);
    else if (event.key === "End") this.choose([row, lastColumn]);
    else if (STEPS[event.key]) {
      const [down, right] = STEPS[event.key];
      this.choose([Math.min(Math.max(row + down, 0), lastRow), Math.min(Math.max(column + right, 0), lastColumn)]);
    } else return;
    event.preventDefault();
  }

  open() {
    const query = this.chosen && this.cells.query(...this.chosen);
    if (query) location.assign(`${this.figure.dataset.cell}?${query}`);
  }

  showTable(isOpen) {
    this.table.hidden = !isOpen;
    this.toggle.setAttribute("aria-expanded", String(isOpen));
    this.toggle.textContent = isOpen ? "Hide the table" : "Data table";
    if (isOpen) this.cells.fillTable(this.table);
  }
}

function shorten(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > width) length -= Math.ceil(length / 20);
  return `${text.slice(0, length)}…`;
}
