// What a job that is done found, in words and tables.

import { table } from "../controls.js";
import { count, el, some } from "../dom.js";
import { gain, lasted, pValue, share } from "../figures.js";
import { evaluation } from "./evaluation.js";

/** @typedef {import("../reports").Job} Job */

/**
 * @param {Job} job
 * @returns {Node}
 */
export function reported(job) {
  const r = job.report;
  if (job.verb === "evaluate") return evaluation(r);
  if (job.verb === "index") return indexed(r);
  if ("scenes" in r) return regions(r);
  return "learner" in r ? likeness(r) : words(r);
}

/** @param {any} r */
function indexed(r) {
  const parts = [
    `${count(r.seen)} seen`, `${count(r.indexed)} indexed`, `${count(r.added)} new`, `${count(r.changed)} changed`, `${count(r.moved)} moved`, `${count(r.gone)} gone`, `${count(r.skipped.length)} skipped`,
  ];
  return el("div", {}, el("p", {}, `${parts.join(", ")}: version ${r.version}.`), ...r.problems.map((/** @type {string} */ text) => el("p", { class: "warning" }, text)));
}

/** @param {any} r */
function words(r) {
  const p = r.proof;
  const lines = [`Learnt ${some(r.words, "word")} from ${some(r.pictures, "picture")}: ${r.recipe}, words combined by ${r.how}.`];
  if (p.n) lines.push(`On ${some(p.n, "held-out query", "held-out queries")}: mean AvgP ${share(p.candidate)}, untrained ${share(p.untrained)} (${gain(p.candidate - p.untrained)}, p ${pValue(p.p)}; ${p.helped} better, ${p.harmed} worse).`);
  if (p.current !== null) lines.push(`The model before: ${share(p.current)}, this one ${share(p.against_current)}, on the ${some(p.n_both, "query", "queries")} both know.`);
  if (p.not_compared) lines.push("Not compared with the model before: the features it needs are gone.");
  if (r.left_out) lines.push(`${some(r.left_out, "picture with words lacks", "pictures with words lack")} features and were left out.`);
  if (r.course) lines.push(`Learnt list by list: ${r.course}`);
  lines.push(...r.saved.map(savedWord));
  const tried = r.table.map((/** @type {any} */ t) => [t.recipe.ranker, t.recipe.features.map(bare).join(" + "), share(t.avgp), share(t.p10), lasted(t.train_seconds)]);
  return told(r, lines, [
    tried.length ? el("details", {}, el("summary", {}, `${some(tried.length, "recipe was", "recipes were")} tried`), table("What was tried, by validation pictures", ["Ranker", "Features", "#AvgP", "#P10", "#Time"], tried)) : null,
    ...r.not_tried.map((/** @type {string} */ text) => el("p", { class: "faint" }, `Not tried: ${text}`)),
  ]);
}

/** @param {any} w a word that was saved from a session */
function savedWord(w) {
  const known = `Saved word “${w.word}”: on ${some(w.pictures, "picture")}, ${w.held_out} of them held out`;
  if (w.avgp === null) return `${known}: nothing measures it yet. Judge more pictures, and save them again.`;
  const worse = w.avgp <= w.untrained ? "; it ranks them no better than chance, so judge more pictures" : "";
  return `${known}: AvgP ${share(w.avgp)}, untrained ${share(w.untrained)}, if no other fits${worse}.`;
}

/** @param {any} r */
function likeness(r) {
  const p = r.proof;
  const lines = [`Learnt likeness from ${r.source} of ${some(r.pictures, "picture")}, by ${some(r.descriptors.length, "descriptor")}: ${r.learner}.`];
  if (p.n) lines.push(`On ${some(p.n, "held-out query", "held-out queries")}: mean AvgP ${share(p.candidate)}, all alike ${share(p.uniform)} (${gain(p.candidate - p.uniform)}, p ${pValue(p.p)}; ${p.helped} better, ${p.harmed} worse), ${r.single} alone ${share(p.single)}.`);
  if (p.current !== null) lines.push(`The combination before: ${share(p.current)}.`);
  const tried = r.table.map((/** @type {[string, number]} */ [name, value]) => [name, share(value)]);
  return told(r, lines, [el("details", {}, el("summary", {}, `${some(tried.length, "learner was", "learners were")} tried`), table("What was tried, by validation queries", ["Learner", "#AvgP"], tried))]);
}

/** @param {any} r */
function regions(r) {
  const p = r.proof;
  const lines = [`Learnt where ${some(r.words, "word lies", "words lie")}, from ${some(r.pictures, "picture")} by ${bare(r.feature)}; ${some(r.scenes, "scene")}.`];
  if (p.n) lines.push(`On ${some(p.n, "held-out picture")}: F ${share(p.candidate)}, the same words for all ${share(p.same)} (${gain(p.candidate - p.same)}).`);
  if (p.current !== null) lines.push(`On words both know: F ${share(p.against)}, the model before ${share(p.current)}.`);
  lines.push(`${r.sure} of ${some(r.words, "word")} can be proposed with nine in ten right${p.given ? `; ${p.right} of ${p.given} were on held-out pictures` : ""}.`);
  if (r.without_regions) lines.push(`${some(r.without_regions, "picture with words is", "pictures with words are")} not cut into regions and were left out.`);
  return told(r, lines, [r.version ? el("p", {}, el("a", { href: "#/review" }, "Review what it proposes"), ".") : null]);
}

/**
 * @param {any} r
 * @param {string[]} lines
 * @param {(Node | null)[]} more
 */
function told(r, lines, more) {
  const todo = r.saved?.length && r.saved.length === r.words ? "Judge more pictures, and save them again." : "Add words.";
  if (r.unproven) lines.push(`Unproven: too little was held out to tell. ${todo}`);
  return el(
    "div", {}, ...lines.map((text) => el("p", {}, text)),
    r.forced ? el("p", { class: "warning" }, "It is worse, and was published because you asked for that.") : null,
    el("p", {}, r.version ? `Published as version ${r.version}.` : "Nothing was published."), ...more,
  );
}

/** @param {string} feature with its fingerprint */
function bare(feature) {
  return feature.replace(/-[^-]*$/, "");
}
