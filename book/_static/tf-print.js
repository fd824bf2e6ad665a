// Figures and charts are drawn when they come near the screen. Paper has no screen: so
// Ctrl+P draws them all, waits for them, and then prints. (The browser's menu can't be
// made to wait; boxes that are still empty then say how to get them.)
(() => {
  const PATIENCE = 15000; // milliseconds; after that, print what there is
  const BOXES = ".tf-widget, .tf-plotly-box";
  let isWaiting = false;

  const drawn = () =>
    new Promise((resolve) => {
      const since = performance.now();
      const look = () => {
        const missing = document.querySelector(`:is(${BOXES}):not([data-ready])`);
        if (!missing || performance.now() - since > PATIENCE) resolve(undefined);
        else setTimeout(look, 100);
      };
      look();
    });

  // Paper is white: print by day, whatever the screen shows.
  const { dataset } = document.documentElement;
  let onScreen = "";
  addEventListener("beforeprint", (event) => {
    if (!event.isTrusted) return; // nothing is printed yet
    onScreen ||= dataset.theme ?? "";
    if (onScreen) dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    if (onScreen) dataset.theme = onScreen;
    onScreen = "";
  });

  addEventListener("keydown", async (event) => {
    const isPrint = event.key.toLowerCase() === "p" && (event.ctrlKey || event.metaKey);
    if (!isPrint || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (isWaiting) return;
    isWaiting = true;
    dispatchEvent(new Event("beforeprint"));
    await drawn();
    isWaiting = false;
    print();
  });
})();
