// One picture: what it is, why it is here, its words, and pictures like it.

import { el } from "../dom.js";

/** @typedef {import("../types").Hit} Hit */

/**
 * Open a picture.
 *
 * @param {Hit} hit
 * @param {{ query: string, judge: (fits: boolean) => void, step: (by: number) => void }} about
 */
export function openPicture(hit, about) {
  void about;
  const dialog = el("dialog", { class: "picture", "aria-label": hit.name }, el("img", { alt: hit.name, src: hit.thumbnail }));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
