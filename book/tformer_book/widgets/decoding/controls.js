// The searches to choose from, and the settings of each.
import {
  ALL_K,
  pageName,
  SLIDER_OF_K,
  SLIDERS,
  USED,
} from "../engine/decode/settings.js";
import { put, radios, slider } from "../kit/kit.js";
import { format } from "../kit/numbers.js";

const PLACES = { beam_size: 0, length_penalty: 1, temperature: 1, top_k: 0, seed: 0 };

// names: of the searches, in order; labels: of the sliders, where they are not the usual
// ones. onChange hears the changed settings.
// -> { choice, sliders (elements), show(settings) }
/**
 * @param {Record<string, string>} names
 * @param {(changes: any) => void} onChange
 * @param {Record<string, string>} [labels]
 */
export function searchControls(names, onChange, labels = {}) {
  const searches = Object.keys(names);
  const choice = radios("search", "Search", Object.values(names), 0, (i) =>
    onChange({ search: searches[i] }),
  );
  const sliders = SLIDERS.map(({ name: trait, label, min, max, step, everything }) => {
    const range = trait === "top_k" ? SLIDER_OF_K : { min, max, step };
    const uncut = trait === "top_k" ? ALL_K : everything; // where it keeps every piece
    const text = (x) => (x === uncut ? "all" : format(x, PLACES[trait]));
    const name = pageName(trait);
    const each = slider(trait, labels[trait] ?? label, { ...range, text }, (x) =>
      onChange({ [name]: x === uncut ? null : x }),
    );
    return { name, uncut, ...each };
  });
  function show(settings) {
    choice.pick(searches.indexOf(settings.search));
    for (const each of sliders) {
      each.show(settings[each.name] ?? each.uncut);
      put(each.box, { hidden: !USED[settings.search].includes(each.name) });
    }
  }
  return { choice: choice.set, sliders: sliders.map(({ box }) => box), show };
}
