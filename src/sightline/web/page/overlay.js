// A mask and a box of a region, drawn on a canvas over the picture.

/** @typedef {import("./types").Mask} Mask */
/** @typedef {import("./types").Box} Box */

/**
 * The pixels inside a mask, column by column, from COCO's run lengths.
 *
 * @param {Mask} mask
 * @returns {Uint8Array}
 */
export function inside(mask) {
  const [height, width] = mask.size;
  const pixels = new Uint8Array(height * width);
  let at = 0;
  mask.counts.forEach((n, i) => {
    if (i % 2) pixels.fill(1, at, at + n);
    at += n;
  });
  return pixels;
}

/**
 * Whether a mask covers the whole picture.
 *
 * @param {Mask} mask
 */
export function isWhole(mask) {
  return mask.counts.every((n, i) => i % 2 === 1 || n === 0);
}

/**
 * Clear the canvas, and set its resolution to that of the screen.
 *
 * @param {HTMLCanvasElement} canvas
 */
export function clear(canvas) {
  const fine = Math.min(devicePixelRatio || 1, 3);
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * fine));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * fine));
}

/**
 * Tint a region and draw its outline; the picture still shows through.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Mask} mask
 * @param {string} colour
 */
export function drawMask(canvas, mask, colour) {
  const to = canvas.getContext("2d");
  if (!to) return;
  const [height, width] = mask.size;
  const points = inside(mask);
  const [sx, sy] = [canvas.width / width, canvas.height / height];
  to.fillStyle = colour;
  to.globalAlpha = 0.28;
  for (let x = 0; x < width; x++)
    for (let y = 0; y < height; y++) {
      if (!points[x * height + y]) continue;
      const begin = y;
      while (y < height && points[x * height + y]) y++;
      to.fillRect(x * sx, begin * sy, sx, (y - begin) * sy);
    }
  to.globalAlpha = 1;
  stroke(to, colour, outline(points, width, height, sx, sy));
}

/**
 * @param {Uint8Array} points
 * @param {number} width
 * @param {number} height
 * @param {number} sx
 * @param {number} sy
 */
function outline(points, width, height, sx, sy) {
  const path = new Path2D();
  /** @param {number} x @param {number} y */
  const has = (x, y) => x >= 0 && y >= 0 && x < width && y < height && points[x * height + y] === 1;
  /** @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
  const line = (x0, y0, x1, y1) => {
    path.moveTo(x0 * sx, y0 * sy);
    path.lineTo(x1 * sx, y1 * sy);
  };
  for (let x = 0; x <= width; x++)
    for (let y = 0; y <= height; y++) {
      if (has(x, y) !== has(x - 1, y)) line(x, y, x, y + 1);
      if (has(x, y) !== has(x, y - 1)) line(x, y, x + 1, y);
    }
  return path;
}

/**
 * Draw a box, given as fractions of the picture.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Box} box
 * @param {string} colour
 */
export function drawBox(canvas, box, colour) {
  const to = canvas.getContext("2d");
  if (!to) return;
  const path = new Path2D();
  path.rect(box.left * canvas.width, box.top * canvas.height, box.width * canvas.width, box.height * canvas.height);
  stroke(to, colour, path, [8, 6]);
}

/**
 * Draw a line that is visible on light and on dark pictures.
 *
 * @param {CanvasRenderingContext2D} to
 * @param {string} colour
 * @param {Path2D} path
 * @param {number[]} [dashes]
 */
function stroke(to, colour, path, dashes = []) {
  const fine = Math.min(devicePixelRatio || 1, 3);
  to.lineCap = "square";
  to.setLineDash([]);
  to.lineWidth = 4 * fine;
  to.strokeStyle = "#000a";
  to.stroke(path);
  to.setLineDash(dashes.map((d) => d * fine));
  to.lineWidth = 2 * fine;
  to.strokeStyle = colour;
  to.stroke(path);
}
