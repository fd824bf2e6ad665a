// The settings of a search, by their names in the page; `tformer/search.py` declares them,
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
