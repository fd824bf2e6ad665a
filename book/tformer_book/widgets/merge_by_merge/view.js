// What the figure shows and says of a text after some merges.

import { commas, format, plural } from "../kit/numbers.js";
import { heads } from "../kit/table.js";
import { html, live, nothing, repeat } from "../kit/vendor/lit.js";
import { curve } from "./curve.js";
import { END, isUnknown, upcoming } from "./maths.js";

// s: the state, as `after` gives it, with `flashes` and the curve's `width`.
export const page = (s, parts) => html`
  <label class="tfmm-text"><span>Your text</span><textarea rows="2" maxlength="500"
    spellcheck="false" data-control="text" .value=${live(s.text)}
    @input=${({ target }) => parts.onText(target.value)}></textarea></label>
  <div class="tfk-choice tfmm-examples"><span>or</span>${parts.examples}</div>
  ${parts.hasOthers ? parts.from.set : nothing}
  <div class="tfmm-moves">
    <div class="tfmm-steps">${parts.moves.nodes}</div>
    ${parts.size.box}
  </div>
  <div class="tfmm-two">
    <div class="tfmm-now-pieces">
      ${pieces(s)}
      <p class="tfmm-cost">${cost(s)}</p>
      <p class="tfmm-next">${next(s)}</p>
    </div>
    ${mergeTable(s)}
  </div>
  <figure class="tfmm-figure">
    ${curve(s, s.width, parts.goTo)}
    <figcaption class="tfk-how">Drag the line or move the slider to change the vocabulary size.</figcaption>
  </figure>
  ${parts.behind.node} ${parts.announcer.node}`;

// The words in their pieces: the newest filled, the pair that comes next underlined.
// They flash where they have come just now.
function pieces(s) {
  const { left, right } = s.steps[s.index];
  const fresh = s.index ? left + right : null;
  const piece = (symbol, i, symbols) => {
    const isLeft = symbol === s.coming?.left && symbols[i + 1] === s.coming.right;
    const isRight = symbol === s.coming?.right && symbols[i - 1] === s.coming.left;
    const unknown = isUnknown(s, symbol);
    const marks = [
      "tfmm-piece",
      symbol === fresh && "tfmm-fresh",
      symbol === fresh && s.flashes && "tfmm-flash",
      (isLeft || isRight) && "tfmm-coming",
      unknown && "tfmm-unknown",
    ];
    const ends = symbol.endsWith(END);
    const end = ends ? html`<span class="tfmm-end">${END}</span>` : nothing;
    const hint = unknown ? "not in the alphabet: the id of unk" : nothing;
    const letters = ends ? symbol.slice(0, -END.length) : symbol;
    return html`<span class=${marks.filter(Boolean).join(" ")} title=${hint}>${letters}${end}</span>`;
  };
  // New nodes after each merge: only they flash again.
  return html`<div class="tfmm-pieces" tabindex="0" role="region"
    aria-label="The pieces of each word" data-pieces=${JSON.stringify(s.pieces)}
    >${repeat(
      s.words,
      (_, i) => `${s.n} ${i}`,
      (symbols) => html`<span class="tfmm-word">${symbols.map(piece)} </span>`,
    )}</div>`;
}

export function cost({ words, pieces, base, n, unknown }) {
  if (!words.length)
    return "Nothing to cut yet. Type a sentence, or take one of those above.";
  const share = format(pieces.length / words.length);
  return (
    `${plural(words.length, "word")}, ${plural(pieces.length, "piece")}: ${share} pieces per word. ` +
    `Vocabulary: ${commas(base + n)}.` +
    (unknown ? ` ${plural(unknown, "character")} unknown.` : "")
  );
}

export function next({ words, isOwn, coming, counts }) {
  if (coming) {
    const { rank, left, right } = coming;
    const times = counts[rank] === undefined ? "?" : plural(counts[rank], "time");
    const where = isOwn ? "in your text" : "in the training text, when it was merged";
    return (
      `Next: merge ${commas(rank + 1)} joins “${left}” and “${right}” to “${left + right}”. ` +
      `The pair stood ${times} ${where}.`
    );
  }
  if (!words.length) return "Even one word will do: its letters are the first pieces.";
  return isOwn
    ? "Every word is one piece: there is nothing left to merge."
    : "None of the other merges fits this text.";
}

// The merges that come next, in five rows whether there are as many or not.
function mergeTable(s) {
  const rows = upcoming(s);
  const title = s.isOwn
    ? "The most frequent pairs in your text now"
    : "The next merges that change your text";
  while (rows.length < 5) rows.push([null, null, ""]);
  return html`<div class="tfmm-table"><table>
    <caption>${title}</caption>
    ${heads(["merge", "pair", "becomes", "count"])}
    <tbody>${rows.map(
      ([name, pair, count]) => html`<tr>
        <th scope="row">${name && commas(name)}</th>
        <td>${pair ? pair.join(" + ") : "\u00a0"}</td>
        <td>${pair?.join("")}</td>
        <td>${commas(count ?? "?")}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;
}
