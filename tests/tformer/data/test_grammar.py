# ruff: noqa: E501 (tables)
"""The generated corpus: right German, true alignments, one German per English."""

from __future__ import annotations

import doctest
import hashlib
import itertools
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tformer import data
from tformer.data import grammar
from tformer.data.alignment import AlignedPair, piece_links, words_of_pieces
from tformer.data.corpus import keys, shared
from tformer.data.grammar import extend, generate, lexicon, realize, sample, tree
from tformer.data.grammar.lexicon import ADJECTIVES, NOUNS, VERBS
from tformer.data.grammar.tree import Clause, It, NounPhrase, Relative, Sentence
from tformer.tokenization import Tokenizer

PLURALS = {noun.english_plural: noun for noun in NOUNS.values()}
DETERMINERS = {"the", "a", "an", "this", "these", "my", "no"}
PERSONAL = {"I", "he", "she", "we", "they"}


def phrase(text: str):
    """ "the old dog", "these books", "milk", "he", "who", "what" as a node."""
    if text in PERSONAL:
        return tree.Personal(text)
    if text in ("who", "what"):
        return tree.Wh(is_person=text == "who")
    words = text.split()
    determiner = words.pop(0) if words[0] in DETERMINERS else ""
    determiner = {"an": "a", "these": "this"}.get(determiner, determiner)
    adjective = ADJECTIVES[words.pop(0)] if words[0] in ADJECTIVES else None
    noun = " ".join(words)
    plural = noun not in NOUNS
    entry = PLURALS[noun] if plural else NOUNS[noun]
    return NounPhrase(determiner, entry, plural, adjective, None)


def clause(subject, verb, *objects, tense="present", **parts) -> Clause:
    """A clause from texts: ``clause("the man", "give", "the child", "a book")``."""
    entry = VERBS[verb]
    nodes = [phrase(text) if isinstance(text, str) else text for text in objects]
    roles = {"acc": ["direct"], "dat": ["indirect"], "both": ["indirect", "direct"]}
    named = dict(zip(roles.get(entry.frame, []), nodes, strict=True))
    for key in parts.keys() & {"modal", "adverb", "adjective"}:
        parts[key] = getattr(lexicon, f"{key.upper()}S")[parts[key]]
    if "place" in parts:
        preposition, text = parts["place"]
        parts["place"] = tree.Place(lexicon.PREPOSITIONS[preposition], phrase(text))
    subject = phrase(subject) if isinstance(subject, str) else subject
    return Clause(subject, entry, tense, **named, **parts)


def it(noun: str) -> It:
    return It(NOUNS[noun])


def who(text: str, verb: str, *objects: str, **parts) -> NounPhrase:
    """A noun phrase whose relative pronoun is the subject of its clause."""
    head = phrase(text)
    return replace(head, relative=clause(Relative(head), verb, *objects, **parts))


def whom(text: str, subject: str, verb: str, **parts) -> NounPhrase:
    """A noun phrase whose relative pronoun is the object of its clause."""
    head = phrase(text)
    return replace(head, relative=clause(subject, verb, Relative(head), **parts))


def because(main: Clause, reason: Clause) -> Sentence:
    return Sentence(main, conjunction="because", subordinate=reason)


def that(main: Clause, told: Clause) -> Sentence:
    return Sentence(main, conjunction="that", subordinate=told)


def when(main: Clause, condition: Clause) -> Sentence:
    return Sentence(main, conjunction="if", subordinate=condition)


S = Sentence

# Checked word by word by hand. The comment says what each block is about.
# fmt: off
GOLDEN: list[tuple[str, str, Sentence]] = [
    # the running example of the book, and its twin
    ("The dog did not cross the street because it was tired.",
     "Der Hund überquerte die Straße nicht, weil er müde war.",
     because(clause("the dog", "cross", "the street", tense="past", negated=True),
             clause(it("dog"), "be", adjective="tired", tense="past"))),
    ("The dog did not cross the street because it was wide.",
     "Der Hund überquerte die Straße nicht, weil sie breit war.",
     because(clause("the dog", "cross", "the street", tense="past", negated=True),
             clause(it("street"), "be", adjective="wide", tense="past"))),
    # gender and case of the definite article
    ("The man sees the dog.", "Der Mann sieht den Hund.",
     S(clause("the man", "see", "the dog"))),
    ("The woman sees the cat.", "Die Frau sieht die Katze.",
     S(clause("the woman", "see", "the cat"))),
    ("The child sees the horse.", "Das Kind sieht das Pferd.",
     S(clause("the child", "see", "the horse"))),
    ("The children see the horses.", "Die Kinder sehen die Pferde.",
     S(clause("the children", "see", "the horses"))),
    ("The woman helps the dog.", "Die Frau hilft dem Hund.",
     S(clause("the woman", "help", "the dog"))),
    ("The man helps the cats.", "Der Mann hilft den Katzen.",
     S(clause("the man", "help", "the cats"))),
    ("The father thanks the boy.", "Der Vater dankt dem Jungen.",
     S(clause("the father", "thank", "the boy"))),
    # endings of adjectives: mixed, weak, strong
    ("An old dog finds a small bird.", "Ein alter Hund findet einen kleinen Vogel.",
     S(clause("an old dog", "find", "a small bird"))),
    ("A small child buys an expensive book.", "Ein kleines Kind kauft ein teures Buch.",
     S(clause("a small child", "buy", "an expensive book"))),
    ("A tired mother closes the wide door.",
     "Eine müde Mutter macht die breite Tür zu.",
     S(clause("a tired mother", "close", "the wide door"))),
    ("This young man visits a dark kitchen.",
     "Dieser junge Mann besucht eine dunkle Küche.",
     S(clause("this young man", "visit", "a dark kitchen"))),
    ("These hungry birds eat my cold soup.",
     "Diese hungrigen Vögel essen meine kalte Suppe.",
     S(clause("these hungry birds", "eat", "my cold soup"))),
    ("We drink cold water.", "Wir trinken kaltes Wasser.",
     S(clause("we", "drink", "cold water"))),
    ("He drinks cold coffee.", "Er trinkt kalten Kaffee.",
     S(clause("he", "drink", "cold coffee"))),
    ("They buy new lamps.", "Sie kaufen neue Lampen.",
     S(clause("they", "buy", "new lamps"))),
    ("My sister follows a big horse.", "Meine Schwester folgt einem großen Pferd.",
     S(clause("my sister", "follow", "a big horse"))),
    # pronouns
    ("She loves him.", "Sie liebt ihn.",
     S(clause("she", "love", "he"))),
    ("I help them.", "Ich helfe ihnen.",
     S(clause("I", "help", "they"))),
    ("They thanked us.", "Sie dankten uns.",
     S(clause("they", "thank", "we", tense="past"))),
    ("He wants to pick her up.", "Er will sie abholen.",
     S(clause("he", "pick up", "she", modal="want"))),
    # two objects, and their order
    ("The man gives the child the ball.", "Der Mann gibt dem Kind den Ball.",
     S(clause("the man", "give", "the child", "the ball"))),
    ("The woman shows a boy the picture.", "Die Frau zeigt das Bild einem Jungen.",
     S(clause("the woman", "show", "a boy", "the picture"))),
    ("The teacher sends me a letter today.",
     "Der Lehrer schickt mir heute einen Brief.",
     S(clause("the teacher", "send", "I", "a letter", adverb="today"))),
    ("We have brought the mother no water.",
     "Wir haben der Mutter kein Wasser gebracht.",
     S(clause("we", "bring", "the mother", "no water", tense="perfect"))),
    ("The man shows me them.", "Der Mann zeigt sie mir.",
     S(clause("the man", "show", "I", "they"))),
    # separable verbs: split in main clauses, joined at the end of others
    ("The boy gets up.", "Der Junge steht auf.",
     S(clause("the boy", "get up"))),
    ("The girl has got up.", "Das Mädchen ist aufgestanden.",
     S(clause("the girl", "get up", tense="perfect"))),
    ("The man laughs because the boy calls the teacher.",
     "Der Mann lacht, weil der Junge den Lehrer anruft.",
     because(clause("the man", "laugh"), clause("the boy", "call", "the teacher"))),
    ("She did not invite the sisters.", "Sie lud die Schwestern nicht ein.",
     S(clause("she", "invite", "the sisters", tense="past", negated=True))),
    ("I look at the picture.", "Ich schaue das Bild an.",
     S(clause("I", "look at", "the picture"))),
    # nicht and kein
    ("The cat does not sleep.", "Die Katze schläft nicht.",
     S(clause("the cat", "sleep", negated=True))),
    ("No dog sleeps.", "Kein Hund schläft.",
     S(clause("no dog", "sleep"))),
    ("The boys eat no eggs.", "Die Jungen essen keine Eier.",
     S(clause("the boys", "eat", "no eggs"))),
    ("The girl cannot see the bus stop.",
     "Das Mädchen kann die Bushaltestelle nicht sehen.",
     S(clause("the girl", "see", "the bus stop", modal="can", negated=True))),
    ("The water is not cold.", "Das Wasser ist nicht kalt.",
     S(clause("the water", "be", adjective="cold", negated=True))),
    ("He does not play in the garden now.", "Er spielt jetzt nicht im Garten.",
     S(clause("he", "play", negated=True, adverb="now", place=("in", "the garden")))),
    # places and directions, contractions
    ("The dog runs into the house.", "Der Hund läuft ins Haus.",
     S(clause("the dog", "run", place=("into", "the house")))),
    ("My father has gone to the train station.", "Mein Vater ist zum Bahnhof gegangen.",
     S(clause("my father", "go", place=("to", "the train station"), tense="perfect"))),
    ("The girls went to the school.", "Die Mädchen gingen zur Schule.",
     S(clause("the girls", "go", place=("to", "the school"), tense="past"))),
    ("A mouse sleeps under the kitchen table.",
     "Eine Maus schläft unter dem Küchentisch.",
     S(clause("a mouse", "sleep", place=("under", "the kitchen table")))),
    ("The bird comes out of this small room.",
     "Der Vogel kommt aus diesem kleinen Zimmer.",
     S(clause("the bird", "come", place=("out of", "this small room")))),
    ("They wait in front of the city hall.", "Sie warten vor dem Rathaus.",
     S(clause("they", "wait", place=("in front of", "the city hall")))),
    # tenses and modals
    ("The woman has read the newspaper.", "Die Frau hat die Zeitung gelesen.",
     S(clause("the woman", "read", "the newspaper", tense="perfect"))),
    ("The men worked in the park.", "Die Männer arbeiteten im Park.",
     S(clause("the men", "work", tense="past", place=("in", "the park")))),
    ("We must open the windows.", "Wir müssen die Fenster aufmachen.",
     S(clause("we", "open", "the windows", modal="must"))),
    ("The child should sleep now.", "Das Kind sollte jetzt schlafen.",
     S(clause("the child", "sleep", modal="should", adverb="now"))),
    ("I am hungry.", "Ich bin hungrig.",
     S(clause("I", "be", adjective="hungry"))),
    # verb second: adverb or object first
    ("Today the man buys the apple.", "Heute kauft der Mann den Apfel.",
     S(clause("the man", "buy", "the apple", adverb="today"), front="adverb")),
    ("Yesterday she arrived.", "Gestern kam sie an.",
     S(clause("she", "arrive", adverb="yesterday", tense="past"), front="adverb")),
    ("This book, the woman has read.", "Dieses Buch hat die Frau gelesen.",
     S(clause("the woman", "read", "this book", tense="perfect"), front="direct")),
    ("This bird, he often sees.", "Diesen Vogel sieht er oft.",
     S(clause("he", "see", "this bird", adverb="often"), front="direct")),
    # verb last: dass, weil, wenn
    ("The boy says that the dog has eaten the egg.",
     "Der Junge sagt, dass der Hund das Ei gegessen hat.",
     that(clause("the boy", "say"),
          clause("the dog", "eat", "the egg", tense="perfect"))),
    ("I do not know that he must work.", "Ich weiß nicht, dass er arbeiten muss.",
     that(clause("I", "know", negated=True), clause("he", "work", modal="must"))),
    ("If the dog is hungry, it eats the soup.",
     "Wenn der Hund hungrig ist, isst er die Suppe.",
     when(clause(it("dog"), "eat", "the soup"),
          clause("the dog", "be", adjective="hungry"))),
    ("The cat drank the milk because it was cold.",
     "Die Katze trank die Milch, weil sie kalt war.",
     because(clause("the cat", "drink", "the milk", tense="past"),
             clause(it("milk"), "be", adjective="cold", tense="past"))),
    # relative clauses
    ("The man who sleeps is old.", "Der Mann, der schläft, ist alt.",
     S(clause(who("the man", "sleep"), "be", adjective="old"))),
    ("She sees the dog that the boy looks for.",
     "Sie sieht den Hund, den der Junge sucht.",
     S(clause("she", "see", whom("the dog", "the boy", "look for")))),
    ("The children that he helped thank him.", "Die Kinder, denen er half, danken ihm.",
     S(clause(whom("the children", "he", "help", tense="past"), "thank", "he"))),
    # questions
    ("Does the cat see the mouse?", "Sieht die Katze die Maus?",
     S(clause("the cat", "see", "the mouse"), question="polar")),
    ("Has the boy woken up?", "Ist der Junge aufgewacht?",
     S(clause("the boy", "wake up", tense="perfect"), question="polar")),
    ("Where does the bird sleep?", "Wo schläft der Vogel?",
     S(clause("the bird", "sleep"), question="where")),
    ("Why did they laugh?", "Warum lachten sie?",
     S(clause("they", "laugh", tense="past"), question="why")),
    ("Who drinks the coffee?", "Wer trinkt den Kaffee?",
     S(clause("who", "drink", "the coffee"), question="gap")),
    ("Whom does the man help?", "Wem hilft der Mann?",
     S(clause("the man", "help", "who"), question="gap")),
    ("Whom does the child look at?", "Wen schaut das Kind an?",
     S(clause("the child", "look at", "who"), question="gap")),
    ("What have the pigs found?", "Was haben die Schweine gefunden?",
     S(clause("the pigs", "find", "what", tense="perfect"), question="gap")),
    # case once more: two-way prepositions, where (dative) and where to (accusative)
    ("The cat plays on the street.", "Die Katze spielt auf der Straße.",
     S(clause("the cat", "play", place=("on", "the street")))),
    ("The cat runs onto the street.", "Die Katze läuft auf die Straße.",
     S(clause("the cat", "run", place=("onto", "the street")))),
    ("My sister sings in the kitchen.", "Meine Schwester singt in der Küche.",
     S(clause("my sister", "sing", place=("in", "the kitchen")))),
    ("My sister goes into the kitchen.", "Meine Schwester geht in die Küche.",
     S(clause("my sister", "go", place=("into", "the kitchen")))),
    ("We wait behind an old house.", "Wir warten hinter einem alten Haus.",
     S(clause("we", "wait", place=("behind", "an old house")))),
    ("She has gone through a dark room.", "Sie ist durch ein dunkles Zimmer gegangen.",
     S(clause("she", "go", place=("through", "a dark room"), tense="perfect"))),
    ("The boy plays with my dogs.", "Der Junge spielt mit meinen Hunden.",
     S(clause("the boy", "play", place=("with", "my dogs")))),
    ("He comes to the new school.", "Er kommt zur neuen Schule.",
     S(clause("he", "come", place=("to", "the new school")))),
    ("They ran into the cold rooms.", "Sie liefen in die kalten Zimmer.",
     S(clause("they", "run", place=("into", "the cold rooms"), tense="past"))),
    ("The pigs have run out of the park.", "Die Schweine sind aus dem Park gelaufen.",
     S(clause("the pigs", "run", place=("out of", "the park"), tense="perfect"))),
    # nicht and kein, with every case
    ("I help no boy.", "Ich helfe keinem Jungen.",
     S(clause("I", "help", "no boy"))),
    ("The women have bought no new lamps.",
     "Die Frauen haben keine neuen Lampen gekauft.",
     S(clause("the women", "buy", "no new lamps", tense="perfect"))),
    ("No old man found the ball.", "Kein alter Mann fand den Ball.",
     S(clause("no old man", "find", "the ball", tense="past"))),
    ("She gives no child an apple.", "Sie gibt keinem Kind einen Apfel.",
     S(clause("she", "give", "no child", "an apple"))),
    ("The teacher did not answer the girl.", "Der Lehrer antwortete dem Mädchen nicht.",
     S(clause("the teacher", "answer", "the girl", tense="past", negated=True))),
    ("I do not want to sing.", "Ich will nicht singen.",
     S(clause("I", "sing", modal="want", negated=True))),
    ("They should not eat the apples today.",
     "Sie sollten die Äpfel heute nicht essen.",
     S(clause("they", "eat", "the apples", modal="should", negated=True,
              adverb="today"))),
    ("She has not woken up.", "Sie ist nicht aufgewacht.",
     S(clause("she", "wake up", tense="perfect", negated=True))),
    # first person, strong verbs, order of objects
    ("I answer him.", "Ich antworte ihm.",
     S(clause("I", "answer", "he"))),
    ("He invites me.", "Er lädt mich ein.",
     S(clause("he", "invite", "I"))),
    ("I have arrived.", "Ich bin angekommen.",
     S(clause("I", "arrive", tense="perfect"))),
    ("A cat has followed the bird.", "Eine Katze ist dem Vogel gefolgt.",
     S(clause("a cat", "follow", "the bird", tense="perfect"))),
    ("They bring the old teachers cold water.",
     "Sie bringen den alten Lehrern kaltes Wasser.",
     S(clause("they", "bring", "the old teachers", "cold water"))),
    ("We want to send the girl letters.", "Wir wollen dem Mädchen Briefe schicken.",
     S(clause("we", "send", "the girl", "letters", modal="want"))),
    ("The boys have often played.", "Die Jungen haben oft gespielt.",
     S(clause("the boys", "play", adverb="often", tense="perfect"))),
    # compounds
    ("My father has read a picture book.", "Mein Vater hat ein Bilderbuch gelesen.",
     S(clause("my father", "read", "a picture book", tense="perfect"))),
    ("The cats sleep under the kitchen tables.",
     "Die Katzen schlafen unter den Küchentischen.",
     S(clause("the cats", "sleep", place=("under", "the kitchen tables")))),
    ("The new living rooms were dark.", "Die neuen Wohnzimmer waren dunkel.",
     S(clause("the new living rooms", "be", adjective="dark", tense="past"))),
    # verb second once more
    ("Yesterday a dog followed us.", "Gestern folgte uns ein Hund.",
     S(clause("a dog", "follow", "we", adverb="yesterday", tense="past"),
       front="adverb")),
    ("Tomorrow we should visit the city hall.",
     "Morgen sollten wir das Rathaus besuchen.",
     S(clause("we", "visit", "the city hall", adverb="tomorrow", modal="should"),
       front="adverb")),
    ("Now my sister wakes up.", "Jetzt wacht meine Schwester auf.",
     S(clause("my sister", "wake up", adverb="now"), front="adverb")),
    ("These eggs, the girl should not buy.",
     "Diese Eier sollte das Mädchen nicht kaufen.",
     S(clause("the girl", "buy", "these eggs", modal="should", negated=True),
       front="direct")),
    ("This door, they did not close.", "Diese Tür machten sie nicht zu.",
     S(clause("they", "close", "this door", tense="past", negated=True),
       front="direct")),
    # verb last once more: modals, prefixes and perfects at the end
    ("The boy waits because he wants to pick up the girl.",
     "Der Junge wartet, weil er das Mädchen abholen will.",
     because(clause("the boy", "wait"),
             clause("he", "pick up", "the girl", modal="want"))),
    ("The man hopes that the woman has invited him.",
     "Der Mann hofft, dass die Frau ihn eingeladen hat.",
     that(clause("the man", "hope"),
          clause("the woman", "invite", "he", tense="perfect"))),
    ("We believed that no bird slept.", "Wir glaubten, dass kein Vogel schlief.",
     that(clause("we", "believe", tense="past"),
          clause("no bird", "sleep", tense="past"))),
    ("If the boy gets up, the mother opens the window.",
     "Wenn der Junge aufsteht, macht die Mutter das Fenster auf.",
     when(clause("the mother", "open", "the window"), clause("the boy", "get up"))),
    ("If the sister calls me today, I must answer her.",
     "Wenn die Schwester mich heute anruft, muss ich ihr antworten.",
     when(clause("I", "answer", "she", modal="must"),
          clause("the sister", "call", "I", adverb="today"))),
    # it: er, sie, es
    ("The horse did not drink the water because it was cold.",
     "Das Pferd trank das Wasser nicht, weil es kalt war.",
     because(clause("the horse", "drink", "the water", tense="past", negated=True),
             clause(it("water"), "be", adjective="cold", tense="past"))),
    ("The man does not carry the table because it is big.",
     "Der Mann trägt den Tisch nicht, weil er groß ist.",
     because(clause("the man", "carry", "the table", negated=True),
             clause(it("table"), "be", adjective="big"))),
    ("If the mouse is tired, it should sleep.",
     "Wenn die Maus müde ist, sollte sie schlafen.",
     when(clause(it("mouse"), "sleep", modal="should"),
          clause("the mouse", "be", adjective="tired"))),
    # relative pronouns of every case
    ("The woman that I helped laughs.", "Die Frau, der ich half, lacht.",
     S(clause(whom("the woman", "I", "help", tense="past"), "laugh"))),
    ("The boy that she thanks has laughed.", "Der Junge, dem sie dankt, hat gelacht.",
     S(clause(whom("the boy", "she", "thank"), "laugh", tense="perfect"))),
    ("The newspaper that she has read is old.",
     "Die Zeitung, die sie gelesen hat, ist alt.",
     S(clause(whom("the newspaper", "she", "read", tense="perfect"),
              "be", adjective="old"))),
    ("I see a man who carries a ball.", "Ich sehe einen Mann, der einen Ball trägt.",
     S(clause("I", "see", who("a man", "carry", "a ball")))),
    ("The girl who wakes up sings.", "Das Mädchen, das aufwacht, singt.",
     S(clause(who("the girl", "wake up"), "sing"))),
    # questions once more
    ("Can she read the letter?", "Kann sie den Brief lesen?",
     S(clause("she", "read", "the letter", modal="can"), question="polar")),
    ("Where have the girls played?", "Wo haben die Mädchen gespielt?",
     S(clause("the girls", "play", tense="perfect"), question="where")),
    ("Why must the teacher go to the bus stop?",
     "Warum muss der Lehrer zur Bushaltestelle gehen?",
     S(clause("the teacher", "go", place=("to", "the bus stop"), modal="must"),
       question="why")),
    ("Whom has the mother invited?", "Wen hat die Mutter eingeladen?",
     S(clause("the mother", "invite", "who", tense="perfect"), question="gap")),
    ("What does he want to buy?", "Was will er kaufen?",
     S(clause("he", "buy", "what", modal="want"), question="gap")),
    ("Who has helped the old woman?", "Wer hat der alten Frau geholfen?",
     S(clause("who", "help", "the old woman", tense="perfect"), question="gap")),
]
# fmt: on


@pytest.mark.parametrize(
    ("english", "german", "sentence"), GOLDEN, ids=[english for english, _, _ in GOLDEN]
)
def test_the_german_is_right(english: str, german: str, sentence: Sentence) -> None:
    assert realize(sentence)[0] == (english, german)


def test_the_golden_list_shows_every_phenomenon() -> None:
    shown = Counter(name for *_, tree in GOLDEN for name in sample.phenomena(tree))
    assert set(shown) == set().union(*(pair.phenomena for _, pair in drawn(3000)))
    assert min(shown.values()) >= 4, shown
    assert len(GOLDEN) >= 120


# Alignments


def links(aligned: AlignedPair, which: str) -> set[tuple[str, str]]:
    found = getattr(aligned, which)
    return {(aligned.english[i], aligned.german[j]) for i, j in found}


def test_the_running_example_is_aligned_by_meaning() -> None:
    _, aligned = realize(GOLDEN[0][2])
    assert links(aligned, "sure") == {
        ("The", "Der"),
        ("dog", "Hund"),
        ("cross", "überquerte"),
        ("the", "die"),
        ("street", "Straße"),
        ("not", "nicht"),
        ("because", "weil"),
        ("it", "er"),
        ("tired", "müde"),
        ("was", "war"),
        (".", "."),
    }
    assert links(aligned, "possible") - links(aligned, "sure") == {
        ("did", "überquerte"),
        ("because", ","),
    }


@pytest.mark.parametrize(
    ("english", "expected"),
    [
        ("My father has gone to the train station.", {("train", "Bahnhof"), ("station", "Bahnhof"), ("to", "zum"), ("the", "zum"), ("has", "ist"), ("gone", "gegangen")}),
        ("She did not invite the sisters.", {("invite", "lud"), ("invite", "ein"), ("not", "nicht")}),
        ("The boy gets up.", {("gets", "steht"), ("up", "auf")}),
        ("The girl has got up.", {("has", "ist"), ("got", "aufgestanden"), ("up", "aufgestanden")}),
        ("The man laughs because the boy calls the teacher.", {("calls", "anruft")}),
        ("The girl cannot see the bus stop.", {("cannot", "kann"), ("cannot", "nicht"), ("bus", "Bushaltestelle")}),
        ("They wait in front of the city hall.", {("in", "vor"), ("front", "vor"), ("of", "vor"), ("the", "dem")}),
        ("She sees the dog that the boy looks for.", {("that", "den"), ("looks", "sucht"), ("for", "sucht")}),
        ("This book, the woman has read.", {("This", "Dieses"), ("has", "hat"), ("read", "gelesen")}),
    ],
)  # fmt: skip
def test_words_are_aligned_across_languages(english, expected) -> None:
    [sentence] = [sentence for text, _, sentence in GOLDEN if text == english]
    assert expected <= links(realize(sentence)[1], "sure")


# Alignments of pieces


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    # Learned without umlauts, so that these are written as bytes.
    text = [s for pair, _ in drawn(400) for s in pair if s.isascii()]
    return Tokenizer.train(text, 420, algorithm=request.param)


def test_every_piece_belongs_to_the_words_that_it_spells(tokenizer: Tokenizer) -> None:
    n_bytes = 0
    for (_, german), aligned in drawn(200, seed=3):
        found = words_of_pieces(german, aligned.german, tokenizer)
        pieces = tokenizer.pieces(german)
        assert len(found) == len(pieces)
        assert all(found)
        assert set().union(*found) == set(range(len(aligned.german)))
        for index, word in enumerate(aligned.german):
            own = [i for i, words in enumerate(found) if index in words]
            assert own == list(range(own[0], own[-1] + 1))
            ids = tokenizer.encode(german)[own[0] : own[-1] + 1]
            assert word in tokenizer.decode(ids)
        for piece, words in zip(pieces, found, strict=True):
            n_bytes += piece.startswith("<0x")
            if not piece.startswith("<0x") and len(words) == 1:
                assert piece.strip("\u2581") in aligned.german[min(words)]
    assert n_bytes > 50


def test_links_of_pieces_follow_the_links_of_their_words(tokenizer: Tokenizer) -> None:
    pair, aligned = realize(GOLDEN[0][2])
    sure, possible = piece_links(pair, aligned, tokenizer)
    assert sure <= possible
    source = words_of_pieces(pair[0], aligned.english, tokenizer)
    target = words_of_pieces(pair[1], aligned.german, tokenizer)
    for s, t in sure:
        assert any((i, j) in aligned.sure for i in source[s] for j in target[t])
    back = {(i, j) for s, t in sure for i in source[s] for j in target[t]}
    assert back >= aligned.sure
    assert {s for s, _ in possible} == set(range(len(tokenizer.encode(pair[0]))))


def test_the_example_in_the_docstring_is_true() -> None:
    names = {"data": data, "Tokenizer": Tokenizer, "AlignedPair": AlignedPair}
    [example] = doctest.DocTestFinder().find(
        piece_links, globs={**names, "piece_links": piece_links}
    )
    assert len(example.examples) > 5
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_links_of_pieces_and_words_agree_on_the_corpus_itself(algorithm, corpus):
    sentences = [text for pair in corpus.train[:1500] for text in pair]
    tokenizer = Tokenizer.train(sentences, 700, algorithm=algorithm)
    pairs, gold = corpus.test["random"][:60], corpus.alignments["random"][:60]
    for pair, aligned in zip(pairs, gold, strict=True):
        sure, possible = piece_links(pair, aligned, tokenizer)
        source = words_of_pieces(pair[0], aligned.english, tokenizer)
        target = words_of_pieces(pair[1], aligned.german, tokenizer)
        back = {(i, j) for s, t in possible for i in source[s] for j in target[t]}
        assert sure <= possible
        assert back >= aligned.possible
        assert {t for _, t in possible} == set(range(len(target)))


def test_words_that_do_not_spell_the_text_are_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="do not spell the text 'Der Hund'"):
        words_of_pieces("Der Hund", ("Die", "Katze"), tokenizer)
    with pytest.raises(ValueError, match="align normalized text"):
        words_of_pieces("ﬁ", ("ﬁ",), tokenizer)


def drawn(n: int, seed: int = 1) -> Iterator[tuple[tuple[str, str], AlignedPair]]:
    draw = random.Random(seed)
    for _ in range(n):
        yield realize(sample.draw_sentence(draw))


def test_every_word_is_aligned_and_every_content_word_surely() -> None:
    function = {"does", "do", "did", "to", ",", "Does", "Do", "Did"}
    for _, aligned in drawn(3000):
        assert aligned.sure <= aligned.possible
        assert {i for i, _ in aligned.possible} == set(range(len(aligned.english)))
        assert {j for _, j in aligned.possible} == set(range(len(aligned.german)))
        sure_english = {aligned.english[i] for i, _ in aligned.sure}
        sure_german = {aligned.german[j] for _, j in aligned.sure}
        assert set(aligned.english) - sure_english <= function
        assert set(aligned.german) - sure_german <= {","}


def test_the_words_of_an_alignment_spell_its_sentence() -> None:
    for (english, german), aligned in drawn(500):
        for text, words in ((english, aligned.english), (german, aligned.german)):
            assert text.replace(" ", "") == "".join(words).replace(" ", "")
            assert text[0].isupper() and text[-1] in ".?"
            assert not [wrong for wrong in (" ,", "  ", ",.", ",,") if wrong in text]


# One German for each English


def test_no_english_has_two_germans() -> None:
    seen: dict[str, str] = {}
    for (english, german), _ in drawn(5_000):
        assert seen.setdefault(english, german) == german


def test_no_english_has_two_germans_even_where_words_are_few(monkeypatch) -> None:
    # With few words the same English is drawn from many trees.
    few = ("dog", "cat", "horse", "man", "child", "street", "book", "door", "milk")
    monkeypatch.setattr(
        sample, "NOUNS", {name: NOUNS[name] for name in (*few, "school")}
    )
    adjectives = {name: ADJECTIVES[name] for name in ("tired", "wide", "cold")}
    monkeypatch.setattr(sample, "ADJECTIVES", adjectives)
    for verbs in ("_ACTIONS", "_SAYINGS"):
        monkeypatch.setattr(sample, verbs, getattr(sample, verbs)[::4])
    seen: dict[str, str] = {}
    n_repeats = 0
    for (english, german), _ in drawn(8_000):
        n_repeats += english in seen
        assert seen.setdefault(english, german) == german
    assert n_repeats > 500


def test_a_verb_whose_past_looks_like_its_present_has_no_past() -> None:
    draw = random.Random(4)
    for _ in range(4000):  # "They read the book": lesen or lasen?
        sentence = sample.draw_sentence(draw)
        clauses = list(filter(None, (sentence.clause, sentence.subordinate)))
        named = [each for part in clauses for _, each in sample.noun_phrases(part)]
        clauses += [each.relative for each in named if each.relative is not None]
        for part in clauses:
            base, _, past, _ = part.verb.english
            assert part.tense != "past" or base != past


def test_it_stands_only_for_what_it_can_mean() -> None:
    n_seen = 0
    draw = random.Random(2)
    for _ in range(4000):
        sentence = sample.draw_sentence(draw)
        for part, other in itertools.permutations(
            (sentence.clause, sentence.subordinate)
        ):
            if part is None or not isinstance(part.subject, It):
                continue
            n_seen += 1
            kinds = part.adjective.kinds if part.adjective else part.verb.subjects
            named = [p.noun for _, p in sample.noun_phrases(other) if not p.plural]
            could = [n for n in named if n.pronoun == "it" and n.kinds & kinds]
            assert part.subject.antecedent in could
            assert {noun.gender for noun in could} == {part.subject.antecedent.gender}
    assert n_seen > 100


# The corpus


@pytest.fixture(scope="module")
def corpus() -> data.Corpus:
    return data.load("grammar")


def test_the_shipped_corpus_has_its_sizes_and_says_that_it_is_generated(corpus) -> None:
    assert (len(corpus.train), len(corpus.valid)) == (6000, 500)
    sizes = {name: len(pairs) for name, pairs in corpus.test.items()}
    assert sizes == {"random": 500, "unseen_combination": 500, "longer": 500}
    assert corpus.is_synthetic
    assert corpus.name == "grammar"


def splits(corpus: data.Corpus) -> dict[str, list[tuple[str, str]]]:
    return {"train": corpus.train, "valid": corpus.valid, **corpus.test}


def test_splits_share_no_sentence_and_hold_none_twice(corpus) -> None:
    every = [english for pairs in splits(corpus).values() for english, _ in pairs]
    assert len(every) == len(set(every)) == 8000


def test_no_german_of_training_is_an_answer_of_another_split(monkeypatch) -> None:
    realize = grammar.realize

    def terse(sentence):  # "The boy loves her." and "… them." are one German
        (english, german), aligned = realize(sentence)
        return (english, " ".join(german.split()[:2])), aligned

    monkeypatch.setattr(grammar, "realize", terse)
    corpus = generate(60, 10, 10, seed=1)
    more = extend(corpus, 200)
    assert len(keys(more.train, side=1)) < len(more.train)  # it could have happened
    parts = [more.train, corpus.valid, *corpus.test.values()]
    for one, other in itertools.combinations(parts, 2):
        assert shared(one, other) == []


def test_alignments_are_parallel_to_the_pairs(corpus) -> None:
    for name, pairs in splits(corpus).items():
        gold = corpus.alignments[name]
        for (english, german), aligned in zip(pairs, gold, strict=True):
            words = " ".join(aligned.english)
            for mark in ",.?":
                words = words.replace(f" {mark}", mark)
            assert english == words
            assert german.replace(" ", "") == "".join(aligned.german)


def test_longer_sentences_are_longer_than_any_in_training(corpus) -> None:
    pairs = corpus.alignments.items()
    lengths = {name: [len(each.english) for each in found] for name, found in pairs}
    assert min(lengths["longer"]) > max(lengths["train"] + lengths["valid"])
    assert max(lengths["random"]) <= max(lengths["train"])


def test_test_sets_use_the_words_of_training_in_new_ways(corpus) -> None:
    known = {w.lower() for pair in corpus.train for s in pair for w in s.split()}
    for pairs in corpus.test.values():
        words = [w.lower() for pair in pairs for s in pair for w in s.split()]
        assert sum(word in known for word in words) / len(words) > 0.99


def test_the_corpus_is_the_same_on_every_machine() -> None:
    code = (
        "import hashlib; from tformer.data.grammar import generate; "
        "c = generate(50, 10, 10, seed=3); "
        "print(hashlib.sha256(repr((c.train, c.valid, c.test)).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    there = subprocess.check_output([sys.executable, "-c", code], env=environment)
    c = generate(50, 10, 10, seed=3)
    here = hashlib.sha256(repr((c.train, c.valid, c.test)).encode()).hexdigest()
    assert there.decode().strip() == here


def test_another_seed_gives_another_corpus() -> None:
    assert generate(20, 5, 5, seed=1).train != generate(20, 5, 5, seed=2).train
    assert generate(20, 5, 5, seed=1).train == generate(20, 5, 5, seed=1).train


def test_more_training_pairs_leave_the_other_splits_alone() -> None:
    corpus = generate(20, 5, 5, seed=1)
    more = extend(corpus, 60)
    assert more.train[:20] == corpus.train
    assert len(more.train) == len(more.alignments["train"]) == 60
    assert (more.valid, more.test) == (corpus.valid, corpus.test)
    assert len(corpus.train) == len(corpus.alignments["train"]) == 20
    sentences = [e for pairs in (more.train, *more.test.values()) for e, _ in pairs]
    sentences += [english for english, _ in more.valid]
    assert len(set(sentences)) == len(sentences)
    gold = more.alignments["train"]
    for (english, german), aligned in zip(more.train, gold, strict=True):
        assert len(aligned.english) <= grammar.LONGEST
        assert english.split()[0] == aligned.english[0]
        assert german.split()[0] == aligned.german[0]
    assert extend(corpus, 60).train == more.train
    assert extend(corpus, 60, seed=1).train != more.train


def test_new_training_pairs_follow_the_rule_of_unseen_combinations(monkeypatch) -> None:
    corpus = generate(20, 5, 5, seed=1)
    held_out = {english for english, _ in extend(corpus, 60).train[20:40]}
    text = {}
    is_held_out = grammar._is_held_out

    def also_hold_out(sentence):
        (english, _), _ = grammar.realize(sentence)
        text[english] = sentence
        return english in held_out or is_held_out(sentence)

    monkeypatch.setattr(grammar, "_is_held_out", also_hold_out)
    assert not held_out & {english for english, _ in extend(corpus, 60).train}
    assert held_out <= set(text)


def test_a_corpus_that_cannot_grow_is_refused(corpus) -> None:
    with pytest.raises(ValueError, match="n_train=5 is below the 6000 training pairs"):
        extend(corpus, 5)
    with pytest.raises(ValueError, match="corpus 'mine' is not 'grammar'"):
        extend(replace(corpus, name="mine"), 10_000)


@pytest.mark.parametrize("n", [-5, 2.5, float("inf"), 10**12, True, "many"])
def test_a_size_that_is_never_reached_is_refused(corpus, n) -> None:
    with pytest.raises(ValueError, match=r"'valid' needs a whole .* least 1 .* got 0"):
        generate(20, 0, 5)
    with pytest.raises(ValueError, match="'train' needs a whole number of pairs"):
        generate(n, 5, 5)
    with pytest.raises(ValueError, match="'train' needs a whole number of pairs"):
        extend(corpus, n)


def test_changing_a_loaded_corpus_does_not_change_the_next() -> None:
    first = data.load("grammar")
    first.train.clear()
    first.test["random"].clear()
    first.alignments["train"].clear()
    again = data.load("grammar")
    assert len(again.train) == len(again.alignments["train"]) == 6000
    assert len(again.test["random"]) == 500


# The lexicon


def test_the_lexicon_has_nouns_of_every_gender_compounds_and_all_verb_frames() -> None:
    genders = [noun.gender for noun in NOUNS.values() if " " not in noun.english]
    assert all(genders.count(gender) >= 12 for gender in "mfn")
    assert sum(" " in noun.english for noun in NOUNS.values()) == 8
    assert sum(bool(verb.prefix) for verb in VERBS.values()) >= 8
    frames = {verb.frame for verb in VERBS.values()}
    assert frames == {"none", "acc", "dat", "both", "motion", "that", "copula"}


def test_no_two_entries_share_an_english_form() -> None:
    """Nor a noun's singular and plural: "the sheep" would have two Germans."""
    names = [n for e in NOUNS.values() for n in (e.english, e.english_plural)]
    names = [name for name in names if name != "-"]
    assert len(names) == len(set(names))
    forms = [(verb.english, verb.particle) for verb in VERBS.values()]
    assert len(forms) == len(set(forms))


def test_articles_and_endings_agree() -> None:
    # The ending that the article lacks, the adjective has: ein alter, der alte.
    cases = {
        ("a", "nom", "m"): ("ein", "er"),
        ("the", "nom", "m"): ("der", "e"),
        ("my", "nom", "n"): ("mein", "es"),
        ("this", "nom", "n"): ("dieses", "e"),
        ("no", "acc", "m"): ("keinen", "en"),
        ("", "dat", "m"): ("", "em"),
        ("", "nom", "pl"): ("", "e"),
        ("no", "nom", "pl"): ("keine", "en"),
        ("the", "dat", "pl"): ("den", "en"),
        ("a", "dat", "f"): ("einer", "en"),
        ("", "dat", "f"): ("", "er"),
    }
    for (name, case, gender), (article, ending) in cases.items():
        assert lexicon.determiner(name, case, gender) == article
        assert lexicon.adjective_ending(name, case, gender) == ending


def test_nouns_take_the_ending_of_their_case() -> None:
    singular = {("boy", "nom"): "Junge", ("boy", "acc"): "Jungen"}
    singular |= {("boy", "dat"): "Jungen", ("dog", "dat"): "Hund"}
    for (noun, case), expected in singular.items():
        assert NOUNS[noun].in_german(case, False) == expected
    plural = {"boy": "Jungen", "house": "Häusern", "girl": "Mädchen", "park": "Parks"}
    plural |= {"mother": "Müttern", "teacher": "Lehrern"}
    for noun, expected in plural.items():
        assert NOUNS[noun].in_german("dat", True) == expected
