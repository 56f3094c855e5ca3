// What the keys do.

import { el } from "../dom.js";

const KEYS = [
  ["/", "Go to the words"],
  ["1 … 6", "Search, review, sessions, scenes, topics, learn"],
  ["← → ↑ ↓, Home, End", "Go from picture to picture"],
  ["Page Up, Page Down", "A window up or down"],
  ["Space, Shift + arrows, Ctrl or Shift + click", "Select; Esc selects nothing"],
  ["Enter", "Open the picture, as a second click does: why it is a hit, its words, similar pictures; ← → go on from there"],
  ["y, n", "It fits; it does not fit (the selected pictures, or the one you are at)"],
  ["r", "Next round: rank again by your judgements"],
  ["b", "The round before, and back"],
  ["u", "Undo"],
  ["w", "Save the pictures that fit as a word"],
  ["y, n, s, u", "In the review: yes, no, skip, undo"],
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

/** Show what the keys do, and how words are written. */
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
    el("p", {}, keys, el("label", { for: "keys" }, " Keys without Ctrl or Alt do these things")),
    el("form", { method: "dialog" }, el("button", { autofocus: true }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
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
