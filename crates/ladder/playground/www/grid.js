// A table. Only the visible rows are in the document, so thousands of rows cost no more than one screen of rows.
"use strict";

class Grid {
  // `columns`: the titles. `width`: the width of a column in characters. `label`: the description for screen readers.
  constructor(element, { label, head, columns, width, headWidth }) {
    this.element = element;
    this.rowHeight = 20;
    this.rows = 0;
    this.pool = new Map();
    this.fill = () => {};
    element.setAttribute("role", "grid");
    element.setAttribute("aria-label", label);
    element.tabIndex = 0;
    this.body = document.createElement("div");
    this.body.className = "grid-body";
    this.body.setAttribute("role", "presentation");
    this.head = document.createElement("div");
    this.head.className = "grid-row grid-head";
    this.head.setAttribute("role", "row");
    element.replaceChildren(this.head, this.body);
    this.columns({ head, columns, width, headWidth });
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(element);
  }

  columns({ head, columns, width, headWidth = 8 }) {
    this.count = columns.length;
    this.element.style.setProperty("--cell", `${width}ch`);
    this.element.style.setProperty("--head", `${headWidth}ch`);
    this.element.setAttribute("aria-colcount", this.count + 1);
    const cell = (text, index) => {
      const one = document.createElement("div");
      one.setAttribute("role", "columnheader");
      one.textContent = text;
      if (index >= 0) one.dataset.column = index;
      return one;
    };
    this.head.replaceChildren(cell(head, -1), ...columns.map(cell));
    this.pool.clear();
    this.body.replaceChildren();
  }

  // `fill(row)` returns `{head, cells, kind}`. `cells(column)` returns `[text, kind]`. A kind is a CSS class.
  show(rows, fill) {
    this.rows = rows;
    this.fill = fill;
    this.element.setAttribute("aria-rowcount", rows + 1);
    this.body.style.height = `${rows * this.rowHeight}px`;
    this.draw();
  }

  choose(column) {
    this.chosen = column;
    for (const cell of this.head.children) cell.classList.toggle("chosen", cell.dataset.column === String(column));
  }

  draw() {
    const height = this.element.clientHeight;
    if (!height) return;
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.rowHeight) - 1);
    const last = Math.min(this.rows, first + Math.ceil(height / this.rowHeight) + 2);
    const free = [];
    for (const [number, row] of this.pool) {
      if (number < first || number >= last) {
        this.pool.delete(number);
        free.push(row);
      }
    }
    for (let number = first; number < last; number++) {
      let row = this.pool.get(number);
      if (!row) {
        row = free.pop() ?? this.newRow();
        row.element.style.transform = `translateY(${number * this.rowHeight}px)`;
        row.element.setAttribute("aria-rowindex", number + 2);
        this.pool.set(number, row);
      }
      this.drawRow(row, this.fill(number));
    }
    for (const row of free) row.element.remove();
  }

  newRow() {
    const element = document.createElement("div");
    element.className = "grid-row";
    element.setAttribute("role", "row");
    const cells = [];
    for (let index = -1; index < this.count; index++) {
      const cell = document.createElement("div");
      cell.setAttribute("role", index < 0 ? "rowheader" : "gridcell");
      if (index >= 0) cell.dataset.column = index;
      cells.push({ cell, text: "", kind: "" });
      element.append(cell);
    }
    this.body.append(element);
    return { element, cells, kind: "" };
  }

  drawRow(row, { head, cells, kind = "" }) {
    if (row.kind !== kind) {
      row.kind = kind;
      row.element.className = `grid-row ${kind}`;
    }
    set(row.cells[0], head, "");
    for (let index = 0; index < this.count; index++) {
      const [text, cellKind] = cells(index);
      set(row.cells[index + 1], text, index === this.chosen ? `${cellKind} chosen` : cellKind);
    }
    function set(known, text, kind) {
      if (known.text !== text) known.cell.textContent = known.text = text;
      if (known.kind !== kind) known.cell.className = known.kind = kind;
    }
  }

  // Scrolls a column into view if it is not visible.
  revealColumn(column) {
    const [head, cell] = [this.head.children[0], this.head.children[column + 1]];
    const { scrollLeft, clientWidth } = this.element;
    const left = cell.offsetLeft;
    if (left < scrollLeft + head.offsetWidth || left + cell.offsetWidth > scrollLeft + clientWidth) {
      this.element.scrollLeft = Math.max(0, left - head.offsetWidth - (clientWidth - head.offsetWidth) / 3);
    }
  }

  // Scrolls a row into view if it is not visible.
  reveal(row) {
    const { scrollTop, clientHeight } = this.element;
    const top = row * this.rowHeight;
    if (top < scrollTop || top + 2 * this.rowHeight > scrollTop + clientHeight - this.rowHeight) {
      this.element.scrollTop = Math.max(0, top - clientHeight / 3);
    }
  }
}
