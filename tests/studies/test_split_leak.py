"""What the first released model had seen: counted again."""

from __future__ import annotations

import json

import pytest

from studies.first_split import all_pairs, by_english, first_learned_from, untouched
from studies.split_leak import FILE, count_overlaps
from tformer.data.corpus import keys, shared

FOUND = json.loads(FILE.read_text("utf-8"))


@pytest.fixture
def tatoeba(corpus_of):
    return corpus_of("tatoeba")


def test_the_first_split_held_every_pair_once_and_went_by_english(tatoeba):
    first = by_english(tatoeba)
    pairs = [pair for part in first.values() for pair in part]
    assert sorted(pairs) == sorted(all_pairs(tatoeba))
    train, valid, test = (keys(first[name]) for name in ("train", "valid", "test"))
    assert not (train & test or train & valid or valid & test)


@pytest.fixture
def measured_file(tatoeba):
    """Tatoeba, if it is the file that was measured: the public edition has more."""
    if tatoeba.checksums != FOUND["checksums"]:
        pytest.skip("another file of Tatoeba was measured: counts differ")
    return tatoeba


def test_the_first_split_s_leak_is_the_recorded_one(measured_file):
    test = by_english(measured_file)["test"]
    recorded = FOUND["first"]["by_english"]
    leaked = shared(test, first_learned_from())
    assert len(leaked) == recorded["german_in_training"]["pairs"]
    assert len(test) == recorded["test"]["pairs"]
    parts = recorded["german_in_training"]["pairs"] + recorded["others"]["pairs"]
    assert parts == recorded["test"]["pairs"]


def test_what_the_first_model_had_not_touched_is_not_what_it_learned(tatoeba):
    today = tatoeba.test["tatoeba"]
    new = untouched(today)
    assert shared(new, first_learned_from()) == []
    assert set(new) < set(today)


def test_both_models_were_scored_on_as_much_as_recorded(measured_file):
    today = measured_file.test["tatoeba"]
    assert shared(today, measured_file.train) == []
    assert FOUND["split"]["test_pairs_shared_with_train"] == 0
    for model in ("first", "now"):
        recorded = FOUND[model]["by_group"]
        assert len(untouched(today)) == recorded["untouched"]["pairs"]
        assert len(today) == recorded["test"]["pairs"]


def test_the_official_overlaps_are_the_recorded_ones(corpus_of):
    corpus_of("multi30k")
    assert count_overlaps() == FOUND["multi30k"]
