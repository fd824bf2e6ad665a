// Make an opened page fit for reading without a screen; returns what else there is to know.
() => {
  const article = document.querySelector(".bd-article");
  const all = (selector, from = article) => [...from.querySelectorAll(selector)];
  const make = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes))
      node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const unwrap = (fold, title) => {
    fold.querySelector("summary")?.remove();
    fold.replaceWith(...(title ? [title] : []), ...fold.childNodes);
  };
  const saysOf = (fold) =>
    (
      fold.querySelector("summary .collapsed") ?? fold.querySelector("summary")
    ).textContent
      .trim()
      .replace(/^Show (.)/, (_, first) => first.toUpperCase());

  // What a figure shows, in words.
  for (const words of all(".tf-figure noscript")) {
    const said = words.textContent.replace(/<[^>]*>/g, "");
    words
      .closest(".tf-figure")
      .querySelector(".tf-widget, .tf-plotly-box")
      ?.setAttribute("data-edition-alt", said.slice(said.indexOf("in words. ") + 10));
  }

  // What only works, or only helps, on a screen.
  for (const node of all(
    "script, style, noscript, .tf-bar, .tf-go-on, .tf-review-link, .pst-js-only, .headerlink, " +
      ".copybtn, .tf-copied, .tf-try, .tf-solved, .tf-table, .tf-claims fieldset, .tf-claims-text, .tf-predict input, .tf-predict form",
  ))
    node.remove();

  // Plumbing stays on the site; what is to be predicted is shown.
  for (const fold of all("details.hide"))
    if (/^(the (code|imports)|code cell)/i.test(saysOf(fold))) fold.remove();
  for (const cover of all("details.tf-cover")) unwrap(cover);

  // Solutions go to the end of the chapter, with links there and back.
  const problems = article.querySelector("section#problems");
  const solutions = make("section", { id: "solutions" }, make("h2", {}, "Solutions"));
  let number = "",
    place;
  const begins = (node) => {
    const lead = node.matches("p")
      ? node.querySelector(":scope > strong:first-child")
      : null;
    return lead?.textContent.match(/^(\d+)\.$/)?.[1];
  };
  const isAnswer = (node) =>
    node.matches("details.tf-solution") ||
    (node.matches(".cell") && node.querySelector("details.hide") !== null);
  for (const node of problems ? all("section > *", problems) : []) {
    const begun = begins(node);
    if (begun) {
      number = begun;
      node.id = `problem-${number}`;
      place = null;
    } else if (number && isAnswer(node)) {
      if (!place) {
        place = make(
          "div",
          { id: `solution-${number}`, class: "solution" },
          make(
            "p",
            { class: "solution-of" },
            make("a", { href: `#problem-${number}` }, `Problem ${number}`),
          ),
        );
        solutions.append(place);
        article
          .querySelector(`#problem-${number}`)
          .append(" ", make("a", { href: `#solution-${number}` }, "(Solution)"));
      }
      place.append(node);
      for (const fold of [...all("details.hide", node), node].filter((e) =>
        e.matches("details"),
      ))
        if (/^(the )?solution$/i.test(saysOf(fold)) || fold.matches(".hide"))
          unwrap(fold);
    }
  }
  if (solutions.children.length > 1) problems.after(solutions);

  // Every other fold lies open under its title.
  for (const fold of all("details:not(.tf-widget *)"))
    unwrap(fold, make("p", { class: "fold-title" }, make("strong", {}, saysOf(fold))));

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
