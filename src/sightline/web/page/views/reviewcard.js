// One suggestion: the picture with the region of the word, the question, and the confidence.

import { get } from "../api.js";
import { el, fill, some } from "../dom.js";
import { clear, drawBox, drawMask, isWhole } from "../overlay.js";

/** @typedef {import("../reports").Suggestion} Suggestion */
/** @typedef {import("../reports").WordPrecision} WordPrecision */
/** @typedef {import("../types").Picture} Picture */

// Larger files, and formats that browsers do not show, are shown as thumbnails.
const MOST_BYTES = 6_000_000;
// The largest share of the window's height for a picture, and the margin around it.
const HIGH = 0.58;
const ROOM = 20;
const MOST_TIMES = 8;
const SHOWN = ["JPEG", "PNG", "WEBP", "GIF", "AVIF"];

export class ReviewCard {
  constructor() {
    /** @type {Suggestion | null} */
    this._of = null;
    /** @type {Map<number, Promise<Picture | null>>} */
    this._known = new Map();
    this._picture = el("img", { id: "review-picture", alt: "", decoding: "async", onload: () => this._fit() });
    this._over = el("canvas", { "aria-hidden": "true" });
    this._question = el("h2", { id: "review-question" });
    this._sure = el("p");
    this._right = el("p", { class: "faint" });
    this._where = el("p", { class: "faint" });
    this._words = el("p", { class: "faint" });
    this._file = el("p", { class: "faint file" });
    this._shows = el("input", { id: "review-overlay", type: "checkbox", checked: true, onchange: () => this.draw() });
    this.asked = el("div", { class: "asked" }, this._question, this._sure);
    this.about = el(
      "div", { class: "about" },
      this._right, this._where, this._words, this._file,
      el("p", {}, el("label", { for: "review-overlay", class: "check" }, this._shows, "Show the region")),
    );
    this.stage = el("div", { class: "reviewstage" }, el("div", { class: "reviewover" }, this._picture, this._over));
    this._sizes = new ResizeObserver(() => this._fit());
    this._sizes.observe(this.stage);
  }

  end() {
    this._sizes.disconnect();
  }

  /**
   * @param {Suggestion} s
   * @param {WordPrecision | undefined} precision
   */
  show(s, precision) {
    if (this._of === s) return;
    this._of = s;
    this._picture.alt = s.name;
    this._picture.src = `/v1/pictures/${s.picture}/thumbnail`;
    this._question.textContent = s.add ? `Does “${s.word}” fit this picture?` : `Is “${s.word}” wrong for this picture?`;
    fill(
      this._sure, el("span", { class: s.add ? "badge good" : "badge warning" }, s.add ? "+ Word to add" : "− Word to remove"), " ",
      s.add ? `${percent(s.confidence)} likely to be right` : `${percent(s.confidence)} of similar pictures do not have it`,
    );
    this._right.textContent = rightness(s, precision);
    this._where.textContent = isWhole(s.mask) ? "The word has no particular region." : "";
    this._words.textContent = "";
    fill(this._file, el("a", { href: `/v1/pictures/${s.picture}/original`, target: "_blank", rel: "noopener" }, s.name));
    clear(this._over);
    void this._showWords(s);
  }

  /**
   * Load the next picture in advance.
   *
   * @param {Suggestion | undefined} s
   */
  preload(s) {
    if (!s) return;
    new Image().src = `/v1/pictures/${s.picture}/thumbnail`;
    void this._know(s.picture).then((p) => {
      if (p && isShown(p)) new Image().src = `/v1/pictures/${s.picture}/original`;
    });
  }

  /** @param {number} id */
  _know(id) {
    // The picture is shown even if its information cannot be loaded.
    /** @type {Promise<Picture | null>} */
    const request = this._known.get(id) ?? get(`/v1/pictures/${id}`).catch(() => null);
    this._known.set(id, request);
    return request;
  }

  /** @param {Suggestion} s */
  async _showWords(s) {
    const p = await this._know(s.picture);
    if (!p || this._of !== s) return;
    const words = [...new Set(p.words.flatMap((w) => w.tags))];
    this._words.textContent = words.length ? `Its words: ${words.join(", ")}` : "It has no word yet.";
    if (isShown(p)) this._picture.src = `/v1/pictures/${s.picture}/original`;
  }

  /** Fit the picture into the window; small ones are enlarged up to eight times. */
  _fit() {
    const { naturalWidth, naturalHeight } = this._picture;
    if (!naturalWidth || !naturalHeight) return;
    const wide = this.stage.clientWidth - ROOM;
    const times = Math.min(wide / naturalWidth, (innerHeight * HIGH) / naturalHeight, MOST_TIMES);
    for (const layer of [this._picture, this._over]) {
      layer.style.width = `${Math.floor(naturalWidth * times)}px`;
      layer.style.height = `${Math.floor(naturalHeight * times)}px`;
    }
    this.draw();
  }

  /** Draw the region of the word at the current size of the picture. */
  draw() {
    const s = this._of;
    clear(this._over);
    if (!s || !this._shows.checked || !this._picture.complete || isWhole(s.mask)) return;
    const colour = s.add ? "#2fe0c8" : "#ffb43c";
    drawMask(this._over, s.mask, colour);
    drawBox(this._over, s.box, colour);
  }
}

/** @param {Picture} p */
function isShown(p) {
  return p.bytes <= MOST_BYTES && SHOWN.includes(p.format.toUpperCase());
}

/**
 * @param {Suggestion} s
 * @param {WordPrecision | undefined} p
 */
function rightness(s, p) {
  if (!p) return "";
  const tagged = `${some(p.pictures, "picture has", "pictures have")} “${s.word}”.`;
  if (!s.add || !p.proposed) return tagged;
  return `“${s.word}” was right ${p.right} of ${p.proposed} times on held-out pictures. ${tagged}`;
}

/** @param {number} share */
function percent(share) {
  return share > 0.995 ? "Over 99 %" : `${Math.round(100 * share)} %`;
}
