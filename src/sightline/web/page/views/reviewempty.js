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
  if (!(e instanceof Problem) || e.code !== "no-regions") return unindexed(e) ?? notice(e);
  const start = el("button", { type: "button", class: "primary", id: "train-regions", onclick: () => void train(start) }, "Train regions of words");
  return el(
    "div", { class: "notice" },
    el("h2", {}, "No suggestions yet"),
    el("p", {}, "Words are suggested once a model of regions is trained. Pictures are divided into regions first, which takes a while; you can search meanwhile."),
    el("p", {}, start),
  );
}

/** @param {HTMLButtonElement} start */
async function train(start) {
  start.disabled = true;
  try {
    const job = await post("/v1/jobs", { verb: "train", regions: true });
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
