// Two lines of words and what joins them.
import { ALONG, DOWN, onArrows, within } from "../kit/arrows.js";
import { h, liveRegion, wantsStillness } from "../kit/kit.js";
import { percent } from "../kit/numbers.js";
import { html, nothing, render, repeat, svg } from "../kit/vendor/lit.js";
import {
  cameClose,
  changedAfter,
  GUESSED,
  howSure,
  isMark,
  LEAST,
  likelier,
  lookedAt,
  lookedFrom,
  PROBABLE,
  sawMost,
  seenMostFor,
  toldOfChoice,
  worthALook,
} from "./words.js";

const FIRST = 200; // ms until the first word
const BEAT = 650; // … and from one word to the next, at most:
const LONGEST = 5200; // … for all words of a sentence
const REST = 600; // … and until all lines are back after the mouse has left
const NARROW = 544; // px of a phone: there all sentences stand in columns
const FULL = 0.85; // of a word's height: a line that takes all of its attention
const APART = 24; // px at least between what stands below the picture
const BEND = 0.5; // of the way from a word to another, where a line turns
const NONE = { at: null, from: null, isPicked: false, isAsked: false };
const NOTHING = {
  english: [],
  german: [],
  shares: [],
  others: [],
  certain: [],
  begun: [],
  notes: [],
  glosses: [],
  look: "", // the word that an example ends with
};
// An arrow that goes round.
const REPLAY = svg`<svg viewBox="0 0 16 16" width="18" height="18" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M3 8a5 5 0 1 0 1.6-3.7M4.4 1.6v2.9h2.9"/></svg>`;
const ITS_OWN = { chosen: null, before: [] }; // as the model wrote it

// onOther(one of `others`): the reader wants that word instead. onUndo(): what stood there
// before that.
// -> { node, beside (a place for more, beside what is told), show(pair of `linked`, with
//      `glosses` and `notes` of its German words, { known: words that stand there at once,
//      after: ms until the next, chosen: the place of the word that the reader had written,
//      before: the words without that }), update(the same pair, told better), reveal(), stop() }
export function pairView(onOther, onUndo) {
  const now = {
    pair: NOTHING,
    round: 0, // counts pairs
    known: 0, // German words that stand there
    at: null, // the one whose lines are strong
    from: null, // or the English word whose lines are
    isPicked: false, // by the reader: then the other lines step back
    isAsked: false, // the reader has pointed at a word of this pair
    ...ITS_OWN,
  };
  const node = h("div", { class: "tff-stage" });
  const beside = h("span");
  const heard = liveRegion();
  const resized = new ResizeObserver(() => drawLines(node, now));
  let [timer, rest] = [0, 0];

  function show(changes) {
    Object.assign(now, changes);
    const isPlaying = timer !== 0;
    const actions = { onKey, pick, pickEnglish, leave, again, onOther, isPlaying };
    render(pairOf(now, heard.node, beside, actions), node);
    drawLines(node, now);
  }
  // Words can be pointed at, tapped, and walked along with the arrow keys.
  const pick = (at) => choose({ at, from: null });
  const pickEnglish = (from) => choose({ at: null, from });
  const leave = ({ pointerType }) => {
    if (pointerType === "mouse")
      rest = setTimeout(() => show({ isPicked: false }), REST);
  };
  function choose(word) {
    halt();
    show({ known: now.pair.german.length, isPicked: true, isAsked: true, ...word });
    heard.announce(announced(now));
  }
  const onKey = onArrows({ ...ALONG, ...DOWN }, (move, { currentTarget, target }) => {
    const there = [...currentTarget.children].filter((word) => !word.ariaHidden);
    return there[within(there.indexOf(target) + move, there.length)]?.focus();
  });

  function finish() {
    halt();
    const known = now.pair.german.length;
    show({ known, at: known ? (now.chosen ?? worthALook(now.pair)) : null });
  }
  function step() {
    const { known, pair } = now;
    if (known === pair.german.length) return finish();
    timer = setTimeout(step, Math.min(BEAT, LONGEST / pair.german.length));
    return show({ known: known + 1, at: known });
  }
  function halt() {
    clearTimeout(rest);
    clearTimeout(timer);
    timer = 0;
  }
  function play(known = 0, after = FIRST) {
    halt();
    if (wantsStillness()) return finish();
    timer = setTimeout(step, after);
    return show({ ...NONE, known, at: known ? known - 1 : null });
  }
  const again = () => (timer ? finish() : now.chosen === null ? play() : onUndo());

  show();
  // Drawn so before it has its place, nothing moves.
  node.querySelector(".tff-pair").toggleAttribute("data-columns", innerWidth < 600);
  resized.observe(node.querySelector(".tff-pair"));
  addEventListener("beforeprint", finish);
  return {
    node,
    beside,
    show(pair, { known = 0, after = FIRST, ...how } = {}) {
      Object.assign(now, ITS_OWN, { pair, ...how, ...NONE });
      now.round += 1;
      play(known, after);
    },
    update: (pair) => show({ pair }),
    reveal: () => requestAnimationFrame(() => reveal(node)),
    stop() {
      halt();
      heard.stop();
      resized.disconnect();
      removeEventListener("beforeprint", finish);
    },
  };
}

// Whoever asked sees the answer, and what is said of it below, as far as there is room.
function reveal(node) {
  const { scrollPaddingTop } = getComputedStyle(document.documentElement);
  const room = parseFloat(scrollPaddingTop) || 0; // "auto" in a notebook
  const { top, bottom } = node.parentElement.getBoundingClientRect();
  if (top >= room && bottom <= innerHeight) return;
  const behavior = wantsStillness() ? "instant" : "smooth";
  const isWholeSeen = bottom - top <= innerHeight - room && innerWidth > NARROW;
  if (isWholeSeen) node.parentElement.scrollIntoView({ block: "nearest", behavior });
  else node.scrollIntoView({ block: "start", behavior });
}

const germanOf = (pair) => pair.german.map(({ text }) => text);
// What the picture shows.
function headline(now, isPlaying) {
  const { pair, at, from } = now;
  if (from !== null) return `${seenMostFor(pair, from)}.`;
  if (at === null) return "This model reads the English sentence.";
  if (at === now.chosen) return `${told(now)}.`;
  const isNews = isOpen(now, isPlaying) && Math.max(...pair.shares[at]) >= LEAST;
  const untold = isNews ? " Nobody told it where to look." : ""; // once is enough
  const [meaning] = pair.glosses[at]?.split(/ ?\(/) ?? [];
  const apart = meaning && !meaning.includes(",") ? ` (${meaning})` : ""; // if it's one
  return `To write “${pair.german[at].text}”${apart}, this model ${sawMost(pair, at)}.${untold}`;
}
// A headline's words are the picture's; what one means is left out where room is short.
const marked = (text) =>
  text.split(/(“[^”]*”| \([^)]*\))/).map((part, i) => {
    if (i % 2 === 0) return part;
    return part.startsWith("“") ? html`<b>${part}</b>` : html`<i>${part}</i>`;
  });
// … and more of it, for whoever asks.
function told({ pair, at, from, chosen, before }) {
  if (from !== null) return lookedFrom(pair, from);
  if (at === chosen) return toldOfChoice(chosen, before, germanOf(pair));
  return `To write “${pair.german[at].text}”, the model ${lookedAt(pair, at)}`;
}
// Whether what is told of the German word that is looked at is told of another, too.
const goesWith = (now, i) => {
  const { at, known, pair } = now;
  const { notes, german } = pair;
  const isThere = known === german.length && at !== null && at !== i;
  return isThere && !saysItself(now) && Boolean(notes[at]) && notes[i] === notes[at];
};
// … with what is worth knowing of the word.
const noteOf = ({ pair, at }) => (pair.notes[at] ? `${pair.notes[at]}. ` : "");
const announced = (now) => {
  const { pair, at } = now;
  const sure = at === null ? "" : `${howSure(pair, at)}. ${cameClose(pair, at)}`;
  return `${told(now)}. ${noteOf(now)}${sure}`;
};
const isTouched = () => matchMedia("(hover: none)").matches;
// What stands below the headline, which has named the word. Where there is a note and room,
// the shares above the words are enough.
function further(now, isPlaying) {
  const { pair, at, from, chosen, isAsked } = now;
  if (from !== null) return `${lookedFrom(pair, from)}.`;
  if (at === null) return "";
  const seen = at === chosen ? "" : `It ${lookedAt(pair, at)}. `;
  if (isPlaying) return seen;
  const note = noteOf(now);
  const isCued = isOpen(now, isPlaying) && pair.others[at].length > 0;
  const cue = isCued ? html`<span class="tff-cue">${invitation()}.</span>` : nothing;
  if (!note) return html`${seen}${isAsked ? sureOf(now) : cue}`;
  const isAll = saysItself(now);
  return html`<span class="tff-seen">${seen}</span>${isAll ? nothing : [note, cue]}`;
}
const invitation = () => `${isTouched() ? "Tap" : "Point at"} any word`;
// Whether it stands at the word that is named for it, which needs no more than a headline,
// until somebody asks.
const saysItself = ({ pair: { look, german }, at, isAsked, chosen }) =>
  !isAsked && chosen === null && at !== null && german[at].text === look;
// Whether the picture stands still, and nobody has asked it anything.
const isOpen = ({ at, chosen, isAsked }, isPlaying) =>
  !isPlaying && !isAsked && at !== null && at !== chosen;

function pairOf(now, heard, beside, actions) {
  const { onKey, pick, pickEnglish, leave, again, onOther, isPlaying } = actions;
  const { pair, round, known, at, from } = now;
  const point = (i) => i < known && pick(i);
  const tint = (share) => (share < LEAST ? 0 : share);
  const shareOf = (e) => (at === null ? Number(e === from) : tint(pair.shares[at][e]));
  // Nothing is the most looked at where the sign at the sentence's end is.
  const end =
    at === null ? 0 : 1 - pair.shares[at].reduce((sum, each) => sum + each, 0);
  const most = Math.max(...pair.english.map((_, e) => shareOf(e)), end, LEAST);
  // Tab reaches one word of each sentence, the arrow keys the others.
  const english = ({ text }, e) => html`
    <button type="button" tabindex=${e === (from ?? 0) ? 0 : -1} style="--share: ${shareOf(e)}" data-share=${at !== null && shareOf(e) ? percent(shareOf(e), 0) : nothing} ?data-most=${at !== null && shareOf(e) === most}
      @click=${() => pickEnglish(e)} @pointerenter=${() => pickEnglish(e)} @focus=${() => pickEnglish(e)}>${text}</button>`;
  const changes =
    now.chosen === null ? [] : changedAfter(now.chosen, now.before, germanOf(pair));
  // Below a word stands what it means, and of the one that is looked at how probable it
  // was. In short: what sets a word apart is left out, but of those that were changed.
  const sure = (i, likely = "") =>
    i === at && !isPlaying && !saysItself(now)
      ? percent(pair.certain[i], 0) + likely
      : "";
  const joined = (...parts) => parts.filter(Boolean).join(" · ") || nothing;
  const below = (i) =>
    joined(pair.glosses[i], sure(i, pair.glosses[i]?.includes("(") ? "" : " likely"));
  const meant = (i) => {
    const isWhole = i !== at && changes?.includes(i);
    return (
      (isWhole ? pair.glosses[i] : pair.glosses[i]?.replace(/ \(.*/, "")) || nothing
    );
  };
  const brief = (i) => joined(meant(i) === nothing ? "" : meant(i), sure(i));
  const german = ({ text }, i) => html`
    <button type="button" data-control="word-${i}" tabindex=${i === (at ?? 0) ? 0 : -1} aria-label="${[text, pair.glosses[i]].filter(Boolean).join(", ")}: ${lookedAt(pair, i)}" data-gloss=${below(i)} data-brief=${brief(i)} data-means=${meant(i)}
      style="--share: ${from === null ? 0 : tint(pair.shares[i][from])}; --certain: ${pair.certain[i]}" ?data-hidden=${i >= known} ?data-at=${i === at} ?data-with=${goesWith(now, i)} ?data-close=${pair.others[i].length} ?data-chosen=${i === now.chosen} ?data-next=${isBeginning && i === next} ?data-changed=${changes?.includes(i)} aria-hidden=${i >= known ? "true" : nothing}
      @click=${() => pick(i)} @pointerenter=${() => point(i)} @focus=${() => point(i)}><span>${text}</span></button>`;
  const write = (each, { target }) => {
    const again = target.closest(".tff-stage").querySelector('[data-control="again"]');
    again.focus({ preventScroll: true }); // the button itself goes
    onOther(each);
  };
  const offered = isPlaying ? [] : (pair.others[at] ?? []);
  const isInvited = offered.length > 0 && at !== now.chosen;
  const other = (each, i) => html`
    <button type="button" data-control="other-${i}" ?data-invited=${isInvited && i === 0}
      @click=${(event) => write(each, event)}>${isInvited && i === 0 ? invited(each) : plain(each)}</button>`;
  // Or, where the word has none, a word that has: one to begin with.
  const next = offered.length ? -1 : pair.others.findIndex((all) => all.length);
  const isBeginning = isOpen(now, isPlaying) && next >= 0;
  const begin = ({ target }) =>
    target.closest(".tff-pair").querySelector(`[data-control="word-${next}"]`).focus();
  const first = html`
    <button type="button" data-control="begin" data-invited @click=${begin}><span>${invitation()}</span></button>`;
  const isAlone =
    !isPlaying &&
    at !== null &&
    pair.certain[at] >= PROBABLE &&
    !isMark(pair.german[at].text);
  const instead = html`<span class="tff-instead"><span class="tff-base">“${pair.german[at]?.text}”</span> or</span>`;
  const key = (_, i) => `${round} ${i}`; // another pair's words do not turn into these
  return html`
    <p class="tff-key">${repeat([headline(now, isPlaying)], (text) => text, marked)}</p>
    <p class="tff-told" ?data-own=${pair.isComputed}>${further(now, isPlaying)}</p>
    <div class="tff-pair" ?data-picked=${now.isPicked} ?data-asked=${now.isAsked} ?data-still=${!isPlaying} @pointerleave=${leave}>
      <svg class="tff-lines" aria-hidden="true"></svg>
      <div class="tff-words tff-english" lang="en" role="group" aria-label="The English sentence"
        @keydown=${onKey}>${repeat(pair.english, key, english)}</div>
      <div class="tff-words tff-german" lang="de" role="group" aria-label="The translation, word by word"
        @keydown=${onKey}>${repeat(pair.german, key, german)}</div>
      <p class="tff-others" role="group" aria-label="Other words it might write">${isBeginning ? first : offered.length ? [isInvited ? nothing : instead, offered.map(other)] : isAlone ? "no other word came close" : nothing}</p>
      <p class="tff-scale">thicker line = more attention</p>
    </div>
    <p class="tff-below">
      ${beside} <button type="button" class="tfk-do" data-control="again" aria-label=${!isPlaying && now.chosen === null ? "Play again" : nothing} title=${!isPlaying && now.chosen === null ? "Play again" : nothing} @click=${again}>${isPlaying ? "Skip" : now.chosen === null ? REPLAY : "Undo"}</button>
    </p>
    ${heard}`;
}

// What is said of a word that came close: what it means, where room is short only what sets
// it apart: "have (polite)"; …
function plain({ text, meaning, probability }) {
  const apart = Math.max(0, meaning?.indexOf("("));
  const means = html`<small><span class="tff-base">${meaning?.slice(0, apart)}</span>${meaning?.slice(apart)}</small>`;
  return html`<span lang="de">${text}</span> ${meaning ? means : nothing} ${percent(probability, 0)}`;
}
// … and of the one that the reader is asked to try.
function invited({ text, meaning, probability }) {
  const apart = / \((.*)\)$/.exec(meaning)?.[1] ?? meaning;
  const means = apart ? html`<small> (${apart})</small>` : nothing;
  return html`<span>What if it wrote “<span lang="de">${text}</span>”${means}?</span> ${percent(probability, 0)} likely`;
}

// What follows from how probable the word was that is looked at.
function sureOf({ pair, at, chosen }) {
  if (at === chosen) return ""; // who chose it knows
  const isMade = pair.german[at].places.length > 2;
  const guess = `A guess${isMade ? ", perhaps not a German word" : ""}. `;
  const rival = chosen === null ? likelier(pair, at)?.text : "";
  const why = `“${rival}” was likelier here, but the search, which looks further ahead, kept “${pair.german[at].text}”. `;
  return (pair.certain[at] < GUESSED ? guess : "") + (rival ? why : "");
}

// Lines from each word that stands there to what it looked at.
function drawLines(node, now) {
  const { pair, known, at, from } = now;
  const stage = node.querySelector(".tff-pair");
  const [drawing, english, german, others, scale] = stage.children;
  if (!stage.offsetWidth) return;
  // Words that need a second line stand in columns.
  stage.removeAttribute("data-columns");
  const isNarrow = stage.offsetWidth < NARROW;
  stage.toggleAttribute("data-columns", isNarrow || wraps(english) || wraps(german));
  const { offsetWidth: width, offsetHeight: height } = stage; // as the words' places
  const isRow = getComputedStyle(stage).flexDirection === "row";
  const full = FULL * english.firstElementChild?.offsetHeight;
  const ends = endsOf(pair.shares, [english.children, german.children], full, isRow);
  const line = (g) => (share, e, all) => {
    const isAt = g === at || e === from;
    if (share < LEAST) return nothing;
    const d = between(ends[g][e], isRow);
    return svg`<path d=${d} ?data-at=${isAt} ?data-with=${goesWith(now, g)} ?data-most=${share === Math.max(...all)} style="--share: ${share.toFixed(3)}; stroke-width: ${(full * share).toFixed(1)}px" />`;
  };
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const words = pair.shares.slice(0, known);
  render(
    words.map((shares, g) => shares.map(line(g))),
    drawing,
  );
  const word = german.querySelector("[data-next]") ?? german.children[at];
  const left = word?.offsetLeft ?? 0; // below it
  const right = isRow ? 0 : width - others.offsetWidth; // beside columns it stands still
  const place = Math.max(0, Math.min(left, right));
  others.style.left = `${place}px`;
  others.style.setProperty("--tff-stem", `${left + word?.offsetWidth / 2 - place}px`);
  // What thickness means stands beside them, where there is room.
  const isCrowded = others.offsetWidth > 0 && right - place < scale.offsetWidth + APART;
  scale.toggleAttribute("data-crowded", isCrowded);
  nameLargest(stage, [...english.children], isRow);
}

// Where the share of a word stands above it.
function shareAbove(word) {
  const { left, width, translate } = getComputedStyle(word, "::before");
  const [x, wide] = [word.offsetLeft + parseFloat(left), parseFloat(width)];
  return translate === "none" ? [x, x + wide] : [x - wide / 2, x + wide / 2];
}
// Says what the largest share is, where that lies over no other, once nothing moves.
function nameLargest(stage, words, isRow) {
  const { offsetWidth: width } = stage;
  const shared = words.filter((word) => word.hasAttribute("data-share"));
  const isStill = stage.hasAttribute("data-still") && !isRow;
  const most = isStill && shared.find((word) => word.hasAttribute("data-most"));
  for (const word of words) word.toggleAttribute("data-named", word === most);
  if (!most) return;
  const [from, to] = shareAbove(most);
  const others = shared.filter((word) => word !== most).map(shareAbove);
  const isClear = others.every(([a, b]) => to + APART / 3 < a || b + APART / 3 < from);
  const isInside = from >= -APART / 2 && to <= width + APART / 2;
  most.toggleAttribute("data-named", isClear && isInside);
}

const wraps = ({ children: [first, ...rest] }) =>
  rest.some(({ offsetTop }) => offsetTop > first.offsetTop + first.offsetHeight / 2);

// Where the lines of words begin and end: those of one word side by side, in the order of
// the words that they go to, and none of them beyond the word as long as they have room.
// -> ends[g][e]: [{ x, y } at the English word, { x, y } at the German one]
function endsOf(shares, [english, german], full, isRow) {
  const size = (word) => (isRow ? word.offsetHeight : word.offsetWidth);
  const placed = (word, row, edge) => {
    const wide = row.map((share) => (share < LEAST ? 0 : full * share));
    const sum = wide.reduce((a, b) => a + b, 0);
    const fits = Math.min(1, size(word) / sum);
    let past = -sum / 2;
    return wide.map((each) => {
      const along = (past + each / 2) * fits;
      past += each;
      const { offsetLeft: x, offsetTop: y } = word;
      return isRow
        ? { x: x + edge, y: y + size(word) / 2 + along }
        : { x: x + size(word) / 2 + along, y: y + edge };
    });
  };
  const above = [...english].map((word, e) => {
    const edge = isRow ? word.offsetWidth : word.offsetHeight;
    return placed(
      word,
      shares.map((row) => row[e]),
      edge,
    );
  });
  const below = shares.map((row, g) => placed(german[g], row, 0));
  return shares.map((row, g) => row.map((_, e) => [above[e][g], below[g][e]]));
}

// A curve between two ends, side by side or one above the other.
function between([a, b], isRow) {
  if (isRow) {
    const [c, d] = [a.x + BEND * (b.x - a.x), b.x - BEND * (b.x - a.x)];
    return `M${a.x} ${a.y} C${c} ${a.y} ${d} ${b.y} ${b.x} ${b.y}`;
  }
  const [c, d] = [a.y + BEND * (b.y - a.y), b.y - BEND * (b.y - a.y)];
  return `M${a.x} ${a.y} C${a.x} ${c} ${b.x} ${d} ${b.x} ${b.y}`;
}
