// Suspected mislabels: tags that are probably wrong, each to be kept or removed.

import { AnswerLine } from "../answers.js";
import { post } from "../api.js";
import { count, el, fill, isCommand, say, complain, some } from "../dom.js";
import { keyed } from "../controls.js";
import { percent } from "../figures.js";
import { openPicture } from "./picture.js";
import { unready } from "./reviewempty.js";

/** @typedef {import("../reports").SuspectedTag} SuspectedTag */
/** @typedef {import("../reports").SuspectedTags} SuspectedTags */
/** @typedef {{ picture: number, word: string, add: boolean, path: string, confidence: number }} Suspect */

const SHOWN = 200;

/**
 * Links to what can be reviewed.
 *
 * @param {string} list the one that is shown
 */
export function reviewLists(list) {
  const link = (/** @type {string} */ of, /** @type {string} */ text) =>
    el("a", { class: "chip", href: of ? `#/review?list=${of}` : "#/review", "aria-current": of === list ? "page" : null }, text);
  return el("nav", { class: "lists", "aria-label": "What to review" }, link("", "Suggested words"), link("suspected", "Suspected mislabels"));
}

/**
 * The list, and the answers.
 *
 * @extends {AnswerLine<Suspect>}
 */
class SuspectedQueue extends AnswerLine {
  /**
   * @param {() => void} changed
   * @param {(problem: unknown) => void} failed
   */
  constructor(changed, failed) {
    super(changed, failed);
    /** @type {SuspectedTags | null} */
    this.response = null;
    /** @type {Suspect[]} */
    this.list = [];
  }

  get _options() {
    return { suspected: true };
  }

  get more() {
    return this.response !== null && this.response.suggestions.length === SHOWN;
  }

  async load() {
    await this._line;
    this.response = /** @type {SuspectedTags} */ (await post("/v1/tags/suspected", { k: SHOWN }));
    this.list = this.response.suggestions.map((s) => ({ picture: s.id, word: s.word, add: false, path: s.path, confidence: s.confidence }));
  }

  /**
   * @param {Suspect} suggestion
   * @param {boolean} yes whether the tag is wrong
   */
  answer(suggestion, yes) {
    const at = this.list.indexOf(suggestion);
    if (at < 0) return;
    this.list.splice(at, 1);
    this._take({ suggestion, yes, at, counted: false });
    this._changed();
  }

  /** Undo the last answer; returns its tag, which is in the list again. */
  undo() {
    const turn = this.turns.pop();
    if (!turn) return null;
    this.list.splice(turn.at, 0, turn.suggestion);
    this._withdraw(turn);
    this._changed();
    return turn.suggestion;
  }

  /** @param {import("../answers").Turn<Suspect>} turn */
  _backTo(turn) {
    const i = this.turns.indexOf(turn);
    const again = i < 0 ? [] : this.turns.splice(i);
    for (const t of again.reverse()) this.list.splice(t.at, 0, t.suggestion);
  }
}

class Suspected {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.queue = new SuspectedQueue(() => this.show(), (e) => complain(e));
    /** @type {Map<Suspect, HTMLLIElement>} */
    this._rows = new Map();
    this.about = el("p", {});
    this.status = el("p", { class: "told", id: "suspected-told", role: "status" });
    this.list = el("ul", { class: "suspected", "aria-label": "Suspected mislabels" });
    this.back = keyed("Undo", "u", () => this.undo());
    this.bar = el("div", { class: "row" }, this.back, this.status);
    this.empty = el("div");
    host.append(el("h1", {}, "Review"), reviewLists("suspected"), this.about, this.bar, this.list, this.empty);
    void this.load();
  }

  async load() {
    this.status.textContent = "Loading…";
    try {
      await this.queue.load();
    } catch (e) {
      this.bar.hidden = true;
      return fill(this.empty, unready(e));
    }
    this._rows.clear();
    this.show();
  }

  show() {
    const { response, list, counts, more, turns, waiting } = this.queue;
    if (!response) return;
    this.about.textContent =
      `Of ${some(response.tags, "tag")} that the model of words has learned from, about ${count(Math.round(response.expected))} are wrong. ` +
      "These are the most doubtful ones. Answers are saved and count in searches at once, and the next training learns from them. Files keep their tags.";
    const answered = counts.yes + counts.no ? ` · ${counts.no} kept, ${counts.yes} removed${waiting ? ` · saving ${waiting}…` : " · saved"}` : "";
    this.status.textContent = `${some(list.length, "suspected mislabel")}${more ? " shown" : ""}${answered}`;
    this.back.disabled = !turns.length;
    this._drawRows();
    fill(this.empty, list.length ? null : this._none());
  }

  _none() {
    const { response, turns, more } = this.queue;
    const judged = response?.judged ? ` ${some(response.judged, "suspected mislabel was", "suspected mislabels were")} judged before.` : "";
    return el(
      "div", { class: "notice" },
      el("h2", { tabIndex: -1 }, turns.length ? "That was the last one" : "No tag is suspected"),
      el("p", {}, turns.length ? "Train again so that the model learns from your answers. To undo all of them, see " : "No tag is wrong with a probability of 50 % or more, by the model of words.", turns.length ? el("a", { href: "#/sessions" }, "Sessions") : "", turns.length ? "." : "", judged),
      more ? el("button", { type: "button", onclick: () => void this.load() }, "Load more") : null,
    );
  }

  /** Rows that stay keep their elements, and with them the focus. */
  _drawRows() {
    const { list } = this.queue;
    const stay = new Set(list);
    for (const [of, row] of this._rows)
      if (!stay.has(of)) {
        row.remove();
        this._rows.delete(of);
      }
    list.forEach((of, i) => {
      const row = this._rows.get(of) ?? this._row(of);
      this._rows.set(of, row);
      if (this.list.children[i] !== row) this.list.insertBefore(row, this.list.children[i] ?? null);
    });
  }

  /** @param {Suspect} of */
  _row(of) {
    /** @type {import("../types").Hit} */
    const hit = {
      id: of.picture, score: 0, probability: null, path: of.path, match: "similar",
      thumbnail: `/v1/pictures/${of.picture}/thumbnail`, original: `/v1/pictures/${of.picture}/original`,
    };
    const button = (/** @type {string} */ text, /** @type {boolean} */ yes, /** @type {string} */ from) =>
      el("button", { type: "button", "aria-label": `${text} “${of.word}” ${from} ${of.path}`, onclick: () => this.answer(of, yes) }, text);
    return el(
      "li", {},
      el(
        "button", { type: "button", class: "small", "aria-label": `Open ${of.path}`, onclick: () => openPicture(hit, { query: "", judge: null, mark: null, step: null }) },
        el("img", { alt: "", src: hit.thumbnail, loading: "lazy" }),
      ),
      el("div", {}, el("p", {}, el("strong", {}, of.word), ` is wrong with a probability of ${percent(of.confidence)}`), el("p", { class: "faint file" }, of.path)),
      el("div", { class: "row" }, button("Keep", false, "on"), button("Remove", true, "from")),
    );
  }

  /**
   * @param {Suspect} of
   * @param {boolean} yes whether the tag is wrong
   */
  answer(of, yes) {
    const at = this.queue.list.indexOf(of);
    const focused = document.activeElement;
    const row = this._rows.get(of);
    const place = row?.contains(focused) ? [...row.querySelectorAll("button")].findIndex((b) => b === focused) : -1;
    this.queue.answer(of, yes);
    say(yes ? `“${of.word}” does not fit ${of.path}.` : `“${of.word}” fits ${of.path}.`);
    if (place < 0) return;
    // The button that was pressed is gone: go to the same one of the next tag.
    const next = this.queue.list[Math.min(at, this.queue.list.length - 1)];
    if (next) this._rows.get(next)?.querySelectorAll("button")[place].focus();
    else this.empty.querySelector("h2")?.focus();
  }

  undo() {
    const of = this.queue.undo();
    if (of) say(`Undone: “${of.word}” on ${of.path}.`);
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (!isCommand(e) || e.repeat || document.querySelector("dialog[open]")) return;
    if (e.key === "u") this.undo();
    else if (e.key !== "y" && e.key !== "n") return;
    else {
      const active = document.activeElement;
      const of = this.queue.list.find((s) => this._rows.get(s)?.contains(active)) ?? this.queue.list[0];
      if (!of) return;
      this.answer(of, e.key === "y");
    }
    e.preventDefault();
  }
}

/** @param {HTMLElement} host */
export function suspectedView(host) {
  const suspected = new Suspected(host);
  const key = (/** @type {KeyboardEvent} */ e) => suspected.key(e);
  const asked = (/** @type {BeforeUnloadEvent} */ e) => {
    if (suspected.queue.waiting) e.preventDefault();
  };
  addEventListener("keydown", key);
  addEventListener("beforeunload", asked);
  return () => {
    removeEventListener("keydown", key);
    removeEventListener("beforeunload", asked);
  };
}
