// A long list of hits, of which only visible parts are fetched.

/** @typedef {import("./types").Hit} Hit */
/** @typedef {import("./types").Hits} Hits */

const PAGE = 100;

/** Hits by their rank. */
export class HitList {
  /**
   * @param {(offset: number, k: number, first: boolean) => Promise<Hits>} fetch
   * @param {() => void} came called when another part has arrived
   * @param {(problem: unknown) => void} failed
   */
  constructor(fetch, came, failed) {
    this._fetch = fetch;
    this._came = came;
    this._failed = failed;
    /** @type {Map<number, Hit>} */
    this._at = new Map();
    /** @type {Set<number>} */
    this._asked = new Set();
    /** @type {Set<number>} */
    this._loaded = new Set();
    this.size = 0;
    /** @type {number | null} how many lie above the cut-off */
    this.within = null;
    this.version = 0;
    /** @type {Hits | null} */
    this.first = null;
    this._stale = false;
  }

  /** Fetch the beginning; throws if that fails. */
  async begin() {
    this._asked.add(0);
    const first = await this._fetch(0, PAGE, true);
    this.first = first;
    this.version = first.version;
    this.size = first.total ?? first.hits.length;
    this.within = first.within ?? null;
    this._keep(0, first.hits);
  }

  /**
   * @param {number} i
   * @returns {Hit | undefined}
   */
  at(i) {
    return this._at.get(i);
  }

  /**
   * Whether the file at a rank is gone, so that its tile stays empty.
   *
   * @param {number} i
   */
  isGone(i) {
    return this._loaded.has(Math.floor(i / PAGE)) && !this._at.has(i);
  }

  /**
   * Fetch the hits between two ranks.
   *
   * @param {number} from
   * @param {number} to
   */
  need(from, to) {
    if (this._stale) return;
    for (let page = Math.floor(from / PAGE); page * PAGE < Math.min(to, this.size); page++)
      if (!this._asked.has(page)) {
        this._asked.add(page);
        void this._load(page);
      }
  }

  /** @param {number} page */
  async _load(page) {
    try {
      const part = await this._fetch(page * PAGE, PAGE, false);
      if (part.version !== this.version) throw new ListChanged(part.version);
      if (this._stale) return;
      this._keep(page * PAGE, part.hits);
    } catch (e) {
      this._asked.delete(page);
      if (this._stale) return;
      // The rest cannot be fetched any more.
      if (e instanceof ListChanged) this._stale = true;
      this._failed(e);
      return;
    }
    this._came();
  }

  /**
   * @param {number} from
   * @param {Hit[]} hits
   */
  _keep(from, hits) {
    this._loaded.add(Math.floor(from / PAGE));
    hits.forEach((h, i) => this._at.set(from + i, h));
  }
}

/** The server has a newer version of the collection than the list. */
export class ListChanged extends Error {
  /** @param {number} version */
  constructor(version) {
    super(`The collection changed (version ${version}).`);
  }
}
