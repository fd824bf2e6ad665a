// The small map at the top of a chapter, with names only; in the book each of its boxes
// leads to the chapter about that part.
import { onArrows, within } from "../kit/arrows.js";
import { isInTheBook } from "../kit/chapters.js";
import { nothing, render, svg } from "../kit/vendor/lit.js";
import { chapterOf } from "./chapters.js";
import { box, map, UPWARDS } from "./drawing.js";
import { layout } from "./layout.js";

function labelOf(lit, inTheBook) {
  const names = lit.map(({ side, kind, name }) =>
    kind === "mask" || kind === "norm" ? `${side} ${name}` : name,
  );
  return [
    "Map of the Transformer: the encoder on the left, the decoder on the right, joined by the memory.",
    ...(lit.length ? [`Lit: ${[...new Set(names)].join(", ")}.`] : []),
    ...(inTheBook
      ? ["Arrow keys go from part to part; each leads to its chapter."]
      : []),
  ].join(" ");
}

export function drawCompact(root, all, light) {
  const inTheBook = isInTheBook();
  const placed = layout(all, true);
  const chapters = placed.boxes.map(({ part }) => chapterOf(part, location.pathname));
  // One stop for the Tab key, arrows within.
  const here = chapters.findIndex((each) => each.isHere);
  let stop = Math.max(0, here);

  function group(b) {
    const look = light.includes(b.part.id) ? "tfm-lit" : light.length ? "tfm-dim" : "";
    return svg`<g class="tfm-part tfm-${b.part.kind} ${look}" data-part=${b.part.id}>
      ${box(b, true)}</g>`;
  }
  function link(b, i) {
    const { title, address, isHere } = chapters[i];
    return svg`<a class="tfm-link" href=${address} tabindex=${i === stop ? 0 : -1}
        aria-label="${b.part.side}: ${b.part.name}, chapter ${title}"
        aria-current=${isHere ? "page" : nothing}>
      ${group(b)}<title>${isHere ? `${title} (this chapter)` : title}</title></a>`;
  }
  const keys = onArrows(UPWARDS, (by) => {
    stop = within(stop + by, placed.boxes.length);
    draw();
    root.querySelector('[tabindex="0"]').focus();
  });
  const lit = all.filter((part) => light.includes(part.id));
  const picture = { role: "img", one: group, keys: nothing };
  const links = { role: "group", one: link, keys };
  const draw = () =>
    render(
      map(placed, {
        ...(inTheBook ? links : picture),
        label: labelOf(lit, inTheBook),
        layers: () => "N",
      }),
      root,
    );
  draw();
}
