// What to do before anything is indexed.

import { Problem } from "../api.js";
import { el } from "../dom.js";

/**
 * Return a notice if the problem is that nothing is indexed yet, else null.
 *
 * @param {unknown} e
 */
export function unindexed(e) {
  if (!(e instanceof Problem) || !["nothing-indexed", "no-pictures"].includes(e.code)) return null;
  return el(
    "div", { class: "notice" }, el("h2", {}, "No picture is indexed yet"),
    el("p", {}, el("a", { href: "#/train" }, "Index the folder"), " first. Nothing is ever written inside it."),
  );
}
