"""No sentence of either language is trained on and held out, in any corpus."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tformer import data
from tformer.data import DataError, tatoeba
from tformer.data.corpus import (
    Corpus,
    components,
    sentence_key,
    shared,
    split_position,
)

# Few words, so that sentences meet; spelled in several ways, so that keys matter.
SPELLINGS = st.sampled_from(["{}", "{}.", " {}!", "„{}“"])
SENTENCE = st.builds(
    lambda spelling, word, big: spelling.format(word.upper() if big else word),
    SPELLINGS,
    st.sampled_from([f"wort {i}" for i in range(9)]),
    st.booleans(),
)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), max_size=25)


def splits(corpus: Corpus) -> dict[str, list[tuple[str, str]]]:
    return {"train": corpus.train, "valid": corpus.valid, **corpus.test}


def linked(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return any(sentence_key(a) == sentence_key(b) for a, b in zip(one, other))  # noqa: B905


def reachable(start: int, pairs: list[tuple[str, str]]) -> set[int]:
    """By walking from pair to pair: slow, and another way than the package's."""
    found, todo = {start}, [start]
    while todo:
        here = todo.pop()
        near = {i for i in range(len(pairs)) if linked(pairs[here], pairs[i])}
        todo += near - found
        found |= near
    return found


@given(pairs=PAIRS)
def test_a_group_is_all_that_can_be_reached_through_equal_sentences(pairs) -> None:
    names = components(pairs)
    for i, name in enumerate(names):
        same = {j for j, other in enumerate(names) if other == name}
        assert same == reachable(i, pairs)


@given(pairs=PAIRS, seed=st.integers(0, 9))
def test_the_order_of_pairs_changes_no_group_and_no_name(pairs, seed) -> None:
    names = dict(zip(pairs, components(pairs), strict=True))
    other = pairs.copy()
    random.Random(seed).shuffle(other)
    assert dict(zip(other, components(other), strict=True)) == names


@given(pairs=PAIRS)
def test_a_group_is_named_after_one_of_its_english_sentences(pairs) -> None:
    for (english, _), name in zip(pairs, components(pairs), strict=True):
        named = zip(pairs, components(pairs), strict=True)
        members = {sentence_key(e) for (e, _), n in named if n == name}
        assert name in members
        if len(members) == 1:  # goes where the English sentence alone would go
            assert split_position(name) == split_position(english)


@given(pairs=PAIRS, more=PAIRS)
def test_lines_added_elsewhere_move_no_group(pairs, more) -> None:
    apart = [(f"another {e}", f"andere {g}") for e, g in more]
    before = components(pairs)
    assert components(apart + pairs)[len(apart) :] == before


def test_long_chains_and_large_hubs_are_joined_within_seconds() -> None:
    n = 200_000
    chain = [(f"e {i}", f"g {(i + 1) // 2}") for i in range(0, n, 2)]
    chain += [(f"e {i}", f"g {i // 2 + 1}") for i in range(0, n, 2)]  # e i – e i+2
    hub = [(f"h {i}", "Ja.") for i in range(n // 2)]
    start = time.process_time()
    names = components(chain + hub)
    assert time.process_time() - start < 15  # about 2 s on an idle core
    assert len(set(names)) == 2


@given(pairs=PAIRS, others=PAIRS)
def test_shared_are_the_pairs_with_a_sentence_of_the_others(pairs, others) -> None:
    expected = [pair for pair in pairs if any(linked(pair, other) for other in others)]
    assert shared(pairs, others) == expected


# The corpora


def assert_nothing_shared(corpus: Corpus) -> None:
    for one, other in itertools.combinations(splits(corpus).values(), 2):
        assert shared(one, other) == []


@pytest.mark.parametrize("name", ["tatoeba", "grammar"])
def test_no_two_splits_share_a_sentence_on_either_side(corpus_of, name) -> None:
    assert_nothing_shared(corpus_of(name))


@pytest.mark.parametrize("name", ["multi30k+tatoeba", "multi30k*2+tatoeba+grammar"])
def test_a_mixture_trains_on_no_held_out_sentence(corpus_of, name) -> None:
    mixed = corpus_of(name)
    tests = [pair for pairs in mixed.test.values() for pair in pairs]
    assert shared(mixed.train, tests) == []
    assert shared(mixed.train, mixed.valid) == []
    assert shared(mixed.valid, tests) == []
    assert mixed.valid == [p for part, _ in mixed.parts for p in part.valid]
    assert shared(mixed.epoch_pairs(0, 0), tests + mixed.valid) == []


def test_official_splits_of_multi30k_stay_though_they_share_a_few(corpus_of) -> None:
    corpus = corpus_of("multi30k")
    tests = [pair for pairs in corpus.test.values() for pair in pairs]
    assert 0 < len(shared(tests + corpus.valid, corpus.train)) < 10
    mixed = corpus_of("multi30k+tatoeba")
    assert mixed.test["test_2017_flickr"] == corpus.test["test_2017_flickr"]


def test_one_english_alone_stays_where_its_hash_puts_it(corpus_of) -> None:
    corpus = corpus_of("tatoeba")
    every = [pair for pairs in splits(corpus).values() for pair in pairs]
    names = components(every)
    english: dict[str, set[str]] = {}
    for (sentence, _), name in zip(every, names, strict=True):
        english.setdefault(name, set()).add(sentence_key(sentence))
    held_out = {sentence_key(e) for e, _ in corpus.test["tatoeba"]}
    alone = [name for name, keys in english.items() if len(keys) == 1]
    assert len(alone) > 100_000
    for name in alone:
        assert (name in held_out) == (split_position(name) < tatoeba.HELD_OUT)


@given(pairs=st.lists(st.tuples(SENTENCE, SENTENCE), max_size=12), n=st.integers(9, 60))
@settings(max_examples=40)
def test_a_tsv_s_splits_share_no_sentence_on_either_side(tmp_path_factory, pairs, n):
    path = tmp_path_factory.mktemp("own") / "pairs.tsv"
    lines = [f"{e}\t{g}" for e, g in pairs] + [f"a {i}\tb {i}" for i in range(n)]
    random.Random(n).shuffle(lines)
    path.write_text("\n".join(lines), encoding="utf-8")
    if len(set(components(pairs))) + n < 10:
        with pytest.raises(DataError, match=r"falls into \d groups"):
            data.load(path)
        return
    corpus = data.load(path)
    assert_nothing_shared(corpus)
    assert all(splits(corpus).values())


def test_a_group_that_is_a_large_part_of_a_tsv_is_trained_on(tmp_path: Path) -> None:
    for hub in range(30):  # wherever its hash would put it
        path = tmp_path / f"{hub}.tsv"
        lines = [f"yes {hub} {i}\tJa." for i in range(30)]
        lines += [f"word {i}\tWort {i}" for i in range(70)]
        path.write_text("\n".join(lines), encoding="utf-8")
        corpus = data.load(path)
        assert sum(german == "Ja." for _, german in corpus.train) == 30
        assert len(corpus.valid) == len(corpus.test["test"]) == 4


def test_sentences_that_all_share_one_german_cannot_be_split(tmp_path: Path) -> None:
    path = tmp_path / "hub.tsv"
    path.write_text(
        "".join(f"yes {i}\tJa{'.!'[i % 2]}\n" for i in range(500)), encoding="utf-8"
    )
    with pytest.raises(DataError, match="falls into 1 groups of pairs that share"):
        data.load(path)
