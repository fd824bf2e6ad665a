// What our figures share: building elements, controls, announcements, tables. No access to
// the page before a function is called: runs in Node, too.
// A figure writes `import { h, slider } from "../kit/kit.js";`.
import { commas, format, nearest } from "./numbers.js";
import { html, render } from "./vendor/lit.js";

// Build an element: attribute true is set without value, false and null are left out.
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  put(node, attributes);
  node.append(...children);
  return node;
}
export function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value === false || value == null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  }
}
// Write text only where it differs: screen readers stay quiet about the rest.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

let count = 0;
export const uid = () => `tf-${++count}-${Math.random().toString(36).slice(2, 7)}`;

// The box of a figure. JupyterLab leaves the arrow keys to what has the focus in it: it
// asks the element itself, and only if no shortcut is meant for that one its box.
export function figure(el, name, label) {
  const root = h("div", {
    class: `tfk ${name}`,
    role: "group",
    "aria-label": label,
    "data-lm-suppress-shortcuts": "true",
  });
  root.addEventListener("focusin", ({ target }) =>
    put(target, { "data-lm-suppress-shortcuts": "true" }),
  );
  el.append(root);
  return root;
}

// State of the model. `read` gives it by name; `commit` sets several values and redraws
// once; `set(name)` is what hears a control of one value; `stop` ends it.
export function bind(model, names, update) {
  let writing = false;
  const heard = () => writing || update();
  for (const name of names) model.on(`change:${name}`, heard);
  function commit(changes) {
    writing = true;
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    writing = false;
    model.save_changes();
    update();
  }
  return {
    /** @returns {any} */
    read: () => Object.fromEntries(names.map((name) => [name, model.get(name)])),
    commit,
    set: (name) => (value) => commit({ [name]: value }),
    stop() {
      for (const name of names) model.off(`change:${name}`, heard);
    },
  };
}

// What ends a figure: it stops its parts, each of which has stop() or is what stops it.
export const stopping =
  (...parts) =>
  () => {
    for (const each of parts) each.stop ? each.stop() : each();
  };

// One of several, as chips. `pick(i)` shows a choice without calling onPick.
// Every control carries data-control, by which the tests find it.
export function radios(name, legend, items, current, onPick) {
  const group = uid();
  const chip = (text, i) =>
    html`<label class="tfk-chip"><input type="radio" name=${group} value=${i}
      data-control="${name}-${i}" @change=${({ target }) => target.checked && onPick(i)}><span>${text}</span></label>`;
  const set = h("fieldset", { class: "tfk-choice" });
  render(html`<legend>${legend}</legend>${items.map(chip)}`, set);
  const inputs = [...set.querySelectorAll("input")];
  const pick = (at) =>
    inputs.forEach((input, i) => {
      input.checked = i === at;
    });
  pick(current);
  return { set, inputs, pick, show: pick };
}

// One of several values, as chips with their texts: onPick and `show` know them by value.
export function oneOf(name, legend, values, onPick, texts = values) {
  const { set, pick } = radios(name, legend, texts, -1, (i) => onPick(values[i]));
  return { set, show: (value) => pick(values.indexOf(value)) };
}

// Ready-made settings, as chips: [text, settings][]. `show(s)` picks those that s has.
export function presets(name, legend, all, onPick) {
  const texts = all.map(([text]) => text);
  const { set, pick } = radios(name, legend, texts, -1, (i) => onPick(all[i][1]));
  const isIn = (s, settings) =>
    Object.entries(settings).every(([key, x]) => s[key] === x);
  const show = (s) => pick(all.findIndex(([, settings]) => isIn(s, settings)));
  return { set, show };
}

// Let controls, by the names of what they set, show a state: each its own value.
export function showAll(controls, state) {
  for (const [name, { show }] of Object.entries(controls)) show(state[name]);
}

// On or off: as a chip (several of them in `choice(legend, ...)`), and as a box to tick
// with its text beside it.
const onOrOff = (look) => (name, text, on, onChange) => {
  const input = h("input", { type: "checkbox", "data-control": name });
  input.addEventListener("change", () => onChange(input.checked));
  const show = (isOn) => {
    input.checked = isOn;
  };
  show(on);
  const span = h("span", {}, text);
  return { box: h("label", { class: look }, input, span), input, text: span, show };
};
export const toggle = onOrOff("tfk-chip");
export const check = onOrOff("tfk-check");
export const choice = (legend, ...boxes) =>
  h("fieldset", { class: "tfk-choice" }, h("legend", {}, legend), ...boxes);

// A slider with its name before and its value behind. `show(x)` sets both.
export function slider(
  name,
  label,
  { min, max, step, digits = 2, kind = "", text = (x) => format(x, digits) },
  onInput,
) {
  const id = uid();
  const box = h("label", { for: id, class: "tfk-slider" });
  render(
    html`<span class="tfk-slider-name">${label}</span><input type="range" min=${min}
      max=${max} step=${step} id=${id} class=${kind} data-control=${name}
      @input=${() => onInput(Number(input.value))}><output for=${id}></output>`,
    box,
  );
  const [caption, input, output] = /** @type {any} */ (box.children);
  const show = (x) => {
    if (Number(input.value) !== x) input.value = x;
    say(output, text(x));
    input.setAttribute("aria-valuetext", text(x));
  };
  return { box, input, output, text: caption, show };
}

// A slider over a list of numbers. `show(x)` says x, even if the list has only one near it.
export function listSlider(name, label, values, onPick, text = commas) {
  let shown = values[0];
  const options = { min: 0, max: values.length - 1, step: 1, text: () => text(shown) };
  const made = slider(name, label, options, (i) => onPick(values[i]));
  const show = (x) => {
    shown = x;
    made.show(nearest(values, x));
  };
  return { ...made, show };
}

export function select(name, items, onPick) {
  const node = h("select", { id: uid(), "data-control": name });
  items.forEach((text, i) => node.append(h("option", { value: i }, text)));
  node.addEventListener("change", () => onPick(Number(node.value)));
  return node;
}

// What does something, and is of no use on paper.
export function button(name, text, onClick) {
  const node = h(
    "button",
    { type: "button", class: "tfk-do", "data-control": name },
    text,
  );
  node.addEventListener("click", onClick);
  return node;
}

// What no control shows, but a link to the figure is to hold: handles that were dragged,
// cells that were clicked. onSet hears the text of a link; `show(text)` says what it is.
export function kept(name, onSet) {
  const node = h("input", { type: "hidden", "data-control": name });
  node.addEventListener("change", () => onSet(node.value));
  const show = (text) => {
    node.value = text;
  };
  return { node, show };
}

// What a screen reader hears: the last text after a pause. Shown, it serves as the caption
// of what the reader has chosen, too.
export function liveRegion({ pause = 700, isShown = false } = {}) {
  let timer = 0;
  const look = isShown ? "tfk-live tfk-shown" : "tfk-live";
  const node = h("p", { class: look, "aria-live": "polite" });
  return {
    node,
    announce(text, now = false) {
      clearTimeout(timer);
      timer = setTimeout(() => say(node, text), now ? 0 : pause);
    },
    stop: () => clearTimeout(timer),
  };
}

// The text table behind a picture, folded: `show(columns, rows)` takes a name and texts
// per row.
export function textTable(summary, corner = "") {
  const node = h("details", { class: "tfk-table" });
  const row = ([name, ...cells]) =>
    html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`;
  const show = (columns, rows) =>
    render(
      html`<summary>${summary}</summary>
        <div class="tfk-scroll" tabindex="0" role="region" aria-label=${summary}><table>
          <thead><tr>${[corner, ...columns].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
          <tbody>${rows.map(row)}</tbody>
        </table></div>`,
      node,
    );
  show([], []);
  return { node, show };
}

// Hears the press of an SVG node: until its release, onMove gets the pointer's place in
// the drawing, 0 to 1 each way.
export function follow(event, onMove) {
  const node = event.currentTarget;
  const svg = node.ownerSVGElement;
  event.preventDefault();
  node.setPointerCapture(event.pointerId);
  const move = (e) => onMove(...placeIn(svg, e));
  const stop = () => {
    node.removeEventListener("pointermove", move);
    node.removeEventListener("pointerup", stop);
    node.removeEventListener("pointercancel", stop);
  };
  node.addEventListener("pointermove", move);
  node.addEventListener("pointerup", stop);
  node.addEventListener("pointercancel", stop);
}
export function placeIn(svg, { clientX, clientY }) {
  const box = svg.getBoundingClientRect();
  return [(clientX - box.left) / box.width, (clientY - box.top) / box.height];
}

// A listener for `touchstart`: a finger on the node drags it in any direction and does not
// scroll the page (for parts of a drawing browsers disregard touch-action). For handles,
// not for areas.
export const holdsPage = {
  handleEvent: (event) => event.preventDefault(),
  passive: false,
};

// Hear how wide a node is, in CSS pixels, when that changes; returns what ends it. In the
// next frame: what is drawn anew may make the page higher, of which observers could not
// be told any more in this one ("loop completed with undelivered notifications").
export function onWidth(node, redraw) {
  let width = 0;
  let frame = 0;
  function look() {
    const now = Math.round(node.clientWidth);
    if (now === width) return;
    width = now;
    if (now) redraw(width); // hidden, it has none
  }
  const watch = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(look);
  });
  watch.observe(node);
  return () => {
    cancelAnimationFrame(frame);
    watch.disconnect();
  };
}

// Whether the reader wants things to stay still.
export const wantsStillness = () =>
  matchMedia("(prefers-reduced-motion: reduce)").matches;
