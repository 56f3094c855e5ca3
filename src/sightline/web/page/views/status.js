// The state of the collection: pictures, words, models and skipped files.

import { get, Problem } from "../api.js";
import { table } from "../controls.js";
import { count, el, fill, some } from "../dom.js";
import { skipGroups } from "./jobreports.js";
import { notice } from "./problem.js";
import { proof } from "./proof.js";

/** @typedef {import("../reports").Report} Report */

const SHOWN = 200;

export class StatusPart {
  constructor() {
    this._body = el("div", { id: "status" }, "…");
    this.box = el("section", { "aria-labelledby": "status-title" }, el("h2", { id: "status-title" }, "Status"), this._body);
  }

  async load() {
    try {
      const report = /** @type {Report} */ (await get("/v1/report"));
      fill(this._body, ...summary(report), report.skipped ? this._skipped(report.skipped) : null);
    } catch (e) {
      if (!(e instanceof Problem) || e.code !== "nothing-indexed") return fill(this._body, notice(e));
      fill(this._body, el("div", { class: "notice" }, el("p", {}, "No picture is indexed yet. Begin with “Index” below: nothing is written inside your folder.")));
    }
  }

  /**
   * The skipped files, fetched when the list is opened.
   *
   * @param {number} n
   */
  _skipped(n) {
    const groups = el("div", {});
    const list = el("div", {}, "…");
    const more = el("button", { type: "button", hidden: true }, "More");
    /** @type {import("../reports").SkippedFile[]} */
    const rows = [];
    /** @type {string | undefined} */
    let cursor;
    const load = async () => {
      try {
        const page = await get("/v1/skipped", { k: SHOWN, cursor });
        if (!rows.length) fill(groups, skipGroups(page.groups));
        rows.push(...page.skipped);
        cursor = page.next ?? undefined;
        more.hidden = !cursor;
        fill(list, table("Skipped files", ["File", "Kind", "Why"], rows.map((f) => [f.name, f.kind, f.reason])));
      } catch (e) {
        fill(list, notice(e));
      }
    };
    more.addEventListener("click", () => void load());
    return el(
      "details", { id: "skipped", ontoggle: () => (rows.length ? undefined : void load()) },
      el("summary", {}, `${some(n, "file was", "files were")} skipped`), groups, list, more,
    );
  }
}

/** @param {Report} s */
function summary(s) {
  const facts = [
    ["Pictures", count(s.pictures)], ["with words", count(s.with_words)], ["Words", count(s.words)],
    ["Sessions", count(s.sessions)], ["Version", count(s.version)],
  ];
  return [
    el("dl", { class: "facts" }, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    el("p", {}, s.word_model ? "A model is trained. " : s.with_words ? "No model is trained yet: searches find only pictures that have the words. " : "No picture has a word yet, so there is nothing to train on. ",
      s.word_model && !s.up_to_date ? el("strong", { class: "warning" }, "There are newer words: train again.") : s.word_model ? "It has learned from all words." : null),
    s.models.length ? models(s) : null,
  ];
}

/** @param {Report} s */
function models(s) {
  const names = [s.word_model ? `Words: ${s.word_model}` : "", s.similarity_model ? `Similarity: ${s.similarity_model}` : "", s.text_model ? `Texts: ${s.text_model}` : ""];
  const lines = [...names.filter(Boolean), ...s.models.map(proof)];
  return el("details", {}, el("summary", {}, "Models, measured on held-out pictures"), ...lines.map((text) => el("p", { class: "faint" }, text)));
}
