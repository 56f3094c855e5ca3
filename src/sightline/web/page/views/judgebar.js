// The judgements of a session so far, and what can be done with them.

import { el, some } from "../dom.js";

/** @typedef {import("../feedback").Feedback} Feedback */
/**
 * @typedef {object} Deeds
 * @property {() => void} next
 * @property {() => void} before
 * @property {() => void} undo
 * @property {() => void} reset
 * @property {(word: string) => void} save
 */

export class JudgeBar {
  /** @param {Deeds} deeds */
  constructor(deeds) {
    this._status = el("p", { class: "told", role: "status" });
    this._moved = el("p", { class: "moved faint" });
    this._next = button("Next round", "r", deeds.next, "primary");
    this._before = button("Before", "b", deeds.before);
    this._before.setAttribute("aria-pressed", "false");
    this._undo = button("Undo", "u", deeds.undo);
    this.word = el("input", { id: "as-word", type: "text", maxLength: 100, size: 12, "aria-label": "A word for the pictures that fit", placeholder: "a word" });
    const save = el(
      "form",
      {
        class: "save",
        onsubmit: (/** @type {Event} */ e) => {
          e.preventDefault();
          if (this.word.value.trim()) deeds.save(this.word.value.trim());
        },
      },
      this.word, el("button", {}, "Save as a word"),
    );
    this.box = el(
      "section", { class: "judgebar", "aria-label": "Your judgements", hidden: true },
      this._status, this._next, this._before, this._undo, button("Reset", "", deeds.reset), save, this._moved,
    );
  }

  /**
   * @param {Feedback | null} feedback
   * @param {{ moved: string, hasBefore: boolean, showsBefore: boolean }} at
   */
  show(feedback, at) {
    const had = this.box.contains(document.activeElement);
    this.box.hidden = feedback === null || !(feedback.judged || feedback.round || feedback.fresh);
    const grid = document.querySelector(".grid");
    if (had && this.box.hidden && grid instanceof HTMLElement) grid.focus({ preventScroll: true });
    if (!feedback) return;
    const n = feedback.fits;
    this._status.textContent =
      `${feedback.round ? `Round ${feedback.round}. ` : ""}` +
      `${some(n, "picture fits", "pictures fit")}, ${feedback.judged - n} ${feedback.judged - n === 1 ? "does" : "do"} not.` +
      (feedback.fresh ? ` ${some(feedback.fresh, "answer is", "answers are")} new.` : "") +
      (feedback.waiting ? ` Saving ${feedback.waiting}…` : " All are saved.");
    this._moved.textContent = at.moved;
    // Not disabled, since that would lose the focus; without new answers they do nothing.
    this._next.setAttribute("aria-disabled", String(feedback.fresh === 0));
    this._before.setAttribute("aria-disabled", String(!at.hasBefore));
    this._before.setAttribute("aria-pressed", String(at.showsBefore));
    this._undo.setAttribute("aria-disabled", String(feedback.judged === 0));
  }
}

/**
 * @param {string} text
 * @param {string} key
 * @param {() => void} deed
 * @param {string} [kind]
 */
function button(text, key, deed, kind = "") {
  return el(
    "button", { type: "button", class: kind, onclick: deed, "aria-keyshortcuts": key || null }, text,
    key ? el("kbd", { "aria-hidden": "true" }, key) : null,
  );
}
