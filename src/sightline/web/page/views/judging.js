// Judging in place: answers about the pictures of a list, rounds, and the list before the last round.

import { confirmed } from "../confirm.js";
import { complain, say, some } from "../dom.js";
import { Feedback } from "../feedback.js";
import { HitList } from "../hitlist.js";
import { JudgeBar } from "./judgebar.js";

/** @typedef {import("../types").Round} Round */
/**
 * The list that is judged.
 *
 * @typedef {object} Judged
 * @property {() => number[]} meant the pictures to judge
 * @property {() => void} answered moves on to the next picture
 * @property {() => object | string} begin the body that begins a session, or why none can begin
 * @property {() => HitList | null} list
 * @property {(list: HitList, took: number) => void} show another list, from its beginning
 * @property {() => void} refresh redraws the captions
 * @property {() => Promise<void>} again repeats the search without the judgements
 */

// How many first hits are compared before and after a round.
const FIRST = 20;
const KNOWN = 1000;

export class Judging {
  /** @param {Judged} judged */
  constructor(judged) {
    this._judged = judged;
    this.bar = new JudgeBar({
      next: () => void this.next(), before: () => this.flip(), undo: () => void this.undo(),
      reset: () => void this.reset(), save: (word) => void this.save(word),
    });
    this._busy = false;
    /** @type {Feedback | null} */
    this.feedback = null;
    /** @type {HitList | null} */
    this.before = null;
    this.showsBefore = false;
    /** @type {Map<number, number>} */
    this._places = new Map();
    this._moved = "";
  }

  /** Reset, since the search has changed. */
  forget() {
    this.feedback = null;
    this.before = null;
    this.showsBefore = false;
    this._places.clear();
    this._moved = "";
    this._showBar();
  }

  /** @param {number} id */
  markOf(id) {
    return this.feedback?.marks.get(id);
  }

  /**
   * Judge pictures, by default the selected ones or the active one.
   *
   * @param {boolean} fits
   * @param {number[]} [pictures]
   */
  async judge(fits, pictures) {
    const meant = pictures ?? this._judged.meant();
    if (!meant.length) return;
    const begin = this._judged.begin();
    if (typeof begin === "string") return complain(begin);
    const feedback = (this.feedback ??= new Feedback(begin));
    const sent = feedback.mark(meant, fits);
    if (!pictures) this._judged.answered();
    this._judged.refresh();
    this._showBar();
    try {
      await sent;
      const one = meant.length === 1;
      say(`${some(meant.length, "picture")} ${fits ? (one ? "fits" : "fit") : one ? "does not fit" : "do not fit"}. Saved.`);
    } catch (e) {
      complain(e, "That could not be saved. ");
      if (this.feedback === feedback) this._judged.refresh();
    }
    this._showBar();
  }

  /** Rank again by the judgements. */
  async next() {
    await this._do(async (feedback) => {
      if (!feedback.fresh) return;
      const begun = performance.now();
      const list = await listOf(await feedback.rank());
      // The search may have changed meanwhile.
      if (this.feedback !== feedback) return;
      this._keepBefore();
      this._judged.show(list, performance.now() - begun);
      this._moved = this._summary(list);
      say(this._moved);
    });
  }

  /**
   * Resume a session.
   *
   * @param {string} session
   * @param {() => boolean} wanted whether the session is still to be shown once it is loaded
   * @returns {Promise<import("../types").Session | null>}
   */
  async resume(session, wanted) {
    const feedback = new Feedback({}, session);
    const state = await feedback.resume();
    const begun = performance.now();
    const list = await listOf(await feedback.rank());
    if (!wanted()) return null;
    this.feedback = feedback;
    this._judged.show(list, performance.now() - begun);
    this._showBar();
    return state;
  }

  _keepBefore() {
    this.before = this._judged.list();
    this.showsBefore = false;
    this._places.clear();
    for (let i = 0; i < Math.min(this.before?.size ?? 0, KNOWN); i++) {
      const hit = this.before?.at(i);
      if (hit) this._places.set(hit.id, i);
    }
  }

  /**
   * How far a picture moved up or down in the last round.
   *
   * @param {number} id
   * @param {number} i
   */
  movement(id, i) {
    if (!this.before || this.showsBefore) return "";
    const was = this._places.get(id);
    // Of a long list, only fetched parts are known.
    if (was === undefined) return this._places.size < this.before.size ? ` ▲ from below ${this._places.size}` : " new";
    return was === i ? "" : was > i ? ` ▲${was - i}` : ` ▼${i - was}`;
  }

  /** @param {HitList} list */
  _summary(list) {
    let fresh = 0;
    let now = 0;
    let was = 0;
    for (let i = 0; i < Math.min(FIRST, list.size); i++) {
      const hit = list.at(i);
      const old = this.before?.at(i);
      if (hit && (this._places.get(hit.id) ?? FIRST) >= FIRST) fresh++;
      if (hit && this.markOf(hit.id)) now++;
      if (old && this.markOf(old.id)) was++;
    }
    return `Among the first ${FIRST}: ${fresh} new, ${now} that you judged to fit (before: ${was}). The best ${list.size} are shown.`;
  }

  /** Show the round before, or the last one again. */
  flip() {
    if (!this.before) return;
    this.showsBefore = !this.showsBefore;
    this._judged.refresh();
    say(this.showsBefore ? "Before the round" : "After the round");
    this._showBar();
  }

  async undo() {
    await this._do(async (feedback) => {
      if (!feedback.judged) return;
      const n = await feedback.undo();
      say(`${some(n, "answer")} undone.`);
      this._judged.refresh();
    });
  }

  async reset() {
    await this._do(async (feedback) => {
      const more = `This reverts ${some(feedback.judged, "answer")}, and the words saved from them. It cannot be undone.`;
      if (feedback.judged && !(await confirmed("Revert this session?", more, "Revert"))) return;
      await feedback.revert();
      if (this.feedback === feedback) await this._judged.again();
      say("The session was reverted.");
    });
  }

  /** @param {string} word */
  async save(word) {
    await this._do(async (feedback) => {
      if (!feedback.fits) return complain("Judge a picture that fits first.");
      const n = await feedback.save(word);
      this.bar.word.value = "";
      say(`${some(n, "picture has", "pictures have")} the word “${word}” now. Train again to find it on other pictures.`);
    });
  }

  /** @param {(feedback: Feedback) => Promise<void>} deed */
  async _do(deed) {
    const feedback = this.feedback;
    if (!feedback || this._busy) return;
    this._busy = true;
    try {
      await deed(feedback);
    } catch (e) {
      complain(e);
    } finally {
      this._busy = false;
      this._showBar();
    }
  }

  _showBar() {
    const at = { moved: this._moved, hasBefore: this.before !== null, showsBefore: this.showsBefore };
    this.bar.show(this.feedback, at);
  }
}

/** @param {Round} round */
async function listOf(round) {
  const list = new HitList(async () => ({ ...round, total: round.hits.length }), () => undefined, () => undefined);
  await list.begin();
  return list;
}
