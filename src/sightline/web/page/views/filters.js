// Filters of pictures: folder, dates, sizes, words.

import { get } from "../api.js";
import { count, el } from "../dom.js";

/** @typedef {import("../types").Filters} Filters */
/** @typedef {import("../types").Folder} Folder */

const MEGABYTE = 1_000_000;

export class FilterForm {
  /**
   * @param {() => void} changed
   * @param {URLSearchParams} at the query of the address
   */
  constructor(changed, at) {
    this._folder = el("select", { id: "f-folder" }, el("option", { value: "" }, "All folders"));
    this._words = el(
      "select", { id: "f-words" },
      el("option", { value: "" }, "With or without words"),
      el("option", { value: "tagged" }, "With words"),
      el("option", { value: "untagged" }, "Without any word"),
    );
    this._after = el("input", { id: "f-after", type: "date" });
    this._before = el("input", { id: "f-before", type: "date" });
    this._side = el("input", { id: "f-side", type: "number", min: "0", step: "1", inputMode: "numeric" });
    this._bytes = el("input", { id: "f-bytes", type: "number", min: "0", step: "0.1", inputMode: "decimal" });
    this._folderId = at.get("folder") ?? "";
    /** @type {[string, HTMLInputElement | HTMLSelectElement][]} */
    this._fields = [["words", this._words], ["after", this._after], ["before", this._before], ["side", this._side], ["mb", this._bytes]];
    for (const [name, input] of this._fields) input.value = at.get(name) ?? "";
    const filtered = this._folderId || this._fields.some(([, input]) => input.value);
    this.box = el(
      "details", { class: "filters", open: Boolean(filtered) },
      el("summary", {}, "Filters"),
      el(
        "div",
        {
          class: "fields",
          onchange: () => {
            this._folderId = this._folder.value;
            changed();
          },
        },
        field("Folder", this._folder), field("Words", this._words),
        field("Taken from", this._after), field("Taken before", this._before),
        field("Longer side at least (pixels)", this._side), field("File at least (MB)", this._bytes),
      ),
    );
  }

  /** Fetch the folders. */
  async load() {
    /** @type {string | undefined} */
    let cursor;
    do {
      const page = await get("/v1/folders", { k: 500, cursor });
      for (const f of /** @type {Folder[]} */ (page.folders))
        this._folder.append(el("option", { value: f.id }, `${f.name} (${count(f.pictures)})`));
      cursor = page.next ?? undefined;
    } while (cursor && this._folder.length < 2000);
    this._folder.value = this._folderId;
  }

  /**
   * Write the filters into an address.
   *
   * @param {URLSearchParams} at
   */
  write(at) {
    if (this._folderId) at.set("folder", this._folderId);
    for (const [name, input] of this._fields) if (input.value) at.set(name, input.value);
  }

  /** The filters, as a part of the body of a search. */
  get values() {
    /** @type {Filters} */
    const filters = {};
    if (this._folderId) filters.folder = this._folderId;
    if (this._after.value) filters.after = this._after.value;
    if (this._before.value) filters.before = this._before.value;
    if (Number(this._side.value) > 0) filters.min_side = Math.floor(Number(this._side.value));
    if (Number(this._bytes.value) > 0)
      filters.min_bytes = Math.floor(Number(this._bytes.value) * MEGABYTE);
    return {
      filters,
      untagged: this._words.value === "untagged" || undefined,
      tagged: this._words.value === "tagged" || undefined,
    };
  }
}

/**
 * @param {string} label
 * @param {HTMLElement} input
 */
function field(label, input) {
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input);
}
