"""The size of the generated corpus: counted by arithmetic, and by drawing."""

from __future__ import annotations

import json
import sys

import pytest

from studies import grammar_size as count_grammar
from tformer.data.grammar import english, lexicon, sample
from tformer.data.grammar.tree import NounPhrase, Sentence, text_of


class Every:
    """Instead of dice: every choice in turn, as often as `another` says so."""

    def __init__(self) -> None:
        self.path: list[list[int]] = []  # of each choice: which one, of how many
        self.at = 0

    def _pick(self, n: int) -> int:
        if self.at == len(self.path):
            self.path.append([0, n])
        self.at += 1
        return self.path[self.at - 1][0]

    def choice(self, options):
        return options[self._pick(len(options))]

    def choices(self, options, weights):
        assert all(weight > 0 for weight in weights)
        return [self.choice(options)]

    def random(self) -> float:
        return (0.0, 1 - 1e-9)[self._pick(2)]

    def another(self) -> bool:
        self.at = 0
        while self.path and self.path[-1][0] == self.path[-1][1] - 1:
            self.path.pop()
        if self.path:
            self.path[-1][0] += 1
        return bool(self.path)


@pytest.mark.parametrize(
    ("nouns", "adjectives", "verbs"),
    [
        (("boy", "book", "picture book"), ("old",), ("read", "love")),
        (("man", "milk", "water"), ("cold", "young"), ("drink",)),
        (("woman", "dog"), ("tired",), ("see",)),
    ],
)
def test_the_arithmetic_counts_all_draws(nouns, adjectives, verbs, monkeypatch):
    some_nouns = {name: lexicon.NOUNS[name] for name in nouns}
    some_adjectives = {name: lexicon.ADJECTIVES[name] for name in adjectives}
    some_verbs = {name: lexicon.VERBS[name] for name in verbs}
    for module in (sample, count_grammar):
        monkeypatch.setattr(module, "NOUNS", some_nouns)
        monkeypatch.setattr(module, "ADJECTIVES", some_adjectives)
    monkeypatch.setattr(count_grammar, "VERBS", some_verbs)
    found = set()
    for verb in some_verbs.values():
        every, goes_on = Every(), True
        while goes_on:
            try:
                clause = sample._Drawer(every).clause(verb=verb, simple=True)
            except sample._NothingFits:
                pass
            else:
                nodes = [clause.subject, clause.direct]
                phrases = [node for node in nodes if isinstance(node, NounPhrase)]
                says_no = any(phrase.determiner == "no" for phrase in phrases)
                if not (clause.negated or says_no):
                    found.add(text_of(english.linearize(Sentence(clause))))
            goes_on = every.another()
    assert count_grammar.n_transitive() == len(found) > 500


def test_there_are_more_than_a_million_sentences():
    assert count_grammar.n_transitive() > 1_000_000


def test_draws_are_counted_and_bound_the_size_from_below():
    found = count_grammar.draw_many(3000, seed=1)
    assert found == count_grammar.draw_many(3000, seed=1)
    assert 2500 < found["distinct"] <= 3000
    assert found["equal_pairs"] >= 3000 - found["distinct"] > 0
    assert found["estimated_lower_bound"] == 3000 * 2999 // 2 // found["equal_pairs"]


def test_an_english_with_two_germans_is_found(monkeypatch):
    germans = iter(["Der Hund.", "Die Katze."])
    monkeypatch.setattr(
        count_grammar, "realize", lambda _: (("The dog.", next(germans)), None)
    )
    with pytest.raises(AssertionError, match=r"'The dog\.' has another German"):
        count_grammar.draw_many(2)


def test_the_result_is_written(tmp_path, monkeypatch, capsys):
    arguments = ["count_grammar.py", "--draws", "50", f"--results={tmp_path}"]
    monkeypatch.setattr(sys, "argv", arguments)
    count_grammar.main()
    record = json.loads((tmp_path / "grammar-size.json").read_text("utf-8"))
    assert record["draws"] == 50
    assert record["exact_transitive_sentences"] == count_grammar.n_transitive()
