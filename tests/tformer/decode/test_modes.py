"""A model in training that is decoded: without dropout inside, as before afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tformer import decode
from tformer.analysis import trace
from tformer.decode.stepping import evaluating


@pytest.fixture
def model(make_model):
    return make_model(dropout=0.5).train()


def test_whoever_leaves_first_changes_the_mode_of_nobody_inside(model):
    inside, one_has_left = Barrier(2), Barrier(2)
    was_training = {}

    def evaluate(name: str) -> None:
        with evaluating(model):
            inside.wait()
            if name == "last":
                one_has_left.wait()
            was_training[name] = model.training
        if name == "first":
            one_has_left.wait()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(evaluate, ["first", "last"]))
    assert was_training == {"first": False, "last": False}
    assert all(each.training for each in model.modules())


@pytest.mark.parametrize("way", ["beam", "sample", "score", "trace"])
def test_threads_that_decode_at_once_all_find_what_one_finds(way, model, random_ids):
    source, target = random_ids([4]), random_ids([4])
    ways = {
        "beam": lambda: decode.beam_search(model, source, max_len=8),
        "sample": lambda: decode.sample(model, source, max_len=8, seed=3),
        "score": lambda: decode.score(model, source, [[5, 6, 7]]),
        "trace": lambda: trace.attention_weights(model, source, target)[0].tolist(),
    }
    alone, start = ways[way](), Barrier(4)

    def several(_: int) -> list:
        start.wait()
        return [ways[way]() for _ in range(5)]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(several, range(4))) == [[alone] * 5] * 4
    assert all(each.training for each in model.modules())


def test_a_part_that_was_not_in_training_stays_so(model):
    model.encoder.eval()
    with evaluating(model):
        assert not any(each.training for each in model.modules())
    assert model.training
    assert model.decoder.layers.training
    assert not any(each.training for each in model.encoder.modules())


def test_a_model_whose_mode_changes_inside_is_evaluated_by_the_next(model):
    with evaluating(model):
        model.train()
        with evaluating(model):
            assert not model.training
    assert model.training
