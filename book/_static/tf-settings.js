// What a figure is set to: on paper nobody can set it otherwise, so the caption says it.
// Controls that share a name, or have none, stand beside what they belong to.
(() => {
  const CONTROLS =
    ".tfk-choice, .tfk-check:has(:checked), .tfk-slider, .tfk-ask, label:has(> select:enabled)";
  const ELSEWHERE = "fieldset, table, details:not([open])";
  const FIRST = /^[A-Z](?!nglish)/; // "English sentence" keeps its capital

  const text = (node) => node?.textContent.replace(/\s+/g, " ").trim() ?? "";
  const nameOf = (control) =>
    text(
      control.querySelector("legend, .tfk-slider-name, label") ??
        (control.matches(".tfk-check") ? control : control.firstChild),
    );

  function set(control) {
    const field = control.querySelector("textarea, .tfk-ask-line input");
    if (field) return field.value && `“${field.value.trim()}”`;
    const chosen = control.querySelector("select")?.selectedOptions[0];
    const picked = [...control.querySelectorAll("input:checked")];
    if (chosen || picked.length)
      return text(chosen) || picked.map((each) => text(each.parentElement)).join(", ");
    return text(control.querySelector("output"));
  }

  function settings(figure) {
    const controls = [...figure.querySelectorAll(CONTROLS)].filter(
      (each) =>
        (each.getClientRects().length || each.hasAttribute("data-told")) &&
        !each.closest(".tfk-how") &&
        !each.parentElement.closest(ELSEWHERE),
    );
    const names = controls.map(nameOf);
    return controls.flatMap((control, i) => {
      const [name, value] = [names[i], set(control)];
      const isOne = name && value && names.indexOf(name) === names.lastIndexOf(name);
      control.toggleAttribute("data-told", Boolean(isOne));
      if (!isOne) return [];
      const plain = name.replace(FIRST, (first) => first.toLowerCase());
      return [value === name ? plain : `${plain.replace(/[?:]$/, "")}: ${value}`];
    });
  }

  function tell() {
    for (const figure of document.querySelectorAll(".tf-figure")) {
      const told = settings(figure);
      figure.querySelector(".tf-set")?.remove();
      if (!told.length) continue;
      const span = document.createElement("span");
      span.className = "tf-set";
      const end = /[.?!]”?$/.test(told.at(-1)) ? "" : ".";
      span.textContent = ` Settings: ${told.join("; ")}${end}`;
      figure.querySelector(".tf-about")?.after(span);
    }
  }

  // Figures hear of it, too, and go to the step that is printed. They came later, so they
  // would hear later: they are told first.
  let isHeard = false;
  addEventListener("beforeprint", () => {
    if (isHeard) return;
    isHeard = true;
    dispatchEvent(new Event("beforeprint"));
    isHeard = false;
    tell();
  });
})();
