// What is said of the words of a query: corrected, unknown, not learned, with a sign.

import { el, some } from "../dom.js";
import { NOT_YET_PROVEN } from "../figures.js";

/** @typedef {import("../types").Hits} Hits */
/**
 * @typedef {object} Ask
 * @property {(word: string, other: string) => void} instead search with a word replaced
 * @property {(query: string) => void} search search for another query
 */

/**
 * Return lines about the words of a query, with other queries to search by.
 *
 * @param {Hits} first the first part of a list
 * @param {Ask} ask
 */
export function queryWords(first, ask) {
  return [
    ...(first.corrections ?? []).map((c) => corrected(c, ask)), ...first.unknown.map((u) => unknown(u, ask)),
    notLearned(first, ask), unproven(first), constraints(first), suggested(first),
  ];
}

/**
 * Say what was searched in place of a mistyped word, and offer to search it as typed.
 *
 * @param {import("../types").Correction} c
 * @param {Ask} ask
 */
function corrected(c, ask) {
  const insist = link(`Search “${c.typed}” instead`, () => ask.instead(c.typed, `"${c.typed}"`));
  return el("p", { class: "corrected" }, "Searched ", el("strong", {}, c.searched.join(" ")), ` for “${c.typed}”. `, insist);
}

/**
 * @param {import("../types").Unknown} u
 * @param {Ask} ask
 */
function unknown(u, ask) {
  return el("p", { class: "warning" }, `No picture has the word “${u.word}”.`, u.near.length ? " Did you mean: " : "", ...others(u.word, u.near, ask));
}

/**
 * Name the words that the model has not learned, which predict nothing, with their pictures and learned words near them.
 *
 * @param {Hits} first
 * @param {Ask} ask
 */
function notLearned(first, ask) {
  if (!first.not_learned.length) return null;
  const words = first.not_learned.flatMap((w, i) => {
    const pictures = w.pictures ? link(some(w.pictures, "picture"), () => ask.search(`"${w.word}"`), "link inline") : "no picture";
    return [i ? ", " : "", `${w.word} (on `, pictures, ")"];
  });
  const nothing = first.predicted === false ? ". Nothing is predicted: the model has learned none of the words." : "";
  // Of words that no picture has, `unknown` offers others.
  const offered = first.not_learned.filter((w) => w.pictures && w.near.length);
  return el(
    "div", { class: "warning not-learned" }, el("p", {}, "not learned: ", ...words, nothing),
    ...offered.map((w) => el("p", { class: "near" }, `learned words near ${w.word}: `, ...others(w.word, w.near, ask))),
  );
}

/**
 * Name the words whose hits show no probability, since too few held-out pictures measure it.
 *
 * @param {Hits} first
 */
function unproven(first) {
  const words = first.unproven ?? [];
  if (!words.length) return null;
  const named = words.map((w) => `${w.word} (learned from ${some(w.pictures, "picture")})`).join(", ");
  const its = words.length === 1 ? "Its" : "Their";
  return el("p", { class: "faint unproven" }, `${NOT_YET_PROVEN}: ${named}. ${its} hits show no probability; judge more pictures that fit and train again.`);
}

/**
 * Say of each word with a plus or a minus what decided on it.
 *
 * @param {Hits} first
 */
function constraints(first) {
  const signed = first.constraints ?? [];
  if (!signed.length) return null;
  const lines = signed.map((c) => {
    const sign = `${c.required ? "+" : "−"}${c.word}`;
    return c.predicted ? `${sign} by tags, and by prediction on pictures without tags` : `${sign} by tags alone`;
  });
  return el("p", { class: "faint constraints" }, lines.join(" · "));
}

/**
 * Buttons that replace a word of the query by others.
 *
 * @param {string} word
 * @param {string[]} near
 * @param {Ask} ask
 */
function others(word, near, ask) {
  return near.map((other) => link(other, () => ask.instead(word, other)));
}

/**
 * @param {string} text
 * @param {() => void} onclick
 * @param {string} [kind]
 */
function link(text, onclick, kind = "link") {
  return el("button", { type: "button", class: kind, onclick }, text);
}

/**
 * Name the words that a network answers, since no model has learned them.
 *
 * @param {Hits} first
 */
function suggested(first) {
  const words = first.suggested ?? [];
  if (!words.length) return null;
  const named = words.map((w) => `${w.word} (by ${w.classes.join(", ")}${w.n_classes > w.classes.length ? ` and ${w.n_classes - w.classes.length} more` : ""})`);
  return el("p", { class: "suggested" }, `◌ suggested by the network, not by your words: ${named.join(", ")}`);
}
