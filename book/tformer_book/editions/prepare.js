// Make an opened page fit for reading without a screen. The file's last expression is the
// function that does it; it returns what else there is to know.
const article = document.querySelector(".bd-article");
const all = (selector, from = article) => [...from.querySelectorAll(selector)];
const made = (html) => document.createRange().createContextualFragment(html);

const ON_SCREEN =
  "script, style, noscript, .tf-picture, .tf-bar, .tf-go-on, .tf-review-link, .pst-js-only, .headerlink, " +
  ".copybtn, .tf-copied, .tf-screen, .tf-dock, .tf-label, .tf-try, .tf-solved, .tf-work, .tf-table, .tf-claims fieldset, .tf-claims-text, .tf-predict input, .tf-predict form";

// Figures whose first step shows next to nothing.
const AT_THEIR_END = "#figure-one-gradient, #figure-beam-search";

const unwrap = (fold, ...title) => {
  fold.querySelector("summary")?.remove();
  fold.replaceWith(...title, ...fold.childNodes);
};
const saysOf = (fold) => fold.querySelector("summary").textContent.trim();

// What a figure shows, in words, stands where it can be found when that is drawn.
const keepWords = () => {
  for (const words of all(".tf-figure noscript")) {
    const said = words.textContent.replace(/<[^>]*>/g, "");
    words
      .closest(".tf-figure")
      .querySelector(".tf-widget, .tf-plotly-box")
      ?.setAttribute("data-edition-alt", said.slice(said.indexOf("in words. ") + 10));
  }
};

// Plumbing stays on the site; what is to be predicted is shown.
const dropPlumbing = () => {
  for (const node of all(ON_SCREEN)) node.remove();
  for (const fold of all("details.tf-code:not(.tf-aside)")) fold.remove();
  for (const cover of all("details.tf-cover")) unwrap(cover);
};

const numberOf = (node) => {
  const lead = node.matches("p") && node.querySelector(":scope > strong:first-child");
  return lead ? lead.textContent.match(/^(\d+)\.$/)?.[1] : undefined;
};
const isAnswer = (node) =>
  node.matches("details.tf-solution") ||
  (node.matches(".cell") && node.querySelector("details.tf-aside") !== null);
const isSolution = (fold) =>
  fold.matches(".tf-aside") || /^(the )?solution$/i.test(saysOf(fold));

// Solutions go to the end of the chapter, with links there and back.
const moveSolutions = () => {
  const problems = article.querySelector("section#problems");
  if (!problems) return;
  const solutions = made(
    "<section id='solutions'><h2>Solutions</h2></section>",
  ).firstElementChild;
  let problem; // the paragraph that poses it
  let number;
  let place; // of its solution
  for (const node of all("section > *", problems)) {
    const begun = numberOf(node);
    if (begun) {
      [problem, number, place] = [node, begun, null];
      problem.id = `problem-${number}`;
    } else if (number && isAnswer(node)) {
      if (!place) {
        const back = `<a href="#problem-${number}">Problem ${number}</a>`;
        solutions.append(
          made(
            `<div id="solution-${number}" class="solution"><p class="solution-of">${back}</p></div>`,
          ),
        );
        place = solutions.lastElementChild;
        problem.append(made(` <a href="#solution-${number}">(Solution)</a>`));
      }
      place.append(node);
      const folds = [
        ...all("details.tf-aside", node),
        ...(node.matches("details") ? [node] : []),
      ];
      for (const fold of folds.filter(isSolution)) unwrap(fold);
    }
  }
  if (solutions.children.length > 1) problems.after(solutions);
};

// Every other fold lies open under its title.
const openFolds = () => {
  for (const fold of all("details:not(.tf-widget *)")) {
    const title = made("<p class='fold-title'><strong></strong></p>");
    title.querySelector("strong").textContent = saysOf(fold);
    unwrap(fold, title);
  }
};

() => {
  for (const end of all(`:is(${AT_THEIR_END}) [data-control="end"]`)) end.click();
  keepWords();
  dropPlumbing();
  moveSolutions();
  openFolds();
  return {
    // (in reading order, so that a table of contents can be made of them)
    headings: all("h2, h3").map((heading) => ({
      id: heading.closest("section")?.id || heading.id,
      level: Number(heading.tagName[1]),
      title: heading.textContent.trim(),
    })),
    links: all("a[href]").map((link) => link.href),
  };
};
