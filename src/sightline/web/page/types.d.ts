// Types of the responses of the service, as far as the page uses them (see /openapi.json).
// Only the type checker reads this file.

export interface Hit {
  id: number;
  path: string;
  score: number;
  match: "exact" | "predicted" | "partial" | "suggested" | "similar";
  probability: number | null;
  proven?: boolean;
  thumbnail: string;
  original: string;
  shares?: { descriptor: string; value: number }[];
}

export interface Unknown {
  word: string;
  near: string[];
}

export interface NotLearned {
  word: string;
  pictures: number;
  near: string[];
}

export interface Correction {
  typed: string;
  searched: string[];
}

export interface DescribedWord {
  word: string;
  score: number;
  fits: boolean;
  tagged: boolean;
  lift: number;
  proven: boolean;
}

export interface Constraint {
  word: string;
  required: boolean;
  tagged: number;
  predicted: boolean;
}

export interface StartingWord {
  word: string;
  classes: string[];
  n_classes: number;
  closeness: number;
}

export interface Hits {
  version: number;
  hits: Hit[];
  next: string | null;
  total?: number | null;
  within?: number | null;
  unknown: Unknown[];
  not_learned: NotLearned[];
  predicted: boolean | null;
  constraints?: Constraint[];
  suggested?: StartingWord[];
  unproven?: { word: string; pictures: number }[];
  corrections?: Correction[];
  missing: number;
  said: string[];
}

export interface Round extends Hits {
  session: string;
  round: number;
  share: number;
  doubted: number[];
}

export interface Ranker {
  name: string;
  about: string;
  default: boolean;
  available: boolean;
}

export interface Feature {
  name: string;
  about: string;
  kind: string;
  length: number;
  vector: boolean;
}

export interface FeatureSet {
  name: string;
  features: string[];
}

export interface ExportFormat {
  name: string;
  about: string;
  file: string;
  media_type: string;
}

export interface Filters {
  folder?: string;
  after?: string;
  before?: string;
  min_side?: number;
  max_side?: number;
  min_bytes?: number;
  max_bytes?: number;
}

export interface Folder {
  id: string;
  name: string;
  pictures: number;
}

export interface Word {
  word: string;
  pictures: number;
}

export interface Session {
  id: string;
  query: string;
  examples: number[];
  positive: number;
  negative: number;
  rounds: number;
  undone: number;
  begun: number;
  last: number;
  words: string[];
  state: string;
  resumable: boolean;
}

export interface Picture {
  version: number;
  id: number;
  name: string;
  bytes: number;
  changed: number;
  taken: number | null;
  width: number;
  height: number;
  format: string;
  words: { source: string; tags: string[]; text: string }[];
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Mask {
  size: [number, number];
  counts: number[];
}

/** A view: it shows itself in `host`, and returns a function to call when it ends. */
export type View = (host: HTMLElement, at: URLSearchParams) => (() => void) | void;
