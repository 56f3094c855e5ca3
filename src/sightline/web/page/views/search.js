// Search and feedback: the daily screen.

import { get, isAbort, post, Problem, send } from "../api.js";
import { complain, count, el, fill, isCommand, some } from "../dom.js";
import { hitLabel } from "../figures.js";
import { Grid } from "../grid.js";
import { HitList, ListChanged } from "../hitlist.js";
import { FilterForm } from "./filters.js";
import { Judging } from "./judging.js";
import { openPicture } from "./picture.js";
import { notice } from "./problem.js";
import { queryWords } from "./querywords.js";
import { SearchBox } from "./searchbox.js";
import { chips, welcome } from "./welcome.js";

/** @typedef {import("../types").Hit} Hit */
/** @typedef {import("../types").Hits} Hits */

/**
 * What a list was searched by, whatever is in the fields meanwhile.
 *
 * @typedef {{ query: string, text: string, picture: Blob | null, positive: number[], negative: number[] } & FilterForm["values"]} Asked
 */

export const title = "Search";

class Search {
  /**
   * @param {HTMLElement} host
   * @param {URLSearchParams} at
   */
  constructor(host, at) {
    this.box = new SearchBox(() => void this.run());
    this.filters = new FilterForm(() => void this.run(), at);
    this.judging = new Judging({
      meant: () => (this._looking ? [] : this.grid.meant()), answered: () => this._answered(), begin: () => this._beginning(),
      list: () => this.list, show: (list, took) => this._show(list, took), refresh: () => this.grid.refresh(),
      again: () => this.again(),
    });
    this.told = el("div", { class: "told", role: "status" });
    this.empty = el("div", { class: "empty" });
    // Ids of example pictures; addresses of earlier releases say like.
    this.positive = idsOf(at, "positive", "like");
    this.negative = idsOf(at, "negative");
    this.examples = el("div", { class: "examples" });
    /** @type {HitList | null} */
    this.list = null;
    /** @type {AbortController | null} */
    this._asking = null;
    this._turn = 0;
    // Whether a list is being fetched.
    this._looking = false;
    /** @type {Asked} */
    this.asked = { query: "", text: "", picture: null, positive: [], negative: [], ...this.filters.values };
    this.grid = new Grid("Pictures found", {
      size: () => this._shown?.size ?? 0,
      at: (i) => this._shown?.at(i),
      need: (from, to) => this._shown?.need(from, to),
      gone: (i) => this._shown?.isGone(i) ?? false,
      line: () => this._shown?.within ?? null,
      caption: (hit, i) => this._caption(hit, i),
      open: (i) => this.open(i),
    });
    fill(host, el("h1", { class: "unseen" }, "Search"), this.box.form, this.examples, this.filters.box, this.told, this.judging.bar.box, this.empty, this.grid.box);
    this.box.input.value = at.get("q") ?? "";
    const session = at.get("session");
    if (session) void this.resume(session);
    else if (this.box.input.value || this.positive.length || this.negative.length) void this.run();
    else void welcome(this.empty, this.box.input, () => this._turn === 0);
    this.filters.load().catch(() => undefined); // Search works without the list of folders.
    this._showExamples();
  }

  get _shown() {
    return this.judging.showsBefore ? this.judging.before : this.list;
  }

  /** Search for what is in the fields. */
  async run() {
    const query = this.box.input.value.trim();
    const picture = this.box.picture;
    // An uploaded picture is combined with words, or used by itself.
    if (picture && !query && this._examples) {
      this.positive = this.negative = [];
      this._showExamples();
    }
    this.asked = { query, text: "", picture, positive: this.positive, negative: this.negative, ...this.filters.values };
    this._remember();
    await this.again();
  }

  /** Search for the same again, without the judgements. */
  async again() {
    this.judging.forget();
    const { query, text, picture, positive, negative } = this.asked;
    if (query || text || picture || positive.length) return this._list();
    const turn = ++this._turn;
    this._asking?.abort();
    this._looking = false;
    this.list = null;
    fill(this.told);
    this.grid.restart();
    if (negative.length) return fill(this.empty, el("p", { class: "notice" }, "Negative examples alone name no picture to look for. Add words or a positive example."));
    await welcome(this.empty, this.box.input, () => turn === this._turn);
  }

  /** Write the search into the address, so that Back and a reload repeat it. */
  _remember() {
    const at = new URLSearchParams();
    if (this.asked.query) at.set("q", this.asked.query);
    for (const id of this.positive) at.append("positive", String(id));
    for (const id of this.negative) at.append("negative", String(id));
    this.filters.write(at);
    const hash = String(at) ? `#/search?${at}` : "#/search";
    if (hash !== location.hash) history.pushState(null, "", hash);
  }

  /**
   * @param {Asked} asked
   * @param {AbortSignal} signal
   * @param {{ offset: number, k: number, first: boolean }} part
   * @returns {Promise<Hits>}
   */
  _ask(asked, signal, part) {
    const { query, text, picture, positive, negative, filters, untagged, tagged } = asked;
    const wide = { k: 200, untagged, tagged, ...filters };
    if (picture && query) return send("/v1/search/words-and-picture", picture, { ...wide, query, positive, negative }, signal);
    if (picture) return send("/v1/search/picture", picture, wide, signal);
    const body = { k: 200, untagged, tagged, filters };
    if (text) return post("/v1/search/text", { ...body, text }, { signal });
    if (!query) return post("/v1/similar", { ...body, positive, negative }, { signal });
    if (positive.length || negative.length) return post("/v1/search", { ...body, query, positive, negative }, { signal });
    const { k, offset, first } = part;
    return post("/v1/search", { ...body, query, k, offset, count: first, cut: false }, { signal });
  }

  /**
   * Fetch and show the list.
   *
   * @param {boolean} [stay] whether to keep the place in the list
   */
  async _list(stay = false) {
    const turn = ++this._turn;
    this._asking?.abort();
    const { signal } = (this._asking = new AbortController());
    const begun = performance.now();
    const asked = this.asked;
    const list = new HitList(
      (offset, k, first) => this._ask(asked, signal, { offset, k, first }),
      () => this.grid.draw(), (e) => this._broke(e, list),
    );
    this.told.textContent = "Searching…";
    this._looking = true;
    try {
      await list.begin();
    } catch (e) {
      if (isAbort(e) || turn !== this._turn) return;
      this._looking = false;
      this.list = null;
      fill(this.told);
      if (e instanceof Problem && e.code === "nothing-indexed") await welcome(this.empty, this.box.input, () => turn === this._turn);
      else fill(this.empty, notice(e), e instanceof Problem && e.code === "query-too-long" ? this._wholeText() : null);
      return this.grid.restart();
    }
    if (turn === this._turn) this._show(list, performance.now() - begun, stay);
  }

  /**
   * Offer frequent words where no picture has the words, nor any near them.
   *
   * @param {HitList} list
   */
  async _offerWords(list) {
    const unknown = list.first?.unknown ?? [];
    if (!unknown.length || unknown.some((u) => u.near.length)) return;
    const { words } = await get("/v1/words", { k: 12 });
    if (this.list === list && words.length) this.empty.append(el("p", { class: "picks" }, "Frequent words: ", ...chips(words)));
  }

  /** Offer to search by a text that is too long for a query. */
  _wholeText() {
    const go = () => {
      this.asked = { ...this.asked, query: "", text: this.asked.query };
      void this.again();
    };
    return el("p", {}, el("button", { type: "button", class: "primary", onclick: go }, "Search by the whole text"));
  }

  /**
   * @param {HitList} list
   * @param {number} took
   * @param {boolean} [stay]
   */
  _show(list, took, stay = false) {
    this._looking = false;
    this.list = list;
    fill(this.empty, list.size ? null : el("p", { class: "notice" }, "No picture matches. Try fewer words, or other filters."));
    if (!list.size) this._offerWords(list).catch(complain);
    this._sayList(list, took);
    // Similar pictures are neither exact nor predicted.
    this.told.querySelector("p > .faint")?.toggleAttribute("hidden", !this.asked.query);
    if (stay) return this.grid.refresh();
    scrollTo(0, 0);
    this.grid.restart();
  }

  /**
   * @param {HitList} list
   * @param {number} took
   */
  _sayList(list, took) {
    const first = /** @type {Hits} */ (list.first);
    const parts = [list.within === null ? some(list.size, "picture") : `${count(list.within)} of ${some(list.size, "picture")} above the line`];
    if (first.missing) parts.push(`${some(first.missing, "file is", "files are")} gone`);
    parts.push(`${Math.round(took)} ms`, `version ${list.version}`, ...first.said);
    const legend = el("span", { class: "faint" }, " · ● exact: has the words · ", el("span", { class: "predicted" }, "◇ predicted"));
    const ask = {
      instead: (/** @type {string} */ word, /** @type {string} */ other) => this._instead(word, other),
      search: (/** @type {string} */ query) => {
        this.box.input.value = query;
        void this.run();
      },
    };
    fill(this.told, el("p", {}, parts.join(" · "), legend), ...queryWords(first, ask));
  }

  /**
   * @param {string} word
   * @param {string} other
   */
  _instead(word, other) {
    this.box.replace(word, other);
    void this.run();
  }

  /**
   * @param {unknown} e
   * @param {HitList} list
   */
  _broke(e, list) {
    if (isAbort(e)) return;
    // Judgements are of pictures, so they stay.
    if (e instanceof ListChanged) this.list === list && !this._looking && void this._list(true);
    else complain(e);
  }

  /**
   * @param {Hit} hit
   * @param {number} i
   */
  _caption(hit, i) {
    const mark = this.judging.markOf(hit.id);
    const why = hit.match === "exact" || hit.match === "predicted" || hit.match === "suggested" ? hit.match : "";
    const judged = mark === undefined ? "" : mark ? "fits" : "unfit";
    const moved = this.judging.movement(hit.id, i);
    // Scores of a session are on another scale; show the rank.
    const ranked = this.judging.feedback?.round && !this.judging.showsBefore;
    const value = ranked ? `#${i + 1}` : hitLabel(hit);
    const sign = mark === undefined ? "" : mark ? "✓ " : "✗ ";
    const symbol = hit.match === "exact" ? "● " : hit.match === "predicted" ? "◇ " : hit.match === "suggested" ? "◌ " : "";
    const parts = [hit.path, `${ranked ? "rank " : ""}${value}${moved}`, ranked || hit.match === "predicted" ? why : "", mark === undefined ? "" : mark ? "fits" : "does not fit"];
    return { text: `${sign}${symbol}${value}${moved}`, marks: `${why} ${judged}`, title: parts.filter(Boolean).join(", ") };
  }

  _answered() {
    const one = !this.grid.selected.size;
    this.grid.selected.clear();
    if (one) this.grid.goTo(this.grid.active + 1);
    this.grid.refresh();
  }

  /** The body that begins a judging session, or why none can begin. */
  _beginning() {
    const { query, text, picture, positive, negative, filters, untagged, tagged } = this.asked;
    if (text) return "Judging begins with a few words. Search by some of them first.";
    if (picture || negative.length || (positive.length && query))
      return "Judging begins with words alone, or with pictures of the collection alone. Search by one of them first.";
    const rest = { untagged, tagged, filters };
    return query ? { query, ...rest } : { positive, ...rest };
  }

  /** @param {string} session */
  async resume(session) {
    const turn = ++this._turn;
    try {
      const resumed = await this.judging.resume(session, () => turn === this._turn);
      if (!resumed) return;
      this.box.input.value = resumed.query;
      this.positive = resumed.examples;
      this.negative = [];
      this.asked = { ...this.asked, query: resumed.query, positive: resumed.examples, negative: [] };
      this._showExamples();
    } catch (e) {
      fill(this.empty, notice(e));
    }
  }

  get _examples() {
    return this.positive.length + this.negative.length;
  }

  _showExamples() {
    const chip = (/** @type {number} */ id, /** @type {string} */ text) =>
      el(
        "span", { class: "chip" }, el("img", { alt: `Picture ${id}`, src: `/v1/pictures/${id}/thumbnail` }), text,
        el("button", { type: "button", "aria-label": `Without picture ${id}`, onclick: () => this._example(id, null) }, "×"),
      );
    fill(this.examples, ...this.positive.map((id) => chip(id, "similar to this")), ...this.negative.map((id) => chip(id, "not similar to this")));
  }

  /**
   * Search with a picture as an example, or (null) without it.
   *
   * @param {number} id
   * @param {boolean | null} positive
   */
  _example(id, positive) {
    const others = (/** @type {number[]} */ ids) => ids.filter((other) => other !== id);
    this.positive = positive === true ? [...others(this.positive), id] : others(this.positive);
    this.negative = positive === false ? [...others(this.negative), id] : others(this.negative);
    this._showExamples();
    void this.run();
  }

  /** @param {number} i */
  open(i) {
    const hit = this._shown?.at(i);
    if (!hit) return;
    openPicture(hit, {
      query: this.asked.query, judge: (fits) => this.judging.judge(fits, [hit.id]),
      mark: () => this.judging.markOf(hit.id), step: (by) => this._step(by),
      example: (positive) => this._example(hit.id, positive),
    });
  }

  /**
   * Open a neighbour of the picture that is open.
   *
   * @param {number} by
   */
  _step(by) {
    this.grid.goTo(this.grid.active + by);
    this.open(this.grid.active);
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (!isCommand(e) || document.querySelector("dialog[open]")) return;
    const judging = this.judging;
    /** @type {Record<string, () => void>} */
    const deeds = {
      "/": () => this.box.input.focus(), y: () => void judging.judge(true), n: () => void judging.judge(false),
      r: () => void judging.next(), b: () => judging.flip(), u: () => void judging.undo(),
      w: () => (judging.bar.box.hidden ? undefined : judging.bar.word.focus()),
    };
    if (!Object.hasOwn(deeds, e.key)) return;
    e.preventDefault();
    // A key that is held down judges once.
    if (!e.repeat) deeds[e.key]();
  }
}

/**
 * Ids in an address.
 *
 * @param {URLSearchParams} at
 * @param {string[]} names
 */
function idsOf(at, ...names) {
  return names.flatMap((name) => at.getAll(name)).map(Number).filter((n) => n > 0);
}

/** @type {import("../types").View} */
export function view(host, at) {
  const search = new Search(host, at);
  const key = (/** @type {KeyboardEvent} */ e) => search.key(e);
  addEventListener("keydown", key);
  const deaf = search.box.listen();
  return () => {
    removeEventListener("keydown", key);
    deaf();
    search._asking?.abort();
    search.grid.end();
  };
}
