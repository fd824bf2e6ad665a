// Activation patching: put a state of one sentence into another, and see what follows.
// Chapter *Inside the trained model*.
import { greedy } from "./decode/choosing.js";
import { score } from "./decode/forced.js";
import { rowOf } from "./stream.js";
import { Tensor, upTo } from "./tensor.js";
import { watching } from "./trace.js";

// What gives the encoder's stream, by the number of layers that it has passed.
const placesOf = ({ n_encoder_layers }) => [
  "positions",
  ...upTo(n_encoder_layers).map((layer) => `encoder.layers.${layer}`),
];

// The encoder's stream at every depth: L + 1 tensors (1, S, D).
function encoderStates(model, sourceIds) {
  const places = placesOf(model.config);
  const { seen } = watching(model, places, () => model.encode([sourceIds]));
  return places.map((name) => seen[name][0]);
}

// What some work gives that reads a sentence once, with one state of it replaced.
function patched(model, depth, position, state, work) {
  const modules = new Map(model.namedModules());
  let isRead = false; // the decoder has positions, too, later
  const stop = modules.get(placesOf(model.config)[depth]).hook((stream) => {
    if (isRead) return;
    isRead = true;
    const data = stream.data.slice();
    data.set(state, position * stream.shape[2]);
    return new Tensor(stream.shape, data);
  });
  try {
    return work();
  } finally {
    stop();
  }
}

// Every state of another sentence, put into a sentence in turn, each alone, at the same
// depth and position; both sentences as ids. With d the log-odds of the sentence's own
// greedy translation against the other's, moved is (d of the sentence - d) / (d of the
// sentence - d of the other): 0 where the model stays with its own, 1 where it has gone
// over; null where both have the same translation.
//
// Yields what is known so far, and returns it in the end: { translation, other: lists of
// ids, cells: [{ depth, position, moved, ids: what greedy search says then }], of: how
// many cells there will be }.
export function* transplants(model, sourceIds, donorIds) {
  const [translation, other] = [sourceIds, donorIds].map((ids) => greedy(model, ids));
  const odds = (ids, put = (work) => work()) =>
    put(() => score(model, ids, translation).logProbability) -
    put(() => score(model, ids, other).logProbability);
  const [own, theirs] = [odds(sourceIds), odds(donorIds)];
  const states = encoderStates(model, donorIds);
  const width = Math.min(sourceIds.length, donorIds.length);
  const found = { translation, other, cells: [], of: states.length * width };
  const isSame = translation.join() === other.join();
  for (const [depth, { data, shape }] of states.entries()) {
    for (const position of upTo(width)) {
      const state = rowOf(data, position, shape[2]);
      const put = (work) => patched(model, depth, position, state, work);
      const moved = isSame ? null : (own - odds(sourceIds, put)) / (own - theirs);
      const ids = put(() => greedy(model, sourceIds));
      found.cells.push({ depth, position, moved, ids });
      yield { ...found, cells: [...found.cells] };
    }
  }
  return found;
}
