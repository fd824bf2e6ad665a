"""The tasks, in Node: what ought to be written, by definitions in Python."""

import json
import re

import pytest

from tformer.data.grammar import realize
from tformer.data.grammar.lexicon import ADJECTIVES, ADVERBS, NOUNS, VERBS
from tformer.data.grammar.tree import Clause, NounPhrase, Personal, Sentence
from tformer_book.press.chapters import ROOT

DRAW = """
import { Dice } from "./training/dice.js";
import { TASKS } from "./training/tasks.js";
const dice = new Dice(given.seed);
const { draw, answer, words, lengths } = TASKS.find(({ key }) => key === given.key);
console.log(JSON.stringify({ words, lengths, pairs: dice.many(given.n, () => {
  const source = draw(dice);
  return [source, answer(source)];
}) }));
"""
SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def number_of(words):
    total = part = 0
    for word in words:
        if word in SMALL:
            part += SMALL.index(word)
        elif word in TENS:
            part += 10 * TENS.index(word) + 20
        elif word != "and":
            total, part = total + part * {"hundred": 100, "thousand": 1000}[word], 0
    return total + part


def closed(source):
    """What is left of a text of brackets if pairs vanish, mirrored."""
    text, before = "".join(source), None
    while text != before:
        before, text = text, re.sub(r"\(\)|\[\]|\{\}", "", text)
    return list(text[::-1].translate(str.maketrans("([{", ")]}")))


def hopped(source):
    to = [int(each) for each in source]
    return [source[to[to[i]]] for i in range(len(source))]


def differences(source):
    digits = [0, *map(int, source), 0]
    pairs = zip(digits, digits[2:], strict=False)
    return [str((left - right) % 8) for left, right in pairs]


ANSWERS = {
    "reverse": lambda s: s[::-1],
    "copy": lambda s: s,
    "sort": sorted,
    "shift": lambda s: s[2:] + s[:2],
    "add": lambda s: list(str(sum(map(int, "".join(s).split("+"))))),
    "brackets": closed,
    "numbers": lambda s: list(str(number_of(s))),
    "difference": differences,
    "hops": hopped,
}


@pytest.mark.parametrize("key", ANSWERS)
def test_every_target_is_what_python_says(node, key):
    found = node(DRAW, {"key": key, "seed": 4, "n": 300})
    least, most = found["lengths"]
    for source, target in found["pairs"]:
        assert target == ANSWERS[key](source), source
        assert target, "there is always something to write"
        assert least <= len(source) <= most
        assert {*source, *target} <= {*found["words"]}
    assert len({tuple(source) for source, _ in found["pairs"]}) > 150


ALL_NUMBERS = """
import { inDigits, inWords } from "./training/numbers.js";
const numbers = Array.from({ length: 10000 }, (_, i) => i);
console.log(JSON.stringify({
  said: numbers.map(inWords),
  read: numbers.map((each) => inDigits(inWords(each)).join("")),
  wrong: [["hundred"], ["two", "three"], ["and", "two"], []].map(inDigits) }));
"""


def test_every_number_in_words_is_read_back(node):
    found = node(ALL_NUMBERS)
    assert [number_of(words) for words in found["said"]] == list(range(10_000))
    assert found["read"] == [str(n) for n in range(10_000)]
    assert found["wrong"] == [None] * 4


ENGLISH_VERBS = {
    form: (verb, index)
    for verb in VERBS.values()
    for index, form in enumerate(verb.english)
    if not verb.particle
}


def phrase(words):
    """The tree of "the old dog", taken from the front of the words."""
    article = words.pop(0)
    adjective = ADJECTIVES.get(words[0])
    if adjective:
        words.pop(0)
    noun = NOUNS[words.pop(0)]
    return NounPhrase("a" if article == "an" else article, noun, adjective=adjective)


def tree_of(source):
    """The package's tree of a clause of the task."""
    words, adverb = list(source), None
    if words[0] in ADVERBS:
        adverb = ADVERBS[words.pop(0)]
    subject = phrase(words)
    perfect = words[0] == "has"
    if perfect:
        words.pop(0)
    verb, _ = ENGLISH_VERBS[words.pop(0)]
    tense = "perfect" if perfect else "present"
    direct = phrase(words)
    assert words == ["."]
    return Clause(verb=verb, subject=subject, direct=direct, tense=tense, adverb=adverb)


def german_of(source):
    if source[0] == "she":
        inner = tree_of(source[3:])
        says = ENGLISH_VERBS[source[1]][0]
        clause = Clause(verb=says, subject=Personal("she"), tense="present")
        sentence = Sentence(clause, subordinate=inner, conjunction="that")
    else:
        clause = tree_of(source)
        front = "adverb" if clause.adverb else "subject"
        sentence = Sentence(clause, front=front)
    _, german = realize(sentence)[0]
    return re.findall(r"\w+|[.,]", german)


def test_the_small_sentences_are_translated_as_the_packages_grammar_does(node):
    found = node(DRAW, {"key": "grammar", "seed": 2, "n": 400})
    vocabulary = {*found["words"]}
    shapes = set()
    for source, target in found["pairs"]:
        assert {*source, *target} <= vocabulary
        wanted = german_of(source)
        assert [w.lower() for w in target] == [w.lower() for w in wanted], source
        shapes.add((source[0] in ADVERBS, "that" in source, "has" in source))
    assert len(shapes) == 4


HELD_OUT = """
import { corpusOf } from "./training/corpus.js";
console.log(JSON.stringify(given.map((settings) => {
  const { heldOut, draw } = corpusOf(settings);
  return {
    heldOut: heldOut.map(({ source }) => source.join(" ")),
    drawn: Array.from({ length: 3000 }, () => draw().source.join(" ")),
  };
})));
"""


def test_what_is_held_out_is_never_trained_on(node):
    tasks = [*ANSWERS, "grammar"]
    lines = "\n".join(f"{n % 25}\t{n % 25 + 1}" for n in range(40))
    given = [{"task": key, "lines": "", "seed": 1} for key in tasks]
    given += [{"task": "lines", "lines": lines, "seed": seed} for seed in (1, 2)]
    given += [{"task": "add", "lines": "", "seed": 2}]
    found = node(HELD_OUT, given)
    for settings, each in zip(given, found, strict=True):
        assert not {*each["heldOut"]} & {*each["drawn"]}, settings["task"]
        assert len({*each["heldOut"]}) == len(each["heldOut"])
        n = 5 if settings["task"] == "lines" else 100
        assert len(each["heldOut"]) == n
    add, again = found[tasks.index("add")], found[-1]
    assert add["heldOut"] == again["heldOut"]
    assert add["drawn"] != again["drawn"]


LINES = """
import { readLines } from "./training/lines.js";
console.log(JSON.stringify(given.map(readLines)));
"""


def test_two_spaces_between_source_and_target_do_where_there_is_no_tab(node):
    tabs = "a b\tb a\n" * 4
    spaces = " a b   b a \n" * 4
    with_tabs, with_spaces = node(LINES, [tabs, spaces])
    assert with_tabs == with_spaces
    assert with_tabs["pairs"][0] == {"source": ["a", "b"], "target": ["b", "a"]}


def test_own_lines_are_words_or_characters_with_or_without_a_target(node):
    texts = (
        "a dog\tein Hund\r\n\nI\tich\nyou\tdu\nwe\twir",
        "ab\tba\ncd\tdc\na\ta\nb\tb",
        "one two three\na b\nc d e f\nx y",
    )
    words, characters, continued = node(LINES, texts)
    assert words["spaced"] and not characters["spaced"]
    assert words["pairs"][0] == {"source": ["a", "dog"], "target": ["ein", "Hund"]}
    assert characters["pairs"][1] == {"source": ["c", "d"], "target": ["d", "c"]}
    assert continued["pairs"][0] == {"source": ["one", "two"], "target": ["three"]}
    assert characters["words"] == list("abcd")


LISTED = """
import { settingsOf } from "./training/settings.js";
import { TASKS } from "./training/tasks.js";
const listed = TASKS.filter((task) => task.draw && !task.hidden);
console.log(JSON.stringify(Object.fromEntries(
  listed.map(({ key }) => [key, settingsOf(key)]))));
"""


def test_each_task_was_learned_within_a_minute_with_the_settings_it_begins_with(node):
    record = json.loads((ROOT / "results/playground-tasks.json").read_text("utf-8"))
    tasks = record["tasks"]
    assert {key: task["settings"] for key, task in tasks.items()} == node(LISTED)
    for key, task in tasks.items():
        assert [run["seed"] for run in task["runs"]] == [1, 2, 3]
        for run in task["runs"]:
            assert run["accuracy"] >= 0.9, (key, run)
            assert run["cpu_seconds"] <= 60, (key, run)
