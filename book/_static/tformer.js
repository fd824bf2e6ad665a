// What scrolls must be reachable with the keyboard: formulas, outputs and tables that
// are wider than the screen become stops for the Tab key, and only those.
(() => {
  const wide = "mjx-container[display='true'], .cell_output, .tf-scroll, .tf-widget, pre";

  function markScrollable() {
    for (const box of document.querySelectorAll(wide)) {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      if (scrolls && !box.hasAttribute("tabindex")) {
        box.tabIndex = 0;
        box.dataset.tfScrolls = "true";
      } else if (!scrolls && box.dataset.tfScrolls) {
        box.removeAttribute("tabindex");
        delete box.dataset.tfScrolls;
      }
    }
  }

  addEventListener("load", () => {
    markScrollable();
    window.MathJax?.startup?.promise?.then(markScrollable);
    let timer;
    addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(markScrollable, 150);
    });
  });
})();
