// The searches to choose from, and the settings of each.
import {
  ALL_K,
  pageName,
  RANGES,
  SLIDER_OF_K,
  USED,
} from "../engine/decode/settings.js";
import { put, radios, slider } from "../kit/kit.js";
import { format } from "../kit/numbers.js";

const PLACES = { beam_size: 0, length_penalty: 1, temperature: 1, top_k: 0, seed: 0 };
const UNCUT = { top_k: ALL_K, top_p: 1 }; // where a slider keeps every piece

// names: the searches, in order; labels: of the sliders, by trait. onChange hears the
// changed settings.
// -> { choice, sliders (elements), show(settings) }
/**
 * @param {Record<string, string>} names
 * @param {Record<string, string>} labels
 * @param {(changes: any) => void} onChange
 */
export function searchControls(names, labels, onChange) {
  const searches = Object.keys(names);
  const choice = radios("search", "Search", Object.values(names), 0, (i) =>
    onChange({ search: searches[i] }),
  );
  const sliders = Object.entries(labels).map(([trait, label]) => {
    const range = trait === "top_k" ? SLIDER_OF_K : RANGES[trait];
    const text = (x) => (x === UNCUT[trait] ? "all" : format(x, PLACES[trait]));
    const name = pageName(trait);
    const each = slider(trait, label, { ...range, text }, (x) =>
      onChange({ [name]: x === UNCUT[trait] ? null : x }),
    );
    return { name, uncut: UNCUT[trait], ...each };
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
