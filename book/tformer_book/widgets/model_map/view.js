// The large map: choose a part, read all about it, change sizes. `template` draws a state
// with what `model_map.js` made of it: controls, and the functions that hear of choices.
import { commas, percent } from "../kit/numbers.js";
import { html, svg } from "../kit/vendor/lit.js";
import { chapterOf } from "./chapters.js";
import { box, map } from "./drawing.js";
import { shares, sizesOf, total, written } from "./maths.js";

// A part of the map as an option of a list.
function option(b, on, onChoose) {
  const { id, side, name, kind, letters, numbers, each } = b.part;
  const count = each ? `${commas(each)} parameters` : "no parameters of its own";
  return svg`<g class="tfm-part tfm-${kind} ${on ? "tfm-lit" : ""}" data-part=${id}
      role="option" tabindex=${on ? 0 : -1} aria-selected=${on ? "true" : "false"}
      aria-label="${side}: ${name}, out ${letters} = ${numbers}, ${count}"
      @click=${() => onChoose(id)}>
    ${box(b, false)}</g>`;
}

function listbox(c, placed, chosen, { inTheBook, keys, onChoose }) {
  const enter = inTheBook ? ", Enter opens a part’s chapter" : "";
  return map(placed, {
    role: "listbox",
    keys,
    label: `Parts of the model: arrow keys go from part to part${enter}`,
    layers: (side) => c[`n_${side}_layers`],
    one: (b) => option(b, b.part.id === chosen.id, onChoose),
  });
}

// What there is to know about a part: [key, name, text].
export function factsOf(c, part) {
  const size = sizesOf(c);
  const both = (letters) =>
    `${written(letters)} = ${written(letters.map((letter) => size[letter]))}`;
  const { weights, inner, formula, worked, each, times } = part;
  const inside = weights ? `weights ${both(weights)}` : inner ? both(inner) : "–";
  const one = worked ? ` = ${worked} = ${commas(each)}` : "";
  const many = each && times > 1 ? `; × ${times} layers = ${commas(part.total)}` : "";
  return [
    ["in", "Goes in", part.takes],
    ["out", "Comes out", both(part.out)],
    ["inside", "Inside", inside],
    ["numbers", "Parameters", `${formula}${one}${many}`],
    ["file", "Source", part.files.map((file) => `tformer/${file}`).join(", ")],
  ];
}

function detail(c, part, inTheBook) {
  const { title, address } = chapterOf(part);
  return html`
    <div class="tfm-detail" data-control="detail">
      <p class="tfm-title">${part.side}: ${part.name}</p>
      <p>${part.does}</p>
      <dl>${factsOf(c, part).map(
        ([key, name, text]) => html`<dt>${name}</dt><dd data-fact=${key}>${text}</dd>`,
      )}</dl>
    </div>
    <p class="tfm-leads" ?hidden=${!inTheBook}>Its chapter:
      <a class="tfm-chapter" data-control="chapter" href=${address}>${title}</a></p>`;
}

const bar = ({ name, kind, count, share }) => html`
  <div class="tfm-row">
    <span>${name}</span>
    <span class="tfm-track"><span class="tfm-bar tfm-${kind}"
      style="width: ${(100 * share).toFixed(2)}%"></span></span>
    <span class="tfm-number">${commas(count)} · ${percent(share, share < 0.1 ? 1 : 0)}</span>
  </div>`;

export const template = (c, placed, chosen, tools) => html`
  <div class="tfm-top">${tools.top}</div>
  <div class="tfm-both">
    <div class="tfm-hold">${listbox(c, placed, chosen, tools)}</div>
    <div class="tfm-side">
      <div class="tfm-steps">${tools.steps}</div>
      ${detail(c, chosen, tools.inTheBook)}
      <p class="tfm-sum" data-exact=${total(c)}>All together: ${commas(total(c))} parameters</p>
      <div class="tfm-bars">${shares(c).map(bar)}</div>
    </div>
  </div>
  <div class="tfm-sliders">${tools.sliders}</div>
  ${tools.below}`;
