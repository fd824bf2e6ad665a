// The field for text above the list of claims. Verdicts and topics are chosen without a
// script (claims.css); this one hides the claims that lack the words, and counts.
(() => {
  const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();

  for (const list of document.querySelectorAll(".tf-claims")) {
    const field = list.querySelector("input[type='search']");
    const count = list.querySelector("[role='status']");
    const rows = [...list.querySelectorAll("tbody tr")];
    if (!(field instanceof HTMLInputElement)) continue;

    const filter = () => {
      const words = plain(field.value).split(" ");
      for (const row of rows) {
        const text = plain(row.querySelector("th").textContent);
        row.toggleAttribute("hidden", !words.every((word) => text.includes(word)));
      }
      const shown = rows.filter((row) => getComputedStyle(row).display !== "none");
      count.textContent = `${shown.length} of ${rows.length} claims`;
    };
    list.addEventListener("input", filter);
    filter();
    list.toggleAttribute("data-ready", true);
  }
})();
