// The state of the collection: pictures, words, models and skipped files.

import { get, Problem } from "../api.js";
import { table } from "../controls.js";
import { count, el, fill, some } from "../dom.js";
import { notice } from "./problem.js";
import { proof } from "./proof.js";

/** @typedef {import("../reports").Standing} Standing */

const SHOWN = 200;

export class StandingPart {
  constructor() {
    this._body = el("div", { id: "standing" }, "…");
    this.box = el("section", { "aria-labelledby": "standing-title" }, el("h2", { id: "standing-title" }, "How it stands"), this._body);
  }

  async load() {
    try {
      const told = /** @type {Standing} */ (await get("/v1/report"));
      fill(this._body, ...summary(told), told.skipped ? this._skipped(told.skipped) : null);
    } catch (e) {
      if (!(e instanceof Problem) || e.code !== "nothing-indexed") return fill(this._body, notice(e));
      fill(this._body, el("div", { class: "notice" }, el("p", {}, "No picture is indexed yet. Begin with “Index” below: nothing is written inside your folder.")));
    }
  }

  /**
   * Skipped files, fetched when somebody asks.
   *
   * @param {number} n
   */
  _skipped(n) {
    const list = el("div", {}, "…");
    const more = el("button", { type: "button", hidden: true }, "More");
    /** @type {import("../reports").SkippedFile[]} */
    const rows = [];
    /** @type {string | undefined} */
    let cursor;
    const load = async () => {
      try {
        const told = await get("/v1/skipped", { limit: SHOWN, cursor });
        rows.push(...told.skipped);
        cursor = told.next ?? undefined;
        more.hidden = !cursor;
        fill(list, table("Skipped files", ["File", "Kind", "Why"], rows.map((f) => [f.name, f.kind, f.reason])));
      } catch (e) {
        fill(list, notice(e));
      }
    };
    more.addEventListener("click", () => void load());
    return el(
      "details", { id: "skipped", ontoggle: () => (rows.length ? undefined : void load()) },
      el("summary", {}, `${some(n, "file was", "files were")} skipped`), list, more,
    );
  }
}

/** @param {Standing} s */
function summary(s) {
  const facts = [
    ["Pictures", count(s.pictures)], ["with words", count(s.with_words)], ["Words", count(s.words)],
    ["Sessions", count(s.sessions)], ["Version", count(s.version)],
  ];
  return [
    el("dl", { class: "facts" }, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    el("p", {}, s.learnt ? `Model: ${s.learnt}. ` : s.with_words ? "No model is trained yet: only words that pictures have are found. " : "No picture has a word yet, so there is nothing to train on. ",
      s.learnt && !s.up_to_date ? el("strong", { class: "warning" }, "There are new words since: train again.") : s.learnt ? "It is trained on all words." : null),
    s.likeness ? el("p", {}, `Similarity: ${s.likeness}`) : null,
    ...s.models.map((m) => el("p", { class: "faint" }, proof(m))),
  ];
}
