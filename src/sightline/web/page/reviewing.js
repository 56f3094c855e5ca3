// A review: suggestions one after another, each answer sent at once, in order, and taken back by
// what it was about. The next suggestion does not wait for the answer before it to be written; if
// one cannot be, the queue goes back to it.

import { Problem, post } from "./api.js";

/** @typedef {import("./reports").Suggestion} Suggestion */
/** @typedef {import("./reports").Suggestions} Suggestions */
/** @typedef {"all" | "add" | "doubt"} Kind */
/**
 * What was said of a suggestion: yes, no, or (null) nothing yet.
 *
 * @typedef {{ suggestion: Suggestion, yes: boolean | null, precision: number, counted: boolean }} Turn
 */

const SHOWN = 300;
const MOST = 1000;

export class Reviewing {
  /**
   * @param {() => void} changed called when something else is to be shown
   * @param {(problem: unknown) => void} failed called when an answer could not be written
   */
  constructor(changed, failed) {
    this._changed = changed;
    this._failed = failed;
    /** @type {Suggestions | null} */
    this.found = null;
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
    // Whether pictures are still to carry, or to lose, what was said.
    this.uncarried = false;
  }

  get current() {
    return this.list[this.at];
  }

  /** How many of each answer stand. */
  get counts() {
    const said = { yes: 0, no: 0, skipped: 0 };
    for (const t of this.turns) said[t.yes === null ? "skipped" : t.yes ? "yes" : "no"]++;
    return said;
  }

  /**
   * Fetch suggestions; what was skipped is not asked again, unless that is wanted.
   *
   * @param {number} precision
   * @param {Kind} kind
   * @param {boolean} [again]
   */
  async load(precision, kind, again = false) {
    const mine = ++this._loads;
    await this._line;
    if (again) this.turns = this.turns.filter((t) => t.yes !== null);
    const limit = kind === "doubt" ? MOST : SHOWN;
    const told = /** @type {Suggestions} */ (await post("/v1/tags", { precision, limit, removals: kind !== "add" }));
    // Something else was asked for meanwhile, and may be shown already.
    if (mine !== this._loads) return;
    const skipped = new Set(this.turns.map((t) => keyOf(t.suggestion)));
    this.found = told;
    this.precision = precision;
    this.more = told.suggestions.length === limit;
    this.list = told.suggestions.filter((s) => (kind === "all" || s.add === (kind === "add")) && !skipped.has(keyOf(s)));
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

  /** Take the last answer back, and ask again; returns what it was. */
  undo() {
    const turn = this.turns.pop();
    if (!turn) return null;
    if (this.at && this.list[this.at - 1] === turn.suggestion) this.at--;
    else this.list.splice(this.at, 0, turn.suggestion);
    if (turn.yes !== null) this._queue(() => this._takeBack(turn), null);
    this._changed();
    return turn;
  }

  /** @param {Turn} turn */
  async _send(turn) {
    const { picture, word, add } = turn.suggestion;
    const body = { answers: [{ picture, word, add, yes: turn.yes }], precision: turn.precision, carry: false };
    const told = await sure("/v1/tags/answers", this.session ? { ...body, session: this.session } : body);
    if (told.session) this.session = told.session;
    turn.counted = told.answered > 0;
    if (turn.counted) this.uncarried = true;
    else this._failed(new Error(`“${word}” was answered before, or is not proposed any more. Nothing was written.`));
  }

  /** @param {Turn} turn */
  async _takeBack(turn) {
    if (!turn.counted) return;
    const { picture, word } = turn.suggestion;
    await sure("/v1/tags/undo", { session: this.session, picture, word });
    this.uncarried = true;
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
        // What was said after something that could not be written is asked again.
        // Taking back is of what was written, whatever came after.
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

  /** Have pictures carry what was accepted; returns how many, null if that has to wait. */
  async carry() {
    await this._line;
    if (!this.uncarried) return 0;
    this.uncarried = false;
    return /** @type {number | null} */ ((await post("/v1/tags/carry")).carried);
  }
}

/**
 * Send again once if there was no answer: the service counts it once.
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
