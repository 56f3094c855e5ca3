// Kept versions with the held-out quality of their models; comparing two; rolling back to one.

import { get, post, Problem } from "../api.js";
import { confirmed } from "../confirm.js";
import { field, table } from "../controls.js";
import { count, el, fill, say, some, when } from "../dom.js";
import { gain, share } from "../figures.js";
import { notice } from "./problem.js";
import { flags, KINDS, proof } from "./proof.js";

/** @typedef {import("../reports").Version} Version */
/** @typedef {import("../reports").Difference} Difference */
/** @typedef {import("../reports").Model} Model */

export class VersionsPart {
  /** @param {() => void} changed called when another version is current */
  constructor(changed) {
    this._changed = changed;
    this._body = el("div", { id: "versions" }, "…");
    this._title = el("h2", { id: "versions-title", tabIndex: -1 }, "Versions");
    this.box = el("section", { "aria-labelledby": "versions-title" }, this._title, this._body);
  }

  async load() {
    try {
      const kept = await get("/v1/models");
      const versions = /** @type {Version[]} */ (kept.versions).reverse();
      fill(this._body, this._table(versions), versions.length > 1 ? compare(versions) : null);
    } catch (e) {
      const empty = e instanceof Problem && e.code === "nothing-indexed";
      fill(this._body, empty ? el("p", { class: "faint" }, "None yet.") : notice(e));
    }
  }

  /** @param {Version[]} versions */
  _table(versions) {
    const rows = versions.map((v) => [
      count(v.version), when(v.written), count(v.pictures), v.note || "–",
      v.models.length ? el("ul", { class: "plain" }, ...v.models.map((m) => el("li", {}, proof(m)))) : "No model",
      v.current
        ? el("span", { class: "badge good" }, "Current")
        : v.finished
          ? el("button", { type: "button", "aria-label": `Roll back to version ${v.version}`, onclick: () => void this._rollback(v) }, "Roll back…")
          : el("span", { class: "faint" }, "Unfinished"),
    ]);
    return table("Kept versions", ["#Version", "Written", "#Pictures", "By", "Models, measured on held-out pictures", "State"], rows);
  }

  /** @param {Version} v */
  async _rollback(v) {
    const more = `This publishes the pictures and models of version ${v.version} (${when(v.written)}, ${some(v.pictures, "picture")}) again. Judgements stay in the log. The current version is kept too.`;
    if (!(await confirmed(`Roll back to version ${v.version}?`, more, "Roll back"))) return;
    try {
      const { left, restored, version } = await post("/v1/models/rollback", { version: v.version });
      say(`Version ${restored.version} is published again, as version ${version}. Before, it was version ${left.version} (${when(left.written)}, ${some(left.pictures, "picture")}).`);
    } catch (e) {
      return say(e instanceof Error ? e.message : String(e));
    }
    this._changed();
    await this.load();
    this._title.focus();
  }
}

/** @param {Version[]} versions the newest first */
function compare(versions) {
  const options = () => versions.map((v) => el("option", { value: String(v.version) }, `${v.version} · ${when(v.written)}`));
  const a = el("select", { id: "compare-a" }, ...options());
  const b = el("select", { id: "compare-b" }, ...options());
  a.selectedIndex = 1;
  const comparison = el("div", { id: "compared", role: "status" });
  const ask = async (/** @type {Event} */ e) => {
    e.preventDefault();
    try {
      const compared = await get("/v1/models/compare", { a: a.value, b: b.value });
      fill(comparison, differences(compared.differences, compared.a, compared.b));
    } catch (wrong) {
      fill(comparison, notice(wrong));
    }
  };
  return el(
    "form", { class: "compare", "aria-labelledby": "compare-title", onsubmit: ask },
    el("h3", { id: "compare-title" }, "Compare two"),
    el("div", { class: "fields" }, field("From version", a), field("To version", b), el("button", {}, "Compare")), comparison,
  );
}

/**
 * @param {Difference[]} all
 * @param {number} a
 * @param {number} b
 */
function differences(all, a, b) {
  if (!all.length) return el("p", {}, "Neither has a model.");
  const rows = all.map((d) => [
    KINDS[d.kind] ?? d.kind, value(d.before), value(d.after), gain(d.gain),
    d.comparable ? "Yes" : d.gain === null ? "One of them was not measured" : "Roughly: not both are proven, by as many queries",
  ]);
  return table(`Version ${a} and version ${b}`, ["Model", `Version ${a}`, `Version ${b}`, "#Gain", "Comparable"], rows);
}

/** @param {Model | null} m */
function value(m) {
  return m ? `${m.measure} ${share(m.value)}${flags(m)}` : "–";
}
