// What the tests ask of the engine. `read(name)` gives a file of the test's folder.
import { beamSearch, nBest } from "./engine/decode/beam.js";
import { distribution, draw, greedy, sample } from "./engine/decode/choosing.js";
import { score } from "./engine/decode/forced.js";
import { loadTensors } from "./engine/files.js";
import { fixedPoint } from "./engine/kernel/fixed-point.js";
import { fastest, plain } from "./engine/kernel/kernel.js";
import { simdProducts } from "./engine/kernel/simd.js";
import { Transformer } from "./engine/model.js";
import { loadParameters, loadPretrained } from "./engine/pretrained.js";
import { Tensor } from "./engine/tensor.js";
import { Tokenizer } from "./engine/tokenization.js";
import {
  attentionWeights,
  residualStream,
  setHeadGains,
  watch,
} from "./engine/trace.js";

async function modelOf(file, read) {
  const { tensors, metadata } = await loadTensors(await read(file));
  const model = new Transformer(metadata.config);
  loadParameters(model, tensors);
  return model;
}

const translatorOf = async ({ weights, tokenizer }, read, kernel = fastest) =>
  loadPretrained({
    weights: await read(weights),
    tokenizer: await read(tokenizer),
    kernel,
  });

function pack({ shape, data }) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192)
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return { shape, data: btoa(text) };
}

const packAll = (tensors) =>
  Object.fromEntries(Object.entries(tensors).map(([name, each]) => [name, pack(each)]));

// The message of what a call throws; null if it throws nothing.
async function complaint(call) {
  try {
    await call();
    return null;
  } catch (error) {
    return error.message;
  }
}

const bytes = (text) =>
  Uint8Array.from(atob(text), (each) => each.charCodeAt(0)).buffer;

const unpack = ({ shape, data }, Numbers = Float32Array) =>
  new Tensor(shape, new Numbers(bytes(data)));

// Whatever a walk through steps yields, and what it returns.
function walked(steps) {
  const told = [];
  let step = steps.next();
  for (; !step.done; step = steps.next()) told.push(step.value);
  return { told, found: step.value };
}

// Products of vectors with weights, by both kernels, one after another in one memory.
export function products(cases) {
  const weights = cases.map(({ weight, scales }) => {
    if (!scales) return unpack(weight);
    return Object.assign(unpack(weight, Int8Array), { scales: unpack(scales).data });
  });
  const vectors = cases.map(({ x }) => unpack(x));
  const found = { plain: plain(weights).products, simd: simdProducts(weights) };
  const results = Object.entries(found).map(([name, products]) => [
    name,
    products.map((product, i) => {
      const y = new Tensor([vectors[i].shape[0], weights[i].shape[0]]);
      product(vectors[i].data, y.data);
      return pack(y);
    }),
  ]);
  return Object.fromEntries(results);
}

export const fixedPoints = (cases) =>
  cases.map((each) => {
    const x = unpack(each);
    const numbers = new Int16Array(x.data.length);
    return { step: fixedPoint(x.data, numbers), numbers: Array.from(numbers) };
  });

// What runs here, and with it the released model's translations.
export async function whatRuns({ files, texts, without }, read) {
  if (without) delete globalThis[without];
  const translated = async (wanted) => {
    const { model, tokenizer, kernel } = await translatorOf(files, read, wanted);
    const { eos_id } = model.config;
    const ids = texts.map((text) => greedy(model, [...tokenizer.encode(text), eos_id]));
    return { kernel, ids };
  };
  return { fastest: await translated(fastest), plain: await translated(plain) };
}

// Logits, attention and watched values of forward passes.
export async function forward(cases, read) {
  const results = [];
  for (const { file, source, target, names = [], gains = [] } of cases) {
    const model = await modelOf(file, read);
    const undo = setHeadGains(model, gains);
    const attention = attentionWeights(model, source, target);
    const { seen, stop } = watch(model, ...names);
    const logits = model.call(source, target);
    stop();
    undo();
    const again = model.call(source, target);
    results.push({
      logits: pack(logits),
      undone: pack(again),
      nParameters: model.nParameters(),
      ...packAll(attention),
      seen: packAll(Object.fromEntries(names.map((name) => [name, seen[name][0]]))),
      nSeen: names.map((name) => seen[name].length),
    });
  }
  return results;
}

// What every part adds to the residual stream.
export async function streams(cases, read) {
  const told = (writes) =>
    writes.map(({ name, ...tensors }) => ({ name, ...packAll(tensors) }));
  const results = [];
  for (const { file, source, target } of cases) {
    const model = await modelOf(file, read);
    const { encoder, decoder } = residualStream(model, source, target);
    results.push({ encoder: told(encoder), decoder: told(decoder) });
  }
  return results;
}

// Every name that can be watched, and every weight's.
export async function names({ file }, read) {
  const model = await modelOf(file, read);
  const of = (pairs) => Array.from(pairs, ([name]) => name);
  return { modules: of(model.namedModules()), parameters: of(model.namedParameters()) };
}

// What a sweep over all heads finds, each told of in turn; and log p after it.
export async function damages({ files, text, translation }, read) {
  const translator = await translatorOf(files, read);
  const { told, found } = walked(translator.damage(text, translation));
  const { logProbability: after } = translator.score(text, translation);
  return { ...found, told, after };
}

// What the model says to ids that it cannot read.
export async function badIds({ file, cases }, read) {
  const model = await modelOf(file, read);
  const said = cases.map(([source, target]) =>
    complaint(() => model.call(source, target)),
  );
  return Promise.all(said);
}

// What is said to a damaged file. Each case: bytes in base64.
export async function damagedWeights({ cases }) {
  const open = async (text) => {
    const { tensors, metadata } = await loadTensors(bytes(text));
    loadParameters(new Transformer(metadata.config), tensors);
  };
  return Promise.all(cases.map((text) => complaint(() => open(text))));
}

export async function readTensors({ file }, read) {
  const { tensors, metadata } = await loadTensors(await read(file));
  const scaled = [...tensors].filter(([, { scales }]) => scales);
  const scales = scaled.map(([name, { scales }]) => [
    name,
    pack({ shape: [scales.length], data: scales }),
  ]);
  return {
    tensors: packAll(Object.fromEntries(tensors)),
    scales: Object.fromEntries(scales),
    metadata,
  };
}

// Searches on ids.
export async function search({ file, sources, options }, read) {
  const model = await modelOf(file, read);
  const timed = (call) => sources.map((ids) => call(model, ids, options));
  return {
    greedy: timed(greedy),
    greedyWithoutCache: timed((m, ids) =>
      greedy(m, ids, { ...options, useCache: false }),
    ),
    nBest: timed(nBest),
    sampled: timed((m, ids) => sample(m, ids, { ...options, seed: 5 })),
    sampledAgain: timed((m, ids) => sample(m, ids, { ...options, seed: 5 })),
    scored: timed((m, ids) => {
      const found = greedy(m, ids, options);
      return [found, score(m, ids, found).logProbabilities];
    }),
    coldest: timed((m, ids) => sample(m, ids, { ...options, temperature: 1e-6 })),
  };
}

export const distributions = (cases) =>
  cases.map(({ logP, options, chance }) => {
    const p = distribution(
      Float32Array.from(logP, (each) => each ?? -Infinity),
      options,
    );
    return { p: Array.from(p), drawn: draw(p, chance) };
  });

export async function badSearches({ file, source, cases }, read) {
  const model = await modelOf(file, read);
  const searches = {
    greedy,
    nBest,
    sample,
    score: (m, ids, { target }) => score(m, ids, target),
  };
  return Promise.all(
    cases.map(([name, options]) =>
      complaint(() => searches[name](model, source, options)),
    ),
  );
}

// The released model on sentences: ids by greedy and by beam search.
export async function translateAll({ files, texts }, read) {
  const { model, tokenizer } = await translatorOf(files, read);
  const { eos_id } = model.config;
  return texts.map((text) => {
    const source = [...tokenizer.encode(text), eos_id];
    return { source, greedy: greedy(model, source), beam: beamSearch(model, source) };
  });
}

// What a figure sees of one translation, step by step.
export async function stepByStep({ files, text, options }, read) {
  const translator = await translatorOf(files, read);
  const { told: steps, found } = walked(translator.steps(text, options));
  const attention = translator.attention(text);
  const { encoder, decoder, cross, ...pieces } = attention;
  return {
    steps,
    found,
    scored: translator.score(text, found.text),
    scoredByPieces: translator.score(text, found.hypotheses[0].pieces),
    attention: { ...packAll({ encoder, decoder, cross }), ...pieces },
    unknownSearch: await complaint(() =>
      translator.translate(text, { search: "best" }),
    ),
    empty: await complaint(() => translator.translate(" \t ")),
    long: await complaint(() => translator.translate("dog ".repeat(400))),
    unknownPiece: await complaint(() => translator.translate(text, { prefix: ["▁∄"] })),
  };
}

// Pieces, ids and texts of a tokenizer.
export async function tokenize({ file, texts, idLists }, read) {
  const tokenizer = new Tokenizer(await read(file));
  return {
    algorithm: tokenizer.algorithm,
    vocabSize: tokenizer.vocabSize,
    ids: texts.map((text) => tokenizer.encode(text)),
    pieces: texts.map((text) => tokenizer.pieces(text)),
    normal: texts.map((text) => tokenizer.normalize(text)),
    decoded: idLists.map((ids) => tokenizer.decode(ids)),
  };
}

export async function badText({ file, units }, read) {
  const tokenizer = new Tokenizer(await read(file));
  return Promise.all([
    ...units.map((each) =>
      complaint(() => tokenizer.encode(String.fromCharCode(...each))),
    ),
    complaint(() => tokenizer.encode(7)),
    complaint(() => tokenizer.decode([tokenizer.vocabSize])),
    complaint(() => tokenizer.decode([-1])),
  ]);
}

export async function damagedTokenizers({ cases }) {
  return Promise.all(cases.map((text) => complaint(() => new Tokenizer(bytes(text)))));
}

export async function wrongPair({ files }, read) {
  return complaint(() => translatorOf(files, read));
}

export async function refusedGains({ file, source, target, gains }, read) {
  const model = await modelOf(file, read);
  const said = await complaint(() => setHeadGains(model, gains));
  model.call(source, target);
  return said;
}

export const badConfig = (fields) => complaint(() => new Transformer(fields));
