// Train and evaluate: the state of the collection, jobs with their reports, and versions.

import { el } from "../dom.js";
import { JobForms } from "./jobforms.js";
import { JobList } from "./jobs.js";
import { StatusPart } from "./status.js";
import { VersionsPart } from "./versions.js";

/** @type {import("../types").View} */
export function view(host, at) {
  const status = new StatusPart();
  const versions = new VersionsPart(() => void status.load());
  const jobs = new JobList((job) => {
    // An evaluation changes nothing.
    if (job.verb === "evaluate") return;
    void status.load();
    void versions.load();
  });
  const forms = new JobForms((id) => void jobs.load(id));
  host.append(el("h1", {}, "Train"), status.box, forms.box, jobs.box, versions.box);
  void status.load();
  void jobs.load(at.get("job") ?? "");
  void versions.load();
  return () => jobs.end();
}

export const title = "Train";
