// Jobs of this server, newest first: progress, cancelling, and reports.

import { get, post } from "../api.js";
import { complain, el, fill, say, when } from "../dom.js";
import { lasted } from "../figures.js";
import { reported } from "./jobreports.js";
import { notice } from "./problem.js";

/** @typedef {import("../reports").Job} Job */
/** @typedef {import("../reports").Progress} Progress */

const ENDED = ["done", "failed", "cancelled"];
const NOTES = 6;
const AGAIN_MS = 3000;
const SOON_MS = 400;

/** @type {Record<string, string>} */
const STATES = { queued: "Waiting", running: "Running", done: "Done", failed: "Failed", cancelled: "Cancelled" };
/** @type {Record<string, string>} */
const VERBS = { index: "Index", train: "Train", evaluate: "Evaluate" };

/** One job in the list, whose events are followed until it ends. */
class JobLine {
  /**
   * @param {Job} job
   * @param {(job: Job) => void} ended
   */
  constructor(job, ended) {
    this._ended = ended;
    this.id = job.id;
    this.state = el("span", { class: "badge" });
    this.bar = el("progress", { "aria-label": `${VERBS[job.verb]}: progress` });
    this.status = el("p", { role: "status", "aria-live": "polite" });
    this.notes = el("ul", { class: "notes faint" });
    this.stop = el("button", { type: "button", onclick: () => void this._cancel() }, "Cancel");
    this.report = el("div", { class: "report" });
    this.more = el("details", { hidden: true }, el("summary", {}, "Report"), this.report);
    this.box = el(
      "li", { class: "panel job", id: `job-${job.id}`, tabIndex: -1 },
      el("div", { class: "row" }, el("h3", {}, VERBS[job.verb] ?? job.verb), this.state, this.stop),
      this.bar, this.status, this.notes, this.more,
    );
    /** @type {EventSource | null} */
    this._events = null;
    this._later = 0;
    this._closed = false;
    this._spoken = "";
    this.show(job);
  }

  /** @param {Job} job */
  show(job) {
    const over = ENDED.includes(job.state);
    if (over && this.box.contains(document.activeElement)) this.box.focus({ preventScroll: true });
    this.state.textContent = STATES[job.state] ?? job.state;
    this.state.className = `badge ${job.state === "done" ? "good" : job.state === "failed" ? "bad" : ""}`;
    this.stop.hidden = over;
    this.bar.hidden = job.state !== "running";
    this.box.dataset.state = job.state;
    if (!over) {
      if (job.progress) this._progress(job.progress);
      // Browsers limit connections to a server, so only the running job is followed.
      return job.state === "running" ? this._listen() : undefined;
    }
    this.end();
    fill(this.notes);
    const took = job.begun && job.ended ? `${when(job.begun)}, ${lasted(job.ended - job.begun)}` : "It did not start";
    this.status.textContent = job.detail ? `${job.detail} (${took})` : job.state === "cancelled" ? `${took}. Nothing was published; the previous model is still in use.` : took;
    this.more.hidden = !job.report;
    fill(this.report, job.report ? reported(job) : null);
  }

  _listen() {
    if (this._events) return;
    const events = (this._events = new EventSource(`/v1/jobs/${this.id}/events`));
    events.addEventListener("running", () => {
      this.bar.hidden = false;
      this.state.textContent = STATES.running;
    });
    events.addEventListener("progress", (e) => this._progress(JSON.parse(e.data)));
    events.addEventListener("end", () => void this._look());
    // The browser reconnects by itself, unless it was rejected.
    events.addEventListener("error", () => {
      if (events.readyState !== EventSource.CLOSED) return;
      this.end();
      this._later = window.setTimeout(() => void this._look(), AGAIN_MS);
    });
  }

  /** @param {Progress} p */
  _progress(p) {
    if (p.total) {
      this.bar.max = p.total;
      this.bar.value = Math.min(p.done, p.total);
    } else this.bar.removeAttribute("value");
    const pace = p.rate == null ? "" : `, ${p.rate < 10 ? p.rate.toFixed(1) : Math.round(p.rate)}/s`;
    const left = p.seconds_left == null || p.done === p.total ? "" : `, ${lasted(p.seconds_left)} left`;
    const far = p.total ? ` ${p.done} of ${p.total}${pace}${left}` : p.done ? ` ${p.done}${pace}` : "";
    this.bar.title = `${p.what}${far}`;
    this.bar.textContent = `${p.what}${far}`;
    // Each step is read aloud once, not each picture of it.
    if (p.what !== this._spoken) this.status.textContent = this._spoken = p.what;
    if (p.note) this._note(p.note);
    else if (p.what && this.notes.firstElementChild?.getAttribute("data-what") !== p.what) this._note(`${p.what}${far}`, p.what);
    else if (far && this.notes.firstElementChild) this.notes.firstElementChild.textContent = `${p.what}${far}`;
  }

  /**
   * @param {string} text
   * @param {string} [what]
   */
  _note(text, what) {
    this.notes.prepend(el("li", { "data-what": what }, text));
    while (this.notes.childElementCount > NOTES) this.notes.lastElementChild?.remove();
  }

  async _look() {
    this.end();
    try {
      const job = /** @type {Job} */ (await get(`/v1/jobs/${this.id}`));
      if (this._closed) return;
      this.show(job);
      this.more.open = true;
      if (ENDED.includes(job.state)) this._ended(job);
    } catch (e) {
      if (this._closed) return;
      this.state.textContent = "Unknown";
      this.stop.hidden = this.bar.hidden = true;
      this.more.hidden = false;
      fill(this.report, notice(e));
      this._later = window.setTimeout(() => void this._look(), AGAIN_MS);
    }
  }

  async _cancel() {
    this.stop.disabled = true;
    try {
      await post(`/v1/jobs/${this.id}/cancel`);
      say("Cancelling.");
    } catch (e) {
      this.stop.disabled = false;
      complain(e);
    }
  }

  end() {
    this._events?.close();
    this._events = null;
    clearTimeout(this._later);
  }

  /** Stop following the job: the view ends. */
  close() {
    this._closed = true;
    this.end();
  }
}

export class JobList {
  /** @param {(job: Job) => void} ended called when a job has ended */
  constructor(ended) {
    this._ended = ended;
    /** @type {Map<string, JobLine>} */
    this._lines = new Map();
    this._list = el("ol", { id: "jobs", class: "jobs", "aria-labelledby": "jobs-title" });
    this._empty = el("div");
    this._gone = false;
    this._later = 0;
    this.box = el("section", { "aria-labelledby": "jobs-title" }, el("h2", { id: "jobs-title" }, "Jobs"), this._empty, this._list);
  }

  /**
   * Show all jobs, and scroll to one.
   *
   * @param {string} [to]
   */
  async load(to = "") {
    try {
      const { jobs } = await get("/v1/jobs");
      if (this._gone) return;
      for (const job of /** @type {Job[]} */ (jobs).reverse()) this._show(job);
      const newest = jobs.length ? this._lines.get(jobs[jobs.length - 1].id) : null;
      if (newest) newest.more.open = true;
      // A waiting job is polled until it runs.
      const states = new Set(jobs.map((/** @type {Job} */ job) => job.state));
      clearTimeout(this._later);
      if (states.has("queued") && !states.has("running")) this._later = window.setTimeout(() => void this.load(), SOON_MS);
      fill(this._empty, jobs.length ? null : el("p", { class: "faint" }, "None since the server started."));
    } catch (e) {
      return fill(this._empty, notice(e));
    }
    const line = this._lines.get(to);
    if (!line) return;
    line.box.scrollIntoView({ block: "center" });
    line.box.focus({ preventScroll: true });
  }

  /** @param {Job} job */
  _show(job) {
    const shown = this._lines.get(job.id);
    if (shown) return shown.show(job);
    const line = new JobLine(job, (ended) => {
      this._ended(ended);
      void this.load();
    });
    this._lines.set(job.id, line);
    this._list.prepend(line.box);
  }

  end() {
    this._gone = true;
    clearTimeout(this._later);
    for (const line of this._lines.values()) line.close();
  }
}
