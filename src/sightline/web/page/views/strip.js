// A row of thumbnails that open their pictures.

import { el } from "../dom.js";
import { openPicture } from "./picture.js";

/** @param {number[]} pictures */
export function strip(pictures) {
  return el("div", { class: "strip" }, ...pictures.map(small));
}

/** @param {number} id */
function small(id) {
  /** @type {import("../types").Hit} */
  const hit = {
    id, score: 0, probability: null, path: `Picture ${id}`, match: "similar",
    thumbnail: `/v1/pictures/${id}/thumbnail`, original: `/v1/pictures/${id}/original`,
  };
  return el(
    "button", { type: "button", class: "small", onclick: () => openPicture(hit, { query: "", judge: null, mark: null, step: null }) },
    el("img", { alt: hit.path, src: hit.thumbnail, loading: "lazy" }),
  );
}
