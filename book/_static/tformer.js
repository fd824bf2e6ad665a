// What scrolls must be reachable with the keyboard: formulas, outputs and tables that
// are wider than their box become stops for the Tab key, and only those. Boxes are
// measured when they come near the viewport and, since the Tab key may be faster, one by
// one while the page has nothing to do: all at once would stop a slow machine.
(() => {
  const WIDE =
    "mjx-container[display='true'], .cell_output, .tf-scroll, .tf-widget, pre, " +
    ".pst-scrollable-table-container";

  const scrolls = (box) =>
    box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;

  function mark(boxes) {
    const measured = boxes.map((box) => [box, scrolls(box)]); // all reads, then writes
    for (const [box, wide] of measured) {
      if (wide && box.tabIndex < 0) {
        box.tabIndex = 0;
        box.dataset.tfScrolls = "true";
      } else if (!wide && box.dataset.tfScrolls && box !== document.activeElement) {
        box.removeAttribute("tabindex");
        delete box.dataset.tfScrolls;
      }
    }
  }

  const near = new IntersectionObserver(
    (entries) =>
      mark(entries.filter((each) => each.isIntersecting).map((each) => each.target)),
    { rootMargin: "200px" },
  );
  const soon = window.requestIdleCallback ?? ((act) => setTimeout(act, 50)); // Safari
  let queue = [];
  function next() {
    if (queue.length) {
      mark([queue.shift()]);
      soon(next);
    } else delete document.documentElement.dataset.tfMeasuring;
  }
  function watch() {
    near.disconnect();
    const idle = !queue.length;
    queue = [...document.querySelectorAll(WIDE)];
    document.documentElement.dataset.tfMeasuring = "true";
    for (const box of queue) near.observe(box);
    if (idle) soon(next);
  }

  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(watch, 150);
  });
  watch();
})();
