// A grid of any number of pictures. Only visible tiles are in the document, so that a hundred
// thousand hits cost no more than fifty. It is a listbox: one tab stop, arrow keys inside it, and the
// active tile is its active descendant.

import { el, say, some } from "./dom.js";

/** @typedef {import("./types").Hit} Hit */
/**
 * What a grid shows.
 *
 * @typedef {object} Source
 * @property {() => number} size
 * @property {(i: number) => Hit | undefined} at
 * @property {(i: number) => boolean} gone
 * @property {(from: number, to: number) => void} need
 * @property {() => number | null} line after how many pictures the cut-off is drawn; null for none
 * @property {(hit: Hit, i: number) => { text: string, marks: string, title: string }} caption
 * @property {(i: number) => void} open
 */

const GAP = 10;
const CAPTION = 26;
const LINE = 44;
// Minimum width of a tile, and about how many are visible at once: a larger window has larger tiles,
// so the number of elements stays the same.
const LEAST = 180;
const SEEN = 40;

let grids = 0;

export class Grid {
  /**
   * @param {string} label
   * @param {Source} source
   */
  constructor(label, source) {
    this._source = source;
    this._name = `grid${grids++}`;
    /** @type {Map<number, HTMLElement>} */
    this._tiles = new Map();
    /** @type {Set<number>} ids of pictures */
    this.selected = new Set();
    this.active = 0;
    this.line = el("div", { class: "cutoff", role: "presentation", hidden: true });
    this.box = el("div", {
      class: "grid", role: "listbox", tabIndex: 0, "aria-label": label, "aria-multiselectable": "true",
      onkeydown: (/** @type {KeyboardEvent} */ e) => this._key(e),
      onclick: (/** @type {MouseEvent} */ e) => this._clicked(e),
    });
    this.box.append(this.line);
    this._redraw = () => this.draw();
    addEventListener("scroll", this._redraw, { passive: true });
    this._sizes = new ResizeObserver(this._redraw);
    this._sizes.observe(this.box);
  }

  end() {
    removeEventListener("scroll", this._redraw);
    this._sizes.disconnect();
  }

  /** Show another list from its beginning. */
  restart() {
    this.active = 0;
    this.selected.clear();
    this.refresh();
  }

  /** Redraw all tiles, since their captions changed. */
  refresh() {
    for (const tile of this._tiles.values()) tile.remove();
    this._tiles.clear();
    this.draw();
  }

  /** Ids of the pictures to act on: the selected ones, or the active one. */
  meant() {
    if (this.selected.size) return [...this.selected];
    const hit = this._source.at(this.active);
    return hit ? [hit.id] : [];
  }

  _measure() {
    const width = this.box.clientWidth || 1;
    const wanted = Math.max(LEAST, Math.sqrt((width * innerHeight) / SEEN));
    const columns = Math.max(2, Math.floor((width + GAP) / (wanted + GAP)));
    const side = Math.floor((width - GAP * (columns - 1)) / columns);
    const size = this._source.size();
    const cutoff = this._source.line();
    const line = cutoff === null || cutoff > size ? null : cutoff;
    const above = Math.ceil((line ?? 0) / columns);
    return { columns, side, row: side + CAPTION + GAP, size, line, above };
  }

  /**
   * The position of a tile: its row and column, and its distance from the top.
   *
   * @param {number} i
   * @param {ReturnType<Grid["_measure"]>} m
   */
  _place(i, m) {
    const below = m.line !== null && i >= m.line;
    const n = below ? i - /** @type {number} */ (m.line) : i;
    const row = Math.floor(n / m.columns) + (below ? m.above : 0);
    return { column: n % m.columns, row, top: row * m.row + (below ? LINE : 0) };
  }

  /**
   * The first picture of a row.
   *
   * @param {number} row
   * @param {ReturnType<Grid["_measure"]>} m
   */
  _first(row, m) {
    if (m.line === null || row < m.above) return row * m.columns;
    return m.line + (row - m.above) * m.columns;
  }

  draw() {
    const m = this._measure();
    const rows = m.above + Math.ceil((m.size - (m.line ?? 0)) / m.columns);
    // An empty grid cannot be focused.
    this.box.tabIndex = m.size ? 0 : -1;
    this.box.style.height = `${rows * m.row + (m.line === null ? 0 : LINE)}px`;
    this._drawLine(m);
    const top = -this.box.getBoundingClientRect().top;
    const firstRow = Math.max(0, Math.floor((top - LINE) / m.row));
    const lastRow = Math.ceil((top + innerHeight) / m.row) + 1;
    const from = Math.min(this._first(firstRow, m), m.size);
    const to = Math.min(this._first(lastRow, m), m.size);
    for (const [i, tile] of this._tiles)
      if (i < from || i >= to) {
        tile.remove();
        this._tiles.delete(i);
      }
    this._source.need(from, to);
    for (let i = from; i < to; i++) this._drawTile(i, m);
    this._updateActive();
  }

  /** @param {ReturnType<Grid["_measure"]>} m */
  _drawLine(m) {
    this.line.hidden = m.line === null;
    if (m.line === null) return;
    this.line.style.top = `${m.above * m.row}px`;
    const left = m.size - m.line;
    this.line.textContent = left ? "Pictures below this line probably do not fit" : "";
  }

  /**
   * @param {number} i
   * @param {ReturnType<Grid["_measure"]>} m
   */
  _drawTile(i, m) {
    let tile = this._tiles.get(i);
    const hit = this._source.at(i);
    if (!tile) {
      tile = el("div", { class: "tile", role: "option", id: `${this._name}-${i}` });
      tile.dataset.at = String(i);
      this._tiles.set(i, tile);
      this._insert(tile, i);
    }
    const { column, top } = this._place(i, m);
    tile.style.transform = `translate(${column * (m.side + GAP)}px, ${top}px)`;
    tile.style.width = `${m.side}px`;
    tile.setAttribute("aria-setsize", String(m.size));
    tile.setAttribute("aria-posinset", String(i + 1));
    tile.setAttribute("aria-selected", String(hit !== undefined && this.selected.has(hit.id)));
    tile.classList.toggle("active", i === this.active);
    if (!hit) tile.setAttribute("aria-label", this._source.gone(i) ? "The file is gone" : "Not loaded yet");
    tile.classList.toggle("gone", !hit && this._source.gone(i));
    if (hit && !tile.childElementCount) this._drawHit(tile, hit, i, m.side);
    const picture = tile.firstElementChild;
    if (picture instanceof HTMLElement) picture.style.height = `${m.side}px`;
  }

  /**
   * Keep tiles in the order of the list, which is the order they are read aloud in.
   *
   * @param {HTMLElement} tile
   * @param {number} i
   */
  _insert(tile, i) {
    const before = this._tiles.get(i + 1);
    if (before) this.box.insertBefore(tile, before);
    else this.box.append(tile);
  }

  /**
   * @param {HTMLElement} tile
   * @param {Hit} hit
   * @param {number} i
   * @param {number} side
   */
  _drawHit(tile, hit, i, side) {
    const { text, marks, title } = this._source.caption(hit, i);
    tile.className = `tile ${marks}`;
    tile.classList.toggle("active", i === this.active);
    tile.setAttribute("aria-label", title);
    tile.title = title;
    const picture = el("img", { alt: "", loading: "eager", decoding: "async", draggable: false });
    picture.style.height = `${side}px`;
    picture.src = hit.thumbnail;
    picture.addEventListener("error", () => tile.classList.add("broken"));
    tile.append(picture, el("span", { class: "caption" }, text));
  }

  _updateActive() {
    const tile = this._tiles.get(this.active);
    if (tile) this.box.setAttribute("aria-activedescendant", tile.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  /**
   * Go to a tile, scrolling as little as needed.
   *
   * @param {number} i
   * @param {boolean} [keep] whether to keep the selection
   */
  goTo(i, keep = false) {
    const size = this._source.size();
    if (!size) return;
    this.active = Math.max(0, Math.min(size - 1, i));
    if (!keep) this.selected.clear();
    const m = this._measure();
    const top = this.box.getBoundingClientRect().top + this._place(this.active, m).top;
    const header = covered();
    if (top < header) scrollBy(0, top - header - GAP);
    else if (top + m.row > innerHeight) scrollBy(0, top + m.row - innerHeight);
    this.draw();
  }

  /** @param {number} i */
  _toggle(i) {
    const hit = this._source.at(i);
    if (!hit) return;
    if (!this.selected.delete(hit.id)) this.selected.add(hit.id);
    this._sayCount();
    this.draw();
  }

  /** @param {MouseEvent} e */
  _clicked(e) {
    const tile = e.target instanceof Element ? e.target.closest(".tile") : null;
    if (!(tile instanceof HTMLElement)) return;
    const i = Number(tile.dataset.at);
    const plain = !e.shiftKey && !e.ctrlKey && !e.metaKey;
    // A second click on the same picture opens it.
    if (plain && i === this.active && document.activeElement === this.box && !this.selected.size) return this._source.open(i);
    if (e.shiftKey) this._extend(i);
    else if (e.ctrlKey || e.metaKey) this._toggle(i);
    this.goTo(i, e.shiftKey || e.ctrlKey || e.metaKey);
    this.box.focus({ preventScroll: true });
  }

  /**
   * Select all from the active tile to another.
   *
   * @param {number} to
   */
  _extend(to) {
    const [from, end] = [Math.min(this.active, to), Math.max(this.active, to)];
    for (let i = from; i <= end; i++) {
      const hit = this._source.at(i);
      if (hit) this.selected.add(hit.id);
    }
    this._sayCount();
  }

  _sayCount() {
    say(this.selected.size ? `${some(this.selected.size, "picture")} selected` : "Nothing is selected");
  }

  /** @param {KeyboardEvent} e */
  _key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const m = this._measure();
    const page = Math.max(1, Math.floor(innerHeight / m.row)) * m.columns;
    /** @type {Record<string, number>} */
    const steps = {
      ArrowLeft: this.active - 1, ArrowRight: this.active + 1,
      ArrowUp: this._above(m), ArrowDown: this._below(m),
      PageUp: this.active - page, PageDown: this.active + page, Home: 0, End: m.size - 1,
    };
    if (e.key in steps) {
      const to = Math.max(0, Math.min(m.size - 1, steps[e.key]));
      if (e.shiftKey) this._extend(to);
      this.goTo(to, e.shiftKey);
    } else if (e.key === " ") this._toggle(this.active);
    else if (e.key === "Escape" && this.selected.size) {
      this.selected.clear();
      this._sayCount();
      this.draw();
    }
    else if (e.key === "Enter") this._source.open(this.active);
    else return;
    e.preventDefault();
  }

  /** @param {ReturnType<Grid["_measure"]>} m */
  _above(m) {
    const { row, column } = this._place(this.active, m);
    if (row === 0) return this.active;
    const first = this._first(row - 1, m);
    const end = this._first(row, m);
    return Math.min(first + column, end - 1);
  }

  /** @param {ReturnType<Grid["_measure"]>} m */
  _below(m) {
    const { row, column } = this._place(this.active, m);
    const first = this._first(row + 1, m);
    return first >= m.size ? this.active : Math.min(first + column, m.size - 1);
  }
}

/** The height of the fixed parts at the top of the window. */
function covered() {
  const header = document.querySelector("header")?.getBoundingClientRect().bottom ?? 0;
  const bar = document.querySelector(".judgebar:not([hidden])");
  const sticks = bar && getComputedStyle(bar).position === "sticky";
  return sticks ? Math.max(header, bar.getBoundingClientRect().bottom) : header;
}
