// A table of which only what is in sight is made, in both directions: a thousand clusters by two hundred placements are
// 200,000 cells. The pattern is the "grid" of the ARIA practices: one stop for the tab key, arrows inside.
const BEYOND = 4;
const PRINTED = 400;

// Without the columns in which no row has anything.
const filled = (columns, rows) => columns.filter((column, at) => at === 0 || !rows.length || rows.some((row) => !["", null, undefined].includes(column.draw(row))));

class Grid {
  // columns: {title, width, value(row) for sorting, draw(row) a Node or text, label(row), style(row), number, opens}
  constructor({ label, columns, rows, rowHeight = 32, headHeight = 38, kind = "", opened = null, headOpened = null, fit = true }) {
    Object.assign(this, { columns, all: rows, rows, rowHeight, headHeight, opened, headOpened, fit });
    this.active = [1, 0];
    this.sorted = null;
    this.host = element("div", { class: `grid ${kind}`, role: "grid", "aria-label": label, "aria-readonly": "true" });
    this.head = element("div", { class: "head row", role: "row", "aria-rowindex": 1 });
    this.body = element("div", { role: "rowgroup" });
    this.top = element("div", { role: "rowgroup" }, this.head);
    this.top.style.cssText = "position:sticky;top:0;z-index:3";
    this.body.style.position = "relative";
    this.host.append(this.top, this.body);
    this.host.addEventListener("scroll", () => this.later(), { passive: true });
    this.host.addEventListener("keydown", (event) => this.key(event));
    this.host.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.later()).observe(this.host);
    addEventListener("beforeprint", () => this.draw(true));
    addEventListener("afterprint", () => this.draw());
    this.measure();
  }

  // Where each column begins; one that may grow takes what is left.
  measure() {
    const room = this.host.clientWidth || 0;
    const wanted = this.columns.map((each) => each.width);
    const total = wanted.reduce((sum, each) => sum + each, 0);
    if (this.fit && room > total) {
      const growing = this.columns.map((each) => each.grow || 0);
      const parts = growing.reduce((sum, each) => sum + each, 0);
      if (parts) wanted.forEach((_width, at) => { wanted[at] += ((room - total) * growing[at]) / parts; });
    }
    this.widths = wanted;
    this.lefts = [];
    this.width = wanted.reduce((sum, each) => (this.lefts.push(sum), sum + each), 0);
  }

  show(rows, columns) {
    this.rows = this.sorted === null ? rows : this.inOrder(rows);
    if (columns) this.columns = columns;
    this.active = [Math.min(this.active[0], this.rows.length), Math.min(this.active[1], this.columns.length - 1)];
    this.host.scrollTop = 0;
    this.draw();
  }

  later() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  draw(printing = false) {
    if (!this.host.isConnected || (!printing && !this.host.clientWidth)) return;
    this.measure();
    const wanted = this.headHeight + this.rows.length * this.rowHeight + 16;
    this.host.style.height = printing ? "auto" : `${Math.max(120, wanted)}px`;
    this.host.setAttribute("aria-rowcount", this.rows.length + 1);
    this.host.setAttribute("aria-colcount", this.columns.length);
    this.body.style.height = `${this.rows.length * this.rowHeight}px`;
    this.body.style.width = this.top.style.width = `${this.width}px`;
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.host;
    const first = printing ? 0 : Math.max(0, Math.floor(scrollTop / this.rowHeight) - BEYOND);
    const last = printing ? Math.min(PRINTED, this.rows.length) : Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / this.rowHeight) + BEYOND);
    const seen = [];
    this.columns.forEach((_column, at) => {
      const inSight = this.lefts[at] + this.widths[at] >= scrollLeft && this.lefts[at] <= scrollLeft + clientWidth;
      if (at === 0 || printing || inSight) seen.push(at);
    });
    const held = this.host.contains(document.activeElement);
    this.top.style.height = this.head.style.height = `${this.headHeight}px`;
    this.head.style.width = `${this.width}px`;
    this.head.replaceChildren(...seen.map((at) => this.headCell(at)));
    const drawn = [];
    for (let at = first; at < last; at += 1) drawn.push(this.row(at, seen));
    this.body.replaceChildren(...drawn);
    if (held) this.focused(false);
  }

  row(at, seen) {
    const made = element("div", { class: "row", role: "row", "aria-rowindex": at + 2 });
    made.style.cssText = `top:${at * this.rowHeight}px;height:${this.rowHeight}px;width:${this.width}px`;
    made.append(...seen.map((column) => this.cell(at, column)));
    return made;
  }

  cell(at, number) {
    const column = this.columns[number], row = this.rows[at];
    const drawn = column.draw(row);
    const made = element("div", {
      class: `cell ${number ? "" : "first"} ${column.number ? "number" : ""} ${column.style ? column.style(row) : ""}`,
      role: number ? "gridcell" : "rowheader",
      "aria-colindex": number + 1,
      "aria-label": column.label ? column.label(row) : null,
      tabindex: this.active[0] === at + 1 && this.active[1] === number ? 0 : -1,
    }, drawn instanceof Node ? drawn : element("span", { title: String(drawn).length > 16 ? drawn : null }, drawn));
    this.placed(made, number);
    made.dataset.at = `${at + 1},${number}`;
    return made;
  }

  headCell(number) {
    const column = this.columns[number];
    const order = this.sorted && this.sorted[0] === number ? (this.sorted[1] > 0 ? "ascending" : "descending") : "none";
    const arrow = order === "none" ? "" : order === "ascending" ? " \u2191" : " \u2193";
    const made = element("div", {
      class: `cell ${number ? "" : "first"} ${column.number ? "number" : ""}`,
      role: "columnheader",
      "aria-colindex": number + 1,
      "aria-sort": column.value ? order : null,
      "aria-label": column.title + (column.about ? `, ${column.about}` : ""),
      tabindex: this.active[0] === 0 && this.active[1] === number ? 0 : -1,
    }, element("span", { title: column.title }, column.title + arrow));
    this.placed(made, number);
    made.dataset.at = `0,${number}`;
    return made;
  }

  placed(made, number) {
    made.style.width = `${this.widths[number]}px`;
    if (number) made.style.left = `${this.lefts[number]}px`;
  }

  inOrder(rows) {
    const [number, way] = this.sorted;
    const value = this.columns[number].value;
    const known = rows.map((row) => [value(row), row]);
    known.sort(([one], [other]) => (one === null) - (other === null) || way * (one < other ? -1 : one > other ? 1 : 0));
    return known.map(([_value, row]) => row);
  }

  open([row, number]) {
    const column = this.columns[number];
    if (row > 0) {
      if (this.opened && this.rows[row - 1] !== undefined) this.opened(this.rows[row - 1], column);
    } else if (column.opens && this.headOpened) {
      this.headOpened(column);
    } else if (column.value) {
      this.sorted = this.sorted && this.sorted[0] === number ? [number, -this.sorted[1]] : [number, 1];
      this.show(this.rows);
    }
  }

  click(event) {
    const cell = event.target.closest("[data-at]");
    if (!cell) return;
    this.active = cell.dataset.at.split(",").map(Number);
    this.focused(true);
    this.open(this.active);
  }

  key(event) {
    const [row, column] = this.active;
    const page = Math.max(1, Math.floor((this.host.clientHeight - this.headHeight) / this.rowHeight) - 1);
    const moves = {
      ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1],
      PageDown: [row + page, column], PageUp: [row - page, column],
      Home: event.ctrlKey ? [0, 0] : [row, 0],
      End: event.ctrlKey ? [this.rows.length, this.columns.length - 1] : [row, this.columns.length - 1],
    };
    if (event.key === "Enter" || event.key === " ") this.open(this.active);
    else if (!moves[event.key]) return;
    else {
      const [down, right] = moves[event.key];
      this.active = [Math.max(0, Math.min(this.rows.length, down)), Math.max(0, Math.min(this.columns.length - 1, right))];
      this.reveal();
      this.draw();
      this.focused(true);
    }
    event.preventDefault();
  }

  // Scrolls as little as brings the active cell into sight.
  reveal() {
    const [row, column] = this.active;
    const { host } = this;
    if (row > 0) {
      const top = (row - 1) * this.rowHeight, room = host.clientHeight - this.headHeight;
      if (top < host.scrollTop) host.scrollTop = top;
      else if (top + this.rowHeight > host.scrollTop + room) host.scrollTop = top + this.rowHeight - room;
    }
    if (column > 0) {
      const left = this.lefts[column], right = left + this.widths[column];
      if (left < host.scrollLeft + this.widths[0]) host.scrollLeft = left - this.widths[0];
      else if (right > host.scrollLeft + host.clientWidth) host.scrollLeft = right - host.clientWidth;
    }
  }

  focused(always) {
    const cell = this.host.querySelector(`[data-at="${this.active.join(",")}"]`);
    if (!cell || (!always && cell === document.activeElement)) return;
    for (const each of this.host.querySelectorAll('[tabindex="0"]')) each.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
  }
}
