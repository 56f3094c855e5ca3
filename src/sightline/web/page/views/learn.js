// Train and measure: how the collection stands, jobs, what they found, and versions.

import { el } from "../dom.js";
import { JobForms } from "./jobforms.js";
import { JobList } from "./jobs.js";
import { StandingPart } from "./standing.js";
import { VersionsPart } from "./versions.js";

/** @type {import("../types").View} */
export function view(host, at) {
  const standing = new StandingPart();
  const versions = new VersionsPart(() => void standing.load());
  const jobs = new JobList((job) => {
    // An evaluation changes nothing.
    if (job.verb === "evaluate") return;
    void standing.load();
    void versions.load();
  });
  const forms = new JobForms((id) => void jobs.load(id));
  host.append(el("h1", {}, "Learn"), standing.box, forms.box, jobs.box, versions.box);
  void standing.load();
  void jobs.load(at.get("job") ?? "");
  void versions.load();
  return () => jobs.end();
}

export const title = "Learn";
