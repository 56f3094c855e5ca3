// A heat map over a picture: which parts contribute to a word.

/**
 * The contribution of each block of a picture; blocks overlap by half (see POST /v1/why).
 *
 * @typedef {{ parts: number[][] | null, down: number[], right: number[] }} Blocks
 */

/**
 * Draw contributions over a picture: orange for positive ones, blue for negative ones.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number[][]} parts
 * @param {Blocks} blocks
 */
export function drawHeat(canvas, parts, blocks) {
  const cells = cellsOf(parts);
  const most = Math.max(...cells.flat().map(Math.abs), 1e-12);
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.filter = `blur(${Math.round(canvas.width / 40)}px)`;
  cells.forEach((row, r) =>
    row.forEach((value, c) => {
      const strength = 0.75 * Math.min(1, Math.abs(value) / most);
      pen.fillStyle = value >= 0 ? `rgba(255, 140, 0, ${strength})` : `rgba(0, 110, 255, ${strength})`;
      const [left, right] = [blocks.right[c] * canvas.width, blocks.right[c + 1] * canvas.width];
      const [top, bottom] = [blocks.down[r] * canvas.height, blocks.down[r + 1] * canvas.height];
      pen.fillRect(left, top, right - left, bottom - top);
    }),
  );
  pen.filter = "none";
}

/**
 * The mean of the blocks that cover each cell: a block covers two cells by two.
 *
 * @param {number[][]} parts
 */
export function cellsOf(parts) {
  const rows = parts.length + 1;
  const columns = (parts[0]?.length ?? 0) + 1;
  return Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns }, (_, c) => {
      const over = [[r - 1, c - 1], [r - 1, c], [r, c - 1], [r, c]]
        .map(([y, x]) => parts[y]?.[x])
        .filter((v) => v !== undefined);
      return over.reduce((sum, v) => sum + v, 0) / over.length;
    }),
  );
}
