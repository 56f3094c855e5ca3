/** @type {import("../types").View} */
export function view(host) {
  host.append("…");
}
export const title = "scenes";
