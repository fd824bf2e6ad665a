// The translations of a sentence that are there, and those that its reader has written.
import {
  beginning,
  glossed,
  linked,
  named,
  noted,
  ofAnswers,
  wordsOf,
  worthALook,
} from "./words.js";

const OTHER = 900; // ms in which another word is seen in its place

// engine: null where a page has none; example: { close, usual: what words usually mean };
// view: a `pairView`; ask(work): runs what the reader waits for. A sentence is { text,
// meanings, notes, look: the word that it ends with, ways: translations }, the model's own
// first.
// -> { begin(sentence, how): shows it, writeOther(a word that came close), undo(), stop() }
export function waysOf(engine, { close, usual }, view, ask) {
  let shown = null;
  let current = null; // the way that stands there: { way, how }
  let past = []; // … and those before it, of the same sentence
  let isLoaded = false; // the engine's model

  function begin(sentence, how) {
    shown = sentence;
    past = [];
    isLoaded ||= sentence.isComputed;
    show(shown.ways[0], how);
  }
  /** @param {any} way @param {any} how */
  function show(way, how = {}) {
    current = { way, how };
    view.show(pairNow(), how);
    if (isLoaded) complete(shown, current);
  }
  // A page without an engine offers the words that were recorded.
  function pairNow() {
    const { ways } = shown;
    const meanings = { of: shown.meanings, usual };
    const pair = linked(current.way, close);
    const isThere = ({ prefix }) => engine || beginning(ways, prefix);
    const others = pair.others.map((each) =>
      each.filter(isThere).map((other) => named(other, ways, meanings)),
    );
    const notes = noted(pair.german, shown.notes);
    const { isComputed, look } = shown;
    return {
      ...pair,
      isComputed,
      look,
      others,
      notes,
      glosses: glossed(pair, meanings),
    };
  }
  // What words that came close would have become, found out while the reader reads.
  async function complete(sentence, from) {
    const pair = pairNow();
    const first = pair.others[worthALook(pair)] ?? []; // no words, no place
    try {
      for (const { prefix } of [...first, ...pair.others.flat()]) {
        if (current !== from) return;
        if (beginning(sentence.ways, prefix)) continue;
        sentence.ways.push(await goOn(sentence.text, prefix));
        if (current === from) view.update(pairNow());
      }
    } catch {
      // a beginning stands there until it is pressed, and then the error is told
    }
  }
  async function goOn(text, prefix, tools = {}) {
    const options = { search: "greedy", prefix, ...tools };
    const { hypotheses } = await engine.translate(text, options);
    return (await answer(engine, text, hypotheses[0].pieces, tools)).way;
  }
  // A word that came close is written instead, and what would have followed it.
  function writeOther({ prefix }) {
    const { text, ways } = shown;
    const known = wordsOf(prefix).length;
    const before = wordsOf(current.way.predictedPieces).map((each) => each.text);
    const how = { known, after: OTHER, chosen: known - 1, before };
    const there = beginning(ways, prefix);
    if (there === ways[0]) return begin(shown, { known, after: OTHER });
    if (there) return change(there, how);
    return ask(async (tools) => {
      const way = await goOn(text, prefix, tools);
      ways.push(way);
      isLoaded = true;
      if (shown.ways === ways) change(way, how); // else an example was chosen meanwhile
    });
  }
  function change(way, how) {
    past.push(current);
    show(way, how);
  }
  function undo() {
    const { way, how } = past.pop();
    show(way, { ...how, known: wordsOf(way.predictedPieces).length });
  }
  const stop = () => {
    current = null; // what goes on in the background ends
  };
  return { begin, writeOther, undo, stop };
}

// A translation as the examples are recorded, and how probable it was.
export async function answer(engine, text, translation, tools) {
  const attention = await engine.attention(text, translation, tools);
  const pieces = attention.predictedPieces.slice(0, -1);
  const scored = await engine.score(text, pieces, tools);
  return {
    way: ofAnswers(attention, scored),
    logProbability: scored.logProbability,
    pieces: scored.positions.length,
  };
}
