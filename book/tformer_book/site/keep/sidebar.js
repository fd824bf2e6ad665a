// Marks in the side bar: a tick for a chapter that was read, and how many of its
// problems are solved. They stand beside the titles, where nothing has to move for them.

import { keys, pageAt, read } from "./keep.js";

const links = [...document.querySelectorAll(".bd-sidebar-primary a.internal")].filter(
  (each) => each instanceof HTMLAnchorElement,
);
let totals;

/** A chapter's title, as the side bar has it. */
export function chapterOf(name) {
  const file = name.slice("book/".length);
  const link = document.querySelector(`.bd-sidebar-primary a[href="${file}.html"]`);
  const shown = link?.cloneNode(true);
  if (!(shown instanceof Element)) return file;
  shown.querySelector(".tf-mark")?.remove();
  return shown.textContent.trim().replace(/\s+/g, " ");
}

/** How many problems each page poses. */
async function problems() {
  try {
    const answer = await fetch(new URL("problems.json", import.meta.url));
    return await answer.json();
  } catch {
    return {}; // without the network: ticks only
  }
}

function span(className, text) {
  const made = document.createElement("span");
  return Object.assign(made, { className, textContent: text });
}

function markLink(link, isRead, solved, total) {
  link.querySelector(".tf-mark")?.remove();
  if (!isRead && !(solved && total)) return;
  const shown = [isRead && "✓", solved && total && `${solved}/${total}`];
  const said = [
    isRead && "read",
    solved && total && `${solved} of ${total} problems solved`,
  ];
  const visible = span("", shown.filter(Boolean).join(" "));
  visible.ariaHidden = "true";
  const mark = span("tf-mark", "");
  mark.append(
    visible,
    span("visually-hidden", ` (${said.filter(Boolean).join(", ")})`),
  );
  link.append(mark);
}

/** Bring the marks up to date. */
export async function mark() {
  if (keys("tf-problem:").length) totals ??= await problems();
  for (const link of links) {
    const name = pageAt(link.href);
    const total = totals?.[name] ?? 0;
    const solved = Math.min(keys(`tf-problem:${name}:`).length, total);
    markLink(link, read(`tf-read:${name}`) !== null, solved, total);
  }
}

addEventListener("storage", mark); // what was done in another window
mark();
