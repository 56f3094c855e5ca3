// One picture: what it is, why it is here, its words, and pictures like it.

import { get, post } from "../api.js";
import { count, el, fill, isTyping, when } from "../dom.js";
import { shares } from "./shares.js";
import { whySection } from "./why.js";

/** @typedef {import("../types").Hit} Hit */
/** @typedef {import("../types").Picture} Picture */
/**
 * @typedef {object} About
 * @property {string} query the words it was found by; empty if by none
 * @property {((fits: boolean) => void) | null} judge
 * @property {((by: number) => void) | null} step to a neighbour in the list
 */

// What a browser can show by itself; others are shown small.
const SHOWABLE = new Set(["JPEG", "PNG", "GIF", "WEBP", "BMP", "AVIF"]);
const ALIKE = 12;

/** @type {HTMLDialogElement | null} */
let open = null;

/**
 * Open a picture.
 *
 * @param {Hit} hit
 * @param {About} about
 */
export function openPicture(hit, about) {
  open?.close();
  const image = el("img", { alt: hit.name, src: hit.thumbnail });
  const canvas = el("canvas", { "aria-hidden": "true", hidden: true });
  const facts = part("About");
  const words = part("Words that were learnt");
  const alike = part("Pictures like it");
  const why = about.query ? whySection(hit, about.query, canvas, image) : null;
  const dialog = el(
    "dialog", { class: "picture", "aria-labelledby": "picture-name" },
    bar(hit, about),
    el(
      "div", { class: "both" },
      el("figure", {}, el("div", { class: "stage" }, image, canvas), hit.shares ? el("figcaption", {}, shares(hit.shares)) : null),
      el("div", { class: "parts" }, why, facts.section, words.section, alike.section),
    ),
  );
  dialog.addEventListener("keydown", (e) => keyed(e, about));
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (open === dialog) open = null;
  });
  dialog.addEventListener("click", (e) => {
    // A link leads away from the picture.
    if (e.target instanceof Element && e.target.closest("a[href^='#']")) dialog.close();
  });
  document.body.append(dialog);
  open = dialog;
  dialog.showModal();
  void facts.load(() => showFacts(hit, image));
  void words.load(() => showWords(hit.id));
  void alike.load(() => showAlike(hit.id));
}

/**
 * @param {Hit} hit
 * @param {About} about
 */
function bar(hit, about) {
  const { judge, step } = about;
  return el(
    "div", { class: "bar" },
    el("h2", { id: "picture-name" }, hit.name),
    step ? el("button", { type: "button", onclick: () => step(-1), "aria-label": "Previous picture" }, "←") : null,
    step ? el("button", { type: "button", onclick: () => step(1), "aria-label": "Next picture" }, "→") : null,
    judge ? el("button", { type: "button", onclick: () => judge(true) }, "Fits", el("kbd", { "aria-hidden": "true" }, "y")) : null,
    judge ? el("button", { type: "button", onclick: () => judge(false) }, "Does not fit", el("kbd", { "aria-hidden": "true" }, "n")) : null,
    el("a", { class: "button", href: `#/search?like=${hit.id}` }, "Like this"),
    el("a", { class: "button", href: hit.original, target: "_blank", rel: "noreferrer" }, "File"),
    el("form", { method: "dialog" }, el("button", { autofocus: true, "aria-label": "Close" }, "×")),
  );
}

/**
 * @param {KeyboardEvent} e
 * @param {About} about
 */
function keyed(e, about) {
  if (isTyping(e.target) || e.ctrlKey || e.metaKey || e.altKey) return;
  const { judge, step } = about;
  if (e.key === "y" && judge) judge(true);
  else if (e.key === "n" && judge) judge(false);
  else if (e.key === "ArrowLeft" && step) step(-1);
  else if (e.key === "ArrowRight" && step) step(1);
  else return;
  e.preventDefault();
}

/**
 * A part that is filled once its answer came; a problem is told in its place.
 *
 * @param {string} title
 */
export function part(title) {
  const body = el("div", { class: "faint" }, "…");
  const section = el("section", {}, el("h3", {}, title), body);
  /** @param {() => Promise<Node>} ask */
  const load = async (ask) => {
    try {
      const found = await ask();
      body.className = "";
      fill(body, found);
    } catch (e) {
      fill(body, e instanceof Error ? e.message : String(e));
    }
  };
  return { section, load };
}

/**
 * @param {Hit} hit
 * @param {HTMLImageElement} image
 */
async function showFacts(hit, image) {
  /** @type {Picture} */
  const told = await get(`/v1/pictures/${hit.id}`);
  if (SHOWABLE.has(told.format)) image.src = hit.original;
  const lines = [
    ["Size", `${count(told.width)} × ${count(told.height)}, ${told.format}, ${count(Math.ceil(told.bytes / 1000))} KB`],
    ["Taken", when(told.taken)],
    ["Changed", when(told.changed)],
    ...told.words.map((w) => [`Words (${w.source})`, [...w.tags, w.text].filter(Boolean).join(", ")]),
  ].filter(([, text]) => text);
  return el("dl", {}, ...lines.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}

/** @param {number} id */
async function showWords(id) {
  const told = await get(`/v1/pictures/${id}/words`, { limit: 10 });
  const lines = told.words.map((/** @type {{ word: string, score: number, fits: boolean, carried: boolean }} */ w) =>
    el(
      "li", { class: w.fits ? "" : "faint" },
      el("a", { href: searchFor(w.word) }, w.word), ` ${Math.round(100 * w.score)} %`, w.carried ? " · carried" : "",
    ),
  );
  return el(
    "div", {}, el("ol", { class: "words" }, ...lines),
    el("p", {}, el("a", { href: "#/topics" }, "Topics"), " · ", el("a", { href: "#/scenes" }, "Scenes")),
  );
}

/** @param {number} id */
async function showAlike(id) {
  const told = await post("/v1/similar", { like: [id], limit: ALIKE });
  const tiles = told.hits.map((/** @type {Hit} */ h) =>
    el(
      "button", { type: "button", class: "small", title: h.name, onclick: () => openPicture(h, { query: "", judge: null, step: null }) },
      el("img", { alt: h.name, src: h.thumbnail }),
    ),
  );
  return el("div", { class: "strip" }, ...tiles);
}

/**
 * The address of a search for a word.
 *
 * @param {string} word
 */
export function searchFor(word) {
  const written = /\s/.test(word) ? `"${word}"` : word;
  return `#/search?q=${encodeURIComponent(written)}`;
}
