// A review of suggested words, one after another.

import { AnswerLine } from "./answers.js";
import { post } from "./api.js";

/** @typedef {import("./reports").Suggestion} Suggestion */
/** @typedef {import("./reports").Suggestions} Suggestions */
/** @typedef {"all" | "add" | "doubt"} Kind */

const SHOWN = 300;
const MOST = 1000;

/** @extends {AnswerLine<Suggestion>} */
export class Reviewing extends AnswerLine {
  /**
   * @param {() => void} changed called when the state has changed
   * @param {(problem: unknown) => void} failed called when an answer could not be saved
   */
  constructor(changed, failed) {
    super(changed, failed);
    /** @type {Suggestions | null} */
    this.suggestions = null;
    /** @type {Suggestion[]} */
    this.list = [];
    this.at = 0;
    this.more = false;
    this.precision = 0.9;
    this._loads = 0;
  }

  get current() {
    return this.list[this.at];
  }

  get _options() {
    return { precision: this.precision };
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
    if (again) this._forgetSkipped();
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
    this._take({ suggestion, yes, at: this.at++, counted: false });
    this._changed();
  }

  /** Undo the last answer, and ask again; returns it. */
  undo() {
    const turn = this.turns.pop();
    if (!turn) return null;
    if (this.at && this.list[this.at - 1] === turn.suggestion) this.at--;
    else this.list.splice(this.at, 0, turn.suggestion);
    this._withdraw(turn);
    this._changed();
    return turn;
  }

  /** @param {import("./answers").Turn<Suggestion>} turn */
  _backTo(turn) {
    const i = this.turns.indexOf(turn);
    if (i >= 0) this.turns.length = i;
    const at = this.list.indexOf(turn.suggestion);
    if (at >= 0) this.at = at;
  }
}

/** @param {Suggestion} s */
function keyOf(s) {
  return `${s.picture} ${s.add} ${s.word}`;
}
