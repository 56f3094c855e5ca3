// Fields with labels, and buttons with keyboard shortcuts.

import { el } from "./dom.js";

/**
 * @param {string} label
 * @param {HTMLElement} input
 */
export function field(label, input) {
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input);
}

/**
 * A checkbox with its label.
 *
 * @param {string} label
 * @param {HTMLInputElement} input
 * @param {string} [more]
 */
export function tick(label, input, more = "") {
  return el("label", { class: "check", for: input.id }, input, el("span", {}, label, more ? el("span", { class: "faint" }, ` ${more}`) : null));
}

/**
 * A button with a keyboard shortcut.
 *
 * @param {string} text
 * @param {string} key
 * @param {() => void} deed
 * @param {string} [kind]
 */
export function keyed(text, key, deed, kind = "") {
  return el("button", { type: "button", class: kind, onclick: deed, "aria-keyshortcuts": key }, text, el("kbd", { "aria-hidden": "true" }, key));
}

/**
 * A table that scrolls horizontally on a narrow page.
 *
 * @param {string} label
 * @param {string[]} names of columns; "#" marks columns of numbers
 * @param {(Node | string | number | null)[][]} rows
 */
export function table(label, names, rows) {
  const isNumber = names.map((n) => n.startsWith("#"));
  const head = names.map((n, i) => el("th", { scope: "col", class: isNumber[i] ? "number" : "" }, n.replace("#", "")));
  const body = rows.map((row) =>
    el("tr", {}, ...row.map((cell, i) => (i ? el("td", { class: isNumber[i] ? "number" : "" }, cell) : el("th", { scope: "row" }, cell)))),
  );
  return el(
    "div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": label },
    el("table", {}, el("caption", { class: "unseen" }, label), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body)),
  );
}
