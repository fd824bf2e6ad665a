// Written by `make declared` from tformer/common/search.py.
export const SEARCHES = ["beam", "greedy", "sample"];
export const SETTINGS = [
  {"name": "beam_size", "of": "beam", "usual": 4, "label": "beam size", "short": "beam", "min": 1, "max": 6, "step": 1, "everything": null},
  {"name": "length_penalty", "of": "beam", "usual": 0.6, "label": "penalty α", "short": "alpha", "min": 0, "max": 3, "step": 0.1, "everything": null},
  {"name": "temperature", "of": "sample", "usual": 1.0, "label": "temperature", "short": "temperature", "min": 0.1, "max": 2, "step": 0.1, "everything": null},
  {"name": "top_k", "of": "sample", "usual": null, "label": "top-k", "short": "top-k", "min": 0, "max": 50, "step": 1, "everything": 0},
  {"name": "top_p", "of": "sample", "usual": null, "label": "top-p", "short": "top-p", "min": 0.05, "max": 1, "step": 0.05, "everything": 1},
  {"name": "seed", "of": "sample", "usual": 0, "label": "seed", "short": "seed", "min": 0, "max": 30, "step": 1, "everything": null},
  {"name": "max_len", "of": "", "usual": 128},
];
