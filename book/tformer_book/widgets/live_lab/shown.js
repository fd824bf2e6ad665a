// What the lab shows of a translation: one that the model makes now, or the one that came
// with the page.
import { USUAL } from "../engine/decode/settings.js";
import { unpack } from "../kit/model.js";
import { format } from "../kit/numbers.js";
import { searchOptions } from "./address.js";
import { described, positionsOf } from "./maths.js";
import { cutAt, doubtful, foreign, tooLong } from "./remarks.js";

export const SILENT = "The model ends at once: no German.";

// options: state: the settings; prefix: the pieces to begin with; doubt: see `doubtful`. onStep hears
// of each step; isNewest(): whether nothing else has been asked for since: else it is null.
export async function translated(engine, text, options, tools) {
  const { state, prefix, doubt, isNewest, onStep } = options;
  const longest = await longestFor(engine, text, tools);
  const started = performance.now();
  const steps = [];
  const { hypotheses } = await engine.translate(text, {
    ...searchOptions(state),
    prefix,
    ...tools,
    onStep: (step) => {
      if (!isNewest()) return;
      steps.push(step);
      onStep(step);
    },
  });
  const seconds = (performance.now() - started) / 1000;
  if (!isNewest()) return null;
  const [{ text: german, pieces, logProbability }] = hypotheses;
  const positions = positionsOf(steps, hypotheses[0]);
  const n = positions.length;
  const isFree = !prefix.length && state.search !== "sample";
  const remarks = [
    foreign(text),
    cutAt(pieces.length, longest),
    isFree ? doubtful({ logProbability, pieces: n }, doubt) : "",
  ].filter(Boolean);
  const note = `${german ? "" : `${SILENT} `}${n} pieces in ${format(seconds, 2)} s, ${format(n / seconds, 0)} a second; log p = ${format(logProbability, 2)}; ${described(state)}.`;
  const found = { text, german, pieces, steps, positions, prefix };
  return { live: true, ...found, note, remarks };
}

// The most pieces that the model writes; throws if it cannot read the text.
async function longestFor(engine, text, tools) {
  const { config } = await engine.load(tools);
  const { length } = await engine.pieces(text, tools);
  if (!length)
    throw new Error("There is nothing in this text that the model can read.");
  if (length >= config.max_len) throw new Error(tooLong(length, config.max_len - 1));
  return Math.min(USUAL.maxLen, config.max_len - 1);
}

// An example as Python recorded it, with these settings.
export function recorded({ steps, text, attention, ...rest }, settings) {
  const [best] = steps.at(-1).finished;
  return {
    live: false,
    text,
    german: best.text,
    steps,
    pieces: best.pieces,
    recorded: { attention: unpack(attention), ...rest },
    positions: positionsOf(steps, best),
    note: `Recorded when this page was made: ${described(settings)}.`,
  };
}
