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
 * How long something took.
 *
 * @param {number} seconds
 */
export function lasted(seconds) {
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
