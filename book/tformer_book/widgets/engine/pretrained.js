// A trained model and its tokenizer, from two files. Chapter *Training*.
import { loadTensors, sha256Of } from "./files.js";
import { fastest } from "./kernel/kernel.js";
import { Transformer } from "./model.js";
import { Tokenizer } from "./tokenization.js";
import { Translator } from "./translator.js";

// Two files as ArrayBuffers -> `Translator`. kernel: see `loadParameters`.
export async function loadPretrained({ weights, tokenizer, kernel = fastest }) {
  const { tensors, metadata } = await loadTensors(weights);
  if (!metadata.config || !metadata.tokenizer)
    throw new Error(
      "the weights hold no tformer model: their header has no configuration",
    );
  const model = new Transformer(metadata.config);
  const usedKernel = loadParameters(model, tensors, kernel);
  const fingerprint = await sha256Of(tokenizer);
  if (fingerprint && fingerprint !== metadata.tokenizer)
    throw new Error(
      "this is not the tokenizer that the weights were trained with: take both from one run",
    );
  return new Translator(model, new Tokenizer(tokenizer), usedKernel);
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
