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

/** The numbers in a text, as they stand and, if they are shares, as per cent. */
function numbersIn(text) {
  const found = text
    .replaceAll("−", "-")
    .replace(/(?<=\d)[,\u202f\u00a0](?=\d{3})/g, "")
    .matchAll(/(-?\d*\.?\d+)\s*(%|per ?cent)?/g);
  return [...found].flatMap(([, digits, share]) => {
    const number = Number(digits);
    return share || Math.abs(number) <= 1
      ? [number, number / 100, number * 100]
      : [number];
  });
}

/**
 * What is to be said of an answer: whether it is right, if that can be told, and what
 * the answer is.
 * @returns {{isRight?: boolean, answer: string, more: string}}
 */
function judged(form, given) {
  const expected = JSON.parse(form.dataset.answer ?? '""');
  if (typeof expected === "string") return { answer: expected, more: "" };
  const more = expected.says ?? "";
  if ("choice" in expected) {
    const right = [...form.elements].filter((each) => each.type === "radio")[
      expected.choice - 1
    ].value;
    return { isRight: given === right, answer: right.replace(/\.$/, ""), more };
  }
  const numbers = numbersIn(given);
  const slack = Math.abs(expected.number) * (expected.within ?? 0.02);
  const isRight = numbers.some((each) => Math.abs(each - expected.number) <= slack);
  if (!numbers.length) return { answer: more, more: "" };
  return { isRight, answer: more, more: isRight ? more : "" };
}

/** The parts of the line that stands beside what came out. */
function reply(form, given) {
  const { isRight, answer, more } = judged(form, given);
  const said = document.createElement("q");
  said.textContent = given;
  const right = document.createElement("em");
  right.textContent = answer;
  const verdict = document.createElement("strong");
  const parts = ["You predicted ", said, ". ", verdict];
  if (isRight) {
    verdict.textContent = "Right";
    verdict.className = "tf-right";
    return [...parts, more ? `: ${more}.` : "."];
  }
  if (!answer) return parts.slice(0, 3);
  verdict.textContent = isRight === false ? "Not quite" : "Compare";
  return [...parts, ": ", right, more ? `, ${more}.` : "."];
}

/** @param {HTMLFormElement} form @param {HTMLDetailsElement} cover */
function prepare(form, cover) {
  const asked = form.closest("blockquote").textContent.trim();
  const key = `${PREFIX}${page}:${asked.slice(0, 80)}`;
  const said = document.createElement("p");
  said.className = "tf-said";
  said.tabIndex = -1; // where the keyboard goes on when the form is gone
  cover.firstElementChild.after(said);
  const missing = form.querySelector(".tf-missing");

  function uncover(answer) {
    cover.open = true;
    form.hidden = true;
    said.replaceChildren(...(answer ? reply(form, answer) : []));
    said.hidden = !answer;
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = String(new FormData(form).get("answer") ?? "").trim();
    if (!answer) {
      const how = form.querySelector("input[type=text]") ? "Type" : "Choose";
      missing.textContent = `${how} an answer first: a guess will do. Or skip it.`;
      return;
    }
    write(key, answer);
    uncover(answer);
    said.focus({ preventScroll: true });
  });
  // (choices stand in the question, not in the form)
  form.closest("blockquote").addEventListener("input", () => missing.replaceChildren());
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
