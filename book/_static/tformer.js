// What scrolls must be reachable with the keyboard: formulas, outputs and tables that
// are wider than their box become stops for the Tab key, and only those. Boxes are
// measured when they come near the viewport and, since the Tab key may be faster, one by
// one while the page has nothing to do: all at once would stop a slow machine.
(() => {
  const WIDE =
    "mjx-container[display='true'], .cell_output, .tf-scroll, .tf-widget, pre, " +
    ".pst-scrollable-table-container";

  const scrolls = (box) =>
    (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) &&
    getComputedStyle(box).overflowX !== "visible";

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

// The first page's chapters lie over it. Escape, or a press beside them, puts them away.
(() => {
  const bar = document.querySelector(".bd-sidebar-primary");
  /** @type {HTMLElement | null} */
  const toggle = document.querySelector(".bd-header-article .primary-toggle");
  if (!bar || !toggle || !document.body.matches(".tf-first")) return;
  const isOpen = () =>
    matchMedia("(min-width: 992px)").matches &&
    !bar.classList.contains("pst-sidebar-hidden");
  const close = () => {
    toggle.click();
    toggle.focus();
  };
  bar.addEventListener("click", (event) => {
    const { target } = /** @type {any} */ (event);
    if (isOpen() && target.closest(".tf-shut")) close();
  });
  /** @type {HTMLElement | null} */
  const first = bar.querySelector(".bd-links summary");
  // (The theme lets nobody hear the click after it.)
  const focus = () => isOpen() && first?.focus();
  const pressed = (event) => event.composedPath().includes(toggle) && setTimeout(focus);
  addEventListener("click", pressed, { capture: true });
  addEventListener("keydown", ({ key }) => key === "Escape" && isOpen() && close());
  addEventListener("pointerdown", (event) => {
    const path = event.composedPath();
    if (isOpen() && !path.includes(bar) && !path.includes(toggle)) close();
  });
})();

// A drawer has a button that puts it away, and then gives the keys back to what opened it.
for (const side of ["primary", "secondary"]) {
  /** @type {HTMLDialogElement | null} */
  const drawer = document.querySelector(`#pst-${side}-sidebar-modal`);
  const shut = document.createElement("button");
  Object.assign(shut, { type: "button", className: "tf-shut", textContent: "×" });
  shut.ariaLabel = "Close";
  shut.addEventListener("click", () => drawer?.close());
  document.getElementById(`pst-${side}-sidebar`)?.prepend(shut); // the theme moves it along
  /** @type {HTMLElement | null} */
  const toggle = document.querySelector(`.bd-header-article .${side}-toggle`);
  const back = () => {
    if (document.activeElement === document.body)
      toggle?.focus({ preventScroll: true });
  };
  drawer?.addEventListener("close", () => setTimeout(back)); // the theme empties it first
}

// The contents at the right mark the section that is being read, and bring the mark into
// view. (The theme marks a section as its heading passes the top of the screen: not after
// a jump, nor on the way up, and in a long list out of sight.)
(() => {
  const nav = document.getElementById("pst-page-toc-nav");
  if (!nav) return;
  /** @type {HTMLElement} */
  const box = nav.closest(".bd-sidebar-secondary");
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const links = nav.querySelectorAll("a[href^='#']");
  const places = [...links]
    .map((link) => ({ link, section: document.getElementById(link.hash.slice(1)) }))
    .filter(({ section }) => section);
  /** @type {HTMLAnchorElement | undefined} */
  let marked; // none where the first section is still to come

  function mark(link) {
    marked = link;
    for (const entry of nav.querySelectorAll(".toc-entry"))
      entry.classList.toggle("active", !!link && entry.contains(link));
    for (const each of links) {
      each.classList.toggle("active", each === link);
      if (each === link) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    if (!link) return;
    const [line, frame] = [link.getBoundingClientRect(), box.getBoundingClientRect()];
    const [top, bottom] = [frame.top + 3 * line.height, frame.bottom - 3 * line.height];
    box.scrollTop += Math.min(0, line.top - top) + Math.max(0, line.bottom - bottom);
  }

  function follow() {
    const { scrollHeight } = document.documentElement;
    const line = innerHeight * (scrollY + innerHeight < scrollHeight - 2 ? 0.3 : 1);
    const read = places.findLast(
      ({ section }) => section.getBoundingClientRect().top <= line,
    );
    const active = nav.querySelector("a.active") ?? undefined; // maybe by the theme
    if (read?.link !== marked || active !== marked) mark(read?.link);
  }

  let timer;
  function soon() {
    clearTimeout(timer);
    timer = setTimeout(follow, 100);
  }
  addEventListener("scroll", soon);
  soon();
})();

// The menu at the left shows the page that is open. (The theme scrolls it to where it was
// on the page before.)
addEventListener("load", () => {
  const menu = document.querySelector(".bd-sidebar-primary");
  const link = [...(menu?.querySelectorAll("li.current > a") ?? [])].at(-1);
  if (!link) return;
  const [line, frame] = [link.getBoundingClientRect(), menu.getBoundingClientRect()];
  if (line.top < frame.top || line.bottom > Math.min(frame.bottom, innerHeight))
    menu.scrollTop += line.top - frame.top - frame.height / 3;
});

// The first page's door stands in the bar, too, for whoever has gone past it.
(() => {
  const door = document.querySelector(".tf-first .tf-doors a");
  const bar = document.querySelector(".header-article-items__end");
  if (!door || !bar) return;
  const again = /** @type {HTMLElement} */ (door.cloneNode(true));
  again.className = "tf-door";
  again.dataset.away = "";
  bar.prepend(again);
  const height = 48; // of the bar, behind which it goes
  const look = (entries) =>
    again.toggleAttribute(
      "data-away",
      entries.at(-1).boundingClientRect.bottom > height,
    );
  new IntersectionObserver(look, { rootMargin: `${-height}px 0px 0px` }).observe(door);
})();
