// Scenes: groups of pictures by learned scene.

import { get } from "../api.js";
import { el, fill, some } from "../dom.js";
import { searchFor } from "./picture.js";
import { strip } from "./strip.js";
import { notice } from "./problem.js";
import { unindexed } from "./unindexed.js";

export const title = "Scenes";

/** @typedef {{ scene: number, size: number, pictures: number[], words: { word: string, share: number, usual: number }[] }} Scene */

/** @type {import("../types").View} */
export function view(host, at) {
  const body = el("div", {}, el("p", { role: "status" }, "Loading…"));
  fill(host, el("h1", {}, "Scenes"), body);
  const scene = at.get("scene");
  void show(body, scene === null ? null : Number(scene));
}

/**
 * @param {HTMLElement} body
 * @param {number | null} only
 */
async function show(body, only) {
  try {
    const response = await get("/v1/scenes", { words: 6, pictures: only === null ? 12 : 200 });
    const scenes = /** @type {Scene[]} */ (response.scenes).filter((s) => only === null || s.scene === only);
    fill(
      body,
      response.by === "regions" ? null : el("p", { class: "faint" }, "Similar pictures, grouped. To learn scenes and where words are: ", el("a", { href: "#/train" }, "train regions"), "."),
      response.without_regions && response.by === "regions" ? el("p", { class: "faint" }, `${some(response.without_regions, "picture was", "pictures were")} not divided into regions yet.`) : null,
      only === null ? null : el("p", {}, el("a", { href: "#/scenes" }, "All scenes")),
      ...scenes.map(shown),
    );
  } catch (e) {
    fill(body, unindexed(e) ?? notice(e));
  }
}

/** @param {Scene} s */
function shown(s) {
  const words = s.words.map((w) =>
    el("a", { class: "chip", href: searchFor(w.word), title: `${Math.round(100 * w.usual)} % of all pictures` }, `${w.word} ${Math.round(100 * w.share)} %`),
  );
  return el(
    "section", { class: "group" },
    el("h2", {}, el("a", { href: `#/scenes?scene=${s.scene}` }, `Scene ${s.scene + 1}`), ` · ${some(s.size, "picture")}`),
    el("p", { class: "picks" }, ...words), strip(s.pictures),
  );
}
