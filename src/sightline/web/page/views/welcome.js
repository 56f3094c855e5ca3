// The page before the first search: the state of the collection, and what to do next.

import { get, Problem } from "../api.js";
import { el, fill, some } from "../dom.js";
import { notice } from "./problem.js";

/**
 * Show the state of the collection.
 *
 * @param {Element} host
 * @param {HTMLInputElement} input
 * @param {() => boolean} still whether no other search has begun meanwhile
 */
export async function welcome(host, input, still) {
  try {
    const report = await get("/v1/report");
    const { words } = report.pictures ? await get("/v1/words", { k: 12 }) : { words: [] };
    if (!still()) return;
    if (!report.pictures) return fill(host, nothing());
    fill(host, summary(report, words));
    // The focus moves only if it is nowhere yet.
    if (document.activeElement === document.body) input.focus();
  } catch (e) {
    if (!still()) return;
    fill(host, e instanceof Problem && e.code === "nothing-indexed" ? nothing() : notice(e));
  }
}

/**
 * Return a link for each word that searches for it.
 *
 * @param {import("../types").Word[]} words
 */
export function chips(words) {
  return words.map((w) => el("a", { class: "chip", href: `#/search?q=${encodeURIComponent(/\s/.test(w.word) ? `"${w.word}"` : w.word)}` }, w.word));
}

function nothing() {
  return el(
    "div", { class: "notice" },
    el("h2", {}, "No picture is indexed yet"),
    el(
      "ol", {},
      el("li", {}, "Put pictures into the folder that is served. Words are read from their metadata, or from a text file beside each."),
      el("li", {}, el("a", { href: "#/train" }, "Index the folder"), ". Nothing is ever written inside it."),
      el("li", {}, "Train on the words, and search."),
    ),
  );
}

/**
 * @param {any} report
 * @param {import("../types").Word[]} words
 */
function summary(report, words) {
  const next = report.word_model
    ? null
    : report.with_words
      ? el("p", {}, "No model is trained yet: searches find only pictures that have the words. ", el("a", { href: "#/train" }, "Train one"), ".")
      : el("p", {}, report.starting_words ? "No picture has a word yet. A network suggests pictures for nouns, such as dog, bird or car. Or search by a picture, judge which hits fit, and save them as a word." : "No picture has a word yet. Search by a picture, judge which hits fit, and save them as a word.");
  const picks = chips(words);
  return el(
    "div", { class: "notice" },
    el("p", {}, `${some(report.pictures, "picture")}, ${report.with_words.toLocaleString("en")} of them with words; ${some(report.words, "word")}.`),
    report.word_model ? el("details", {}, el("summary", {}, "A model is trained"), el("p", { class: "faint" }, report.word_model)) : null,
    next,
    picks.length ? el("p", { class: "picks" }, ...picks) : null,
    report.skipped ? el("p", {}, el("a", { href: "#/train" }, `${some(report.skipped, "file was", "files were")} skipped`)) : null,
  );
}
