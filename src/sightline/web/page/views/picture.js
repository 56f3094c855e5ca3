// One picture: what it is, why it is here, its words, and pictures like it.

import { get, post } from "../api.js";
import { count, el, fill, isCommand, when } from "../dom.js";
import { wordsOf } from "../wording.js";
import { shares } from "./shares.js";
import { whySection } from "./why.js";

/** @typedef {import("../types").Hit} Hit */
/** @typedef {import("../types").Picture} Picture */
/**
 * @typedef {object} About
 * @property {string} query the words it was found by; empty if by none
 * @property {((fits: boolean) => Promise<void>) | null} judge
 * @property {(() => boolean | undefined) | null} mark what was said of it
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
  // The button that led here keeps the focus.
  const pressed = open?.contains(document.activeElement) ? document.activeElement?.getAttribute("aria-label") : null;
  open?.close();
  const image = el("img", { alt: hit.path, src: hit.thumbnail });
  const canvas = el("canvas", { "aria-hidden": "true", hidden: true });
  const facts = part("About");
  const words = part("Predicted words");
  const alike = part("Similar pictures");
  const why = about.query ? whySection(hit, about.query, canvas, image) : null;
  const marks = bar(hit, about);
  const dialog = el(
    "dialog", { class: "picture", "aria-labelledby": "picture-name" },
    marks.bar,
    el(
      "div", { class: "both" },
      el("figure", {}, el("div", { class: "stage" }, image, canvas), hit.shares ? el("figcaption", {}, shares(hit.shares)) : null),
      el("div", { class: "parts" }, why, facts.section, words.section, alike.section),
    ),
  );
  dialog.addEventListener("keydown", (e) => keyed(e, about, marks.judge));
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
  for (const button of dialog.querySelectorAll("button"))
    if (pressed && button.getAttribute("aria-label") === pressed) button.focus();
  void facts.load(() => showFacts(hit, image));
  void words.load(() => showWords(hit.id));
  void alike.load(() => showAlike(hit.id));
}

/**
 * @param {Hit} hit
 * @param {About} about
 */
function bar(hit, about) {
  const { judge, step, mark } = about;
  const yes = el("button", { type: "button", onclick: () => void say(true) }, "Fits", el("kbd", { "aria-hidden": "true" }, "y"));
  const no = el("button", { type: "button", onclick: () => void say(false) }, "Does not fit", el("kbd", { "aria-hidden": "true" }, "n"));
  const told = el("span", { role: "status", class: "faint" });
  const show = () => {
    yes.setAttribute("aria-pressed", String(mark?.() === true));
    no.setAttribute("aria-pressed", String(mark?.() === false));
  };
  /** @param {boolean} fits */
  const say = async (fits) => {
    if (!judge) return;
    const sent = judge(fits);
    show();
    await sent;
    show();
    // A failed save is reported behind the picture; here it is only undone.
    told.textContent = mark?.() === fits ? "Written." : "That could not be written.";
  };
  show();
  const box = el(
    "div", { class: "bar" },
    el("h2", { id: "picture-name" }, hit.path),
    step ? el("button", { type: "button", onclick: () => step(-1), "aria-label": "Previous picture" }, "←") : null,
    step ? el("button", { type: "button", onclick: () => step(1), "aria-label": "Next picture" }, "→") : null,
    judge ? yes : null,
    judge ? no : null,
    told,
    el("a", { class: "button", href: `#/search?like=${hit.id}` }, "Similar to this"),
    el("a", { class: "button", href: hit.original, target: "_blank", rel: "noreferrer" }, "File"),
    el("form", { method: "dialog" }, el("button", { autofocus: true, "aria-label": "Close" }, "×")),
  );
  return { bar: box, judge: judge ? say : null };
}

/**
 * @param {KeyboardEvent} e
 * @param {About} about
 * @param {((fits: boolean) => Promise<void>) | null} judge
 */
function keyed(e, about, judge) {
  if (!isCommand(e)) return;
  const { step } = about;
  if ((e.key === "y" || e.key === "n") && judge) e.repeat || void judge(e.key === "y");
  else if (e.key === "ArrowLeft" && step) step(-1);
  else if (e.key === "ArrowRight" && step) step(1);
  else return;
  e.preventDefault();
}

/**
 * A part that is filled once its answer came; a problem is shown in its place.
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
      fill(body, wordsOf(e));
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
      el("a", { href: searchFor(w.word) }, w.word), ` ${Math.round(100 * w.score)} %`, w.carried ? " · has it" : "",
    ),
  );
  return el(
    "div", {}, el("ol", { class: "words" }, ...lines),
    el("p", {}, el("a", { href: "#/topics" }, "Topics"), " · ", el("a", { href: "#/scenes" }, "Scenes")),
  );
}

/** @param {number} id */
async function showAlike(id) {
  const told = await post("/v1/similar", { positive: [id], k: ALIKE });
  const tiles = told.hits.map((/** @type {Hit} */ h) =>
    el(
      "button", { type: "button", class: "small", title: h.path, onclick: () => openPicture(h, { query: "", judge: null, mark: null, step: null }) },
      el("img", { alt: h.path, src: h.thumbnail }),
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
