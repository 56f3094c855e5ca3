// One suggestion: the picture with where the word lies, the question, and how sure it is.

import { get } from "../api.js";
import { el, fill, some } from "../dom.js";
import { clear, drawBox, drawMask, isWhole } from "../overlay.js";

/** @typedef {import("../reports").Suggestion} Suggestion */
/** @typedef {import("../reports").WordPrecision} WordPrecision */
/** @typedef {import("../types").Picture} Picture */

// Larger files, and formats that browsers do not show, are shown as thumbnails.
const MOST_BYTES = 6_000_000;
// The most of the window's height that a picture takes, and the room around it.
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
    this._carries = el("p", { class: "faint" });
    this._file = el("p", { class: "faint file" });
    this._shows = el("input", { id: "review-overlay", type: "checkbox", checked: true, onchange: () => this.draw() });
    this.asked = el("div", { class: "asked" }, this._question, this._sure);
    this.about = el(
      "div", { class: "about" },
      this._right, this._where, this._carries, this._file,
      el("p", {}, el("label", { for: "review-overlay", class: "check" }, this._shows, "Show where")),
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
      this._sure, el("span", { class: s.add ? "badge good" : "badge warning" }, s.add ? "+ Word to add" : "− Word to take away"), " ",
      s.add ? `${percent(s.confidence)} likely to be right` : `${percent(s.confidence)} of pictures that look so do not carry it`,
    );
    this._right.textContent = rightness(s, precision);
    this._where.textContent = isWhole(s.mask) ? "It lies nowhere in particular." : "";
    this._carries.textContent = "";
    fill(this._file, el("a", { href: `/v1/pictures/${s.picture}/original`, target: "_blank", rel: "noopener" }, s.name));
    clear(this._over);
    void this._tell(s);
  }

  /**
   * Have the next picture ready before it is asked for.
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
    // A picture whose facts cannot be had is still shown: they are only told beside it.
    /** @type {Promise<Picture | null>} */
    const asked = this._known.get(id) ?? get(`/v1/pictures/${id}`).catch(() => null);
    this._known.set(id, asked);
    return asked;
  }

  /** @param {Suggestion} s */
  async _tell(s) {
    const p = await this._know(s.picture);
    if (!p || this._of !== s) return;
    const words = [...new Set(p.words.flatMap((w) => w.tags))];
    this._carries.textContent = words.length ? `It carries: ${words.join(", ")}` : "It carries no word yet.";
    if (isShown(p)) this._picture.src = `/v1/pictures/${s.picture}/original`;
  }

  /** Show the picture as large as there is room for, small ones up to eight times as large. */
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

  /** Draw where the word lies, as large as the picture is now. */
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
  const carry = `${some(p.pictures, "picture carries", "pictures carry")} “${s.word}”.`;
  if (!s.add || !p.given) return carry;
  return `“${s.word}” was right ${p.right} of ${p.given} times on held-out pictures. ${carry}`;
}

/** @param {number} share */
function percent(share) {
  return share > 0.995 ? "Over 99 %" : `${Math.round(100 * share)} %`;
}
