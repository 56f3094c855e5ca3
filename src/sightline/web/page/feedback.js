// One judging session: what fits and what does not, and the ranking learnt from it.

import { get, newKey, post } from "./api.js";

/** @typedef {import("./types").Round} Round */

const SHOWN = 500;

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
    this.round = 0;
    // Said since the last round.
    this.fresh = 0;
  }

  get judged() {
    return this.marks.size;
  }

  get fits() {
    return [...this.marks.values()].filter(Boolean).length;
  }

  /** Have the session begun, if it was not. */
  async _open() {
    if (this.session) return;
    const told = await post("/v1/sessions", { ...this._begin, limit: 1 });
    this.session = told.session;
  }

  /** Read what was said before in a session that is gone on with. */
  async resume() {
    const told = await get(`/v1/sessions/${this.session}`);
    this.marks.clear();
    for (const id of told.marks.relevant) this.marks.set(id, true);
    for (const id of told.marks.other) this.marks.set(id, false);
    return told;
  }

  /**
   * Say of pictures that they fit, or not; it is on the disk when this returns.
   *
   * @param {number[]} pictures
   * @param {boolean} fits
   */
  async mark(pictures, fits) {
    await this._open();
    const body = fits ? { relevant: pictures } : { other: pictures };
    await this._sure(`/v1/sessions/${this.session}/judgements`, body);
    for (const id of pictures) this.marks.set(id, fits);
    this.fresh += pictures.length;
  }

  /** Take back what was said last. */
  async undo() {
    const told = await this._sure(`/v1/sessions/${this.session}/undo`, {});
    // What was said of a picture before that stands again, so all is read anew.
    await this.resume();
    this.fresh += 1;
    return told.relevant.length + told.other.length;
  }

  /**
   * Send under one key until it is answered, so that it counts once.
   *
   * @param {string} path
   * @param {object} body
   */
  async _sure(path, body) {
    const key = newKey();
    try {
      return await post(path, body, { key });
    } catch (e) {
      if (e instanceof Error && Reflect.get(e, "code") === "gone") return post(path, body, { key });
      throw e;
    }
  }

  /**
   * Rank by all that was said.
   *
   * @param {"best" | "telling"} how
   * @returns {Promise<Round>}
   */
  async rank(how = "best") {
    await this._open();
    const told = await get(`/v1/sessions/${this.session}/hits`, { limit: SHOWN, how });
    this.round = told.round;
    this.fresh = 0;
    return told;
  }

  /** Take back all of it. */
  async revert() {
    if (this.session && this.judged) await post(`/v1/sessions/${this.session}/revert`);
  }

  /**
   * Make a word of what fits.
   *
   * @param {string} word
   * @returns {Promise<number>} how many pictures carry it now
   */
  async save(word) {
    const told = await post(`/v1/sessions/${this.session}/word`, { word });
    return told.pictures;
  }
}
