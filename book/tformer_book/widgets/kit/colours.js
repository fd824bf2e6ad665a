// Light and dark, for what is painted and not styled.

import { onWidth } from "./kit.js";

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
