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

  // A figure is never broken: one that came just before a page's end would leave a hole
  // there. Its cell has the tag `late` where the paragraph after it is printed first, and
  // `late-2` where two are; a drawing in the text has the class `tf-late`. (What is
  // covered stands beside its cell, and text with it.)
  const moved = []; // [paragraph, what stood before it]
  addEventListener("beforeprint", () => {
    if (moved.length) return;
    for (const cell of document.querySelectorAll(".tag_late, .tag_late-2, .tf-late")) {
      const cover = cell.nextElementSibling;
      const figure = cover?.matches(".tf-cover")
        ? cover.querySelector(".cell_output")
        : cell;
      for (let left = cell.matches(".tag_late-2") ? 2 : 1; left; left--) {
        const text = figure?.nextElementSibling;
        if (!text?.matches("p")) break;
        moved.push([text, text.previousElementSibling]);
        figure.before(text);
      }
    }
  });
  addEventListener("afterprint", () => {
    for (const [text, before] of moved.splice(0).reverse()) before.after(text);
  });

  // What a link leads to: on paper it can only be turned to.
  addEventListener("beforeprint", () => {
    for (const link of document.querySelectorAll(".bd-article :is(p, li) a.internal")) {
      const chapter = link.getAttribute("href")?.match(/^(\d\d)-/)?.[1];
      const says = link.textContent ?? "";
      if (chapter && !/chapter/i.test(says))
        link.setAttribute("data-chapter", `${Number(chapter)}`);
    }
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
