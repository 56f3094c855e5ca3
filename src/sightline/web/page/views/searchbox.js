// The search box: words with suggestions, and a picture that is chosen, dropped or pasted.

import { get, isAbort } from "../api.js";
import { el, fill, some } from "../dom.js";

/** @typedef {import("../types").Word} Word */

const SHOWN = 8;

export class SearchBox {
  /** @param {() => void} changed called when the search changes */
  constructor(changed) {
    this._changed = changed;
    /** @type {File | Blob | null} */
    this.picture = null;
    this._at = -1;
    /** @type {AbortController | null} */
    this._asking = null;
    this.list = el("ul", { id: "suggestions", class: "suggestions", role: "listbox", "aria-label": "Words", hidden: true });
    this.input = el("input", {
      id: "q", type: "search", autocomplete: "off", spellcheck: false, role: "combobox",
      placeholder: "tree snow -people", "aria-label": "Words to search for", "aria-expanded": "false",
      "aria-controls": "suggestions", "aria-autocomplete": "list",
      oninput: () => void this._suggest(),
      onkeydown: (/** @type {KeyboardEvent} */ e) => this._key(e),
      onblur: () => this._hide(),
    });
    this._file = el("input", {
      type: "file", accept: "image/*", id: "file", class: "hidden-file", "aria-label": "A picture to search by",
      onchange: () => this.take(this._file.files?.[0] ?? null),
    });
    this._chip = el("span", { class: "chip", hidden: true });
    this.form = el(
      "form", { role: "search", class: "searchbox", onsubmit: (/** @type {Event} */ e) => this._submit(e) },
      el("div", { class: "words" }, this.input, this.list),
      this._chip,
      this._file,
      el("label", { for: "file", class: "button", title: "Or drop a picture, or paste one" }, "Picture…"),
      el("button", { class: "primary" }, "Search"),
    );
  }

  /** Listen for pictures dropped on the page or pasted; returns a function that ends it. */
  listen() {
    const over = (/** @type {DragEvent} */ e) => e.preventDefault();
    const drop = (/** @type {DragEvent} */ e) => {
      e.preventDefault();
      this.take(pictureOf(e.dataTransfer));
    };
    const paste = (/** @type {ClipboardEvent} */ e) => {
      const picture = pictureOf(e.clipboardData);
      if (picture) this.take(picture);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    addEventListener("paste", paste);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
      removeEventListener("paste", paste);
      this._asking?.abort();
    };
  }

  /**
   * Add a picture to the search, or remove it (null).
   *
   * @param {File | Blob | null} picture
   */
  take(picture) {
    this.picture = picture;
    this._file.value = "";
    this._chip.hidden = picture === null;
    if (picture) {
      const url = URL.createObjectURL(picture);
      const small = el("img", { alt: "", src: url, onload: () => URL.revokeObjectURL(url) });
      const name = picture instanceof File ? picture.name : "a picture";
      fill(
        this._chip, small, el("span", {}, name),
        el("button", { type: "button", "aria-label": `Without ${name}`, onclick: () => this.take(null) }, "×"),
      );
    }
    this._changed();
  }

  /** @param {Event} e */
  _submit(e) {
    e.preventDefault();
    this._hide();
    this._changed();
  }

  /** The word that is being typed: where it begins, its mark and its letters. */
  _typed() {
    const before = this.input.value.slice(0, this.input.selectionStart ?? 0);
    const match = /(?:^|\s)([-+]?(?:\d+(?:\.\d+)?:)?)([^\s"]*)$/.exec(before);
    if (!match) return null;
    return { begin: before.length - match[2].length, end: before.length, word: match[2] };
  }

  async _suggest() {
    const typed = this._typed();
    this._asking?.abort();
    if (!typed || !typed.word) return this._hide();
    this._asking = new AbortController();
    try {
      const { words } = await get("/v1/words", { prefix: typed.word, k: SHOWN }, this._asking.signal);
      if (document.activeElement === this.input) this._show(words);
    } catch (e) {
      // Suggestions are optional; a search will report the problem.
      if (!isAbort(e)) this._hide();
    }
  }

  /** @param {Word[]} words */
  _show(words) {
    this._at = -1;
    const lines = words.map((w, i) =>
      el(
        "li",
        {
          role: "option", id: `suggestion-${i}`, "aria-selected": "false", "data-word": w.word,
          onmousedown: (/** @type {Event} */ e) => {
            e.preventDefault();
            this._accept(w.word);
          },
        },
        el("span", {}, w.word), el("span", { class: "faint" }, some(w.pictures, "picture")),
      ),
    );
    fill(this.list, ...lines);
    this.list.hidden = !words.length;
    this.input.setAttribute("aria-expanded", String(words.length > 0));
  }

  _hide() {
    this._asking?.abort();
    this.list.hidden = true;
    fill(this.list);
    this._at = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  /**
   * Replace a word of the query by another.
   *
   * @param {string} word
   * @param {string} other
   */
  replace(word, other) {
    const written = /\s/.test(other) ? `"${other}"` : other;
    const plain = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const token = new RegExp(`(^|[^\\p{L}\\p{M}\\p{N}"'])"?${plain}"?(?![\\p{L}\\p{M}\\p{N}'])`, "iu");
    this.input.value = this.input.value.replace(token, (_, before) => before + written);
  }

  /** @param {string} word */
  _accept(word) {
    const typed = this._typed();
    if (!typed) return;
    const text = this.input.value;
    const written = /[\s"]/.test(word) ? `"${word.replaceAll('"', "")}"` : word;
    const begin = text.slice(0, typed.begin) + written + " ";
    this.input.value = begin + text.slice(typed.end).trimStart();
    this.input.setSelectionRange(begin.length, begin.length);
    this._hide();
  }

  /** @param {KeyboardEvent} e */
  _key(e) {
    const lines = /** @type {HTMLElement[]} */ ([...this.list.children]);
    if (e.key === "Escape" && lines.length) this._hide();
    else if (e.key === "ArrowDown" && lines.length) this._move(lines, 1);
    else if (e.key === "ArrowUp" && lines.length) this._move(lines, -1);
    else if ((e.key === "Enter" || e.key === "Tab") && this._at >= 0) this._accept(lines[this._at].dataset.word ?? "");
    else return;
    e.preventDefault();
  }

  /**
   * @param {HTMLElement[]} lines
   * @param {number} step
   */
  _move(lines, step) {
    this._at = (this._at + step + lines.length + (this._at < 0 && step < 0 ? 1 : 0)) % lines.length;
    lines.forEach((line, i) => line.setAttribute("aria-selected", String(i === this._at)));
    this.input.setAttribute("aria-activedescendant", `suggestion-${this._at}`);
  }
}

/** @param {DataTransfer | null} data */
function pictureOf(data) {
  for (const file of data?.files ?? []) if (file.type.startsWith("image/")) return file;
  return null;
}
