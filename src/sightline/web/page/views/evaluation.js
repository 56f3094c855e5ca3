// The evaluation on held-out pictures: the gain, and the queries that rank worse.

import { lineChart } from "../charts.js";
import { table } from "../controls.js";
import { count, el, some } from "../dom.js";
import { gain, percent, pValue, share } from "../figures.js";

/** @typedef {import("../reports").Evaluation} Evaluation */
/** @typedef {import("../reports").WordFigure} WordFigure */

/** @param {Evaluation} r */
export function evaluation(r) {
  return el(
    "div", { class: "evaluation" },
    el("p", {}, `${r.recipe}: ${some(r.words, "word")}; ${count(r.held_out)} of ${some(r.pictures, "picture")} held out, their words hidden.`),
    r.proven ? null : el("p", { class: "warning" }, "Too few queries for a conclusion. Add words."),
    r.online ? online(r.online) : null,
    groups(r),
    el("div", { class: "figures" }, reliability(r), learning(r), precisionRecall(r)),
    el("div", { class: "figures" }, wordList("Best words", r.best), wordList("Worst words", r.worst)),
    harmed(r),
    r.texts ? texts(r.texts) : null,
  );
}

/** @param {import("../reports").OnlineGain} o */
function online(o) {
  const gained = o.avgp === null || o.updated === null ? "" : ` On ${some(o.queries, "held-out query", "held-out queries")} with these words they take mean AvgP from ${share(o.avgp)} to ${share(o.updated)}.`;
  return el("p", {}, `${some(o.answers, "answer")} on ${some(o.words, "word")} since the training count in searches.${gained}`);
}

/** @param {import("../reports").TextFigures} t */
function texts(t) {
  const words = t.word_model === null ? "" : ` The word model, pictures for a text: ${share(t.word_model)}.`;
  return el(
    "div", {}, el("h4", {}, "Texts"),
    el("p", {}, `${t.recipe}, on ${some(t.pictures, "held-out picture")} and their texts: mean AvgP ${share(t.avgp)}, untrained ${share(t.untrained)} (${gain(t.avgp - t.untrained)}). Pictures for a text ${share(t.text_to_picture)}, texts for a picture ${share(t.picture_to_text)}.${words}`),
  );
}

/** @param {Evaluation} r */
function groups(r) {
  const rows = r.groups.map((g) => [
    g.queries, count(g.n), share(g.avgp), share(g.untrained), el("span", { class: g.gain < 0 ? "bad" : "good" }, gain(g.gain)), share(g.p10), pValue(g.p), count(g.significantly_harmed ?? g.harmed),
  ]);
  return el(
    "div", {}, el("h4", {}, "Gain"),
    table("Gain over the untrained order", ["Queries", "#n", "#AvgP", "#Untrained", "#Gain", "#P10", "#p-value", "#Worse than chance"], rows),
    el("p", { class: "faint" }, "AvgP is 1 where all pictures that fit come first. Worse than chance are queries that 95 of 100 random orders rank better; of rare words, many fall below the mean of random orders by chance alone. The p-value is the probability of so large a difference by chance alone (Wilcoxon)."),
  );
}

/** @param {Evaluation} r */
function learning(r) {
  if (r.curve.length < 2) return null;
  /** @type {[number, number][]} */
  const points = r.curve.map((c) => [c.pictures, c.avgp]);
  const [last, before] = [points[points.length - 1], points[points.length - 2]];
  const untrained = r.groups[0]?.untrained ?? 0;
  const rising = last[1] - before[1] > 0.005;
  return lineChart({
    title: "Learning curve", x: "Training pictures", y: "Mean AvgP",
    summary: `From ${count(points[0][0])} to ${count(last[0])} pictures, AvgP goes from ${share(points[0][1])} to ${share(last[1])}. ${rising ? "It still rises: more words would help." : "It hardly rises at the end: more words would help little."}`,
    lines: [{ name: "Trained", points }, { name: "Untrained", points: [[0, untrained], [last[0], untrained]] }],
  });
}

/**
 * How often the first hits of each word were right, by the probability shown with them.
 *
 * @param {Evaluation} r
 */
function reliability(r) {
  // A report of an earlier release has none.
  if (!r.reliability) return null;
  const { n, ece, brier_skill, first_hits, bins } = r.reliability;
  if (!n || ece === null) return null;
  const skill = brier_skill === null ? "" : ` Brier skill over the base rate: ${gain(brier_skill)}.`;
  const rows = bins.map((b) => [`${Math.round(100 * b.low)}–${Math.round(100 * b.high)} %`, percent(b.mean), percent(b.right), count(b.n)]);
  return el(
    "div", {},
    lineChart({
      title: "Reliability", x: "Probability shown", y: "Share that was right", most: 1,
      summary: `${reliable(bins)} The mean difference, the calibration error, is ${share(ece)} over the first ${first_hits} hits of each word.${skill}`,
      lines: [
        { name: "Hits", points: bins.map((b) => /** @type {[number, number]} */ ([b.mean, b.right])) },
        { name: "Perfectly reliable", points: [[0, 0], [1, 1]] },
      ],
    }),
    table("Hits by the probability shown", ["Shown at", "#Mean", "#Right", "#Hits"], rows),
  );
}

/** @param {Evaluation["reliability"]["bins"]} bins */
function reliable(bins) {
  const most = bins.filter((b) => b.low >= 0.5).sort((a, b) => b.n - a.n)[0] ?? bins[bins.length - 1];
  return `Of the ${some(most.n, "hit")} shown at ${Math.round(100 * most.low)}–${Math.round(100 * most.high)} %, ${percent(most.right)} were right.`;
}

/** @param {Evaluation} r */
function precisionRecall(r) {
  const { recall, precision, untrained, queries } = r.precision_recall;
  if (recall.length < 2) return null;
  /** @param {number[]} values */
  const points = (values) => values.map((v, i) => /** @type {[number, number]} */ ([recall[i], v]));
  const half = recall.reduce((best, at, i) => (Math.abs(at - 0.5) < Math.abs(recall[best] - 0.5) ? i : best), 0);
  return lineChart({
    title: "Precision and recall", x: "Recall", y: "Precision", most: 1,
    summary: `At a recall of ${percent(recall[half])}, the precision is ${percent(precision[half])}: the mean of ${some(queries, "query", "queries")}.`,
    lines: [{ name: "Trained", points: points(precision) }, { name: "Untrained", points: points(untrained) }],
  });
}

/**
 * @param {string} title
 * @param {WordFigure[]} words
 */
function wordList(title, words) {
  if (!words.length) return null;
  const rows = words.map((w) => [link(quoted(w.word), w.word), share(w.avgp), count(w.n)]);
  return el("div", {}, el("h4", {}, title), table(title, ["Word", "#AvgP", "#Held-out pictures"], rows));
}

/** @param {Evaluation} r */
function harmed(r) {
  const of = r.groups.find((g) => g.queries === "all") ?? r.groups[0];
  const all = of?.significantly_harmed ?? of?.harmed ?? 0;
  if (!all) return el("p", { class: "good" }, "No query ranks worse than chance: than 95 of 100 random orders.");
  const rows = r.harmed.map((h) => [link(h.words, h.words), share(h.avgp), share(h.untrained), gain(h.avgp - h.untrained), count(h.n)]);
  const title = `${some(all, "query ranks", "queries rank")} worse than chance: than 95 of 100 random orders`;
  return el(
    "details", { class: "harmed" }, el("summary", {}, title), rows.length < all ? el("p", { class: "faint" }, `The ${rows.length} that lost most:`) : null,
    table(title, ["Query", "#AvgP", "#Untrained", "#Loss", "#Pictures that fit"], rows),
  );
}

/**
 * @param {string} query
 * @param {string} text
 */
function link(query, text) {
  return el("a", { href: `#/search?q=${encodeURIComponent(query)}` }, text);
}

/** @param {string} word */
function quoted(word) {
  return /\s/.test(word) ? `"${word.replaceAll('"', "")}"` : word;
}
