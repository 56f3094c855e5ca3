// Asking for confirmation of what is not easily undone.

import { el } from "./dom.js";

/**
 * Ask, and return whether the answer was yes. Escape is no.
 *
 * @param {string} question
 * @param {string} more its consequences
 * @param {string} yes text of the button
 * @returns {Promise<boolean>}
 */
export function confirmed(question, more, yes) {
  const dialog = el(
    "dialog", { class: "confirm", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-more" },
    el("h2", { id: "confirm-title" }, question),
    el("p", { id: "confirm-more" }, more),
    el(
      "form", { method: "dialog", class: "row" },
      el("button", { value: "no", autofocus: true }, "Cancel"),
      el("button", { value: "yes", class: "primary" }, yes),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(dialog.returnValue === "yes");
    });
  });
}
