// All sessions: the judgements of each, its state, resuming it, and reverting it.

import { get, post } from "../api.js";
import { confirmed } from "../confirm.js";
import { count, el, fill, say, some, when } from "../dom.js";
import { notice } from "./problem.js";
import { unindexed } from "./unindexed.js";

/** @typedef {import("../types").Session} Session */

const FETCHED = 1000;
const SHOWN = 25;
const LIKE = 6;
const MARKED = 60;

class Sessions {
  /** @param {HTMLElement} host */
  constructor(host) {
    /** @type {Session[]} the newest first */
    this.all = [];
    this.from = 0;
    this.status = el("p", { class: "told", role: "status" }, "…");
    this.list = el("ol", { class: "sessions", id: "sessions", "aria-label": "Sessions, the newest first" });
    this.newer = el("button", { type: "button", onclick: () => this.turn(-SHOWN) }, "Newer");
    this.older = el("button", { type: "button", onclick: () => this.turn(SHOWN) }, "Older");
    this.at = el("span");
    this.pages = el("nav", { class: "row pages", "aria-label": "Pages of sessions" }, this.newer, this.at, this.older);
    this.empty = el("div");
    host.append(el("h1", {}, "Sessions"), this.status, this.list, this.pages, this.empty);
    this.pages.hidden = true;
    void this.load();
  }

  async load() {
    try {
      this.all = await everySession();
    } catch (e) {
      this.status.textContent = "";
      return fill(this.empty, unindexed(e) ?? notice(e));
    }
    this.show();
  }

  /** @param {number} by */
  turn(by) {
    this.from = Math.max(0, Math.min(this.from + by, this.all.length - 1));
    this.show();
    this.list.querySelector("a, button")?.scrollIntoView({ block: "center" });
    this.status.focus();
  }

  show() {
    const n = this.all.length;
    const end = Math.min(n, this.from + SHOWN);
    this.status.textContent = n ? `${some(n, "session")}; all but reverted ones are used in the next training.` : "";
    fill(this.list, ...this.all.slice(this.from, end).map((s) => this.line(s)));
    this.pages.hidden = n <= SHOWN;
    this.newer.disabled = this.from === 0;
    this.older.disabled = end >= n;
    this.at.textContent = `${count(this.from + 1)} to ${count(end)} of ${count(n)}`;
    fill(this.empty, n ? null : nothing());
  }

  /** @param {Session} s */
  line(s) {
    const about = s.query ? `“${s.query}”` : s.examples.length ? some(s.examples.length, "picture") : `session ${s.id}`;
    const gone = s.state === "reverted";
    const deeds = gone
      ? []
      : [
          s.resumable ? el("a", { class: "button", href: `#/search?session=${encodeURIComponent(s.id)}`, "aria-label": `Resume ${about}` }, "Resume") : null,
          el("button", { type: "button", "aria-label": `Revert ${about}`, onclick: () => void this.revert(s, about) }, "Revert…"),
        ];
    return el(
      "li", { class: gone ? "reverted" : "", "data-session": s.id },
      el(
        "div", { class: "what" },
        el("h2", {}, s.query || (s.examples.length ? "Pictures similar to these" : "A session")),
        s.examples.length ? el("p", { class: "likes" }, ...s.examples.slice(0, LIKE).map(small), s.examples.length > LIKE ? `and ${s.examples.length - LIKE} more` : null) : null,
        el("p", {}, summary(s)),
        s.words.length ? el("p", {}, s.resumable ? "Saved as: " : "Words accepted: ", s.words.join(", ")) : null,
        s.resumable && s.positive + s.negative ? marked(s) : null,
        el("p", { class: "faint" }, `${s.resumable ? "Judging" : "Answers one by one"} · ${when(s.last)} · `, el("code", {}, s.id)),
      ),
      el("span", { class: `badge ${gone ? "faint" : s.state === "saved" ? "good" : ""}` }, STATES[s.resumable || gone ? s.state : "open"] ?? s.state),
      el("div", { class: "row" }, ...deeds),
    );
  }

  /**
   * @param {Session} s
   * @param {string} about
   */
  async revert(s, about) {
    const words = s.words.length ? ` The words saved from it (${s.words.join(", ")}) are removed from the pictures.` : "";
    const sure = await confirmed(`Revert ${about}?`, `Its ${some(s.positive + s.negative, "answer")} will not count any more.${words} It cannot be undone.`, "Revert");
    if (!sure) return;
    try {
      const outcome = await post(`/v1/sessions/${s.id}/revert`);
      say(outcome.stood ? `Reverted: ${about}.` : "It was reverted before.");
    } catch (e) {
      return say(e instanceof Error ? e.message : String(e));
    }
    await this.load();
    this.status.focus();
  }
}

/** @type {Record<string, string>} */
const STATES = { open: "In use", saved: "Saved as a word", reverted: "Reverted" };

/** Fetch all sessions, newest first; the service lists the oldest first. */
async function everySession() {
  /** @type {Session[]} */
  const sessions = [];
  /** @type {string | undefined} */
  let cursor;
  do {
    const page = await get("/v1/sessions", { k: FETCHED, cursor });
    sessions.push(...page.sessions);
    cursor = page.next ?? undefined;
  } while (cursor);
  return sessions.reverse();
}

/** @param {number} id */
function small(id) {
  return el("img", { src: `/v1/pictures/${id}/thumbnail`, alt: `Picture ${id}`, loading: "lazy" });
}

/**
 * The judged pictures, fetched when the list is opened.
 *
 * @param {Session} s
 */
function marked(s) {
  const body = el("div", {}, "…");
  const load = async () => {
    try {
      const { marks } = await get(`/v1/sessions/${s.id}`);
      fill(body, ...row("Fit", marks.positive), ...row("Do not fit", marks.negative));
    } catch (e) {
      fill(body, notice(e));
    }
  };
  return el("details", { ontoggle: () => (body.childElementCount ? undefined : void load()) }, el("summary", {}, "Which pictures"), body);
}

/**
 * @param {string} title
 * @param {number[]} pictures
 */
function row(title, pictures) {
  if (!pictures.length) return [];
  const more = pictures.length - MARKED;
  return [el("h3", {}, title), el("p", { class: "likes" }, ...pictures.slice(0, MARKED).map(small), more > 0 ? `and ${count(more)} more` : null)];
}

/** @param {Session} s */
function summary(s) {
  const fits = s.resumable ? some(s.positive, "picture fits", "pictures fit") : some(s.positive, "word fits its picture", "words fit their pictures");
  const parts = [`${fits}, ${count(s.negative)} ${s.negative === 1 ? "does" : "do"} not`];
  if (s.rounds > 1) parts.push(some(s.rounds, "round"));
  if (s.undone) parts.push(`${count(s.undone)} undone`);
  return parts.join(" · ");
}

function nothing() {
  return el(
    "div", { class: "notice" },
    el("h2", {}, "No judgements yet"),
    el("p", {}, el("a", { href: "#/search" }, "Search"), ", and press y or n on a picture: it fits, or it does not. Or ", el("a", { href: "#/review" }, "review"), " suggested words."),
  );
}

/** @type {import("../types").View} */
export function view(host) {
  new Sessions(host).status.tabIndex = -1;
}

export const title = "Sessions";
