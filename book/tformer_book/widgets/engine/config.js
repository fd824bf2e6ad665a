// The configuration of a model: what it is, in numbers; validated once. Chapter *The whole Transformer*.
//
// Fields keep their names in the file: d_model, n_heads, …
import { ACTIVATIONS } from "./feedforward.js";
import { POSITIONS } from "./positions.js";

const SIZES = [
  "vocab_size",
  "d_model",
  "n_heads",
  "d_ff",
  "n_encoder_layers",
  "n_decoder_layers",
  "max_len",
];
const SPECIAL = ["pad_id", "bos_id", "eos_id", "unk_id"];
const CHOICES = {
  norm: ["post", "pre"],
  activation: Object.keys(ACTIVATIONS),
  tie_embeddings: [true, false],
  output_bias: [true, false],
};
// The parts that a page has; Python has more (tformer/parts.py).
const PARTS = {
  positions: Object.keys(POSITIONS),
  norm_kind: ["layer"],
  attention: ["multi-head"],
  feed_forward: ["plain"],
};
// Of models older than the field: the first is the paper's.
const DEFAULTS = {
  ...Object.fromEntries(Object.entries(PARTS).map(([name, [first]]) => [name, first])),
  output_bias: false,
};
const IGNORED = ["dropout", "n_groups"]; // matter in training, or to parts we don't have

export function transformerConfig(fields) {
  const config = { ...DEFAULTS, ...fields };
  const named = Object.keys({ ...CHOICES, ...PARTS });
  const known = [...SIZES, ...SPECIAL, ...named, ...IGNORED];
  const unknown = Object.keys(config).filter((name) => !known.includes(name));
  if (unknown.length) {
    throw new RangeError(
      `unknown configuration fields: ${unknown.join(", ")}; this page is older than the ` +
        "model: reload it",
    );
  }
  for (const name of SIZES) {
    demand(
      Number.isInteger(config[name]) && config[name] >= 1,
      config,
      name,
      "at least 1",
    );
  }
  demand(config.d_model % 2 === 0, config, "d_model", "even (sine, cosine)");
  const { d_model, n_heads, vocab_size } = config;
  demand(
    d_model % n_heads === 0,
    config,
    "d_model",
    `a multiple of n_heads=${n_heads}`,
  );
  for (const [name, parts] of Object.entries(PARTS)) {
    if (!parts.includes(config[name]))
      throw new RangeError(
        `${name}=${JSON.stringify(config[name])}: pages have no such part, only ` +
          `${parts.join(" and ")}; Python runs this model`,
      );
  }
  for (const [name, choices] of Object.entries(CHOICES)) {
    demand(
      /** @type {any[]} */ (choices).includes(config[name]),
      config,
      name,
      choices.join(" or "),
    );
  }
  for (const name of SPECIAL) {
    const fits =
      Number.isInteger(config[name]) && config[name] >= 0 && config[name] < vocab_size;
    const alone =
      SPECIAL.filter((other) => config[other] === config[name]).length === 1;
    demand(
      fits && alone,
      config,
      name,
      `an id of its own below vocab_size=${vocab_size}`,
    );
  }
  return Object.freeze(config);
}

function demand(holds, config, name, rule) {
  if (!holds)
    throw new RangeError(`${name}=${JSON.stringify(config[name])} must be ${rule}`);
}
