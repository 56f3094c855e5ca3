// Figures as people read them.

/**
 * A measure between 0 and 1, or that there is none.
 *
 * @param {number | null | undefined} value
 */
export function share(value) {
  return value === null || value === undefined ? "–" : value.toFixed(3);
}

/**
 * A difference, with its sign.
 *
 * @param {number | null | undefined} value
 */
export function gain(value) {
  if (value === null || value === undefined) return "–";
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}

/**
 * A p-value.
 *
 * @param {number | null | undefined} p
 */
export function pValue(p) {
  if (p === null || p === undefined) return "–";
  return p < 1e-4 ? "< .0001" : p.toFixed(4).replace(/^0/, "");
}

/**
 * A probability or a share; only what is certain is 0 or 100 %.
 *
 * @param {number} part
 */
export function percent(part) {
  if (part > 0 && part < 0.01) return "< 1 %";
  return part > 0.99 && part < 1 ? "> 99 %" : `${Math.round(100 * part)} %`;
}

/** In place of a probability, where too few held-out pictures measure a word. */
export const NOT_YET_PROVEN = "not yet proven";

/**
 * The one thing that a hit shows: its kind of match, or how sure or similar it is.
 *
 * @param {import("./types").Hit} hit
 */
export function hitLabel(hit) {
  if (hit.match === "similar") return hit.score.toFixed(3);
  if (hit.match === "predicted" && hit.proven === false) return NOT_YET_PROVEN;
  if (hit.match === "predicted" && hit.probability !== null) return percent(hit.probability);
  if (hit.match === "suggested" && hit.probability !== null) return `suggested ${percent(hit.probability)}`;
  return hit.match;
}

/**
 * How long something took.
 *
 * @param {number} seconds
 */
export function lasted(seconds) {
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
