// Forms that start jobs: index, train, evaluate.

import { get, post } from "../api.js";
import { field, tick } from "../controls.js";
import { el, fill, say } from "../dom.js";

/** @typedef {import("../types").Ranker} Ranker */
/** @typedef {import("../types").Feature} Feature */
/** @typedef {import("../types").FeatureSet} FeatureSet */

export class JobForms {
  /** @param {(id: string) => void} started */
  constructor(started) {
    this._started = started;
    this.box = el(
      "section", { "aria-labelledby": "do-title" }, el("h2", { id: "do-title" }, "Start a job"),
      el("p", { class: "faint" }, "Jobs run one after another, and you can search meanwhile."),
      el("div", { class: "jobforms" }, this._index(), this._train(), this._evaluate()),
    );
  }

  _index() {
    const features = new FeatureChoice("index-features", "as before");
    const [retry, empty] = [box("index-retry"), box("index-empty")];
    return this._form(
      "index", "Index", "Read new and changed pictures, and remove missing ones from the index.", "Index",
      () => ({ verb: "index", features: features.chosen, retry: retry.checked, allow_empty: empty.checked }),
      [
        tick("Try skipped files again", retry),
        tick("Allow an empty folder:", empty, "all pictures are then removed from the index. Otherwise an empty folder counts as a missing disk."),
        ...features.fields,
      ],
    );
  }

  _train() {
    const what = el(
      "select", { id: "train-what", onchange: () => fit() },
      el("option", { value: "words" }, "Words, to search by words"), el("option", { value: "similar" }, "Similarity, to search by pictures"),
      el("option", { value: "regions" }, "Regions of words, to suggest words"),
      el("option", { value: "text" }, "Texts, for topics and long texts"),
    );
    const features = new FeatureChoice("train-features", "all");
    const [dry, force, search] = [box("train-dry"), box("train-force"), box("train-search")];
    const seconds = el("input", { id: "train-seconds", type: "number", min: "0", placeholder: "no limit" });
    const limit = field("Seconds to search", seconds);
    /** @type {HTMLInputElement[]} */
    let rankers = [];
    const chosen = el("fieldset", { class: "rankers" }, el("legend", {}, "Rankers to try"));
    void rankerBoxes(chosen).then((boxes) => (rankers = boxes));
    const searches = () => what.value === "words" && search.checked;
    const more = tick("Search for a better model", search, "once the quick one is published: other rankers, features and hyperparameters. Cancelled, its trials are kept for the next search.");
    const fit = () => {
      more.hidden = what.value !== "words";
      chosen.hidden = limit.hidden = !searches();
    };
    search.addEventListener("change", fit);
    fit();
    return this._form(
      "train", "Train", "Train a model, and publish it unless it is worse on held-out pictures than the one in use.", "Train",
      () => ({
        verb: "train", similar: what.value === "similar", regions: what.value === "regions", text: what.value === "text", dry_run: dry.checked, force: force.checked,
        features: features.chosen, rankers: searches() ? rankers.filter((r) => r.checked).map((r) => r.value) : [],
        search: searches() && (seconds.value === "" || Number(seconds.value)),
      }),
      [
        tick("Only measure:", dry, "publish nothing."),
        tick("Publish even if it is worse.", force, "Searches may get worse; roll back below to undo it."),
        more, limit, chosen, ...features.fields,
      ],
      field("What to train", what),
    );
  }

  _evaluate() {
    const curve = Object.assign(box("evaluate-curve"), { checked: true });
    return this._form(
      "evaluate", "Evaluate", "Measure on held-out pictures how well searching by words works.", "Evaluate",
      () => ({ verb: "evaluate", curve: curve.checked }), [tick("With a learning curve:", curve, "it takes longer, and shows whether more words would help.")],
    );
  }

  /**
   * @param {string} id
   * @param {string} title
   * @param {string} about
   * @param {string} label of the button
   * @param {() => object} body
   * @param {Node[]} options
   * @param {Node | null} [first]
   */
  _form(id, title, about, label, body, options, first = null) {
    const problem = el("p", { class: "bad", role: "alert" });
    const button = el("button", { class: "primary", id: `start-${id}` }, label);
    const start = async (/** @type {Event} */ e) => {
      e.preventDefault();
      button.disabled = true;
      fill(problem);
      try {
        const job = await post("/v1/jobs", body());
        say(`${title}: queued.`);
        this._started(job.id);
      } catch (wrong) {
        fill(problem, wrong instanceof Error ? wrong.message : String(wrong));
      } finally {
        button.disabled = false;
      }
    };
    return el(
      "form", { id: `form-${id}`, class: "panel", "aria-labelledby": `title-${id}`, onsubmit: start },
      el("h3", { id: `title-${id}` }, title), el("p", { class: "faint" }, about), first,
      el("details", {}, el("summary", {}, "Options"), el("div", { class: "options" }, ...options)),
      el("p", {}, button), problem,
    );
  }
}

/** A choice of features: checkboxes for registered ones, and a field for others. */
class FeatureChoice {
  /**
   * @param {string} id
   * @param {string} byDefault the features that are used if none is chosen
   */
  constructor(id, byDefault) {
    /** @type {HTMLInputElement[]} */
    this._boxes = [];
    this._others = text(id, byDefault);
    const known = el("fieldset", { class: "rankers" }, el("legend", {}, "Features"));
    this.fields = [
      el("details", {}, el("summary", {}, `Features (default: ${byDefault})`), known),
      field("Other features, such as imported vectors, separated by commas", this._others),
    ];
    void this._load(id, known);
  }

  /**
   * @param {string} id
   * @param {HTMLElement} known
   */
  async _load(id, known) {
    try {
      /** @type {{ features: Feature[], sets: FeatureSet[] }} */
      const { features, sets } = await get("/v1/features");
      const entries = [...sets.map((s) => ({ name: s.name, about: s.features.join(", ") })), ...features];
      this._boxes = entries.map(({ name, about }) => Object.assign(box(`${id}-${name}`), { value: name, title: about }));
      fill(known, el("legend", {}, "Sets of features, and features"), ...this._boxes.map((b) => tick(b.value, b)));
    } catch (wrong) {
      fill(known, el("legend", {}, "Features"), el("p", { class: "bad" }, wrong instanceof Error ? wrong.message : String(wrong)));
    }
  }

  /** The names of the features to use; none for the default. */
  get chosen() {
    return [...this._boxes.filter((b) => b.checked).map((b) => b.value), ...names(this._others.value)];
  }
}

/**
 * Show a checkbox for each registered ranker, and return them.
 *
 * @param {HTMLElement} chosen
 * @returns {Promise<HTMLInputElement[]>}
 */
async function rankerBoxes(chosen) {
  try {
    /** @type {{ rankers: Ranker[] }} */
    const { rankers } = await get("/v1/rankers");
    const onRequest = rankers.filter((r) => !r.default).map((r) => r.name);
    const boxes = rankers.map((r) => Object.assign(box(`ranker-${r.name}`), { value: r.name, title: r.about, disabled: !r.available }));
    fill(chosen, el("legend", {}, `Rankers to select from (default: all but ${onRequest.join(", ")})`), ...boxes.map((b) => tick(b.value, b)));
    return boxes;
  } catch (wrong) {
    fill(chosen, el("legend", {}, "Rankers to select from"), el("p", { class: "bad" }, wrong instanceof Error ? wrong.message : String(wrong)));
    return [];
  }
}

/** @param {string} id */
function box(id) {
  return el("input", { type: "checkbox", id });
}

/**
 * @param {string} id
 * @param {string} placeholder
 */
function text(id, placeholder) {
  return el("input", { type: "text", id, placeholder, spellcheck: false, autocomplete: "off", maxLength: 500 });
}

/** @param {string} list */
function names(list) {
  return list.split(/[,\s]+/).filter(Boolean);
}
