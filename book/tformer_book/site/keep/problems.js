// A tick for each solved problem, by the problem's number.

import { page, read, remove, write } from "./keep.js";
import { mark } from "./sidebar.js";

/** @param {HTMLInputElement} box */
function prepare(box) {
  const key = `tf-problem:${page}:${box.dataset.problem}`;
  box.checked = read(key) !== null;
  box.addEventListener("change", () => {
    if (box.checked) write(key, "solved");
    else remove(key);
    mark();
  });
}

for (const box of document.querySelectorAll("input[data-problem]"))
  if (box instanceof HTMLInputElement) prepare(box);
