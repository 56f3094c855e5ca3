// Regions over a picture.

/** @typedef {import("./types").Box} Box */
/** @typedef {import("./types").Mask} Mask */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Mask} mask
 * @param {string} colour
 */
export function drawMask(canvas, mask, colour) {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  const [height, width] = mask.size;
  const small = new OffscreenCanvas(width, height);
  const ink = small.getContext("2d");
  if (!ink) return;
  ink.fillStyle = colour;
  let at = 0;
  mask.counts.forEach((n, i) => {
    for (let k = at; i % 2 && k < at + n; k++) ink.fillRect(Math.floor(k / height), k % height, 1, 1);
    at += n;
  });
  pen.globalAlpha = 0.45;
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, 0, 0, canvas.width, canvas.height);
  pen.globalAlpha = 1;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Box} box
 * @param {string} colour
 */
export function drawBox(canvas, box, colour) {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.strokeStyle = colour;
  pen.lineWidth = 3;
  pen.strokeRect(box.left * canvas.width, box.top * canvas.height, box.width * canvas.width, box.height * canvas.height);
}
