// The review: asks the cards that are due, one by one, and keeps how they went. The cards
// are those in the page's own list; without scripts there is only that list.

import { pageAt, read } from "../keep/keep.js";
import { forget, load, save } from "./progress.js";
import { answered, isDue, QUALITY, queue, rest } from "./schedule.js";

const deck = document.getElementById("tf-deck");
/** @returns {HTMLElement} */
const part = (name) => deck.querySelector(`.tf-deck-${name}`);
const [place, front, back] = ["place", "front", "back"].map(part);
const [show, grades, progress, next] = ["show", "grades", "progress", "next"].map(part);
const grade = [...grades.querySelectorAll("button")];
const ALL = "all";
const READ = "those that you have read";

/** The chapters: the name of each, its title, and its cards by id. */
const chapters = [...document.querySelectorAll("section.tf-cards")].map((section) => ({
  name: section.id,
  title: section.querySelector("h3").firstChild.textContent,
  cards: new Map(
    [...section.querySelectorAll("details")].map((fold) => [fold.dataset.card, fold]),
  ),
}));
const boxes = chapters.map(({ name, title }) => {
  const box = Object.assign(document.createElement("input"), {
    type: "checkbox",
    value: name,
  });
  const label = document.createElement("label");
  label.append(box, ` ${title}`);
  part("chapters").append(label);
  return box;
});

/** Chapters whose cards are dealt at first: those that the reader has read, and those with
 * an answered card; all for who has read none. */
function begun() {
  const answers = load();
  const isRead = ({ cards }) => {
    const [fold] = cards.values();
    const page = pageAt(fold.querySelector("a[href]").href);
    return read(`tf-read:${page}`) !== null;
  };
  const isAnswered = ({ cards }) => [...cards.keys()].some((id) => answers[id]);
  if (!chapters.some(isRead)) return chapters;
  return chapters.filter((each) => isRead(each) || isAnswered(each));
}

/** @type {string[]} */
let waiting = [];
let isKept = true;

/** Today as a whole number; the day begins at midnight where the reader is. */
function today() {
  const now = new Date();
  return Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()) / 86_400_000;
}

const inDays = (n) => (n === 1 ? "1 day" : `${n} days`);
const ofWhichNew = (n, all) =>
  n === 0 ? "" : n === all ? ", all new" : `, ${n} of them new`;
const date = new Intl.DateTimeFormat("en", { dateStyle: "long", timeZone: "UTC" });
const chosen = () => chapters.filter((_, i) => boxes[i].checked);
const ids = () => chosen().flatMap(({ cards }) => [...cards.keys()]);

/** Say how far one has come in the chosen chapters. */
function tell(known) {
  const day = today();
  const all = ids();
  const due = all.filter((id) => isDue(known[id], day));
  const seen = all.filter((id) => known[id]);
  const learned = seen.filter((id) => known[id].passed > 0);
  const dates = seen.map((id) => known[id].due).filter((each) => each > day);
  progress.textContent =
    `Due today: ${due.length}${ofWhichNew(due.filter((id) => !known[id]).length, due.length)}. ` +
    `Learned: ${learned.length} of ${all.length}.`;
  next.textContent = dates.length
    ? `Next date: ${date.format(Math.min(...dates) * 86_400_000)}.`
    : "Next date: none yet.";
  if (!isKept) next.textContent += " This browser keeps nothing after you leave.";
  part("chosen").textContent = choiceInWords();
}

function choiceInWords() {
  const these = chosen();
  if (these.length === chapters.length) return ALL;
  const isAtFirst = same(these, atFirst) && these.length > 1;
  return isAtFirst ? READ : these.map(({ title }) => title).join(", ") || "none";
}
const same = (a, b) => a.length === b.length && a.every((each) => b.includes(each));

/** Copy a node's content; the list itself stays as it is. */
const copy = (node) => [...node.cloneNode(true).childNodes];

/** Ask the first card that is waiting. */
function ask() {
  const [id] = waiting;
  const chapter = chapters.find(({ cards }) => cards.has(id));
  back.hidden = grades.hidden = true;
  show.hidden = !id;
  place.textContent = chapter?.title ?? "";
  if (!id) {
    front.textContent = ids().length
      ? "That’s all for today. Come back on the next date, or choose other chapters."
      : "Choose a chapter above.";
    return;
  }
  const [summary, answer] = chapter.cards.get(id).children;
  front.replaceChildren(...copy(summary));
  back.replaceChildren(...copy(answer));
}

/** Uncover the answer; each button says when the card would come again. */
function uncover() {
  const known = load()[waiting[0]];
  const day = today();
  grade.forEach((button, i) => {
    const after = answered(known, QUALITY[i], day);
    const days = `in ${inDays(after.due - day)}`;
    button.querySelector("small").textContent = after.again
      ? `today, then ${days}`
      : days;
  });
  back.hidden = grades.hidden = false;
  show.hidden = true;
  back.focus({ preventScroll: true });
}

/** Take the reader's grade (0 to 3), and go on. */
function take(i) {
  const known = load();
  const [id] = waiting;
  known[id] = answered(known[id], QUALITY[i], today());
  isKept = save(id, known[id]);
  waiting = rest(waiting, known[id].again);
  tell(known);
  ask();
  front.focus({ preventScroll: true });
}

/** Begin with what is due in the chosen chapters. */
function begin() {
  const known = load();
  waiting = queue(ids(), known, today());
  tell(known);
  ask();
}

function startOver() {
  if (!confirm("Forget how well you know the cards of the chosen chapters?")) return;
  forget(ids());
  begin();
}

/** Choose chapters by their names. */
function choose(isWanted) {
  for (const box of boxes) box.checked = isWanted(box.value);
  begin();
}

/** A chapter's link leads to its cards: choose them. */
function follow() {
  const name = location.hash.slice(1);
  if (!boxes.some((box) => box.value === name)) return;
  choose((each) => each === name);
  deck.scrollIntoView({ behavior: "instant" });
}

show.addEventListener("click", uncover);
grade.forEach((button, i) => {
  button.addEventListener("click", () => take(i));
});
part("over").addEventListener("click", startOver);
part("chapters").addEventListener("change", begin);
part("every").addEventListener("click", () => choose(() => true));
part("none").addEventListener("click", () => choose(() => false));
deck.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isControl = event.target !== front && event.target !== back;
  if (event.key === " " && !show.hidden && !isControl) {
    event.preventDefault();
    uncover();
  } else if (!grades.hidden && "1234".includes(event.key)) {
    take(Number(event.key) - 1);
  }
});
addEventListener("hashchange", follow);
addEventListener("load", follow);
const atFirst = begun();
choose((name) => atFirst.some((chapter) => chapter.name === name));
