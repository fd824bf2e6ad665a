// A link to a figure as the reader has set it. What differs from the page stands after
// "#", which a browser keeps to itself, as in the links of the live lab:
//
//     #figure=one-query&temperature=2&step=3
//
// The names are those of the figure's controls (data-control). A link sets them one by
// one as a reader would, so it can do no more than a reader can: a slider keeps to its
// ends, a list to its entries, and what the figure does not have is left out.

const CONTROLS = ["range", "checkbox", "radio", "number", "text", "hidden"]
  .map((type) => `input[type="${type}"][data-control]`)
  .concat("select[data-control]", "textarea[data-control]")
  .join(",");
const MOST = 100; // settings of one link
const LONGEST = 4000; // characters of a text

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

/** @param {Element} figure @returns {Control[]} */
const controlsOf = (figure) => [...figure.querySelectorAll(CONTROLS)].map(known);
const known = (control) => /** @type {Control} */ (control);

// The buttons of a choice are called name-0, name-1, …: together they are one setting.
function nameOf(control) {
  const name = control.dataset.control;
  return control.type === "radio" ? name.replace(/-\d+$/, "") : name;
}

/** What the controls of a figure that can be seen say: name -> text. */
function settingsOf(figure) {
  const found = new Map();
  for (const control of controlsOf(figure)) {
    if (control.closest("[hidden]")) continue; // another choice's: not to be shared
    if (control.type === "radio" && !("checked" in control && control.checked))
      continue;
    const isBox = control.type === "checkbox" && "checked" in control;
    const text = isBox ? String(Number(control.checked)) : control.value;
    if (!found.has(nameOf(control))) found.set(nameOf(control), text);
  }
  return found;
}

/** Whether a control can take a text as its value. */
function fits(control, text) {
  if (control.disabled) return false;
  if (control instanceof HTMLSelectElement)
    return [...control.options].some((each) => each.value === text);
  if (control.type === "radio") return control.value === text;
  if (control.type === "checkbox") return text === "0" || text === "1";
  if (["text", "textarea", "hidden"].includes(control.type))
    return text.length <= LONGEST;
  return text.trim() !== "" && Number.isFinite(Number(text));
}

/** Set one control as a reader would, if it is not set so already. */
function set(figure, name, text) {
  if (settingsOf(figure).get(name) === text) return;
  const control = controlsOf(figure).find(
    (each) => nameOf(each) === name && fits(each, text),
  );
  if (!control) return;
  if (control.type === "radio" && "checked" in control) control.checked = true;
  else if (control.type === "checkbox" && "checked" in control)
    control.checked = text === "1";
  else control.value = text;
  for (const kind of ["input", "change"])
    control.dispatchEvent(new Event(kind, { bubbles: true }));
}

const atFirst = new WeakMap(); // figure -> its settings when it was drawn

function linkTo(figure) {
  const parts = new URLSearchParams({ figure: figure.id.replace("figure-", "") });
  const first = atFirst.get(figure);
  let isWhole = true;
  for (const [name, text] of first ? settingsOf(figure) : []) {
    if (first.get(name) === text) continue;
    if (text.length > LONGEST) isWhole = false;
    else parts.set(name, text);
  }
  const isSet = [...parts].length > 1;
  const hash = isSet ? `#${parts}` : `#${figure.id}`;
  return { link: new URL(hash, location.href).href, isWhole };
}

async function copyLink(figure) {
  const { link, isWhole } = linkTo(figure);
  history.replaceState(history.state, "", link);
  const left = isWhole ? "" : " A text too long for a link is left out.";
  const said = figure.querySelector(".tf-copied");
  try {
    await navigator.clipboard.writeText(link);
    said.textContent = `Copied: the link opens the figure with your settings.${left}`;
  } catch {
    said.textContent = `The link is in the address bar.${left}`;
  }
}

/** Show the figure that the address names, and, once it is drawn, as it says. */
function follow() {
  const parts = [...new URLSearchParams(location.hash.slice(1))].slice(0, MOST);
  const [[key, name] = ["", ""], ...settings] = parts;
  const figure = key === "figure" ? document.getElementById(`figure-${name}`) : null;
  if (!figure?.querySelector(".tf-copy")) return;
  figure.scrollIntoView();
  if (!atFirst.has(figure)) return;
  // Twice: one setting may bring up the control of another.
  for (const [name, text] of [...settings, ...settings]) set(figure, name, text);
}

function drawn(figure) {
  if (atFirst.has(figure)) return;
  atFirst.set(figure, settingsOf(figure));
  const name = new URLSearchParams(location.hash.slice(1)).get("figure");
  if (figure.id === `figure-${name}`) follow();
}

document.addEventListener("tf-drawn", (event) => {
  const figure = event.target instanceof Element && event.target.closest(".tf-figure");
  if (figure) drawn(figure);
});
for (const box of document.querySelectorAll(".tf-figure .tf-widget[data-ready]"))
  drawn(box.closest(".tf-figure"));
for (const button of document.querySelectorAll(".tf-copy"))
  button.addEventListener("click", () => copyLink(button.closest(".tf-figure")));
addEventListener("hashchange", follow);
follow();
