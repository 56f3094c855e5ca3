// The page: shows one view at a time, named after # in the address.

import { byId, el, fill, isCommand, say } from "./dom.js";
import { showHelp } from "./views/help.js";
import { failed } from "./views/problem.js";

/** @typedef {import("./types").View} View */

/** @type {Record<string, () => Promise<{ view: View, title: string }>>} */
const VIEWS = {
  search: () => import("./views/search.js"),
  review: () => import("./views/review.js"),
  sessions: () => import("./views/sessions.js"),
  scenes: () => import("./views/scenes.js"),
  topics: () => import("./views/topics.js"),
  train: () => import("./views/train.js"),
};

/** @type {(() => void) | void} */
let end;
let shown = 0;

/** Show the view that the address names. */
async function show() {
  const turn = ++shown;
  const [path, query] = location.hash.slice(1).split("?", 2);
  const named = path.replace(/^\//, "") || "search";
  // Addresses of earlier releases still work.
  const name = named === "learn" ? "train" : named;
  const main = byId("main");
  const load = Object.hasOwn(VIEWS, name) ? VIEWS[name] : VIEWS.search;
  try {
    const { view, title } = await load();
    if (turn !== shown) return;
    end?.();
    end = undefined;
    for (const dialog of document.querySelectorAll("dialog")) dialog.close();
    const lost = main.contains(document.activeElement) || document.activeElement === document.body;
    say("");
    document.title = `${title} · Sightline`;
    const host = el("div", { class: `view ${name}` });
    fill(main, host);
    end = view(host, new URLSearchParams(query));
    const head = host.querySelector("h1");
    if (lost && turn > 1 && head && !host.contains(document.activeElement)) {
      head.tabIndex = -1;
      head.focus({ preventScroll: true });
    }
  } catch (e) {
    failed(main, e);
  }
  for (const link of document.querySelectorAll("header nav a"))
    if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
}

/** Apply the light or dark theme, by default the system's. */
function theme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const stored = localStorage.getItem("theme");
  if (stored) root.dataset.theme = stored;
  byId("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
  });
}

theme();
byId("help").addEventListener("click", showHelp);
addEventListener("hashchange", () => void show());
addEventListener("click", (e) => {
  const link = e.target instanceof Element ? e.target.closest("a[href^='#/']") : null;
  // The address stays the same, so no hashchange event follows.
  if (link?.getAttribute("href") === location.hash) void show();
});
byId("said").addEventListener("click", () => say(""));
addEventListener("keydown", (e) => {
  if (!isCommand(e)) return;
  if (document.querySelector("dialog[open]")) return;
  const places = { 1: "search", 2: "review", 3: "sessions", 4: "scenes", 5: "topics", 6: "train" };
  if (e.key === "?") showHelp();
  else if (e.key in places) location.hash = `#/${Reflect.get(places, e.key)}`;
  else return;
  e.preventDefault();
});
document.querySelector(".skip")?.addEventListener("click", (e) => {
  e.preventDefault();
  byId("main").focus();
});
void show();
