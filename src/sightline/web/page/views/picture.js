// One picture: its file, why it is a hit, its words, and similar pictures.

import { get, post } from "../api.js";
import { count, el, fill, isCommand, when } from "../dom.js";
import { NOT_YET_PROVEN, percent } from "../figures.js";
import { wordsOf } from "../wording.js";
import { shares } from "./shares.js";
import { whySection } from "./why.js";

/** @typedef {import("../types").Hit} Hit */
/** @typedef {import("../types").Picture} Picture */
/** @typedef {import("../types").DescribedWord} DescribedWord */
/**
 * @typedef {object} About
 * @property {string} query the words of the search; empty if there were none
 * @property {((fits: boolean) => Promise<void>) | null} judge
 * @property {(() => boolean | undefined) | null} mark its judgement
 * @property {((by: number) => void) | null} step to a neighbour in the list
 * @property {(positive: boolean) => void} [example] search with it as an example
 */

// Formats that browsers show; of others the thumbnail is shown.
const SHOWABLE = new Set(["JPEG", "PNG", "GIF", "WEBP", "BMP", "AVIF"]);
const SIMILAR = 12;

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
  const similar = part("Similar pictures");
  const why = about.query ? whySection(hit, about.query, canvas, image) : null;
  const marks = bar(hit, about);
  const dialog = el(
    "dialog", { class: "picture", "aria-labelledby": "picture-name" },
    marks.bar,
    el(
      "div", { class: "both" },
      el("figure", {}, el("div", { class: "stage" }, image, canvas), hit.shares ? el("figcaption", {}, shares(hit.shares)) : null),
      el("div", { class: "parts" }, why, facts.section, words.section, similar.section),
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
  void similar.load(() => showSimilar(hit.id));
}

/**
 * @param {Hit} hit
 * @param {About} about
 */
function bar(hit, about) {
  const { judge, step, mark } = about;
  const yes = el("button", { type: "button", onclick: () => void say(true) }, "Fits", el("kbd", { "aria-hidden": "true" }, "y"));
  const no = el("button", { type: "button", onclick: () => void say(false) }, "Does not fit", el("kbd", { "aria-hidden": "true" }, "n"));
  const status = el("span", { role: "status", class: "faint" });
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
    status.textContent = mark?.() === fits ? "Saved." : "That could not be saved.";
  };
  show();
  const example = (/** @type {string} */ text, /** @type {string} */ title, /** @type {boolean} */ positive) =>
    about.example ? el("button", { type: "button", title, "aria-label": title, onclick: () => (open?.close(), about.example?.(positive)) }, text) : null;
  const box = el(
    "div", { class: "bar" },
    el("h2", { id: "picture-name" }, hit.path),
    step ? el("button", { type: "button", onclick: () => step(-1), "aria-label": "Previous picture" }, "←") : null,
    step ? el("button", { type: "button", onclick: () => step(1), "aria-label": "Next picture" }, "→") : null,
    judge ? yes : null,
    judge ? no : null,
    status,
    el("a", { class: "button", href: `#/search?positive=${hit.id}` }, "Similar to this"),
    example("+ Example", "Add as a positive example", true),
    example("− Example", "Add as a negative example", false),
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
 * A section that is filled once its content is loaded; a problem is shown in its place.
 *
 * @param {string} title
 */
export function part(title) {
  const body = el("div", { class: "faint" }, "…");
  const section = el("section", {}, el("h3", {}, title), body);
  /** @param {() => Promise<Node>} ask */
  const load = async (ask) => {
    try {
      const content = await ask();
      body.className = "";
      fill(body, content);
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
  const picture = await get(`/v1/pictures/${hit.id}`);
  if (SHOWABLE.has(picture.format)) image.src = hit.original;
  const lines = [
    ["Size", `${count(picture.width)} × ${count(picture.height)}, ${picture.format}, ${count(Math.ceil(picture.bytes / 1000))} KB`],
    ["Taken", when(picture.taken)],
    ["Changed", when(picture.changed)],
    ...picture.words.map((w) => [`Words (${w.source})`, [...w.tags, w.text].filter(Boolean).join(", ")]),
  ].filter(([, text]) => text);
  return el("dl", {}, ...lines.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}

/** @param {number} id */
async function showWords(id) {
  const { words } = await get(`/v1/pictures/${id}/words`, { k: 10 });
  const lines = words.map((/** @type {DescribedWord} */ w) =>
    el(
      "li", { class: w.fits ? "" : "faint" },
      el("a", { href: searchFor(w.word) }, w.word), ` ${w.proven ? percent(w.score) : NOT_YET_PROVEN}`, w.tagged ? " · has the tag" : "",
    ),
  );
  return el(
    "div", {}, el("ol", { class: "words" }, ...lines), lifts(words),
    el("p", {}, el("a", { href: "#/topics" }, "Topics"), " · ", el("a", { href: "#/scenes" }, "Scenes")),
  );
}

/** @param {DescribedWord[]} words */
function lifts(words) {
  const rows = words.map((w) => el("li", {}, `${w.word}: ${factor(w.lift)} times as likely as on any picture`));
  return el("details", {}, el("summary", {}, "Details"), el("ol", { class: "faint" }, ...rows));
}

/**
 * Return a factor with two digits.
 *
 * @param {number} value
 */
function factor(value) {
  return value < 10 ? value.toFixed(1) : count(Math.round(value));
}

/** @param {number} id */
async function showSimilar(id) {
  const { hits } = await post("/v1/similar", { positive: [id], k: SIMILAR });
  const tiles = hits.map((/** @type {Hit} */ h) =>
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
