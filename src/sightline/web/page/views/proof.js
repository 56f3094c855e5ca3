// The quality of a model on held-out pictures, in one line.

import { some } from "../dom.js";
import { gain, pValue, share } from "../figures.js";

/** @typedef {import("../reports").Model} Model */

/** @type {Record<string, string>} */
export const KINDS = { words: "Words", likeness: "Similarity", regions: "Regions of words", text: "Texts" };
/** @type {Record<string, string>} */
const WITHOUT = { words: "untrained", likeness: "equal weights", regions: "the same words for all", text: "untrained" };

/** @param {Model} m */
export function proof(m) {
  const kind = KINDS[m.kind] ?? m.kind;
  if (m.value === null) return `${kind}: not measured.`;
  const measured = ["regions", "text"].includes(m.kind) ? some(m.queries, "held-out picture") : some(m.queries, "held-out query", "held-out queries");
  const more = m.untrained === null ? "" : `, ${WITHOUT[m.kind] ?? "without it"} ${share(m.untrained)} (${gain(m.value - m.untrained)}${m.p === null ? "" : `, p ${pValue(m.p)}`})`;
  return `${kind}: ${m.measure} ${share(m.value)}${more}, by ${measured}${flags(m)}`;
}

/** @param {Model} m */
export function flags(m) {
  return `${m.unproven ? "; unproven: too few held-out queries" : ""}${m.forced ? "; worse, published by --force" : ""}`;
}
