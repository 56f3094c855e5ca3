// Notices about problems, with what to do.

import { Problem } from "../api.js";
import { el, fill } from "../dom.js";
import { wordsOf } from "../wording.js";

/** @type {Record<string, string>} */
const HINTS = {
  token: "Open the address that `sightline serve` printed, or start it again.",
  gone: "Start it again: sightline serve",
};

/**
 * Show a problem in place of the content.
 *
 * @param {Element} host
 * @param {unknown} e
 * @param {Node} [more]
 */
export function failed(host, e, more) {
  fill(host, notice(e, more));
}

/**
 * @param {unknown} e
 * @param {Node} [more]
 */
export function notice(e, more) {
  const problem = e instanceof Problem ? e : null;
  const text = wordsOf(e);
  const hint = problem ? HINTS[problem.code] : "";
  return el(
    "div", { class: "notice", role: "alert" },
    el("h2", {}, problem?.status === 409 ? "Not yet" : "That did not work"),
    el("p", {}, text),
    hint ? el("p", {}, hint) : null,
    more,
  );
}
