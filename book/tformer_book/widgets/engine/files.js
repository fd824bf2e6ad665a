// Weight files: safetensors with a checksum, as tformer/common/files.py writes them.
//
// Eight bytes with the header's length, the header (JSON: names, dtypes, shapes, places),
// then the numbers. Everything is checked before anything is used. A matrix in eight bits
// has the scales of its rows beside it, as tformer/translator/weights.py says.
import { Tensor } from "./tensor.js";

const AGAIN = "load it again; if that does not help, the file is damaged";

const SCALES = ".scales"; // what follows a matrix's name in that of its scales
const DTYPES = {
  I8: { size: 1, name: "torch.int8", read: (bytes) => new Int8Array(bytes) },
  F32: { size: 4, name: "torch.float32", read: (bytes) => new Float32Array(bytes) },
  F16: { size: 2, name: "torch.float16", read: (bytes) => lookUp(bytes, halves()) },
  BF16: { size: 2, name: "torch.bfloat16", read: fromBfloat16 },
};

// ArrayBuffer -> { tensors: Map of name to `Tensor`, metadata }.
export async function loadTensors(buffer) {
  const { header, start } = readHeader(buffer);
  const { __metadata__: metadata = {}, ...entries } = header;
  const body = new Uint8Array(buffer, start);
  const places = Object.entries(entries).sort();
  checkPlaces(places, body.length);
  await checkSums(metadata, places, body);
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: place }] of places) {
    const data = DTYPES[dtype].read(body.slice(...place).buffer);
    for (let i = 0; i < data.length; i++) {
      if (!Number.isFinite(data[i]))
        throw new RangeError(
          `${name} holds NaN or infinity: train or export the model again`,
        );
    }
    tensors.set(name, new Tensor(shape, data));
  }
  for (const [name, tensor] of tensors) {
    if (tensor.data instanceof Int8Array) giveScales(name, tensor, tensors);
  }
  const { sha256, sha256_of_header, ...rest } = metadata;
  const values = Object.entries(rest).map(([name, json]) => [name, JSON.parse(json)]);
  return { tensors, metadata: Object.fromEntries(values) };
}

function giveScales(name, tensor, tensors) {
  const scales = tensors.get(name + SCALES);
  if (scales?.shape.join() !== `${tensor.shape[0]}`)
    throw new Error(
      `${name} is kept in eight bits, and ${name + SCALES} is not one number for each ` +
        "of its rows: save the model again",
    );
  tensors.delete(name + SCALES);
  tensor.scales = scales.data;
}

function readHeader(buffer) {
  const size = buffer.byteLength;
  const length = size < 8 ? NaN : Number(new DataView(buffer).getBigUint64(0, true));
  if (!(8 + length <= size))
    throw new Error(
      `the weights are truncated or not a safetensors file (${size} bytes): ${AGAIN}`,
    );
  try {
    const bytes = new Uint8Array(buffer, 8, length);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { header: JSON.parse(text), start: 8 + length };
  } catch {
    throw new Error(
      `the weights are not a safetensors file: their header is not JSON. ${AGAIN}`,
    );
  }
}

// Every tensor lies where it says, with as many bytes as its shape needs, and all of them
// fill the file.
function checkPlaces(places, nBytes) {
  let total = 0;
  for (const [name, { dtype, shape, data_offsets: place }] of places) {
    const known = DTYPES[dtype];
    if (!known) {
      const names = Object.keys(DTYPES).join(", ");
      throw new Error(
        `${name} has dtype ${dtype}, this page reads ${names}: save the model as one of them`,
      );
    }
    const [begin, end] = Array.isArray(place) ? place : [];
    const isShape = Array.isArray(shape);
    const needed = isShape ? shape.reduce((a, b) => a * b, known.size) : NaN;
    if (!(begin >= 0 && end <= nBytes && end - begin === needed))
      throw new Error(
        `the weights are truncated or damaged: ${name} ${JSON.stringify(shape)} should lie at ` +
          `bytes ${begin} to ${end} of ${nBytes}. ${AGAIN}`,
      );
    total += needed;
  }
  if (total !== nBytes)
    throw new Error(
      `the weights have ${nBytes} bytes, their header tells of ${total}. ${AGAIN}`,
    );
}

// The two checksums of tformer/common/files.py, over the metadata and over the numbers.
async function checkSums(metadata, places, body) {
  const { sha256, sha256_of_header, ...rest } = metadata;
  if (!sha256 || !sha256_of_header)
    throw new Error("the weights were not written by tformer: they carry no checksum");
  const parts = places.flatMap(([name, { dtype, shape, data_offsets: place }]) => {
    const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
    return [`${name} ${DTYPES[dtype].name} (${sizes})\n`, body.subarray(...place)];
  });
  const whole = await new Blob(parts).arrayBuffer();
  const header = new TextEncoder().encode(pythonJson({ ...rest, sha256 }));
  const sums = [await sha256Of(header), await sha256Of(whole)];
  if (sums.some((sum, i) => sum && sum !== [sha256_of_header, sha256][i]))
    throw new Error(`the weights were changed after they were written. ${AGAIN}`);
}

// json.dumps(strings, sort_keys=True), byte for byte.
function pythonJson(strings) {
  const quote = (text) =>
    JSON.stringify(text).replace(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  const pairs = Object.keys(strings)
    .sort()
    .map((key) => `${quote(key)}: ${quote(strings[key])}`);
  return `{${pairs.join(", ")}}`;
}

// In hexadecimal; null where the browser offers no cryptography (plain http).
export async function sha256Of(bytes) {
  if (!globalThis.crypto?.subtle) return null;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function lookUp(bytes, table) {
  const halves = new Uint16Array(bytes);
  const data = new Float32Array(halves.length);
  for (let i = 0; i < data.length; i++) data[i] = table[halves[i]];
  return data;
}

// The value of each of the 65,536 half-precision numbers, made once.
let halfTable = null;
function halves() {
  halfTable ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    const value = exponent
      ? (1 + fraction / 1024) * 2 ** (exponent - 15)
      : fraction * 2 ** -24;
    return sign * value;
  });
  return halfTable;
}

// bfloat16 is the upper half of a float32.
function fromBfloat16(bytes) {
  const upper = new Uint16Array(bytes);
  return new Float32Array(Uint32Array.from(upper, (half) => half << 16).buffer);
}
