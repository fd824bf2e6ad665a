// A trained model and its tokenizer, from two files. Chapter *Training*.
import { transformerConfig } from "./config.js";
import { loadTensors, sha256Of } from "./files.js";
import { fastest } from "./kernel/kernel.js";
import { Transformer } from "./model.js";
import { Tokenizer } from "./tokenization.js";
import { Translator } from "./translator.js";

const LARGEST = 2 ** 27; // numbers in a table that is computed, so in no file

// Two files as ArrayBuffers -> `Translator`. kernel: see `loadParameters`.
export async function loadPretrained({ weights, tokenizer, kernel = fastest }) {
  const { tensors, metadata } = await loadTensors(weights);
  if (!metadata.config || !metadata.tokenizer)
    throw new Error(
      "the weights hold no tformer model: their header has no configuration",
    );
  const model = emptyModel(metadata.config, tensors);
  const usedKernel = loadParameters(model, tensors, kernel);
  const fingerprint = await sha256Of(tokenizer);
  if (fingerprint && fingerprint !== metadata.tokenizer)
    throw new Error(
      "this is not the tokenizer that the weights were trained with: take both from one run",
    );
  return new Translator(model, new Tokenizer(tokenizer), usedKernel);
}

// The model that a configuration describes, unless it would be far larger than the file
// that claims to hold it: each of its layers has several weights there.
function emptyModel(fields, tensors) {
  const config = transformerConfig(fields);
  const nLayers = config.n_encoder_layers + config.n_decoder_layers;
  if (nLayers > tensors.size)
    throw new Error(
      `the configuration tells of ${nLayers} layers, but the file holds only ` +
        `${tensors.size} weights: it is not this model's`,
    );
  if (config.positions === "sinusoidal" && config.max_len * config.d_model > LARGEST)
    throw new Error(
      `the configuration tells of max_len=${config.max_len}: a table of that many ` +
        "positions does not fit in memory",
    );
  return new Transformer(config);
}

// Give a model its weights, all of them or none, and a kernel to multiply by them (see
// kernel/kernel.js), whose name it returns.
export function loadParameters(model, tensors, kernel = fastest) {
  const parameters = new Map(model.namedParameters());
  const other = "the weights are of a different kind of model";
  for (const name of tensors.keys()) {
    if (!parameters.has(name))
      throw new Error(`${name} is an unknown weight: ${other}`);
  }
  for (const [name, { shape }] of parameters) {
    const found = tensors.get(name)?.shape;
    if (!found) throw new Error(`the weight ${name} is missing: ${other}`);
    if (found.join() !== shape.join())
      throw new Error(
        `${name} has shape (${found}), the model needs (${shape}): ${other}`,
      );
  }
  for (const [name, parameter] of parameters) {
    const { data, scales } = tensors.get(name);
    Object.assign(parameter, { data, scales });
  }
  const matrices = [...parameters.values()].filter(({ shape }) => shape.length === 2);
  const { name, products } = kernel(matrices);
  for (const [i, product] of products.entries()) matrices[i].product = product;
  return name;
}
