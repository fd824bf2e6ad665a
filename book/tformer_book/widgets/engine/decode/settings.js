// The settings of a search, by their names in the page; `tformer/common/search.py` declares them,
// and the tests hold the two equal.

export const USUAL = {
  search: "beam",
  beamSize: 4,
  lengthPenalty: 0.6,
  temperature: 1,
  topK: null,
  topP: null,
  seed: 0,
  maxLen: 128,
};

// Those that belong to one search.
export const USED = {
  beam: ["beamSize", "lengthPenalty"],
  greedy: [],
  sample: ["temperature", "topK", "topP", "seed"],
};

// A search's name with its own settings: what the engine is told.
export const used = (settings) => ({
  search: settings.search,
  ...Object.fromEntries(USED[settings.search].map((name) => [name, settings[name]])),
});

// A figure's traits, by Python's names, and the value at which one cuts nothing.
export const TRAITS = [
  "search",
  "beam_size",
  "length_penalty",
  "temperature",
  "top_k",
  "top_p",
  "seed",
];
const ALL = { top_k: 0, top_p: 1 };

// What a trait is called in the page: beam_size -> beamSize.
export const pageName = (trait) =>
  trait.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

// The one way from traits to settings, and the way back.
export const settingsOf = (traits) =>
  Object.fromEntries(
    TRAITS.map((trait) => [
      pageName(trait),
      traits[trait] === ALL[trait] ? null : traits[trait],
    ]),
  );
export const traitsOf = (settings) =>
  Object.fromEntries(
    TRAITS.map((trait) => [trait, settings[pageName(trait)] ?? ALL[trait]]),
  );

// Where a reader can set a number, by its trait; the figures' traits in Python have the same
// bounds. A top_k of 0 and a top_p of 1 keep every piece: a slider of top_k shows that as
// ALL_K, one past its largest number.
export const RANGES = {
  beam_size: { min: 1, max: 6, step: 1 },
  length_penalty: { min: 0, max: 3, step: 0.1 },
  temperature: { min: 0.1, max: 2, step: 0.1 },
  top_k: { min: 0, max: 50, step: 1 },
  top_p: { min: 0.05, max: 1, step: 0.05 },
  seed: { min: 0, max: 30, step: 1 },
};
export const ALL_K = RANGES.top_k.max + 1;
export const SLIDER_OF_K = { min: 1, max: ALL_K, step: 1 };
