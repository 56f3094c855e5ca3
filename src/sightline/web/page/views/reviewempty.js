// What Review shows without suggestions, and the words that are never suggested.

import { post, Problem } from "../api.js";
import { table } from "../controls.js";
import { count, el, say, some } from "../dom.js";
import { notice } from "./problem.js";
import { unindexed } from "./unindexed.js";

/** @typedef {import("../reports").Abstained} Abstained */

/**
 * Explain why there is nothing to review, and what to do.
 *
 * @param {unknown} e
 */
export function unready(e) {
  const code = e instanceof Problem ? e.code : "";
  if (code === "no-regions")
    return training("No suggestions yet", "Words are suggested once a model of regions is trained. Pictures are divided into regions first, which takes a while; you can search meanwhile.", "Train regions of words", { regions: true });
  if (code === "no-model")
    return training("No suspected mislabels yet", "How probably each tag is wrong is known once a model of words is trained. It needs some pictures with tags.", "Train words", {});
  if (code === "no-tag-probabilities")
    return training("No suspected mislabels", "The model of words in use does not know which tags are probably wrong: it is of an earlier release, or its ranker cannot tell. Kernel ridge can.", "Train kernel ridge", { rankers: ["ridge"] });
  return unindexed(e) ?? notice(e);
}

/**
 * A notice with a button that trains what is missing.
 *
 * @param {string} title
 * @param {string} text
 * @param {string} what
 * @param {object} options of the training
 */
function training(title, text, what, options) {
  const start = el("button", { type: "button", class: "primary", id: "train-missing", onclick: () => void train(start, options) }, what);
  return el("div", { class: "notice" }, el("h2", {}, title), el("p", {}, text), el("p", {}, start));
}

/**
 * @param {HTMLButtonElement} start
 * @param {object} options
 */
async function train(start, options) {
  start.disabled = true;
  try {
    const job = await post("/v1/jobs", { verb: "train", ...options });
    location.hash = `#/train?job=${job.id}`;
  } catch (e) {
    start.disabled = false;
    say(e instanceof Error ? e.message : String(e));
  }
}

/**
 * @param {Abstained[]} words
 * @param {number} precision
 */
export function abstained(words, precision) {
  if (!words.length) return null;
  const rows = words.map((w) => [w.word, count(w.pictures), w.why]);
  return el(
    "details", { class: "never" }, el("summary", {}, `${some(words.length, "word is", "words are")} never suggested`),
    el("p", { class: "faint" }, `Too little evidence: on held-out pictures, ${Math.round(100 * precision)} % of the suggestions must be right.`),
    table("Words that are never suggested", ["Word", "#Pictures", "Why"], rows),
  );
}
