// The page of a server of several collections: one search, whose hits name their collections.

import { get, isAbort, post } from "./api.js";
import { byId, el, fill, say } from "./dom.js";
import { failed } from "./views/problem.js";

/**
 * @typedef {{ collection: string, id: number, path: string, label: string, also_in: string[],
 *   thumbnail: string, original: string | null, server: string }} FederatedHit
 * @typedef {{ name: string, problem: string, remarks: string[] }} MemberReport
 * @typedef {{ hits: FederatedHit[], next: string | null, collections: MemberReport[] }} Answer
 */

const SHOWN = 40;
const query = /** @type {HTMLInputElement} */ (byId("query"));
const cut = /** @type {HTMLInputElement} */ (byId("cut"));
const hits = byId("hits");
const members = byId("members");
const more = byId("more");
/** @type {AbortController | undefined} */
let asking;
/** @type {string | null} */
let next = null;

/** Name the collections, with their numbers of pictures or why they do not answer. */
async function showMembers() {
  const { collections } = await get("/v1/collections");
  fill(members, ...collections.map((/** @type {any} */ c) => el(
    "li", {}, c.problem ? `${c.name} does not answer: ${c.problem}` : `${c.name}: ${c.pictures} pictures`,
  )));
}

/** @param {MemberReport[]} reports */
function showReports(reports) {
  const lines = reports.flatMap((m) =>
    m.problem ? [`${m.name} did not answer: ${m.problem}`] : m.remarks.map((r) => `${m.name}: ${r}`));
  fill(members, ...lines.map((line) => el("li", {}, line)));
}

/**
 * Show a picture with the name of its collection.
 *
 * @param {FederatedHit} hit
 */
function tile(hit) {
  const picture = el("img", { src: hit.thumbnail, alt: hit.path, loading: "lazy" });
  const also = hit.also_in.length ? `, also in ${hit.also_in.join(", ")}` : "";
  return el(
    "li", {},
    hit.original ? el("a", { href: hit.original, target: "_blank", rel: "noopener" }, picture) : picture,
    el("p", {}, el("strong", {}, hit.label), ` ${hit.collection}${also}`),
    el("p", { class: "path" }, hit.path),
  );
}

/**
 * Search, from the beginning or from where the list shown ends.
 *
 * @param {string | null} cursor
 */
async function search(cursor) {
  asking?.abort();
  asking = new AbortController();
  try {
    const body = { query: query.value, cut: cut.checked, k: SHOWN, cursor };
    const answer = /** @type {Answer} */ (await post("/v1/search", body, { signal: asking.signal }));
    const tiles = answer.hits.map(tile);
    if (cursor) hits.append(...tiles);
    else fill(hits, ...tiles);
    next = answer.next;
    more.hidden = next === null;
    showReports(answer.collections);
    say(`${hits.childElementCount} hits${next ? " so far" : ""}`);
  } catch (e) {
    if (isAbort(e)) return;
    more.hidden = true;
    failed(members, e);
  }
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  history.replaceState(null, "", `#${new URLSearchParams({ q: query.value })}`);
  void search(null);
});
more.addEventListener("click", () => void search(next));
query.value = new URLSearchParams(location.hash.slice(1)).get("q") ?? "";
if (query.value) void search(null);
else showMembers().catch((e) => failed(members, e));
