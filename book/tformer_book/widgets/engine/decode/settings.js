// The settings of a search, by their names in the page; `tformer/common/search.py` declares
// them, and `declared.js` is what it says.
import { SEARCHES, SETTINGS } from "./declared.js";

export { SEARCHES };

// What a trait is called in the page: beam_size -> beamSize.
export const pageName = (trait) =>
  trait.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

/** @type {any} */
export const USUAL = {
  search: SEARCHES[0],
  ...Object.fromEntries(SETTINGS.map(({ name, usual }) => [pageName(name), usual])),
};

// Those that a reader can set, by their traits; each knows the search it belongs to.
export const SLIDERS = SETTINGS.filter(({ label }) => label);
const ofSearch = (search) => SLIDERS.filter(({ of }) => of === search);

// Those that belong to one search.
const usedBy = (search) => ofSearch(search).map(({ name }) => pageName(name));
export const USED = Object.fromEntries(SEARCHES.map((each) => [each, usedBy(each)]));

// A search's name with its own settings: what the engine is told.
export const used = (settings) => ({
  search: settings.search,
  ...Object.fromEntries(USED[settings.search].map((name) => [name, settings[name]])),
});

// A figure's traits, by Python's names, and the value at which one cuts nothing.
export const TRAITS = ["search", ...SLIDERS.map(({ name }) => name)];
const CUTTING = SLIDERS.filter(({ everything }) => everything !== null);
const ALL = Object.fromEntries(
  CUTTING.map(({ name, everything }) => [name, everything]),
);

// The one way from traits to settings, and the way back.
export const settingsOf = (traits) =>
  Object.fromEntries(
    TRAITS.map((each) => [
      pageName(each),
      traits[each] === ALL[each] ? null : traits[each],
    ]),
  );
export const traitsOf = (settings) =>
  Object.fromEntries(
    TRAITS.map((trait) => [trait, settings[pageName(trait)] ?? ALL[trait]]),
  );

// Where a reader can set a number, by its trait; the figures' traits in Python have the same
// bounds. A top_k of 0 and a top_p of 1 keep every piece: a slider of top_k shows that as
// ALL_K, one past its largest number.
export const RANGES = Object.fromEntries(
  SLIDERS.map(({ name, min, max, step }) => [name, { min, max, step }]),
);
export const ALL_K = RANGES.top_k.max + 1;
export const SLIDER_OF_K = { min: 1, max: ALL_K, step: 1 };
