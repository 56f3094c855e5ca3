// Line charts as SVG, with axes, a legend, a description in words, and a table of the numbers.

import { table } from "./controls.js";
import { count, el } from "./dom.js";

/**
 * One line of a chart: a name and its points.
 *
 * @typedef {{ name: string, points: [number, number][] }} Line
 */
/**
 * What a chart shows.
 *
 * @typedef {object} Chart
 * @property {string} title
 * @property {string} summary a description in a sentence
 * @property {string} x label of the axis
 * @property {string} y
 * @property {Line[]} lines
 * @property {number} [most] the end of the x axis
 */

// Narrow windows get a narrow chart, so that its text stays as large as the rest.
const WIDEST = 460;
const NARROWEST = 270;
const AROUND = 80;
const HIGH = 270;
const LEFT = 48;
const RIGHT = 24;
const TOP = 12;
const BELOW = 44;

let charts = 0;

/**
 * Draw lines from 0 to 1 upwards.
 *
 * @param {Chart} chart
 */
export function lineChart(chart) {
  const name = `chart${charts++}`;
  const most = chart.most ?? Math.max(1e-9, ...chart.lines.flatMap((l) => l.points.map(([x]) => x)));
  const top = Math.max(0.1, ...chart.lines.flatMap((l) => l.points.map(([, y]) => y)));
  const [xs, ys] = [ticks(most, 4), ticks(Math.min(1, top), 5)];
  const [right, up] = [xs[xs.length - 1], ys[ys.length - 1]];
  const wide = Math.max(NARROWEST, Math.min(WIDEST, innerWidth - AROUND));
  /** @param {number} x */
  const across = (x) => LEFT + (x / right) * (wide - LEFT - RIGHT);
  /** @param {number} y */
  const down = (y) => TOP + (1 - y / up) * (HIGH - TOP - BELOW);
  const drawn = svg(
    "svg", { viewBox: `0 0 ${wide} ${HIGH}`, role: "img", class: "chart", "aria-labelledby": `${name}-title ${name}-desc` },
    svg("title", { id: `${name}-title` }, chart.title),
    svg("desc", { id: `${name}-desc` }, chart.summary),
    ...axes(chart, xs, ys, across, down),
    ...chart.lines.flatMap((line, i) => drawLine(line, i, across, down)),
  );
  return el(
    "figure", { class: "figure" },
    el("figcaption", {}, el("h4", {}, chart.title), el("p", { class: "faint" }, chart.summary)),
    drawn, chart.lines.length > 1 ? legend(chart.lines) : null, numbers(chart),
  );
}

/**
 * Round numbers from 0 that reach as far as a value.
 *
 * @param {number} most
 * @param {number} about how many
 */
export function ticks(most, about) {
  const rough = most / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((s) => s * power).find((s) => s >= rough * 0.999) ?? rough;
  const values = [];
  for (let i = 0; i <= Math.ceil(most / step - 1e-9); i++) values.push(Number((i * step).toPrecision(6)));
  return values;
}

/**
 * @param {Chart} chart
 * @param {number[]} xs
 * @param {number[]} ys
 * @param {(x: number) => number} across
 * @param {(y: number) => number} down
 */
function axes(chart, xs, ys, across, down) {
  const [bottom, end] = [down(0), across(xs[xs.length - 1])];
  const rows = ys.flatMap((y) => [
    svg("line", { x1: LEFT, x2: end, y1: down(y), y2: down(y), class: y ? "rule" : "axis" }),
    svg("text", { x: LEFT - 6, y: down(y) + 4, class: "end" }, short(y)),
  ]);
  const columns = xs.map((x) => svg("text", { x: across(x), y: bottom + 16, class: "middle" }, short(x)));
  const middle = (TOP + bottom) / 2;
  return [
    ...rows, ...columns,
    svg("text", { x: (LEFT + end) / 2, y: HIGH - 6, class: "middle label" }, chart.x),
    svg("text", { x: 12, y: middle, class: "middle label", transform: `rotate(-90 12 ${middle})` }, chart.y),
  ];
}

/**
 * @param {Line} line
 * @param {number} i
 * @param {(x: number) => number} across
 * @param {(y: number) => number} down
 */
function drawLine(line, i, across, down) {
  const at = line.points.map(([x, y]) => `${across(x).toFixed(1)},${down(y).toFixed(1)}`);
  const few = line.points.length <= 12 && i === 0;
  const dots = few ? line.points.map(([x, y]) => svg("circle", { cx: across(x), cy: down(y), r: 3.5, class: `dot line${i}` })) : [];
  return [svg("polyline", { points: at.join(" "), class: `line line${i}` }), ...dots];
}

/** @param {Line[]} lines */
function legend(lines) {
  const names = lines.map((line, i) =>
    el("li", {}, svg("svg", { viewBox: "0 0 28 8", class: "key", "aria-hidden": "true" }, svg("line", { x1: 0, x2: 28, y1: 4, y2: 4, class: `line line${i}` })), line.name),
  );
  return el("ul", { class: "legend" }, ...names);
}

/** @param {Chart} chart */
function numbers(chart) {
  const rows = chart.lines.flatMap((line) => line.points.map(([x, y]) => [line.name, short(x), y.toFixed(3)]));
  return el("details", {}, el("summary", {}, "Numbers"), table(`${chart.title}: numbers`, ["Line", `#${chart.x}`, `#${chart.y}`], rows));
}

/** @param {number} n */
function short(n) {
  return Number.isInteger(n) ? count(n) : String(Number(n.toFixed(3)));
}

/**
 * Make an element of SVG.
 *
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}
