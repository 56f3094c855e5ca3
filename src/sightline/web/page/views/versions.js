// Versions that are kept, with what proves their models; two compared; and going back to one.

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
  /** @param {() => void} changed called when another version is served */
  constructor(changed) {
    this._changed = changed;
    this._body = el("div", { id: "versions" }, "…");
    this._title = el("h2", { id: "versions-title", tabIndex: -1 }, "Versions");
    this.box = el("section", { "aria-labelledby": "versions-title" }, this._title, this._body);
  }

  async load() {
    try {
      const told = await get("/v1/models");
      const versions = /** @type {Version[]} */ (told.versions).reverse();
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
        ? el("span", { class: "badge good" }, "Served")
        : v.finished
          ? el("button", { type: "button", "aria-label": `Roll back to version ${v.version}`, onclick: () => void this._rollback(v) }, "Roll back…")
          : el("span", { class: "faint" }, "Unfinished"),
    ]);
    return table("Versions that are kept", ["#Version", "Written", "#Pictures", "By", "Models, as held-out pictures proved them", "State"], rows);
  }

  /** @param {Version} v */
  async _rollback(v) {
    const more = `Pictures and models are published again as they were in version ${v.version} (${when(v.written)}, ${some(v.pictures, "picture")}). What was judged stays in the log. The version served now is kept too.`;
    if (!(await confirmed(`Roll back to version ${v.version}?`, more, "Roll back"))) return;
    try {
      const told = await post("/v1/models/rollback", { version: v.version });
      const left = told.left;
      say(`Version ${told.restored.version} is served again, as version ${told.version}. Before, it was version ${left.version} (${when(left.written)}, ${some(left.pictures, "picture")}).`);
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
  const found = el("div", { id: "compared", role: "status" });
  const ask = async (/** @type {Event} */ e) => {
    e.preventDefault();
    try {
      const told = await get("/v1/models/compare", { a: a.value, b: b.value });
      fill(found, differences(told.differences, told.a, told.b));
    } catch (wrong) {
      fill(found, notice(wrong));
    }
  };
  return el(
    "form", { class: "compare", "aria-labelledby": "compare-title", onsubmit: ask },
    el("h3", { id: "compare-title" }, "Compare two"),
    el("div", { class: "fields" }, field("From version", a), field("To version", b), el("button", {}, "Compare")), found,
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
    d.comparable ? "Yes" : d.gain === null ? "One of them was not measured" : "Not quite: not both were proven, by as many queries",
  ]);
  return table(`Version ${a} and version ${b}`, ["Model", `Version ${a}`, `Version ${b}`, "#Gain", "Can they be compared"], rows);
}

/** @param {Model | null} m */
function value(m) {
  return m ? `${m.measure} ${share(m.value)}${flags(m)}` : "–";
}
