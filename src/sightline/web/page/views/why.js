// Why a picture was found: what each word did, which parts of it speak for the word, and where the
// word lies.

import { post } from "../api.js";
import { el, fill } from "../dom.js";
import { drawHeat } from "../heatmap.js";
import { drawBox, drawMask } from "../overlay.js";
import { wordsOf } from "../wording.js";
import { shares } from "./shares.js";

/** @typedef {import("../types").Hit} Hit */
/** @typedef {import("../types").Box} Box */
/** @typedef {import("../types").Mask} Mask */
/** @typedef {{ word: string, carried: boolean, weight: number, contribution: number, seen: number | null, learned: boolean, parts?: number[][] }} WordShare */
/** @typedef {{ word: string, likely: number, carried: boolean, box: Box, mask: Mask }} WordPlace */
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
  const told = el("div", { class: "faint", role: "status" }, "Looking at its parts…");
  const places = el("div", {});
  void fillIn(told, () => explained(hit, query, shown));
  void fillIn(places, () => placed(hit, query, shown));
  return el("section", { class: "why" }, el("h3", {}, `Why, for “${query}”`), told, places);
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

/** What is drawn over the picture: one thing at a time. */
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
   * A button that shows something over the picture, and takes it away again.
   *
   * @param {string} text
   * @param {Drawing} draw
   */
  button(text, draw) {
    const made = el("button", { type: "button", "aria-pressed": "false", onclick: () => this._toggle(made, draw) }, text);
    return made;
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
  const told = await post("/v1/why", { query, pictures: [hit.id], blocks: FINE });
  const why = told.hits[0]?.why;
  if (!why) return el("p", {}, "The words do not rank this picture.");
  const lines = why.words.map((/** @type {WordShare} */ w) => {
    const parts = w.parts;
    return el(
      "tr", {}, el("th", { scope: "row" }, w.word),
      el("td", { class: "number" }, w.contribution.toFixed(2)),
      el("td", { class: "number" }, w.seen === null ? "" : `${Math.round(100 * w.seen)} %`),
      el("td", {}, [w.carried ? "has it" : "", w.learned ? "" : "not learned"].filter(Boolean).join(", ")),
      el("td", {}, parts && why.rows ? shown.button("Heat map", (c) => drawHeat(c, parts, why)) : ""),
    );
  });
  const head = ["Word", "Contributes", "Seen", "", ""].map((t) => el("th", { scope: "col" }, t));
  const all = why.parts && why.words.length > 1 ? shown.button("Heat map of all words", (c) => drawHeat(c, why.parts, why)) : null;
  return el(
    "div", {}, el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...lines))), all,
    why.features?.length ? shares(why.features.map(named)) : null,
    why.problem ? el("p", { class: "faint" }, why.problem) : null,
    why.held?.length ? el("p", { class: "faint" }, `Without what ${why.held.join(", ")} sees.`) : null,
    el("p", { class: "faint" }, `${modelOf(told)}Version ${told.version}. Orange speaks for the word, blue against it.`),
  );
}

/** @param {{ feature: string, contribution: number }} f */
function named(f) {
  return { descriptor: f.feature, value: f.contribution };
}

/** @param {{ model: string | null, recipe: string | null }} told */
function modelOf(told) {
  return told.model ? `Model ${told.model} (${told.recipe ?? "unknown"}). ` : "";
}

/**
 * @param {Hit} hit
 * @param {string} query
 * @param {Overlay} shown
 */
async function placed(hit, query, shown) {
  const told = await post("/v1/where", { query, pictures: [hit.id] });
  const found = told.hits[0];
  if (!found) return el("p", {}, "");
  const buttons = found.words.map((/** @type {WordPlace} */ w) =>
    shown.button(`Where “${w.word}” lies (${Math.round(100 * w.likely)} %)`, (c) => {
      drawMask(c, w.mask, "#ffb000");
      drawBox(c, w.box, "#ffb000");
    }),
  );
  const scene = found.scene === null ? null : el("p", {}, el("a", { href: `#/scenes?scene=${found.scene}` }, `Scene ${found.scene + 1}`));
  return el("div", {}, el("p", { class: "picks" }, ...buttons), scene, found.problem ? el("p", { class: "faint" }, found.problem) : null);
}
