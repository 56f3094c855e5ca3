// Problems in words for people: those of the service name commands and fields.

import { Problem } from "./api.js";

/** @type {Record<string, string>} */
const TEXTS = {
  "nothing-indexed": "No picture is indexed yet. Index the folder first (Train).",
  "no-pictures": "The collection holds no picture. Put some into its folder, then index (Train).",
  "no-model": "No model of words is trained yet (Train).",
  "no-regions": "No model of regions is trained yet (Train).",
  "no-tag-probabilities": "The model of words does not know which tags are probably wrong: train kernel ridge (Train).",
  "no-space": "The model has no space that words and pictures share: train one of the rankers lscmr, ssi or cca (Train).",
  "no-features": "Pictures lack the features that this needs. Index with features (Train).",
  "query-too-long": "A query may have 64 words and 1,000 characters. Search by the whole text instead, or leave some out.",
  invalid: "The service could not understand that.",
  token: "The server was restarted. Open the address it printed, or reload this page and enter the token.",
};

/**
 * Return a sentence about what went wrong.
 *
 * @param {unknown} e
 * @returns {string}
 */
export function wordsOf(e) {
  if (e instanceof Problem) return TEXTS[e.code] ?? e.message;
  return e instanceof Error ? e.message : String(e);
}
