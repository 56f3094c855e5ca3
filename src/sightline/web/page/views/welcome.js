// Before anything was searched for: what there is, and what to do next.

import { get, Problem } from "../api.js";
import { el, fill, some } from "../dom.js";
import { notice } from "./problem.js";

/**
 * Say how the collection stands.
 *
 * @param {Element} host
 * @param {HTMLInputElement} input
 * @param {() => boolean} still whether nothing else was asked for meanwhile
 */
export async function welcome(host, input, still) {
  try {
    const told = await get("/v1/report");
    const { words } = told.pictures ? await get("/v1/words", { limit: 12 }) : { words: [] };
    if (!still()) return;
    if (!told.pictures) return fill(host, nothing());
    fill(host, standing(told, words));
    // Nobody's hands are led away from where they are.
    if (document.activeElement === document.body) input.focus();
  } catch (e) {
    if (!still()) return;
    fill(host, e instanceof Problem && e.code === "nothing-indexed" ? nothing() : notice(e));
  }
}

function nothing() {
  return el(
    "div", { class: "notice" },
    el("h2", {}, "No picture is indexed yet"),
    el(
      "ol", {},
      el("li", {}, "Put pictures into the folder that is served. Words are read from their metadata, or from a text file beside each."),
      el("li", {}, el("a", { href: "#/learn" }, "Index the folder"), ". Nothing is ever written inside it."),
      el("li", {}, "Train on the words, and search."),
    ),
  );
}

/**
 * @param {any} told
 * @param {import("../types").Word[]} words
 */
function standing(told, words) {
  const next = told.learnt
    ? null
    : told.with_words
      ? el("p", {}, "No model is trained yet: only words that pictures have are found. ", el("a", { href: "#/learn" }, "Train one"), ".")
      : el("p", {}, "No picture carries a word yet. Search by a picture, say what fits, and make a word of it.");
  const picks = words.map((w) => el("a", { class: "chip", href: `#/search?q=${encodeURIComponent(/\s/.test(w.word) ? `"${w.word}"` : w.word)}` }, w.word));
  return el(
    "div", { class: "notice" },
    el("p", {}, `${some(told.pictures, "picture")}, ${told.with_words.toLocaleString("en")} of them with words; ${some(told.words, "word")}.`),
    told.learnt ? el("p", { class: "faint" }, `Model: ${told.learnt}`) : null,
    next,
    picks.length ? el("p", { class: "picks" }, ...picks) : null,
    told.skipped ? el("p", {}, el("a", { href: "#/learn" }, `${some(told.skipped, "file was", "files were")} skipped`)) : null,
  );
}
