// A review: suggestions one after another. Each answer is sent at once and in order. The next
// suggestion is shown before the answer is saved; if it cannot be saved, the queue goes back to it.

import { Problem, post } from "./api.js";

/** @typedef {import("./reports").Suggestion} Suggestion */
/** @typedef {import("./reports").Suggestions} Suggestions */
/** @typedef {"all" | "add" | "doubt"} Kind */
/**
 * The answer to a suggestion: yes, no, or skipped (null).
 *
 * @typedef {{ suggestion: Suggestion, yes: boolean | null, precision: number, counted: boolean }} Turn
 */

const SHOWN = 300;
const MOST = 1000;

export class Reviewing {
  /**
   * @param {() => void} changed called when the state has changed
   * @param {(problem: unknown) => void} failed called when an answer could not be saved
   */
  constructor(changed, failed) {
    this._changed = changed;
    this._failed = failed;
    /** @type {Suggestions | null} */
    this.suggestions = null;
    /** @type {Suggestion[]} */
    this.list = [];
    this.at = 0;
    this.more = false;
    this.precision = 0.9;
    /** @type {Turn[]} */
    this.turns = [];
    this.session = "";
    this.waiting = 0;
    this._line = Promise.resolve();
    this._broken = 0;
    this._loads = 0;
    // Whether answers are still to be applied to the words of pictures.
    this.unapplied = false;
  }

  get current() {
    return this.list[this.at];
  }

  /** The number of answers of each kind. */
  get counts() {
    const counts = { yes: 0, no: 0, skipped: 0 };
    for (const t of this.turns) counts[t.yes === null ? "skipped" : t.yes ? "yes" : "no"]++;
    return counts;
  }

  /**
   * Fetch suggestions, without those that were skipped.
   *
   * @param {number} precision
   * @param {Kind} kind
   * @param {boolean} [again] whether to include skipped ones
   */
  async load(precision, kind, again = false) {
    const load = ++this._loads;
    await this._line;
    if (again) this.turns = this.turns.filter((t) => t.yes !== null);
    const k = kind === "doubt" ? MOST : SHOWN;
    const response = /** @type {Suggestions} */ (await post("/v1/tags", { precision, k, removals: kind !== "add" }));
    // A newer load has begun, and may be shown already.
    if (load !== this._loads) return;
    const skipped = new Set(this.turns.map((t) => keyOf(t.suggestion)));
    this.suggestions = response;
    this.precision = precision;
    this.more = response.suggestions.length === k;
    this.list = response.suggestions.filter((s) => (kind === "all" || s.add === (kind === "add")) && !skipped.has(keyOf(s)));
    this.at = 0;
  }

  /**
   * Answer the current suggestion, or (null) skip it.
   *
   * @param {boolean | null} yes
   */
  answer(yes) {
    const suggestion = this.current;
    if (!suggestion) return;
    /** @type {Turn} */
    const turn = { suggestion, yes, precision: this.precision, counted: false };
    this.turns.push(turn);
    this.at++;
    if (yes !== null) this._queue(() => this._send(turn), turn);
    this._changed();
  }

  /** Undo the last answer, and ask again; returns it. */
  undo() {
    const turn = this.turns.pop();
    if (!turn) return null;
    if (this.at && this.list[this.at - 1] === turn.suggestion) this.at--;
    else this.list.splice(this.at, 0, turn.suggestion);
    if (turn.yes !== null) this._queue(() => this._revoke(turn), null);
    this._changed();
    return turn;
  }

  /** @param {Turn} turn */
  async _send(turn) {
    const { picture, word, add } = turn.suggestion;
    const body = { answers: [{ picture, word, add, yes: turn.yes }], precision: turn.precision, apply: false };
    const outcome = await sure("/v1/tags/answers", this.session ? { ...body, session: this.session } : body);
    if (outcome.session) this.session = outcome.session;
    turn.counted = outcome.answered > 0;
    if (turn.counted) this.unapplied = true;
    else this._failed(new Error(`“${word}” was answered before, or is no longer suggested. Nothing was saved.`));
  }

  /** @param {Turn} turn */
  async _revoke(turn) {
    if (!turn.counted) return;
    const { picture, word } = turn.suggestion;
    await sure("/v1/tags/undo", { session: this.session, picture, word });
    this.unapplied = true;
  }

  /**
   * @param {() => Promise<void>} deed
   * @param {Turn | null} turn
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

  /** @param {Turn} turn */
  _backTo(turn) {
    const i = this.turns.indexOf(turn);
    if (i >= 0) this.turns.length = i;
    const at = this.list.indexOf(turn.suggestion);
    if (at >= 0) this.at = at;
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

/** @param {Suggestion} s */
function keyOf(s) {
  return `${s.picture} ${s.add} ${s.word}`;
}
