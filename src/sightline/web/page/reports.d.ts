// Types of the responses for reviews, jobs and versions, as far as the page uses them (see
// /openapi.json). Only the type checker reads this file.

import type { Box, Mask } from "./types";

export interface Suggestion {
  picture: number;
  name: string;
  word: string;
  add: boolean;
  confidence: number;
  scene: number;
  box: Box;
  mask: Mask;
}

/** How often a word was right on held-out pictures. */
export interface WordPrecision {
  word: string;
  pictures: number;
  proposed: number;
  given: number;
  right: number;
  promised: number;
}

export interface Abstained {
  word: string;
  pictures: number;
  why: string;
}

export interface Suggestions {
  version: number;
  suggestions: Suggestion[];
  abstained: Abstained[];
  words: WordPrecision[];
  pictures: number;
  without_regions: number;
  judged: number;
}

/** A tag that is probably wrong, and the probability that it is. */
export interface SuspectedTag {
  id: number;
  path: string;
  word: string;
  confidence: number;
}

export interface SuspectedTags {
  version: number;
  model: string;
  suggestions: SuspectedTag[];
  tags: number;
  expected: number;
  judged: number;
}

export interface Progress {
  what: string;
  done: number;
  total: number | null;
  note: string;
  rate: number | null;
  seconds_left: number | null;
}

export interface Job {
  id: string;
  verb: "index" | "train" | "evaluate";
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  begun: number | null;
  ended: number | null;
  detail: string;
  progress: Progress | null;
  report: any;
}

export interface Model {
  model: string;
  kind: string;
  trained: number | null;
  queries: number;
  measure: string;
  value: number | null;
  untrained: number | null;
  p: number | null;
  current: number | null;
  against_current: number | null;
  unproven: boolean;
  forced: boolean;
}

export interface Version {
  version: number;
  written: number;
  pictures: number;
  note: string;
  current: boolean;
  finished: boolean;
  models: Model[];
}

export interface Difference {
  kind: string;
  before: Model | null;
  after: Model | null;
  gain: number | null;
  comparable: boolean;
}

export interface Report {
  version: number;
  pictures: number;
  with_words: number;
  starting_words: boolean;
  words: number;
  skipped: number;
  sessions: number;
  word_model: string;
  similarity_model: string;
  text_model: string;
  up_to_date: boolean;
  models: Model[];
}

/** The quality of a model and of the untrained order on some held-out queries. */
export interface Group {
  queries: string;
  n: number;
  avgp: number;
  untrained: number;
  gain: number;
  p10: number;
  bep: number;
  p: number | null;
  helped: number;
  harmed: number;
  significantly_harmed: number;
  harmed_rate: number;
}

/** A word, and its number of held-out pictures. */
export interface WordFigure {
  word: string;
  avgp: number;
  n: number;
}

/** A query that ranks worse than without the model. */
export interface HarmedQuery {
  words: string;
  avgp: number;
  untrained: number;
  n: number;
}

export interface Evaluation {
  recipe: string;
  pictures: number;
  held_out: number;
  words: number;
  proven: boolean;
  groups: Group[];
  curve: { pictures: number; avgp: number }[];
  precision_recall: { recall: number[]; precision: number[]; untrained: number[]; queries: number };
  best: WordFigure[];
  worst: WordFigure[];
  harmed: HarmedQuery[];
  texts: TextFigures | null;
  reliability: Reliability;
  several_reliability: Reliability;
  online?: OnlineGain | null;
}

/** What answers since the training gain on held-out pictures. */
export interface OnlineGain {
  answers: number;
  words: number;
  queries: number;
  avgp: number | null;
  updated: number | null;
}

export interface Reliability {
  first_hits: number;
  n: number;
  ece: number | null;
  brier_skill: number | null;
  bins: { low: number; high: number; n: number; mean: number; right: number }[];
}

export interface TextFigures {
  recipe: string;
  pictures: number;
  avgp: number;
  untrained: number;
  text_to_picture: number;
  picture_to_text: number;
  word_model: number | null;
}

export interface SkipGroup {
  kind: string;
  reason: string;
  count: number;
  new: number;
  example: string;
  failed: boolean;
}

export interface SkippedFile {
  name: string;
  kind: string;
  reason: string;
}
