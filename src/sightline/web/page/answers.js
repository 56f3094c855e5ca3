// Answers of a review: each is sent at once and in order. What is shown goes on before an answer is
// saved; if one cannot be saved, the review goes back to it.

import { Problem, post } from "./api.js";

/**
 * What is asked about: a word to add to a picture, or to remove.
 *
 * @typedef {{ picture: number, word: string, add: boolean }} Asked
 */
/**
 * The answer to a suggestion: yes, no, or skipped (null).
 *
 * @template {Asked} S
 * @typedef {{ suggestion: S, yes: boolean | null, at: number, counted: boolean }} Turn
 */

/** @template {Asked} S */
export class AnswerLine {
  /**
   * @param {() => void} changed called when the state has changed
   * @param {(problem: unknown) => void} failed called when an answer could not be saved
   */
  constructor(changed, failed) {
    this._changed = changed;
    this._failed = failed;
    /** @type {Turn<S>[]} */
    this.turns = [];
    this.session = "";
    this.waiting = 0;
    this._line = Promise.resolve();
    this._broken = 0;
    // Whether answers are still to be applied to the words of pictures.
    this.unapplied = false;
  }

  /** The number of answers of each kind. */
  get counts() {
    const counts = { yes: 0, no: 0, skipped: 0 };
    for (const t of this.turns) counts[t.yes === null ? "skipped" : t.yes ? "yes" : "no"]++;
    return counts;
  }

  /**
   * What an answer says of the suggestions it is to.
   *
   * @returns {object}
   */
  get _options() {
    return {};
  }

  _forgetSkipped() {
    this.turns = this.turns.filter((t) => t.yes !== null);
  }

  /** @param {Turn<S>} turn */
  _take(turn) {
    this.turns.push(turn);
    const options = this._options;
    if (turn.yes !== null) this._queue(() => this._send(turn, options), turn);
  }

  /** @param {Turn<S>} turn */
  _withdraw(turn) {
    if (turn.yes !== null) this._queue(() => this._revoke(turn), null);
  }

  /**
   * @param {Turn<S>} turn
   * @param {object} options
   */
  async _send(turn, options) {
    const { picture, word, add } = turn.suggestion;
    const body = { answers: [{ picture, word, add, yes: turn.yes }], apply: false, ...options };
    const outcome = await sure("/v1/tags/answers", this.session ? { ...body, session: this.session } : body);
    if (outcome.session) this.session = outcome.session;
    turn.counted = outcome.answered > 0;
    if (turn.counted) this.unapplied = true;
    else this._failed(new Error(`“${word}” was answered before, or is no longer suggested. Nothing was saved.`));
  }

  /** @param {Turn<S>} turn */
  async _revoke(turn) {
    if (!turn.counted) return;
    const { picture, word } = turn.suggestion;
    await sure("/v1/tags/undo", { session: this.session, picture, word });
    this.unapplied = true;
  }

  /**
   * @param {() => Promise<void>} deed
   * @param {Turn<S> | null} turn
   */
  _queue(deed, turn) {
    const broken = this._broken;
    this.waiting++;
    this._line = this._line.then(async () => {
      try {
        // Answers after one that could not be saved are asked again; undoing always goes through.
        if (turn === null || broken === this._broken) await deed();
      } catch (e) {
        this._broken++;
        if (turn) this._backTo(turn);
        this._failed(e);
      } finally {
        this.waiting--;
        this._changed();
      }
    });
  }

  /**
   * Ask again about a suggestion whose answer could not be saved, and about all after it.
   *
   * @param {Turn<S>} turn
   */
  _backTo(turn) {
    throw new Error(`${turn.suggestion.word}: not implemented`);
  }

  /** Add accepted words to their pictures; returns how many pictures, null if that has to wait. */
  async apply() {
    await this._line;
    if (!this.unapplied) return 0;
    this.unapplied = false;
    return /** @type {number | null} */ ((await post("/v1/tags/carry")).changed);
  }
}

/**
 * Send a request, and once more if there was no answer; the service counts it once.
 *
 * @param {string} path
 * @param {object} body
 */
async function sure(path, body) {
  try {
    return await post(path, body);
  } catch (e) {
    if (e instanceof Problem && e.code === "gone") return post(path, body);
    throw e;
  }
}
