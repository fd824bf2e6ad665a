// The searches to choose from, and the settings of each.
import { ALL_K, RANGES, SLIDER_OF_K, USED } from "../engine/decode/settings.js";
import { h, put, radios, say, slider } from "../kit/kit.js";
import { format } from "../kit/numbers.js";

const NAMES = { greedy: "greedy", sample: "sampling", beam: "beam search" };
const SEARCHES = Object.keys(NAMES);

// first: the search to begin with; onChange hears the changed settings.
// -> { nodes, show(settings) }
export function searchControls(first, onChange) {
  const searches = radios(
    "search",
    "Search",
    SEARCHES.map((name) => NAMES[name]),
    SEARCHES.indexOf(first),
    (i) => onChange({ search: SEARCHES[i] }),
  );
  const sliders = slidersOf(onChange);
  const about = h("p", { class: "tfd-about" });
  const options = h(
    "div",
    { class: "tfd-options" },
    ...Object.values(sliders).map(({ box }) => box),
    about,
  );
  function show(settings) {
    searches.pick(SEARCHES.indexOf(settings.search));
    sliders.beamSize.show(settings.beamSize);
    sliders.lengthPenalty.show(settings.lengthPenalty);
    sliders.temperature.show(settings.temperature);
    sliders.topK.show(settings.topK ?? ALL_K);
    sliders.topP.show(settings.topP ?? 1);
    sliders.seed.show(settings.seed);
    for (const [name, { box }] of Object.entries(sliders))
      put(box, { hidden: !USED[settings.search].includes(name) });
    put(about, { hidden: settings.search !== "greedy" });
    say(about, "The likeliest piece is taken, every time. There is nothing to set.");
  }
  return { nodes: [searches.set, options], show };
}

const slidersOf = (onChange) => ({
  beamSize: slider(
    "beam_size",
    "beam size",
    { ...RANGES.beam_size, digits: 0 },
    (beamSize) => onChange({ beamSize }),
  ),
  lengthPenalty: slider(
    "length_penalty",
    "penalty α",
    { ...RANGES.length_penalty, digits: 1 },
    (lengthPenalty) => onChange({ lengthPenalty }),
  ),
  temperature: slider(
    "temperature",
    "temperature",
    { ...RANGES.temperature, digits: 1 },
    (temperature) => onChange({ temperature }),
  ),
  topK: slider(
    "top_k",
    "top-k",
    { ...SLIDER_OF_K, text: (k) => (k >= ALL_K ? "all" : String(k)) },
    (k) => onChange({ topK: k >= ALL_K ? null : k }),
  ),
  topP: slider(
    "top_p",
    "top-p",
    { ...RANGES.top_p, text: (p) => (p >= 1 ? "all" : format(p)) },
    (p) => onChange({ topP: p >= 1 ? null : p }),
  ),
  seed: slider("seed", "seed", { ...RANGES.seed, digits: 0 }, (seed) =>
    onChange({ seed }),
  ),
});
