// Ranks the sections of the book for what a reader types (BM25 over several fields).
// No page, no network: entries and words in, entries out.

const STOP = new Set(
  (
    "a about an and are as at be between but by can could difference differ different do does " +
    "doesnt dont exactly explain explained for from get has have how i if in is isnt it its " +
    "know many me mean meaning much my need needed not of on or really should so than that the " +
    "their them then there these they this to understand use used using versus vs was we " +
    "what whats when where which while who why will with work works would you your"
  ).split(" "),
);
// How much a word counts in each field, and how much the field's length matters.
const FIELDS = {
  title: { weight: 7, length: 0.4 },
  words: { weight: 7, length: 0.1 },
  path: { weight: 1.5, length: 0.3 },
  text: { weight: 1, length: 0.6 },
};
const SATURATION = 1.6;
const NUMBER = /^\d\d /; // of a chapter
const FEWEST = 4; // letters of a word that may have a typo
const GREEK = {
  α: "alpha",
  β: "beta",
  γ: "gamma",
  ε: "epsilon",
  λ: "lambda",
  σ: "sigma",
};

/** The words of a text: lower case, no accents; "d_k" and "dk", "W^O" and "wo" are one. */
export function words(text) {
  return (
    text
      .replace(/([a-z])([A-Z])/g, "$1 $2") // LayerNorm
      .toLowerCase()
      .normalize("NFKD")
      .replace(/[\u0300-\u036f]/g, "")
      .replace(/√/g, " sqrt ")
      .replace(/[α-ω]/g, (letter) => GREEK[letter] ?? letter)
      .replace(/\b([a-z]|alpha|beta)[_^]([a-z0-9])/g, "$1$2")
      .replace(/['’]/g, "")
      .match(/[a-z0-9]+/g) ?? []
  );
}

/** The part of a word that its forms share: mask, masks, masked, masking. */
export function stem(word) {
  if (word.length < 4 || /\d/.test(word)) return word;
  let end = word
    .replace(/our$/, "or")
    .replace(/is(e|ed|ing|ation|ations|er|ers)$/, "iz$1")
    .replace(/(ss|x|z|ch|sh)es$/, "$1")
    .replace(/ies$/, "y")
    .replace(/([ae])nce$/, "$1nt")
    .replace(/([^aius])s$/, "$1");
  const cut = (ending) => {
    const short = end.replace(ending, "");
    const isWord = short.length > 2 && /[aeiouy]/.test(short);
    if (isWord) end = short.replace(/([bdfgkmnprt])\1$/, "$1");
  };
  if (end.length > 6) cut(/al$/);
  cut(/ly$/);
  cut(/(ation|ing|ed|ion)$/);
  cut(/e$/);
  cut(/at$/);
  return end;
}

const isAsked = (word) => !STOP.has(word);
const stems = (text) => words(text).map(stem);

/** The words of a query that say something; all of them, if none does. */
function asked(query) {
  const all = words(query);
  const kept = all.filter(isAsked);
  return kept.length ? kept : all;
}

/** Whether two words differ by one letter: added, left out, changed or swapped. */
function near(a, b) {
  if (Math.abs(a.length - b.length) > 1) return false;
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const [x, y] = [a.slice(i), b.slice(i)];
  return (
    x.slice(1) === y.slice(1) ||
    x.slice(1) === y ||
    x === y.slice(1) ||
    (x[0] === y[1] && x[1] === y[0] && x.slice(2) === y.slice(2))
  );
}

export class Finder {
  /** @type {Map<string, number> | undefined} */
  #spellings; // counted when the first word is not of the book

  /** @param {{entries: any[], same: string[][], kinds: Record<string, number>}} book */
  constructor({ entries, same, kinds }) {
    this.entries = entries;
    this.kinds = kinds;
    this.same = same.map((group) => group.map((wording) => asked(wording).map(stem)));
    this.index = new Map(); // stem -> Map(entry number -> weighted count)
    // What each is called: its heading, and what else it is found by.
    this.names = entries.map(({ title, words: also }) =>
      [title.replace(NUMBER, ""), ...also.split("; ")].map(
        (name) => new Set(stems(name).filter(isAsked)),
      ),
    );
    this.#count();
  }

  #count() {
    const n = this.entries.length;
    for (const [field, { weight, length }] of Object.entries(FIELDS)) {
      const texts = this.entries.map((entry) =>
        stems(field === "path" ? entry.path.join(" ") : entry[field]),
      );
      const mean = texts.reduce((sum, text) => sum + text.length, 0) / n || 1;
      texts.forEach((text, i) => {
        // A section of a few words is no better for being short.
        const long = Math.max(1, text.length / mean);
        const share = weight / (1 - length + length * long);
        for (const word of text) {
          if (!this.index.has(word)) this.index.set(word, new Map());
          const counts = this.index.get(word);
          counts.set(i, (counts.get(i) ?? 0) + share);
        }
      });
    }
  }

  /** What a word of the query may stand for in the book, and how surely. */
  #known(word, isUnfinished) {
    /** @type {[string, number][]} */
    const known = this.index.has(word) ? [[word, 1]] : [];
    const others = (fits, share) => {
      for (const each of this.index.keys())
        if (each !== word && fits(each)) known.push([each, share]);
    };
    if (isUnfinished && word.length > 1)
      others((each) => each.startsWith(word), known.length ? 0.5 : 0.9);
    if (!known.length && word.length >= FEWEST) others((each) => near(each, word), 0.8);
    return known;
  }

  /** Entry number -> how well a word fits it. */
  #scores(word, isUnfinished) {
    const scores = new Map();
    for (const [known, share] of this.#known(word, isUnfinished)) {
      const counts = this.index.get(known);
      const rarity = Math.log(1 + this.entries.length / counts.size);
      for (const [i, count] of counts) {
        const score = (share * rarity * count) / (SATURATION + count);
        scores.set(i, Math.max(scores.get(i) ?? 0, score));
      }
    }
    return scores;
  }

  /** A typed word, or the commonest of the book that differs from it by one letter. */
  #meant(word) {
    if (this.index.has(stem(word)) || word.length < FEWEST) return word;
    this.#spellings ??= this.#spelled();
    const others = [...this.#spellings].filter(([each]) => near(each, word));
    return others.sort(([, a], [, b]) => b - a)[0]?.[0] ?? word;
  }

  /** Every word as the book spells it, and how often. */
  #spelled() {
    const counts = new Map();
    const all = this.entries.flatMap(({ title, text }) => words(`${title} ${text}`));
    for (const word of all) counts.set(word, (counts.get(word) ?? 0) + 1);
    return counts;
  }

  /** The query as parts that must be met, each in one of several wordings. */
  #parts(query, typing) {
    const last = stem(words(query).at(-1) ?? "");
    const typed = asked(query)
      .map((word, i, all) =>
        typing && i === all.length - 1 ? word : this.#meant(word),
      )
      .map(stem);
    const parts = [];
    for (let i = 0; i < typed.length; ) {
      // "softmax temperature" is "temperature softmax", too
      const starts = (phrase) => {
        const next = typed.slice(i, i + phrase.length);
        return [...phrase].sort().join(" ") === next.sort().join(" ");
      };
      const met = this.same.flat().filter(starts);
      const length = Math.max(1, ...met.map((phrase) => phrase.length));
      const longest = new Set(met.filter((phrase) => phrase.length === length));
      const own = typed.slice(i, i + length);
      const others = this.same
        .filter((group) => group.some((phrase) => longest.has(phrase)))
        .flat();
      i += length;
      const isLast = i === typed.length && own.at(-1) === last;
      parts.push({ wordings: [own, ...others], size: length, isLast });
    }
    return parts;
  }

  /**
   * The entries that fit best.
   * @param {string} query
   * @param {{limit?: number, typing?: boolean}} [options] typing: the last word may be
   *   unfinished
   */
  find(query, { limit = 10, typing = false } = {}) {
    const parts = this.#parts(query, typing);
    const total = new Map(); // entry number -> [score, parts met]
    const size = parts.reduce((sum, part) => sum + part.size, 0);
    for (const { wordings, size: weight, isLast } of parts) {
      const best = new Map();
      wordings.forEach((wording, k) => {
        const each = wording.map((word, j) =>
          this.#scores(word, typing && isLast && k === 0 && j === wording.length - 1),
        );
        for (const i of each[0]?.keys() ?? []) {
          const met = each.filter((scores) => scores.has(i)).length / wording.length;
          const sum = each.reduce((all, scores) => all + (scores.get(i) ?? 0), 0);
          const score = (sum / wording.length) * met * met * (k ? 0.85 : 1) * weight;
          best.set(i, Math.max(best.get(i) ?? 0, score));
        }
      });
      for (const [i, score] of best) {
        const [sum, met] = total.get(i) ?? [0, 0];
        total.set(i, [sum + score, met + weight]);
      }
    }
    const own = new Set(parts.flatMap((part) => part.wordings[0]));
    const ranked = [...total].map(([i, [score, met]]) => {
      // The share of the query that is one of the entry's names, word for word.
      const named = this.names[i]
        .filter((name) => [...name].every((word) => own.has(word)))
        .reduce((most, name) => Math.max(most, name.size / own.size), 0);
      const kind = this.kinds[this.entries[i].kind];
      return { i, score: score * (met / size) ** 1.2 * kind * (1 + named / 2) };
    });
    ranked.sort((a, b) => b.score - a.score || a.i - b.i);
    return ranked.slice(0, limit).map(({ i }) => this.entries[i]);
  }

  /** The words of a query that the book never says, however they are spelled. */
  unsaid(query) {
    return asked(query).filter((word) => !this.#known(stem(word), true).length);
  }

  /** A piece of an entry's text around what was asked: [text, is it a match] pairs. */
  excerpt(entry, query, length = 160) {
    const wanted = new Set(asked(query).map((word) => stem(this.#meant(word))));
    const pieces = entry.text.split(/(\s+)/);
    const hits = pieces.map((piece) => stems(piece).some((word) => wanted.has(word)));
    let start = Math.max(0, hits.indexOf(true) - 12);
    start -= start % 2;
    const shown = [];
    for (let i = start, n = 0; i < pieces.length && n < length; i++) {
      shown.push([pieces[i], hits[i]]);
      n += pieces[i].length;
    }
    if (start > 0) shown.unshift(["… ", false]);
    if (start + shown.length < pieces.length) shown.push([" …", false]);
    return shown;
  }
}
