// Light and dark, for what is painted and not styled.

import { onWidth } from "./kit.js";
import { upTo } from "./lists.js";

// Hear when a node gets colours, as it comes into the page, and when light becomes dark;
// returns what ends it.
export function onColours(node, redraw) {
  const unwatch = onWidth(node, () => redraw());
  const changed = new MutationObserver(() => redraw());
  for (const each of [document.documentElement, document.body]) {
    changed.observe(each, {
      attributes: true,
      attributeFilter: ["data-theme", "theme", "data-jp-theme-light", "class"],
    });
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", redraw);
  return () => {
    unwatch();
    changed.disconnect();
    system.removeEventListener("change", redraw);
  };
}

// What a token of the page is where `node` stands, for what is painted: a colour that a
// canvas understands.
export function colourAt(node, token) {
  const probe = document.createElement("i");
  probe.style.color = `var(${token})`;
  node.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

// The scale of weights there: a share from 0 to 1, or from −1 for numbers with a sign,
// to a colour.
export function scaleAt(node) {
  const [low, high, below] = ["--tf-low", "--tf-high", "--tf-below"].map((end) =>
    colourAt(node, end),
  );
  const steps = (end) =>
    upTo(101).map((n) => `color-mix(in oklab, ${end} ${n}%, ${low})`);
  const [up, down] = [steps(high), steps(below)];
  return (share) =>
    (share < 0 ? down : up)[Math.round(100 * Math.min(1, Math.abs(share)))];
}
