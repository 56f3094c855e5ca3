// Review: suggested words to add to pictures, and words to remove from them.

import { get, withQuery } from "../api.js";
import { field, keyed } from "../controls.js";
import { complain, el, fill, isCommand, say, some } from "../dom.js";
import { Reviewing } from "../reviewing.js";
import { ReviewCard } from "./reviewcard.js";
import { abstained, unready } from "./reviewempty.js";
import { reviewLists, suspectedView } from "./suspected.js";

/** @typedef {import("../reviewing").Kind} Kind */
/** @typedef {import("../types").ExportFormat} ExportFormat */

// From this window width on, the options are open.
const WIDE = 640;
/** @type {Record<string, string[]>} */
const EXPORTED = { accepted: ["accepted"], all: ["accepted", "tagged"], proposed: ["proposed"] };

class Review {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.queue = new Reviewing(() => this._show(), (e) => complain(e));
    this.card = new ReviewCard();
    this._turn = 0;
    /** @type {ExportFormat[]} */
    this.formats = [];
    this.precision = el(
      "select", { id: "review-precision", onchange: () => void this.load() },
      el("option", { value: "0.8" }, "8 in 10"), el("option", { value: "0.9", selected: true }, "9 in 10"), el("option", { value: "0.95" }, "19 in 20"),
    );
    this.kind = el(
      "select", { id: "review-kind", onchange: () => void this.load() },
      el("option", { value: "all" }, "All"), el("option", { value: "add" }, "Words to add"), el("option", { value: "doubt" }, "Words to remove"),
    );
    this.exported = el(
      "select", { id: "review-exported", onchange: () => this._showExports() },
      el("option", { value: "accepted" }, "Accepted words"), el("option", { value: "all" }, "All words of pictures"), el("option", { value: "proposed" }, "Suggested words, 9 in 10"),
    );
    this.exports = el("div", { class: "exports row" });
    this.bar = el("progress", { max: 1, value: 0, "aria-label": "Answered suggestions" });
    this.status = el("p", { class: "told", id: "review-told", role: "status" });
    this.yes = keyed("Yes", "y", () => this.answer(true), "primary");
    this.no = keyed("No", "n", () => this.answer(false));
    this.skip = keyed("Skip", "s", () => this.answer(null));
    this.back = keyed("Undo", "u", () => this.undo());
    this.answers = el("div", { class: "row answers", role: "group", "aria-label": "Your answer" }, this.yes, this.no, this.skip, this.back);
    this.place = el("section", { class: "card", "aria-labelledby": "review-question" }, this.card.asked, this.card.stage, this.card.about);
    this.empty = el("div");
    this.never = el("div");
    this.options = el(
      "details", { class: "filters", open: innerWidth > WIDE }, el("summary", {}, "Which words, and export"),
      el(
        "div", { class: "fields" },
        field("Required precision", this.precision), field("Ask about", this.kind), field("Export", this.exported), this.exports,
      ),
    );
    host.append(
      el("h1", {}, "Review"), reviewLists(""), this.options, el("div", { class: "progress row" }, this.bar, this.status),
      this.place, this.answers, this.empty, this.never,
    );
    void this._loadFormats();
    this._hide(true);
    void this.load();
  }

  /** @param {boolean} hidden */
  _hide(hidden) {
    this.place.hidden = hidden;
    this.bar.hidden = hidden;
    this.yes.hidden = this.no.hidden = this.skip.hidden = hidden;
    this.answers.hidden = hidden && !this.queue.turns.length;
  }

  /** @param {boolean} [again] whether to include skipped ones */
  async load(again = false) {
    const turn = ++this._turn;
    const [precision, kind] = [Number(this.precision.value), /** @type {Kind} */ (this.kind.value)];
    this.status.textContent = "Loading suggestions…";
    fill(this.empty);
    try {
      await this.queue.load(precision, kind, again);
    } catch (e) {
      if (turn !== this._turn) return;
      this._hide(true);
      this.status.textContent = "";
      fill(this.never);
      this.options.hidden = this.queue.suggestions === null;
      return fill(this.empty, unready(e));
    }
    if (turn !== this._turn) return;
    this.options.hidden = false;
    fill(this.never, abstained(this.queue.suggestions?.abstained ?? [], precision));
    this._show();
  }

  async _loadFormats() {
    try {
      const { formats } = await get("/v1/export-formats");
      this.formats = /** @type {ExportFormat[]} */ (formats).filter((format) => format.file);
    } catch (e) {
      complain(e);
    }
    this._showExports();
  }

  _showExports() {
    const links = this.formats.map(({ name, about }) =>
      el("a", { class: "button", download: "", title: about, "aria-label": `Export as ${name.toUpperCase()}`, href: withQuery("/v1/export", { format: name, only: EXPORTED[this.exported.value] }) }, name.toUpperCase()),
    );
    fill(this.exports, ...links);
  }

  _show() {
    const { queue } = this;
    const s = queue.current;
    const lost = !s && [this.yes, this.no, this.skip, this.empty].some((part) => part.contains(document.activeElement));
    this._hide(!s);
    this.back.disabled = !queue.turns.length;
    this.bar.max = Math.max(1, queue.list.length);
    this.bar.value = queue.at;
    const { yes, no, skipped } = queue.counts;
    const counts = yes + no + skipped ? ` · ${yes} yes, ${no} no, ${skipped} skipped` : "";
    const writing = queue.waiting ? ` · saving ${queue.waiting}…` : yes + no ? " · saved" : "";
    if (!s) {
      this.status.textContent = counts.slice(3) + writing;
      if (queue.suggestions) this._showEnd();
      // The button that was pressed last is hidden; the focus must not move to Undo.
      if (lost) this.empty.querySelector("h2")?.focus();
      return;
    }
    this.status.textContent = `${queue.at + 1} of ${queue.more ? `the ${queue.list.length} most confident` : queue.list.length}${counts}${writing}`;
    fill(this.empty);
    this.card.show(s, queue.suggestions?.words.find((w) => w.word === s.word));
    this.card.preload(queue.list[queue.at + 1]);
  }

  _showEnd() {
    const { queue } = this;
    const suggestions = /** @type {import("../reports").Suggestions} */ (queue.suggestions);
    const more = queue.more
      ? el("button", { type: "button", onclick: () => void this.load() }, "Load more")
      : queue.counts.skipped
        ? el("button", { type: "button", onclick: () => void this.load(true) }, "Ask again about skipped ones")
        : null;
    fill(
      this.empty,
      el(
        "div", { class: "notice" },
        el("h2", { tabIndex: -1 }, queue.turns.length ? "That was the last one" : "There are no suggestions"),
        el("p", {}, `${some(suggestions.pictures, "picture was", "pictures were")} checked${suggestions.judged ? `; ${some(suggestions.judged, "suggestion was", "suggestions were")} answered before` : ""}.`),
        suggestions.without_regions ? el("p", {}, `${some(suggestions.without_regions, "picture lacks", "pictures lack")} regions: `, el("a", { href: "#/train" }, "index again"), ".") : null,
        queue.turns.length ? el("p", {}, "Accepted words are added to their pictures when you leave this view. To undo all of them, see ", el("a", { href: "#/sessions" }, "Sessions"), ".") : el("p", {}, "Lower the required precision above, or index more pictures."),
        more,
      ),
    );
  }

  /** @param {boolean | null} yes */
  answer(yes) {
    this.queue.answer(yes);
  }

  undo() {
    const turn = this.queue.undo();
    if (turn) say(turn.yes === null ? "Undone: asked again." : `Undone: “${turn.suggestion.word}”.`);
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (!isCommand(e) || e.repeat || document.querySelector("dialog[open]")) return;
    if (e.key === "u") this.undo();
    else if (!this.queue.current) return;
    else if (e.key === "y") this.answer(true);
    else if (e.key === "n") this.answer(false);
    else if (e.key === "s") this.answer(null);
    else return;
    e.preventDefault();
  }

  /** Add the accepted words to their pictures. */
  async end() {
    try {
      const n = await this.queue.apply();
      if (n === null) say("Your answers are saved. Another process is changing the store; accepted words are added to pictures after the next review.");
      else if (n) say(`The words of ${some(n, "picture", "pictures")} changed, and count in searches at once. The next training learns from them.`);
    } catch (e) {
      say(`Your answers are saved, but are not added to pictures yet: ${e instanceof Error ? e.message : e}`);
    }
  }
}

/** @type {import("../types").View} */
export function view(host, at) {
  if (at.get("list") === "suspected") return suspectedView(host);
  const review = new Review(host);
  const key = (/** @type {KeyboardEvent} */ e) => review.key(e);
  const left = () => {
    if (review.queue.unapplied) void fetch("/v1/tags/carry", { method: "POST", keepalive: true });
  };
  const asked = (/** @type {BeforeUnloadEvent} */ e) => {
    if (review.queue.waiting) e.preventDefault();
  };
  addEventListener("keydown", key);
  addEventListener("pagehide", left);
  addEventListener("beforeunload", asked);
  return () => {
    removeEventListener("keydown", key);
    removeEventListener("pagehide", left);
    removeEventListener("beforeunload", asked);
    review.card.end();
    void review.end();
  };
}

export const title = "Review";
