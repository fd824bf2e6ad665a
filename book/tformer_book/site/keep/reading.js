// How far the reader is in a page, which of its sections have been read, and the way
// back to where the reader was.
//
// A section counts as read when its end has been on the screen while the page stood
// still for a moment or moved slowly; a chapter, when all its sections before the
// problems do. Jumping to the end is not reading.

import { addressOf, keys, lastPlace, page, read, remove, write } from "./keep.js";
import { chapterOf, mark } from "./sidebar.js";

const EVERY = 400; // milliseconds between two looks while the page moves
const isChapter = document.querySelector(".tf-guess, .tf-solved") !== null;
const bar = document.querySelector(".tf-bar");
const inner = [...document.querySelectorAll("article section section[id]")];
const parts = inner.filter((each) => each.matches("article > section > section"));
const problems = parts.findIndex((each) => each.id === "problems");
const toRead = problems < 0 ? parts : parts.slice(0, problems);

function titleOf(section) {
  const heading = section.querySelector("h1, h2, h3, h4").cloneNode(true);
  heading.querySelector(".headerlink")?.remove();
  return heading.textContent.trim();
}

function showBar() {
  const all = document.documentElement.scrollHeight - innerHeight;
  const share = all > 0 ? Math.min(scrollY / all, 1) : 0;
  if (bar instanceof HTMLElement) bar.style.transform = `scaleX(${share})`;
}

/** Keep the section that the reader is in, unless that is the top of the page. */
function keepPlace() {
  const here = inner.findLast((e) => e.getBoundingClientRect().top < innerHeight / 3);
  if (!here) return;
  const place = { id: here.id, title: titleOf(here), at: Date.now() };
  write(`tf-place:${page}`, JSON.stringify(place));
}

function keepSeen() {
  if (read(`tf-read:${page}`) !== null) return;
  for (const section of toRead) {
    const end = section.getBoundingClientRect().bottom;
    if (end > 0 && end <= innerHeight) write(`tf-seen:${page}:${section.id}`, "seen");
  }
  const seen = (section) => read(`tf-seen:${page}:${section.id}`) !== null;
  if (!toRead.length || !toRead.every(seen)) return;
  write(`tf-read:${page}`, "read");
  for (const key of keys(`tf-seen:${page}:`)) remove(key);
  mark();
}

/** Do some work soon, and only once however often it is asked for until then. */
function once(work, later) {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    later(() => {
      isWaiting = false;
      work();
    });
  };
}
const look = () => {
  keepPlace();
  keepSeen();
};
const lookSoon = once(look, (act) => setTimeout(act, EVERY));
const drawSoon = once(showBar, requestAnimationFrame);

/** Offer the way back: to a section of this page or, on the first page, to any. */
function goOn() {
  const line = document.querySelector(".tf-go-on");
  const link = line?.querySelector("a");
  if (!link || location.hash || scrollY > innerHeight / 2) return;
  const last = lastPlace((name) => (isChapter ? name === page : page === "book/intro"));
  if (!last || (isChapter && !document.getElementById(last.id))) return;
  link.href = addressOf(last);
  const chapter = isChapter ? "" : `${chapterOf(last.name)}: `;
  link.querySelector("span").textContent = chapter + last.title;
  line.removeAttribute("hidden");
}

goOn();
showBar();
if (isChapter) addEventListener("scroll", lookSoon, { passive: true });
addEventListener("scroll", drawSoon, { passive: true });
addEventListener("resize", drawSoon);
