// The configuration of a model: what it is, in numbers; validated once. Chapter *The whole Transformer*.
//
// Fields keep their names in the file: d_model, n_heads, …
import { ACTIVATIONS } from "./feedforward.js";
import { PARTS } from "./parts.js";

const SIZES = [
  ...["vocab_size", "d_model", "n_heads", "d_ff", "max_len"],
  ...["n_encoder_layers", "n_decoder_layers"],
];
const SPECIAL = ["pad_id", "bos_id", "eos_id", "unk_id"];
/** @type {Record<string, any[]>} */
const CHOICES = {
  norm: ["post", "pre"],
  activation: Object.keys(ACTIVATIONS),
  tie_embeddings: [true, false],
  output_bias: [true, false],
};
/** @type {[string, string[]][]} */
const NAMED = Object.entries(PARTS).map(([kind, parts]) => [kind, Object.keys(parts)]);
// Of models older than the field.
const DEFAULTS = {
  ...Object.fromEntries(NAMED.map(([kind, [papers]]) => [kind, papers])),
  output_bias: false,
};
const IGNORED = ["dropout", "n_groups"]; // matter in training, or to parts we don't have

export function transformerConfig(fields) {
  const config = { ...DEFAULTS, ...fields };
  const named = Object.keys({ ...CHOICES, ...PARTS });
  const known = [...SIZES, ...SPECIAL, ...named, ...IGNORED];
  const unknown = Object.keys(config).filter((name) => !known.includes(name));
  if (unknown.length)
    throw new RangeError(
      `unknown configuration fields: ${unknown.join(", ")}; this page is older than the ` +
        "model: reload it",
    );
  const demand = (name, holds, rule) => {
    if (!holds)
      throw new RangeError(`${name}=${JSON.stringify(config[name])} must be ${rule}`);
  };
  const isWhole = (name) => Number.isInteger(config[name]);
  for (const name of SIZES)
    demand(name, isWhole(name) && config[name] >= 1, "at least 1");
  const { d_model, n_heads, vocab_size } = config;
  demand("d_model", d_model % 2 === 0, "even (sine, cosine)");
  demand("d_model", d_model % n_heads === 0, `a multiple of n_heads=${n_heads}`);
  if (config.positions === "rotary")
    demand("d_model", (d_model / n_heads) % 2 === 0, "even in each head (pairs turn)");
  for (const [name, parts] of NAMED) {
    if (!parts.includes(config[name]))
      throw new RangeError(
        `${name}=${JSON.stringify(config[name])}: pages have no such part, only ` +
          `${parts.join(" and ")}; Python runs this model`,
      );
  }
  for (const [name, choices] of Object.entries(CHOICES))
    demand(name, choices.includes(config[name]), choices.join(" or "));
  for (const name of SPECIAL) {
    const id = config[name];
    const isAlone = SPECIAL.filter((other) => config[other] === id).length === 1;
    const fits = isWhole(name) && id >= 0 && id < vocab_size && isAlone;
    demand(name, fits, `an id of its own below vocab_size=${vocab_size}`);
  }
  return Object.freeze(config);
}
