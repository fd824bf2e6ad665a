// The switch at the top: in "Read" only code that is the lesson stands open, in "Code" all
// of it. The choice holds for every page. A click on a line opens what it speaks of:
// neighbours share the line of the first.

import { read, write } from "../keep/keep.js";

const KEY = "tf-code";
const folds = [...document.querySelectorAll("details")].filter((each) =>
  each.classList.contains("tf-code"),
);
const switched = folds.filter((each) => !each.classList.contains("tf-aside"));
const choices = [...document.querySelectorAll("input")].filter(
  (each) => each.name === KEY,
);

/** @param {string} mode */
function show(mode) {
  document.documentElement.dataset.tfCode = mode;
  for (const choice of choices) choice.checked = choice.value === mode;
  for (const fold of switched) fold.open = mode === "code";
}

/** The first thing on the screen: it stays where it is while code opens above it. */
function onScreen() {
  const things = document.querySelectorAll(
    "article :is(h1, h2, h3, p, .cell_output, .tf-figure):not(details *)",
  );
  return [...things].find((each) => each.getBoundingClientRect().bottom > 60);
}

/** Keep a thing at its place on the screen while what stands above it finds its size. */
function hold(thing, top, frames = 3) {
  const moved = thing.getBoundingClientRect().top - top;
  if (moved) scrollBy({ top: moved, behavior: "instant" });
  if (frames) requestAnimationFrame(() => hold(thing, top, frames - 1));
  else document.documentElement.style.removeProperty("overflow-anchor");
}

/** @param {string} mode */
function choose(mode) {
  const thing = onScreen();
  const top = thing?.getBoundingClientRect().top;
  write(KEY, mode);
  if (thing && scrollY) document.documentElement.style.overflowAnchor = "none";
  show(mode);
  if (thing && scrollY) hold(thing, top);
}

for (const choice of choices)
  choice.addEventListener("change", () => choose(choice.value));
for (const fold of switched)
  fold.addEventListener("toggle", () => {
    for (const each of switched)
      if (each.dataset.group === fold.dataset.group) each.open = fold.open;
  });
const mode = read(KEY) === "code" ? "code" : "read";
if (mode === "code") show(mode);
addEventListener("storage", (event) => {
  if (event.key === KEY) show(event.newValue === "code" ? "code" : "read");
});
