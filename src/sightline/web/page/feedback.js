// One judging session: judgements, and the ranking trained on them.
//
// Answers count on the page at once and are sent one after another. One that could not be saved is
// removed again, and the error is shown.

import { get, newKey, post, Problem } from "./api.js";

/** @typedef {import("./types").Round} Round */

const SHOWN = 500;
// The most pictures that one request may name.
const NAMED = 1000;

export class Feedback {
  /**
   * @param {object} begin how the session begins: the body of POST /v1/sessions
   * @param {string} [session] a session to resume
   */
  constructor(begin, session = "") {
    this._begin = begin;
    this.session = session;
    /** @type {Map<number, boolean>} */
    this.marks = new Map();
    /** @type {Map<number, boolean>} the answers that the last round was ranked by */
    this._ranked = new Map();
    this.round = 0;
    // The number of answers that are not saved yet.
    this.waiting = 0;
    /** @type {Promise<unknown>} */
    this._line = Promise.resolve();
  }

  get judged() {
    return this.marks.size;
  }

  get fits() {
    return [...this.marks.values()].filter(Boolean).length;
  }

  /** How many answers differ from those of the last round. */
  get fresh() {
    let n = 0;
    for (const id of new Set([...this.marks.keys(), ...this._ranked.keys()]))
      if (this.marks.get(id) !== this._ranked.get(id)) n++;
    return n;
  }

  /**
   * Run a request after all earlier ones.
   *
   * @template T
   * @param {() => Promise<T>} deed
   * @returns {Promise<T>}
   */
  _next(deed) {
    const result = this._line.then(deed);
    this._line = result.catch(() => undefined);
    return result;
  }

  /** Begin the session, unless it has begun. */
  async _open() {
    if (this.session) return;
    const begun = await post("/v1/sessions", { ...this._begin, k: 1 });
    this.session = begun.session;
  }

  /** Read the earlier judgements of the session. */
  async resume() {
    const state = await get(`/v1/sessions/${this.session}`);
    this.marks.clear();
    for (const id of state.marks.positive) this.marks.set(id, true);
    for (const id of state.marks.negative) this.marks.set(id, false);
    return state;
  }

  /**
   * Judge pictures; the answers are on the disk when this returns.
   *
   * @param {number[]} pictures
   * @param {boolean} fits
   */
  async mark(pictures, fits) {
    const before = pictures.map((id) => /** @type {const} */ ([id, this.marks.get(id)]));
    for (const id of pictures) this.marks.set(id, fits);
    this.waiting += pictures.length;
    try {
      await this._next(() => this._send(pictures, fits));
    } catch (e) {
      for (const [id, mark] of before)
        if (mark === undefined) this.marks.delete(id);
        else this.marks.set(id, mark);
      throw e;
    } finally {
      this.waiting -= pictures.length;
    }
  }

  /**
   * @param {number[]} pictures
   * @param {boolean} fits
   */
  async _send(pictures, fits) {
    await this._open();
    for (let i = 0; i < pictures.length; i += NAMED) {
      const some = pictures.slice(i, i + NAMED);
      await sure(`/v1/sessions/${this.session}/judgements`, fits ? { positive: some } : { negative: some });
    }
  }

  /** Undo the last answers; returns the number of pictures. */
  undo() {
    return this._next(async () => {
      const undone = await sure(`/v1/sessions/${this.session}/undo`, {});
      // Earlier answers about these pictures count again, so all are read.
      await this.resume();
      return undone.positive.length + undone.negative.length;
    });
  }

  /**
   * Rank by all answers.
   *
   * @returns {Promise<Round>}
   */
  rank() {
    return this._next(async () => {
      await this._open();
      const marks = new Map(this.marks);
      const round = await get(`/v1/sessions/${this.session}/hits`, { k: SHOWN });
      this.round = round.round;
      this._ranked = marks;
      return round;
    });
  }

  /** Revert the whole session. */
  revert() {
    return this._next(async () => {
      if (this.session) await post(`/v1/sessions/${this.session}/revert`);
    });
  }

  /**
   * Save the pictures that fit as a word.
   *
   * @param {string} word
   * @returns {Promise<number>} how many pictures have it now
   */
  save(word) {
    return this._next(async () => (await post(`/v1/sessions/${this.session}/word`, { word })).pictures);
  }
}

/**
 * Send a request, and once more if there was no answer; its idempotency key makes it count once.
 *
 * @param {string} path
 * @param {object} body
 */
async function sure(path, body) {
  const key = newKey();
  try {
    return await post(path, body, { key });
  } catch (e) {
    if (e instanceof Problem && e.code === "gone") return post(path, body, { key });
    throw e;
  }
}
