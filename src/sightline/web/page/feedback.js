// One judging session: judgements, and the ranking trained on them.
//
// Answers count on the page at once and are sent one after another; one that could not be written
// is taken off again, and whoever gave it is told.

import { get, newKey, post, Problem } from "./api.js";

/** @typedef {import("./types").Round} Round */

const SHOWN = 500;
// Pictures that one request may name.
const NAMED = 1000;

export class Feedback {
  /**
   * @param {object} begin how the session begins: the body of POST /v1/sessions
   * @param {string} [session] one that was begun before
   */
  constructor(begin, session = "") {
    this._begin = begin;
    this.session = session;
    /** @type {Map<number, boolean>} */
    this.marks = new Map();
    /** @type {Map<number, boolean>} as they were when the last round was ranked */
    this._ranked = new Map();
    this.round = 0;
    // Answers that are not on the disk yet.
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
   * Do something once all before it is done.
   *
   * @template T
   * @param {() => Promise<T>} deed
   * @returns {Promise<T>}
   */
  _next(deed) {
    const mine = this._line.then(deed);
    this._line = mine.catch(() => undefined);
    return mine;
  }

  /** Have the session begun, if it was not. */
  async _open() {
    if (this.session) return;
    const told = await post("/v1/sessions", { ...this._begin, k: 1 });
    this.session = told.session;
  }

  /** Read what was said before in a session that is gone on with. */
  async resume() {
    const told = await get(`/v1/sessions/${this.session}`);
    this.marks.clear();
    for (const id of told.marks.positive) this.marks.set(id, true);
    for (const id of told.marks.negative) this.marks.set(id, false);
    return told;
  }

  /**
   * Say of pictures that they fit, or not; it is on the disk when this returns.
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

  /** Take back what was said last; returns of how many pictures. */
  undo() {
    return this._next(async () => {
      const told = await sure(`/v1/sessions/${this.session}/undo`, {});
      // What was said of a picture before that stands again, so all is read anew.
      await this.resume();
      return told.positive.length + told.negative.length;
    });
  }

  /**
   * Rank by all that was said.
   *
   * @returns {Promise<Round>}
   */
  rank() {
    return this._next(async () => {
      await this._open();
      const marks = new Map(this.marks);
      const told = await get(`/v1/sessions/${this.session}/hits`, { k: SHOWN });
      this.round = told.round;
      this._ranked = marks;
      return told;
    });
  }

  /** Take back all of it. */
  revert() {
    return this._next(async () => {
      if (this.session) await post(`/v1/sessions/${this.session}/revert`);
    });
  }

  /**
   * Make a word of what fits.
   *
   * @param {string} word
   * @returns {Promise<number>} how many pictures carry it now
   */
  save(word) {
    return this._next(async () => (await post(`/v1/sessions/${this.session}/word`, { word })).pictures);
  }
}

/**
 * Send again once, under the same key, if there was no answer: it counts once.
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
