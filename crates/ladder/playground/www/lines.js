// The lines of a text. Only the visible lines are in the document, because a kernel has thousands of lines.
"use strict";

class Lines {
  // `onLine` is called with the instructions of a clicked line.
  constructor(pane, onLine) {
    this.pane = pane;
    this.onLine = onLine;
    this.height = 18;
    this.body = element("div", { class: "lines" });
    pane.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(pane);
    this.show([]);
  }

  // `lines`: `{number, text, kind, executed, heat, sites}`. `note` is shown above the lines.
  show(lines, note = null) {
    this.lines = lines;
    this.rows = new Map();
    this.marks = new Map();
    this.body.replaceChildren();
    this.pane.replaceChildren(...(note ? [element("p", { class: "hint" }, note)] : []), this.body);
    this.pane.scrollTop = 0;
    this.choose(this.isShown ?? (() => true));
  }

  // Shows only some of the lines.
  choose(isShown) {
    this.isShown = isShown;
    this.shown = this.lines.filter(isShown);
    this.index = new Map(this.shown.map((line, index) => [line.number, index]));
    const longest = this.shown.reduce((most, line) => Math.max(most, line.text.length), 0);
    this.body.style.height = `${this.shown.length * this.height}px`;
    this.body.style.minWidth = `calc(${longest + 2}ch + 104px)`;
    this.rows.clear();
    this.body.replaceChildren();
    this.draw();
  }

  // Marks lines, by number, with classes. Removes earlier marks of these classes.
  mark(kinds) {
    for (const [kind, numbers] of Object.entries(kinds)) {
      for (const number of this.marks.get(kind) ?? []) this.rows.get(number)?.classList.remove(kind);
      this.marks.set(kind, new Set(numbers));
      for (const number of numbers) this.rows.get(number)?.classList.add(kind);
    }
  }

  // Scrolls only this pane, so that a line is visible.
  reveal(number) {
    const index = this.index.get(number);
    if (index === undefined) return;
    const top = index * this.height;
    const { scrollTop, clientHeight } = this.pane;
    if (top < scrollTop + 20 || top > scrollTop + clientHeight - 50) this.pane.scrollTop = Math.max(0, top - clientHeight * 0.4);
    this.draw();
  }

  draw() {
    const height = this.pane.clientHeight;
    if (!height) return;
    const first = Math.max(0, Math.floor(this.pane.scrollTop / this.height) - 4);
    const last = Math.min(this.shown.length, first + Math.ceil(height / this.height) + 8);
    const kept = new Set();
    const added = [];
    for (let index = first; index < last; index++) {
      const line = this.shown[index];
      kept.add(line.number);
      if (!this.rows.has(line.number)) {
        const row = this.row(line, index);
        this.rows.set(line.number, row);
        added.push(row);
      }
    }
    for (const [number, row] of this.rows) {
      if (kept.has(number)) continue;
      row.remove();
      this.rows.delete(number);
    }
    this.body.append(...added);
  }

  row({ number, text, kind, executed, heat, sites }, index) {
    const row = element("div", { class: `line ${kind}`, "data-line": number, style: `transform:translateY(${index * this.height}px)` },
      element("span", { class: "number" }, String(number)),
      element("span", { class: "executed", title: executed ? `${counted(executed, "warp instruction")}` : null, style: heat ? `--heat:${heat}%` : null }, executed ? short(executed) : ""),
      element("span", { class: "text" }, text || " "));
    for (const [mark, numbers] of this.marks) if (numbers.has(number)) row.classList.add(mark);
    if (sites) {
      row.classList.add("active");
      row.addEventListener("click", () => this.onLine(sites));
    }
    return row;

    function short(count) {
      if (count < 10_000) return String(count);
      return count < 10_000_000 ? `${Math.round(count / 1000)}k` : `${Math.round(count / 1e6)}M`;
    }
  }
}
