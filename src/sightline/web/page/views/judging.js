// Judging in place: what is said of pictures in a list, rounds, and the list before the last round.

import { say, some } from "../dom.js";
import { Feedback } from "../feedback.js";
import { HitList } from "../hitlist.js";
import { JudgeBar } from "./judgebar.js";

/** @typedef {import("../types").Round} Round */
/**
 * The list that is judged.
 *
 * @typedef {object} Judged
 * @property {() => number[]} meant pictures that an answer is about
 * @property {(said: number) => void} answered
 * @property {() => object | string} begin how a session begins, or why none can
 * @property {() => HitList | null} list
 * @property {(list: HitList, took: number) => void} show another list, from its beginning
 * @property {() => void} refresh what is told of pictures
 * @property {() => Promise<void>} run the search again
 */

// So many are compared before and after a round.
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
    // What is done is done one after the other, so that keys pressed fast are all heard.
    /** @type {Promise<void>} */
    this._last = Promise.resolve();
    // While another list is on its way, nobody knows which picture a key is about.
    this._replacing = false;
    /** @type {Feedback | null} */
    this.feedback = null;
    /** @type {HitList | null} */
    this.before = null;
    this.showsBefore = false;
    /** @type {Map<number, number>} */
    this._places = new Map();
    this._moved = "";
  }

  /** Begin anew: something else was searched for. */
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
   * Say of the pictures that are meant that they fit, or not.
   *
   * @param {boolean} fits
   */
  async judge(fits) {
    if (this._replacing) return;
    await this._do(async () => {
      const meant = this._judged.meant();
      if (!meant.length) return;
      const begin = this._judged.begin();
      if (typeof begin === "string") return say(begin);
      const feedback = (this.feedback ??= new Feedback(begin));
      await feedback.mark(meant, fits);
      const one = meant.length === 1;
      say(`${some(meant.length, "picture")} ${fits ? (one ? "fits" : "fit") : one ? "does not fit" : "do not fit"}. Written.`);
      this._judged.answered(meant.length);
    });
  }

  /** Rank again by what was said. */
  async next() {
    if (this._replacing) return;
    this._replacing = true;
    await this._do(async () => {
      const feedback = this.feedback;
      if (!feedback?.fresh) return;
      const begun = performance.now();
      const list = await listOf(await feedback.rank());
      this._keepBefore();
      this._judged.show(list, performance.now() - begun);
      this._moved = this._summary(list);
      say(this._moved);
    });
    this._replacing = false;
  }

  /**
   * Go on with a session of before.
   *
   * @param {string} session
   * @returns {Promise<import("../types").Session>}
   */
  async resume(session) {
    const feedback = (this.feedback = new Feedback({}, session));
    const told = await feedback.resume();
    const begun = performance.now();
    this._judged.show(await listOf(await feedback.rank()), performance.now() - begun);
    this._showBar();
    return told;
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
   * How far a picture came up or down in the last round.
   *
   * @param {number} id
   * @param {number} i
   */
  movement(id, i) {
    if (!this.before || this.showsBefore) return "";
    const was = this._places.get(id);
    if (was === undefined) return " new";
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
    return `New among the first ${FIRST}: ${fresh}. You said fit, among them: ${now} (before: ${was}).`;
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
    await this._do(async () => {
      const feedback = this.feedback;
      if (!feedback?.judged) return;
      const n = await feedback.undo();
      say(`${some(n, "answer")} taken back.`);
      this._judged.refresh();
    });
  }

  async reset() {
    await this._do(async () => {
      const feedback = this.feedback;
      if (!feedback) return;
      await feedback.revert();
      this.forget();
      await this._judged.run();
      say("All that was said in this session is taken back.");
    });
  }

  /** @param {string} word */
  async save(word) {
    await this._do(async () => {
      const feedback = this.feedback;
      if (!feedback?.fits) return say("Say of some picture that it fits first.");
      const n = await feedback.save(word);
      this.bar.word.value = "";
      say(`${some(n, "picture carries", "pictures carry")} “${word}” now. Learn again to have it found elsewhere.`);
    });
  }

  /** @param {() => Promise<void>} deed */
  _do(deed) {
    this._last = this._last
      .then(deed)
      .catch((e) => say(e instanceof Error ? e.message : String(e)))
      .then(() => this._showBar());
    return this._last;
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
