// Asks for a prediction before it uncovers what came out, and keeps what was said.
// Answers stay in this browser, under the page's name and the question's words.

import { keys, page, read, remove, write } from "../keep/keep.js";

const PREFIX = "tf-prediction:";
// What was kept before pages had names: by their address, whatever the site's own was.
const BY_ADDRESS = /^tf-prediction:\/(?:[^:]*\/)?(book\/[^:]*?)(?:\.html)?:(.*)$/s;

function renameOld() {
  for (const old of keys(`${PREFIX}/`)) {
    const [, name, words] = old.match(BY_ADDRESS) ?? [];
    if (name && write(`${PREFIX}${name}:${words}`, read(old))) remove(old);
  }
}

/** @param {HTMLFormElement} form @param {HTMLDetailsElement} cover */
function prepare(form, cover) {
  const asked = form.closest("blockquote").textContent.trim();
  const key = `${PREFIX}${page}:${asked.slice(0, 80)}`;
  const said = document.createElement("p");
  said.className = "tf-said";
  cover.firstElementChild.after(said);

  function uncover(answer) {
    cover.open = true;
    form.hidden = true;
    said.textContent = answer ? `You predicted: ${answer}` : "";
    said.hidden = !answer;
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = String(new FormData(form).get("answer")).trim();
    if (!answer) return;
    write(key, answer);
    uncover(answer);
  });
  form.querySelector(".tf-skip").addEventListener("click", () => uncover(""));
  cover.addEventListener("toggle", () => {
    if (cover.open && !form.hidden && !opened.includes(cover)) uncover("");
  });
  const earlier = read(key);
  if (earlier) uncover(earlier);
  else said.hidden = true;
}

renameOld();
const opened = []; // to be printed
const covers = [...document.querySelectorAll("details")].filter((each) =>
  each.classList.contains("tf-cover"),
);
const forms = [...document.querySelectorAll("form")].filter((each) =>
  each.classList.contains("tf-guess"),
);
forms.forEach((form, i) => prepare(form, covers[i])); // each form has its cover

// Printed, everything is there; afterwards it is as it was.
addEventListener("beforeprint", () => {
  for (const cover of covers.filter((each) => !each.open)) {
    cover.open = true;
    opened.push(cover);
  }
});
addEventListener("afterprint", () => {
  for (const cover of opened.splice(0)) cover.open = false;
});
// A link, or the browser's own search, may lead to something that is covered.
function uncoverTarget() {
  const cover = document.querySelector(":target")?.closest("details.tf-cover");
  if (cover instanceof HTMLDetailsElement) cover.open = true;
}
addEventListener("hashchange", uncoverTarget);
uncoverTarget();
