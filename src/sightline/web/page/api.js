// Requests to the service. A problem is thrown as the service described it; nothing is retried.

/** A problem that the service reported (RFC 9457), or that it did not answer. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} detail
   */
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<Response>}
 */
async function ask(path, init = {}) {
  let reply;
  try {
    reply = await fetch(path, { credentials: "same-origin", redirect: "error", ...init });
  } catch (e) {
    if (e instanceof DOMException && e.name === "AbortError") throw e;
    throw new Problem(0, "gone", "The server does not answer. Is it still running?");
  }
  if (reply.ok) return reply;
  const problem = await reply.json().catch(() => ({}));
  throw new Problem(reply.status, problem.code ?? "unknown", problem.detail ?? reply.statusText);
}

/**
 * @param {string} path
 * @param {Record<string, any>} [query] undefined values are left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, query = {}, signal) {
  return (await ask(withQuery(path, query), { signal })).json();
}

/**
 * @param {string} path
 * @param {object} [body]
 * @param {{ key?: string, signal?: AbortSignal }} [more] with a key, a repeated request counts once
 * @returns {Promise<any>}
 */
export async function post(path, body = {}, more = {}) {
  /** @type {Record<string, string>} */
  const headers = { "Content-Type": "application/json" };
  if (more.key) headers["Idempotency-Key"] = more.key;
  const init = { method: "POST", headers, body: JSON.stringify(body), signal: more.signal };
  return (await ask(path, init)).json();
}

/**
 * Upload a picture.
 *
 * @param {string} path
 * @param {Blob} picture
 * @param {Record<string, any>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function send(path, picture, query = {}, signal) {
  const type = picture.type.startsWith("image/") ? picture.type : "application/octet-stream";
  const init = { method: "POST", headers: { "Content-Type": type }, body: picture, signal };
  return (await ask(withQuery(path, query), init)).json();
}

/**
 * @param {string} path
 * @param {Record<string, any>} query
 */
export function withQuery(path, query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null && one !== "") parameters.append(name, String(one));
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

/** An idempotency key: a request that is sent twice with it counts once. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/**
 * Whether a request was cancelled by a newer one.
 *
 * @param {unknown} e
 */
export function isAbort(e) {
  return e instanceof DOMException && e.name === "AbortError";
}
