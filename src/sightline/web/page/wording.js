// Problems in words for people: what the service tells programs names commands and fields.

import { Problem } from "./api.js";

/** @type {Record<string, string>} */
const TEXTS = {
  "nothing-indexed": "No picture is indexed yet. Index the folder first (Learn).",
  "no-pictures": "The collection holds no picture. Put some into its folder, then index (Learn).",
  "no-model": "No model of words is trained yet (Learn).",
  "no-regions": "No model of regions is trained yet (Learn).",
  "no-space": "The model has no space that words and pictures share: train with the ranker lscmr, ssi or cca (Learn).",
  "no-features": "Pictures lack the features that this needs. Index with features (Learn).",
  invalid: "The service could not understand that.",
  token: "The server was started anew. Open the address it printed, or load this page again and type the token.",
};

/**
 * Say what went wrong.
 *
 * @param {unknown} e
 * @returns {string}
 */
export function wordsOf(e) {
  if (e instanceof Problem) return TEXTS[e.code] ?? e.message;
  return e instanceof Error ? e.message : String(e);
}
