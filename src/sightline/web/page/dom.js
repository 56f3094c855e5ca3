// Elements. Every text is inserted as text: no part of the page parses markup.

import { wordsOf } from "./wording.js";

/**
 * Make an element.
 *
 * Properties that begin with "on" are listeners, "class" is the class, and names with a dash, and
 * "role" and "for", are attributes; all others are properties. Children that are null are left out.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(element, name, value);
  put(element, ...children);
  return element;
}

/**
 * @param {HTMLElement} at
 * @param {string} name
 * @param {any} value
 */
function set(at, name, value) {
  if (value === undefined || value === null) return;
  if (name.startsWith("on")) at.addEventListener(name.slice(2), value);
  else if (name === "class") at.className = value;
  else if (name === "role" || name === "for" || name.includes("-")) at.setAttribute(name, value);
  else Reflect.set(at, name, value);
}

/**
 * Replace the children of an element.
 *
 * @param {Element} at
 * @param {...(Node | string | number | null | undefined)} children
 */
export function fill(at, ...children) {
  at.replaceChildren();
  put(at, ...children);
}

/**
 * @param {Element} at
 * @param {...(Node | string | number | null | undefined)} children
 */
function put(at, ...children) {
  for (const child of children)
    if (child !== null && child !== undefined)
      at.append(typeof child === "object" ? child : String(child));
}

/**
 * Return the one element with an id.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`There is no element ${id}.`);
  return element;
}

/**
 * Show a message, and have screen readers read it.
 *
 * @param {string} text
 */
export function say(text) {
  byId("said").textContent = text;
  clearTimeout(silence);
  if (text) silence = setTimeout(() => say(""), SHOWN);
}

const SHOWN = 8000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let silence;

/**
 * Show a problem; it stays until another message, or until it is clicked.
 *
 * @param {unknown} e
 * @param {string} [before]
 */
export function complain(e, before = "") {
  say(before + wordsOf(e));
  clearTimeout(silence);
}

/**
 * Whether a key press is a command: not typed into a field, and shortcuts are switched on.
 *
 * @param {KeyboardEvent} e
 */
export function isCommand(e) {
  if (isTyping(e.target) || e.ctrlKey || e.metaKey || e.altKey) return false;
  return localStorage.getItem("keys") !== "off";
}

/**
 * Whether an element takes typed text.
 *
 * @param {EventTarget | null} target
 */
export function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "button", "file"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}

/**
 * A number with separators of thousands.
 *
 * @param {number} n
 */
export function count(n) {
  return n.toLocaleString("en");
}

/**
 * A number with its noun, in singular or plural.
 *
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export function some(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/**
 * Seconds since 1970 as a day and a time.
 *
 * @param {number | null | undefined} seconds
 */
export function when(seconds) {
  if (!seconds) return "";
  const iso = new Date(seconds * 1000).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)}`;
}
