// Small English sentences and their German, in the manner of the package's grammar corpus
// (`tformer.data.grammar`): gender, case and agreement, verb second, verb last.
const wordsOf = (line) => line.trim().split(/\s+/);
const rows = (table) => table.trim().split("\n").map(wordsOf);

// English, German, gender, and the accusative of the weak noun.
const NOUNS = new Map(
  rows(`
    man Mann m
    teacher Lehrer m
    dog Hund m
    bird Vogel m
    boy Junge m Jungen
    woman Frau f
    mother Mutter f
    cat Katze f
    mouse Maus f
    child Kind n
    girl Mädchen n
    horse Pferd n
    pig Schwein n`).map(([english, german, gender, accusative = german]) => [
    english,
    { nominative: german, accusative, gender },
  ]),
);
// English and German: third person, participle.
const VERBS = rows(`
    sees seen sieht gesehen
    finds found findet gefunden
    loves loved liebt geliebt
    visits visited besucht besucht
    carries carried trägt getragen`);
const ADJECTIVES = new Map(rows("old alt \n young jung \n small klein \n big groß"));
const ADVERBS = new Map(rows("today heute \n often oft \n always immer"));
const SPEECH = new Map(rows("says sagt \n believes glaubt \n knows weiß"));

// The article's form, and the adjective's ending after it, by gender and case.
const ARTICLES = {
  the: {
    nominative: { m: ["der", "e"], f: ["die", "e"], n: ["das", "e"] },
    accusative: { m: ["den", "en"], f: ["die", "e"], n: ["das", "e"] },
  },
  a: {
    nominative: { m: ["ein", "er"], f: ["eine", "e"], n: ["ein", "es"] },
    accusative: { m: ["einen", "en"], f: ["eine", "e"], n: ["ein", "es"] },
  },
};

// "an" only before a vowel, as in "an old dog".
const articleOf = (article, next) =>
  article === "a" && "aeiou".includes(next[0]) ? "an" : article;

function drawPhrase(dice) {
  const words = [dice.pick([...NOUNS.keys()])];
  if (dice.between(0, 1) < 0.4) words.unshift(dice.pick([...ADJECTIVES.keys()]));
  return [articleOf(dice.pick(["the", "a"]), words[0]), ...words];
}

// The English words of a sentence, in one of four shapes.
export function drawSentence(dice) {
  const [verb, participle] = dice.pick(VERBS);
  const subject = drawPhrase(dice);
  const object = drawPhrase(dice);
  const shapes = [
    () => [...subject, verb, ...object],
    () => [dice.pick([...ADVERBS.keys()]), ...subject, verb, ...object],
    () => [...subject, "has", participle, ...object],
    () => ["she", dice.pick([...SPEECH.keys()]), "that", ...subject, verb, ...object],
  ];
  return [...dice.pick(shapes)(), "."];
}

// The German words; null for what is not such a sentence.
export function inGerman(english) {
  const rest = [...english];
  try {
    const german = sentence(rest);
    return rest.length ? null : german;
  } catch (error) {
    if (error instanceof NotASentence) return null;
    throw error;
  }
}

class NotASentence extends Error {}

// Take the next word, and what it becomes.
function take(words, lookUp) {
  const found = lookUp(words.shift());
  if (found === undefined) throw new NotASentence();
  return found;
}

const only = (wanted, becomes) => (word) => (word === wanted ? becomes : undefined);

function sentence(words) {
  if (words[0] === "she") {
    words.shift();
    const says = take(words, (word) => SPEECH.get(word));
    take(words, only("that", "dass"));
    const { subject, verb, object } = clause(words);
    return ["sie", says, ",", "dass", ...subject, ...object, verb, "."];
  }
  const adverb = ADVERBS.get(words[0]);
  if (adverb) words.shift();
  const { subject, verb, object, participle } = clause(words);
  if (adverb && participle) throw new NotASentence();
  const front = adverb ? [adverb, verb, ...subject] : [...subject, verb];
  return [...front, ...object, ...(participle ? [participle] : []), "."];
}

// Subject, verb and object, up to the full stop.
function clause(words) {
  const subject = phrase(words, "nominative");
  const isPerfect = words[0] === "has";
  if (isPerfect) words.shift();
  const column = isPerfect ? 1 : 0;
  const german = take(words, (word) => VERBS.find((each) => each[column] === word));
  const object = phrase(words, "accusative");
  take(words, only(".", "."));
  return isPerfect
    ? { subject, verb: "hat", object, participle: german[3] }
    : { subject, verb: german[2], object, participle: null };
}

function phrase(words, grammaticalCase) {
  const said = words.shift();
  const article = said === "an" ? "a" : said;
  if (!ARTICLES[article] || said !== articleOf(article, words[0] ?? "."))
    throw new NotASentence();
  const adjective = ADJECTIVES.get(words[0]);
  if (adjective) words.shift();
  const noun = take(words, (word) => NOUNS.get(word));
  const [form, ending] = ARTICLES[article][grammaticalCase][noun.gender];
  return [form, ...(adjective ? [adjective + ending] : []), noun[grammaticalCase]];
}

// Every word of both languages, each once.
export const GRAMMAR_WORDS = Array.from(
  new Set([
    ...["the", "a", "an", "has", "she", "that", "."],
    ...NOUNS.keys(),
    ...VERBS.flatMap((verb) => verb.slice(0, 2)),
    ...ADJECTIVES.keys(),
    ...ADVERBS.keys(),
    ...SPEECH.keys(),
    ...["hat", "sie", ",", "dass"],
    ...Object.values(ARTICLES).flatMap((cases) =>
      Object.values(cases).flatMap((genders) =>
        Object.values(genders).map(([form]) => form),
      ),
    ),
    ...[...NOUNS.values()].flatMap((noun) => [noun.nominative, noun.accusative]),
    ...VERBS.flatMap((verb) => verb.slice(2)),
    ...[...ADJECTIVES.values()].flatMap((stem) =>
      ["e", "en", "er", "es"].map((ending) => stem + ending),
    ),
    ...ADVERBS.values(),
    ...SPEECH.values(),
  ]),
);
