// Arrow keys, space, Home and End turn the page; a click on the right or left half, too.
const slides = [...document.querySelectorAll("section")];
/** @type {any} */
const page = window; // Plotly's bundle puts its name there
const REST = 150; // ms on a slide before it stands in the address: WebKit refuses, with
let timer = 0; //    an error, more than 100 addresses in ten seconds (a key held down)
let now = Math.min(Number(location.hash.slice(1)) || 1, slides.length) - 1;

/** Draw the charts of a slide that are not drawn yet. */
function draw(slide) {
  for (const box of slide.querySelectorAll(".chart:not(.done)")) {
    const { data, layout } = JSON.parse(box.firstElementChild.textContent);
    const size = { width: undefined, height: undefined, font: { size: 16 } };
    page.Plotly.newPlot(box, data, { ...layout, ...size }, { responsive: true });
    box.classList.add("done");
  }
}

/** Turn to a slide, counted from 0. */
function show(to) {
  slides[now].classList.remove("now");
  now = Math.max(0, Math.min(to, slides.length - 1));
  slides[now].classList.add("now");
  document.getElementById("place").textContent = `${now + 1} / ${slides.length}`;
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", `#${now + 1}`), REST);
  scrollTo(0, 0);
  draw(slides[now]);
}

const steps = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };
addEventListener("keydown", (event) => {
  if (event.key in steps) show(now + steps[event.key]);
  else if (event.key === "Home") show(0);
  else if (event.key === "End") show(slides.length - 1);
  else return;
  event.preventDefault();
});
addEventListener("click", (event) => {
  const on = /** @type {Element} */ (event.target);
  if (on.closest("a, .chart") || getSelection().toString()) return;
  show(now + (event.clientX > innerWidth / 2 ? 1 : -1));
});
addEventListener("beforeprint", () => slides.forEach(draw));
document.body.classList.add("live");
show(now);
