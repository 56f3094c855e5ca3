// Keyboard shortcuts and the query syntax.

import { tick } from "../controls.js";
import { el } from "../dom.js";

const KEYS = [
  ["/", "Go to the words"],
  ["1 … 6", "Search, review, sessions, scenes, topics, train"],
  ["← → ↑ ↓, Home, End", "Go from picture to picture"],
  ["Page Up, Page Down", "A window up or down"],
  ["Space, Shift + arrows, Ctrl or Shift + click", "Select; Esc selects nothing"],
  ["Enter", "Open the picture, as a second click does: why it is a hit, its words, similar pictures; ← → go to its neighbours"],
  ["y, n", "It fits; it does not fit (the selected pictures, or the one you are at)"],
  ["r", "Next round: rank again by your judgements"],
  ["b", "Show the list before the last round, and back"],
  ["u", "Undo"],
  ["w", "Save the pictures that fit as a word"],
  ["y, n, s, u", "In Review: yes, no, skip, undo"],
  ["y, n, u", "In suspected mislabels: remove, keep, undo (the tag you are at, or the first)"],
  ["?", "This list"],
  ["Esc", "Close"],
];

const GRAMMAR = [
  ["tree snow", "pictures of trees in snow"],
  ['"new york"', "a tag of several words"],
  ["+barn", "only pictures that have the word"],
  ["-people", "no picture that has the word"],
  ["2:red", "counts twice"],
];

/** Show the keyboard shortcuts and the query syntax. */
export function showHelp() {
  const keys = el("input", {
    id: "keys", type: "checkbox", checked: localStorage.getItem("keys") !== "off",
    onchange: () => localStorage.setItem("keys", keys.checked ? "on" : "off"),
  });
  const dialog = el(
    "dialog", { class: "help", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, "Keys"),
    table(KEYS, "kbd"),
    el("h2", {}, "Words"),
    table(GRAMMAR, "code"),
    el("p", {}, tick("Use these keys without Ctrl or Alt", keys)),
    el("form", { method: "dialog" }, el("button", { autofocus: true }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  // The focus is on the button at the end; the list is read from its beginning.
  dialog.scrollTop = 0;
}

/**
 * @param {string[][]} rows
 * @param {"kbd" | "code"} tag
 */
function table(rows, tag) {
  const lines = rows.map(([key, text]) =>
    el("tr", {}, el("th", { scope: "row" }, el(tag, {}, key)), el("td", {}, text)),
  );
  return el("table", {}, el("tbody", {}, ...lines));
}
