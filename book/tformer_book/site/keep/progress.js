// The page "Your progress": what is kept, chapter by chapter; export, import, erase.

import {
  addressOf,
  erase,
  exported,
  imported,
  keeps,
  keys,
  lastPlace,
  read,
} from "./keep.js";
import { chapterOf, mark } from "./sidebar.js";

const status = document.getElementById("tf-progress-said");
const say = (text) => {
  status.textContent = text;
};

/** @param {HTMLTableRowElement} row */
function fill(row) {
  const { page, predictions, problems } = row.dataset;
  const [isRead, predicted, solved] = row.querySelectorAll("td");
  // An answer outlives a question that was reworded: never more than there are.
  const count = (kind, all) => {
    const done = Math.min(keys(`tf-${kind}:${page}:`).length, Number(all));
    return Number(all) ? `${done} of ${all}` : "–";
  };
  const begun = keys(`tf-seen:${page}:`).length > 0;
  isRead.textContent = read(`tf-read:${page}`) ? "✓ yes" : begun ? "begun" : "–";
  predicted.textContent = count("prediction", predictions);
  solved.textContent = count("problem", problems);
}

/** How many chapters are read, and where to go on; at first, with the first of them. */
function showHowFar(rows) {
  const done = rows.filter(({ dataset }) => read(`tf-read:${dataset.page}`) !== null);
  const bar = document.getElementById("tf-far");
  if (bar instanceof HTMLProgressElement) bar.value = done.length / rows.length;
  document.getElementById("tf-far-said").textContent =
    `${done.length} of ${rows.length} chapters read`;
  const link = document.getElementById("tf-far-on");
  const last = lastPlace();
  const first = rows[0].querySelector("a").href;
  link.setAttribute("href", last ? addressOf(last) : first);
  link.textContent = last
    ? `Continue: ${chapterOf(last.name)}, ${last.title}`
    : "Begin with the first chapter";
}

function show() {
  const all = [...document.querySelectorAll("#tf-chapters tr")];
  const rows = all.filter((row) => row instanceof HTMLTableRowElement);
  rows.forEach(fill);
  showHowFar(rows);
  mark();
}

/** Hand the reader a file. */
function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function exportAll() {
  if (!keys().length) return say("There is nothing to export yet.");
  const today = new Date().toISOString().slice(0, 10);
  download(`tformer-progress-${today}.json`, exported());
  say("Exported. The file is where your browser puts downloads.");
}

/** @param {HTMLInputElement} field */
async function importFile(field) {
  const [file] = field.files;
  if (!file) return;
  try {
    const added = imported(await file.text());
    say(added ? `Imported: ${added} new entries.` : "Imported: all of it was here.");
  } catch (problem) {
    say(`${problem.message} Nothing has changed.`);
  }
  field.value = ""; // the same file may be chosen again
  show();
}

function eraseAll() {
  const question =
    "Erase all that this browser keeps of your work with this book? " +
    "You can't undo this, unless you have exported it.";
  if (!confirm(question)) return;
  erase();
  say("Erased. This browser keeps nothing of your work any more.");
  show();
}

const field = document.getElementById("tf-import");
document.getElementById("tf-export").addEventListener("click", exportAll);
document.getElementById("tf-erase").addEventListener("click", eraseAll);
if (field instanceof HTMLInputElement)
  field.addEventListener("change", () => importFile(field));
addEventListener("storage", show);
if (!keeps())
  say("This browser doesn't let pages keep anything, so nothing can show here.");
show();
