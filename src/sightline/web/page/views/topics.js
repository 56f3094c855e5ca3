// Topics: the dimensions of the space that words and pictures share.

import { get, Problem } from "../api.js";
import { el, fill } from "../dom.js";
import { searchFor } from "./picture.js";
import { wordsOf } from "../wording.js";
import { notice } from "./problem.js";
import { unindexed } from "./unindexed.js";
import { strip } from "./strip.js";

export const title = "Topics";

/** @typedef {{ dimension: number, high: string[], low: string[], high_pictures: number[], low_pictures: number[] }} Topic */

/** @type {import("../types").View} */
export function view(host) {
  const body = el("div", {}, el("p", { role: "status" }, "Loading…"));
  const near = el("p", { class: "picks", role: "status" });
  const input = el("input", { id: "near", type: "text", maxLength: 100, autocomplete: "off" });
  const form = el(
    "form",
    {
      class: "fields",
      onsubmit: (/** @type {Event} */ e) => {
        e.preventDefault();
        void showNear(near, input.value.trim());
      },
    },
    el("div", { class: "field" }, el("label", { for: "near" }, "Words near"), input), el("button", {}, "Show"),
  );
  fill(host, el("h1", {}, "Topics"), form, near, body);
  void show(body, form);
}

/**
 * @param {HTMLElement} at
 * @param {string} word
 */
async function showNear(at, word) {
  if (!word) return;
  try {
    const near = await get("/v1/topics/near", { word, k: 12 });
    const links = near.words.map((/** @type {{ word: string, cosine: number }} */ w) =>
      el("a", { class: "chip", href: searchFor(w.word) }, `${w.word} ${w.cosine.toFixed(2)}`),
    );
    fill(at, ...(links.length ? links : ["No word is near it."]));
  } catch (e) {
    fill(at, wordsOf(e));
  }
}

/**
 * @param {HTMLElement} body
 * @param {HTMLElement} form
 */
async function show(body, form) {
  try {
    const { topics } = await get("/v1/topics", { words: 8, pictures: 6 });
    fill(body, ...topics.map(shown));
  } catch (e) {
    form.hidden = true;
    const more = e instanceof Problem && ["no-space", "no-model"].includes(e.code)
      ? el("p", {}, "Topics need a text model: ", el("a", { href: "#/train" }, "train texts"), ". Searches by words stay as they are.")
      : undefined;
    fill(body, unindexed(e) ?? notice(e, more));
  }
}

/** @param {Topic} t */
function shown(t) {
  return el(
    "section", { class: "group" }, el("h2", {}, `Dimension ${t.dimension}`),
    el("div", { class: "ends" }, side("High", t.high, t.high_pictures), side("Low", t.low, t.low_pictures)),
  );
}

/**
 * @param {string} name
 * @param {string[]} words
 * @param {number[]} pictures
 */
function side(name, words, pictures) {
  const chips = words.map((w) => el("a", { class: "chip", href: searchFor(w) }, w));
  return el("div", {}, el("h3", {}, name), el("p", { class: "picks" }, ...chips), strip(pictures));
}
