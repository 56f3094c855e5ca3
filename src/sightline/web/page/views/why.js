// Why a picture is a hit: the contribution of each word, heat maps, and the regions of the words.

import { post } from "../api.js";
import { el, fill } from "../dom.js";
import { NOT_YET_PROVEN, percent } from "../figures.js";
import { drawHeat } from "../heatmap.js";
import { drawBox, drawMask } from "../overlay.js";
import { wordsOf } from "../wording.js";
import { shares } from "./shares.js";

/** @typedef {import("../types").Hit} Hit */
/** @typedef {import("../types").Box} Box */
/** @typedef {import("../types").Mask} Mask */
/** @typedef {{ word: string, tagged: boolean, weight: number, contribution: number, seen: number | null, learned: boolean, proven: boolean, parts?: number[][] }} WordShare */
/** @typedef {{ word: string, required: boolean, tagged: boolean, by: "tags" | "prediction", probability: number | null, proven: boolean, text: string }} SignShare */
/** @typedef {{ word: string, likely: number, tagged: boolean, box: Box, mask: Mask }} WordRegion */
/** @typedef {(pen: HTMLCanvasElement) => void} Drawing */

const FINE = 8;

/**
 * @param {Hit} hit
 * @param {string} query
 * @param {HTMLCanvasElement} canvas lies over the picture
 * @param {HTMLImageElement} image
 */
export function whySection(hit, query, canvas, image) {
  const shown = new Overlay(canvas, image);
  const explanation = el("div", { class: "faint", role: "status" }, "Computing heat maps…");
  const regions = el("div", {});
  void fillIn(explanation, () => explained(hit, query, shown));
  void fillIn(regions, () => localized(hit, query, shown));
  return el("section", { class: "why" }, el("h3", {}, `Why, for “${query}”`), explanation, regions);
}

/**
 * @param {HTMLElement} at
 * @param {() => Promise<Node>} ask
 */
async function fillIn(at, ask) {
  try {
    fill(at, await ask());
    at.className = "";
  } catch (e) {
    at.className = "faint";
    fill(at, wordsOf(e));
  }
}

/** A drawing over the picture, one at a time. */
class Overlay {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLImageElement} image
   */
  constructor(canvas, image) {
    this._canvas = canvas;
    this._image = image;
    /** @type {HTMLButtonElement | null} */
    this._by = null;
  }

  /**
   * A button that shows or hides a drawing.
   *
   * @param {string} text
   * @param {Drawing} draw
   */
  button(text, draw) {
    const button = el("button", { type: "button", "aria-pressed": "false", onclick: () => this._toggle(button, draw) }, text);
    return button;
  }

  /**
   * @param {HTMLButtonElement} by
   * @param {Drawing} draw
   */
  _toggle(by, draw) {
    const off = this._by === by;
    this._by?.setAttribute("aria-pressed", "false");
    this._by = off ? null : by;
    this._canvas.hidden = off;
    if (off) return;
    by.setAttribute("aria-pressed", "true");
    const wide = this._image.naturalWidth >= this._image.naturalHeight;
    const ratio = this._image.naturalHeight / (this._image.naturalWidth || 1) || 1;
    this._canvas.width = wide ? 480 : Math.round(480 / ratio);
    this._canvas.height = wide ? Math.round(480 * ratio) : 480;
    draw(this._canvas);
  }
}

/**
 * @param {Hit} hit
 * @param {string} query
 * @param {Overlay} shown
 */
async function explained(hit, query, shown) {
  const response = await post("/v1/why", { query, pictures: [hit.id], blocks: FINE });
  const why = response.hits[0]?.why;
  if (!why) return el("p", {}, "The words do not rank this picture.");
  const lines = why.words.map((/** @type {WordShare} */ w) => {
    const parts = w.parts;
    return el(
      "tr", {}, el("th", { scope: "row" }, w.word),
      el("td", { class: "number" }, w.contribution.toFixed(2)),
      el("td", { class: "number" }, likely(w.seen, w.proven)),
      el("td", {}, [w.tagged ? "tagged" : "", w.learned ? "" : "not learned"].filter(Boolean).join(", ")),
      el("td", {}, parts && why.rows ? shown.button("Heat map", (c) => drawHeat(c, parts, why)) : ""),
    );
  });
  lines.push(...why.signs.map(signLine));
  const head = ["Word", "Contribution", "Predicted", "Tag", "Heat map"].map((t) => el("th", { scope: "col" }, t));
  const all = why.parts && why.words.length > 1 ? shown.button("Heat map of all words", (c) => drawHeat(c, why.parts, why)) : null;
  const words = lines.length ? el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...lines))) : null;
  return el(
    "div", {}, words, all,
    why.features?.length ? shares(why.features.map(named)) : null,
    why.problem ? el("p", { class: "faint" }, hit.match === "suggested" ? "◌ Suggested by the network, by its own classes, not by your words." : why.problem) : null,
    why.held?.length ? el("p", { class: "faint" }, `Heat maps leave out ${why.held.join(", ")}, which cannot be recomputed here.`) : null,
    el("p", { class: "faint" }, `${modelOf(response)}Version ${response.version}. In heat maps, orange raises the score and blue lowers it.`),
  );
}

/**
 * A row for a word with a sign: what decided on it.
 *
 * @param {SignShare} s
 */
function signLine(s) {
  return el(
    "tr", { class: "sign" }, el("th", { scope: "row" }, `${s.required ? "+" : "−"}${s.word}`),
    el("td", { colSpan: 4 }, s.text),
  );
}

/**
 * A probability; not that of a word which too few held-out pictures measure.
 *
 * @param {number | null} part
 * @param {boolean} proven
 */
function likely(part, proven) {
  if (!proven) return NOT_YET_PROVEN;
  return part === null ? "" : percent(part);
}

/** @param {{ feature: string, contribution: number }} f */
function named(f) {
  return { descriptor: f.feature, value: f.contribution };
}

/** @param {{ model: string | null, recipe: string | null }} response */
function modelOf(response) {
  return response.model ? `Model ${response.model} (${response.recipe ?? "unknown"}). ` : "";
}

/**
 * @param {Hit} hit
 * @param {string} query
 * @param {Overlay} shown
 */
async function localized(hit, query, shown) {
  const response = await post("/v1/where", { query, pictures: [hit.id] });
  const located = response.hits[0];
  if (!located) return el("p", {}, "");
  const buttons = located.words.map((/** @type {WordRegion} */ w) =>
    shown.button(`Region of “${w.word}” (${percent(w.likely)})`, (c) => {
      drawMask(c, w.mask, "#ffb000");
      drawBox(c, w.box, "#ffb000");
    }),
  );
  const scene = located.scene === null ? null : el("p", {}, el("a", { href: `#/scenes?scene=${located.scene}` }, `Scene ${located.scene + 1}`));
  return el("div", {}, el("p", { class: "picks" }, ...buttons), scene, located.problem ? el("p", { class: "faint" }, located.problem) : null);
}
