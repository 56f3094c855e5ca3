// The contribution of each feature to a score, as bars.

import { el } from "../dom.js";

/** @param {{ descriptor: string, value: number }[]} contributions */
export function shares(contributions) {
  const most = Math.max(...contributions.map((s) => Math.abs(s.value)), 1e-9);
  const lines = contributions.map((s) => {
    const meter = el("div", { class: s.value < 0 ? "share against" : "share" });
    meter.style.width = `${Math.round((70 * Math.abs(s.value)) / most)}%`;
    return el("li", {}, el("span", {}, `${s.descriptor} ${s.value.toFixed(3)}`), meter);
  });
  return el("div", {}, el("p", {}, "Contribution of each feature"), el("ul", { class: "shares" }, ...lines));
}
