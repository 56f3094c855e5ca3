// The reports of finished jobs, in sentences and tables.

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
  if (r.kind === "regions") return regions(r);
  if (r.kind === "text") return texts(r);
  return r.kind === "similarity" ? similarity(r) : words(r);
}

/** @param {any} r */
function indexed(r) {
  const parts = [
    `${count(r.seen)} seen`, `${count(r.indexed)} indexed`, `${count(r.added)} new`, `${count(r.changed)} changed`, `${count(r.moved)} moved`, `${count(r.gone)} gone`, `${count(r.skipped.length)} skipped`,
    ...(r.described ? [`${count(r.described)} described`] : []),
  ];
  return el(
    "div", {}, el("p", {}, `${parts.join(", ")}: version ${r.version}.`),
    ...r.problems.map((/** @type {string} */ text) => el("p", { class: "warning" }, text)),
    ...(r.tables ?? []).map((/** @type {any} */ read) => el("p", {}, read.summary)),
    ...(r.lost_words ?? []).map((/** @type {any} */ c) => el("p", { class: "warning" }, `Words not read, ${counted(c)}.`)),
    ...(r.txt_files ?? []).map((/** @type {any} */ c) => el("p", { class: "faint" }, `${counted(c)}.`)),
    r.skipped_by_reason?.length ? details("Skipped files by reason", skipGroups(r.skipped_by_reason)) : null,
    r.left_out?.length ? el("p", { class: "faint" }, `Not looked at: ${r.left_out.map(counted).join("; ")}.`) : null,
  );
}

/** @param {any} c cases of one reason */
function counted(c) {
  return `${count(c.count)}: ${c.reason}${c.examples.length ? ` (such as ${c.examples[0]})` : ""}`;
}

/**
 * The reasons for which files were skipped: pictures that could not be read first.
 *
 * @param {import("../reports").SkipGroup[]} groups
 */
export function skipGroups(groups) {
  const rows = groups.map((g) => [g.failed ? "could not be read" : "left out by rule", g.reason, g.example, count(g.count)]);
  return table("Skipped files by reason", ["What", "Reason", "Example", "#Files"], rows);
}

/** @param {any} r */
function words(r) {
  const held = r.held_out;
  const names = r.features.map(bare).join(" + ");
  const lines = [`Trained ${some(r.words, "word")} on ${some(r.pictures, "picture")} by ${r.ranker} on ${names}.`];
  if (r.search) lines.push(`Search: ${some(r.search.trials, "trial")}${r.search.reused ? ` and ${r.search.reused} known from earlier trainings` : ""} in ${lasted(r.search.seconds)}; ${r.search.improved ? "a better model was published" : "the quick model stays"}.`);
  if (held.queries) lines.push(`On ${some(held.queries, "held-out query", "held-out queries")}: mean AvgP ${share(held.avgp)}, untrained ${share(held.untrained)} (${gain(held.avgp - held.untrained)}); ${compared(held)}.`);
  if (held.current !== null) lines.push(`The previous model: ${share(held.current)}, this one ${share(held.against_current)}, on the ${some(held.common_queries, "query", "queries")} both know.`);
  if (held.not_compared) lines.push("Not compared with the previous model: its features are missing.");
  if (r.left_out) lines.push(`${some(r.left_out, "picture with words lacks", "pictures with words lack")} features and were left out.`);
  lines.push(...r.saved.map(savedWord));
  const rows = r.trials.map((/** @type {any} */ t) => [t.ranker, t.features.map(bare).join(" + "), share(t.avgp), share(t.p10), lasted(t.train_seconds)]);
  return published(r, lines, [
    rows.length ? details(`${some(rows.length, "trial", "trials")}`, table("Trials, on validation pictures", ["Ranker", "Features", "#AvgP", "#P10", "#Time"], rows)) : null,
    details("Details of the model", ...detailLines(r)),
    ...r.not_tried.map((/** @type {string} */ text) => el("p", { class: "faint" }, `Not tried: ${text}`)),
  ]);
}

/** @param {any} r */
function detailLines(r) {
  const set = Object.entries(r.hyperparameters).map(([name, value]) => `${name} = ${value}`);
  const lines = [`Hyperparameters: ${set.join(", ") || "none"}.`, `Scores of several words are combined by ${r.combination}.`];
  if (r.held_out.queries) lines.push(`p-value ${pValue(r.held_out.p)} (Wilcoxon).`);
  if (r.course) lines.push(`Training: ${r.course}`);
  return lines.map((text) => el("p", {}, text));
}

/**
 * How many queries a model ranks better and worse than the baseline does.
 *
 * @param {any} held
 */
function compared(held) {
  const harmed = held.significantly_harmed;
  if (harmed !== undefined && harmed !== null) return `${harmed ? some(harmed, "query is", "queries are") : "no query is"} ranked worse than chance`;
  return `${some(held.helped, "query is", "queries are")} ranked better, ${held.harmed} worse`;
}

/**
 * @param {string} title
 * @param {...(Node | string)} content
 */
function details(title, ...content) {
  return el("details", {}, el("summary", {}, title), ...content);
}

/** @param {any} w a word that was saved from a session */
function savedWord(w) {
  const facts = `“${w.word}”, learned against pictures without tags: on ${some(w.pictures, "picture")}, ${w.held_out} of them held out`;
  if (w.avgp === null) return `${facts}: not measured yet. Add pictures that fit.`;
  const worse = w.avgp <= w.untrained ? "; no better than a random order, so add pictures that fit" : "";
  const how = w.measured_by === "leave-one-out" ? "not yet proven; with each left out in turn: " : "";
  return `${facts}: ${how}AvgP ${share(w.avgp)}, untrained ${share(w.untrained)}, if no other picture fits${worse}.`;
}

/** @param {any} r */
function similarity(r) {
  const held = r.held_out;
  const lines = [`Trained the similarity model on ${some(r.pictures, "picture")} with ${some(r.features.length, "feature")}, by ${r.source}.`];
  if (held.queries) lines.push(`On ${some(held.queries, "held-out query", "held-out queries")}: mean AvgP ${share(held.avgp)}, equal weights ${share(held.equal_weights)} (${gain(held.avgp - held.equal_weights)}); ${compared(held)}. ${r.single} alone: ${share(held.single)}.`);
  if (held.current !== null) lines.push(`The previous model: ${share(held.current)}.`);
  const rows = r.trials.map((/** @type {any} */ t) => [t.learner, share(t.avgp)]);
  return published(r, lines, [
    details(`${some(rows.length, "trial", "trials")}`, table("Trials, on validation queries", ["Learner", "#AvgP"], rows)),
    details("Details of the model", el("p", {}, `Learner: ${r.learner}.`), held.queries ? el("p", {}, `p-value ${pValue(held.p)} (Wilcoxon).`) : ""),
  ]);
}

/** @param {any} r */
function regions(r) {
  const held = r.held_out;
  const lines = [`Trained regions of ${some(r.words, "word")} on ${some(r.pictures, "picture")} with ${bare(r.feature)}; ${some(r.scenes, "scene")}.`];
  if (held.pictures) lines.push(`On ${some(held.pictures, "held-out picture")}: F ${share(held.f)}, the same words for all ${share(held.same_words)} (${gain(held.f - held.same_words)}).`);
  if (held.current !== null) lines.push(`On words both know: F ${share(held.against_current)}, the previous model ${share(held.current)}.`);
  lines.push(`${r.sure} of ${some(r.words, "word")} can be suggested with nine in ten right${held.suggested ? `; on held-out pictures ${held.right} of ${held.suggested} were right` : ""}.`);
  if (r.without_regions) lines.push(`${some(r.without_regions, "picture with words has", "pictures with words have")} no regions and were left out.`);
  return published(r, lines, [r.version ? el("p", {}, el("a", { href: "#/review" }, "Review what it suggests"), ".") : null]);
}

/** @param {any} r */
function texts(r) {
  const held = r.held_out;
  const lines = [`Trained the text model of ${some(r.words, "word")} on ${some(r.pictures, "picture")} by ${r.ranker} on ${r.features.map(bare).join(" + ")}.`];
  if (held.pictures) {
    lines.push(`On ${some(held.pictures, "held-out picture")} and their texts: mean AvgP ${share(held.avgp)}, untrained ${share(held.untrained)} (${gain(held.avgp - held.untrained)}). Pictures for a text ${share(held.text_to_picture)}, texts for a picture ${share(held.picture_to_text)}.`);
  }
  if (held.word_model !== null) {
    const better = held.word_model > held.text_to_picture;
    lines.push(`The word model, pictures for a text: ${share(held.word_model)}${better ? "; it is better and goes on answering texts" : ""}.`);
  }
  if (held.current !== null) lines.push(`The previous model: ${share(held.current)}, this one ${share(held.against_current)}, on the ${some(held.common_pictures, "text")} both know.`);
  if (held.not_compared) lines.push("Not compared with the previous model: its features are missing.");
  if (r.left_out) lines.push(`${some(r.left_out, "picture with words lacks", "pictures with words lack")} features and were left out.`);
  const rows = r.trials.map((/** @type {any} */ t) => [t.ranker, t.features.map(bare).join(" + "), share(t.avgp), share(t.p10), lasted(t.train_seconds)]);
  return published(r, lines, [
    r.version ? el("p", {}, el("a", { href: "#/topics" }, "Topics"), ".") : null,
    rows.length ? details(some(rows.length, "trial", "trials"), table("Trials, on validation pictures", ["Ranker", "Features", "#AvgP", "#P10", "#Time"], rows)) : null,
    r.course ? details("Details of the model", el("p", {}, `Training: ${r.course}`)) : null,
  ]);
}

/**
 * @param {any} r
 * @param {string[]} lines
 * @param {(Node | null)[]} more
 */
function published(r, lines, more) {
  const todo = r.saved?.length && r.saved.length === r.words ? "Tag or judge more pictures." : "Add words.";
  if (r.unproven) lines.push(`Unproven: too few held-out pictures to measure it. ${todo}`);
  return el(
    "div", {}, ...lines.map((text) => el("p", {}, text)),
    r.forced ? el("p", { class: "warning" }, "It is worse than the previous model or than no model, and was published as you requested.") : null,
    el("p", {}, r.version ? `Published as version ${r.version}.` : "Nothing was published."), ...more,
  );
}

/** @param {string} feature with its fingerprint */
function bare(feature) {
  return feature.replace(/-[^-]*$/, "");
}
