// Turn a prepared article into XHTML. Figures are marked, so that pictures can be taken of
// them; what stands in their place is an image of the same number.
() => {
  const article = document.querySelector(".bd-article");
  const all = (selector) => [...article.querySelectorAll(selector)];

  for (const node of all(".only-dark, .edition-anchors")) node.remove();
  for (const box of all("mjx-container")) {
    const math = box.querySelector("mjx-assistive-mml > math").cloneNode(true);
    if (box.closest("div.math") || math.getAttribute("display") === "block")
      math.setAttribute("display", "block");
    box.replaceWith(math);
  }
  for (const part of all(".tf-caption > :is(a, b, a + span)")) part.append(". ");
  const pictures = [];
  for (const drawn of all(
    ".tf-widget, .tf-plotly-box, svg:not(.tf-widget *, .tf-plotly-box *)",
  )) {
    const about =
      drawn.getAttribute("data-edition-alt") ??
      drawn.closest("[aria-label]")?.getAttribute("aria-label") ??
      drawn.querySelector("[aria-label]")?.getAttribute("aria-label") ??
      drawn.querySelector("title, desc")?.textContent;
    drawn.setAttribute("data-edition-picture", pictures.length);
    pictures.push((about ?? "").replace(/\s+/g, " ").trim());
  }
  const copy = /** @type {HTMLElement} */ (
    article.querySelector("section").cloneNode(true)
  );
  for (const box of copy.querySelectorAll("[data-edition-picture]")) {
    const image = document.createElement("img");
    const number = box.getAttribute("data-edition-picture");
    image.setAttribute("src", `picture:${number}`);
    image.setAttribute("alt", pictures[number]);
    image.className = "picture";
    box.replaceWith(image);
  }
  for (const link of copy.querySelectorAll("a[href]"))
    link.setAttribute("href", new URL(link.getAttribute("href"), location.href).href);
  for (const image of copy.querySelectorAll("img:not(.picture)"))
    image.setAttribute("src", new URL(image.getAttribute("src"), location.href).href);
  return { text: new XMLSerializer().serializeToString(copy), pictures };
};
