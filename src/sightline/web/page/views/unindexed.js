// Before anything is indexed: what to do first.

import { Problem } from "../api.js";
import { el } from "../dom.js";

/**
 * What to show if a problem is only that nothing is indexed yet; null for any other.
 *
 * @param {unknown} e
 */
export function unindexed(e) {
  if (!(e instanceof Problem) || !["nothing-indexed", "no-pictures"].includes(e.code)) return null;
  return el(
    "div", { class: "notice" }, el("h2", {}, "No picture is indexed yet"),
    el("p", {}, el("a", { href: "#/learn" }, "Index the folder"), " first. Nothing is ever written inside it."),
  );
}
