// The button that copies a link to the lab; where the browser forbids that, a field from
// which the reader can.
import { button, h, liveRegion, put } from "../kit/kit.js";

// onCopy() is to show() the newest link. -> { node, show(link), stop() }
export function shareBox(onCopy) {
  const live = liveRegion({ isShown: true });
  const link = h("input", {
    type: "text",
    readonly: true,
    hidden: true,
    class: "tfl-link",
    "aria-label": "The link to this sentence with its settings",
    "data-control": "link",
  });
  async function copy() {
    onCopy();
    try {
      await navigator.clipboard.writeText(link.value);
      live.announce(
        "The link is copied: it shows this sentence with these settings.",
        true,
      );
    } catch {
      put(link, { hidden: false });
      link.select();
      live.announce("Copy the link from the field.", true);
    }
  }
  const go = button("copy", "Copy link", copy);
  const show = (address) => {
    link.value = address;
  };
  const node = h("div", { class: "tfl-share" }, go, link, live.node);
  return { node, show, stop: live.stop };
}
