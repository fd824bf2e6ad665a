"""Batches hold every pair once, within the budget, and repeat for equal seeds."""

from __future__ import annotations

import itertools
import time
import tracemalloc
import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tformer.data import Batch, batches, cut, encode_pairs
from tformer.tokenization import Tokenizer

PAD, BOS, EOS = 0, 1, 2
PIECES = st.lists(st.integers(3, 50), max_size=12)
PAIR = st.tuples(PIECES.map(lambda ids: [*ids, EOS]), PIECES)
ENCODED = st.lists(PAIR, min_size=1, max_size=60)


def make(encoded, max_tokens=60, seed=0, epoch=0):
    ids = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS}
    return batches(encoded, max_tokens=max_tokens, seed=seed, epoch=epoch, **ids)


def unpadded(rows: torch.Tensor) -> list[list[int]]:
    return [[i for i in row if i != PAD] for row in rows.tolist()]


def contents(batch: Batch) -> list[tuple[list[int], list[int]]]:
    targets = [row[1:] for row in unpadded(batch.target_ids)]
    return list(zip(unpadded(batch.source_ids), targets, strict=True))


def same(one: Batch, other: Batch) -> bool:
    names = ("source_ids", "target_ids", "labels")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


@given(encoded=ENCODED, seed=st.integers(0, 9), epoch=st.integers(0, 9))
def test_every_pair_is_in_exactly_one_batch(encoded, seed, epoch) -> None:
    shown = [p for batch in make(encoded, 60, seed, epoch) for p in contents(batch)]
    assert sorted(shown) == sorted(encoded)


@given(encoded=ENCODED, max_tokens=st.integers(26, 200))
def test_no_batch_exceeds_its_budget_padding_counted(encoded, max_tokens) -> None:
    for batch in make(encoded, max_tokens):
        assert batch.source_ids.numel() + batch.target_ids.numel() <= max_tokens


@given(encoded=ENCODED)
def test_labels_are_the_targets_one_step_ahead(encoded) -> None:
    for batch in make(encoded):
        assert batch.target_ids.shape == batch.labels.shape
        rows = zip(unpadded(batch.target_ids), unpadded(batch.labels), strict=True)
        for seen, said in rows:
            assert (seen[0], said[-1]) == (BOS, EOS)
            assert seen[1:] == said[:-1]


@given(encoded=ENCODED)
def test_padding_is_at_the_end_no_wider_than_needed_and_not_counted(encoded) -> None:
    for batch in make(encoded):
        for rows in (batch.source_ids, batch.target_ids, batch.labels):
            assert rows.dtype == torch.int64
            lengths = (rows != PAD).sum(1)
            assert lengths.max() == rows.size(1)
            inside = torch.arange(rows.size(1)) < lengths[:, None]
            assert torch.equal(rows != PAD, inside)
        real = (batch.source_ids != PAD).sum() + (batch.labels != PAD).sum()
        assert batch.n_tokens == int(real)


@pytest.fixture
def many() -> list[tuple[list[int], list[int]]]:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 30, (400, 1), generator=generator)
    longer = torch.randint(0, 4, (400, 2), generator=generator)
    sizes = (lengths + longer).tolist()  # of like length, as translations are
    numbered = enumerate(sizes)
    return [([3 + i % 40] * s + [EOS], [4 + i % 40] * t) for i, (s, t) in numbered]


def test_equal_seed_and_epoch_give_equal_batches(many) -> None:
    first, second = make(many, 500, 3, 7), make(many, 500, 3, 7)
    assert len(first) == len(second)
    assert all(same(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("other", [{"seed": 4, "epoch": 7}, {"seed": 3, "epoch": 8}])
def test_another_seed_or_epoch_gives_others(many, other) -> None:
    first, second = make(many, 500, 3, 7), make(many, 500, **other)
    held = [{frozenset(rows) for rows in made.rows} for made in (first, second)]
    assert held[0] != held[1]  # not only another order of the same batches


def test_batches_come_in_random_order_of_length(many) -> None:
    widths = [batch.labels.size(1) for batch in make(many, 500)]
    assert widths not in (sorted(widths), sorted(widths, reverse=True))


def test_buckets_save_most_of_the_padding(many) -> None:
    made = list(make(many, 1000))
    padded = sum(b.source_ids.numel() + b.labels.numel() for b in made)
    assert sum(b.n_tokens for b in made) / padded > 0.8
    assert len(made) < 1.5 * sum(b.n_tokens for b in made) / 1000


def test_one_long_source_does_not_narrow_the_batches_after_it() -> None:
    encoded = [([5] * 50 + [EOS], [6])] + [([5, EOS], [6] * 3)] * 10
    assert sorted(len(batch.source_ids) for batch in make(encoded, 60)) == [1, 10]


SIZES = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=40)


def cost(rows, sizes) -> int:
    return len(rows) * (max(sizes[r][0] for r in rows) + max(sizes[r][1] for r in rows))


@given(sizes=SIZES, max_tokens=st.integers(24, 100))
def test_a_cut_keeps_the_order_and_closes_a_batch_only_when_it_must(sizes, max_tokens):
    order = list(range(len(sizes)))[::-1]
    rows = cut(order, sizes, max_tokens)
    assert [row for batch in rows for row in batch] == order
    for batch, after in itertools.pairwise([*rows, []]):
        assert cost(batch, sizes) <= max_tokens
        if after:
            assert cost([*batch, after[0]], sizes) > max_tokens


@given(sizes=SIZES.filter(bool), n=st.integers(1, 6))
def test_the_parts_of_a_batch_hold_each_of_its_pairs_once(sizes, n) -> None:
    made = make([([5] * (s - 1) + [EOS], [6] * (t - 1)) for s, t in sizes], 100)
    for index, batch in enumerate(made):
        parts = made.parts(index, n)
        assert len(parts) == min(n, len(batch.labels))
        assert sorted(itertools.chain(*parts.rows)) == sorted(made.rows[index])
        counts = [len(rows) for rows in parts.rows]
        assert max(counts) - min(counts) <= 1
        assert parts.n_tokens == batch.n_tokens == sum(p.n_tokens for p in parts)
        assert parts.n_labels == batch.n_labels == int((batch.labels != PAD).sum())


def test_a_batch_is_dealt_out_into_no_more_parts_than_it_has_rows():
    made = make([([5, EOS], [6])] * 3, 99)
    assert len(made.parts(0, 2**62)) == 3


def test_batches_are_a_sequence(many) -> None:
    made = make(many, 500)
    assert same(made[-1], made[len(made) - 1])
    assert [b.n_tokens for b in made[2:4]] == [made[2].n_tokens, made[3].n_tokens]
    assert len(list(made)) == len(made)
    with pytest.raises(IndexError):
        made[len(made)]


def test_a_batch_moves_as_a_whole() -> None:
    batch = make([([5, EOS], [6])])[0].to("meta")
    for moved in (batch.source_ids, batch.target_ids, batch.labels):
        assert moved.device.type == "meta"
    assert batch.n_tokens == 4


def test_a_pair_that_fits_no_batch_is_named() -> None:
    long = [([5] * 10 + [EOS], [6] * 20)]
    with pytest.raises(ValueError, match=r"11 source and 21 target .*max_tokens=31"):
        make(long, max_tokens=31)
    assert len(make(long, max_tokens=32)) == 1


WHOLE = "max_tokens=.* must be a whole number"


@pytest.mark.parametrize(
    ("max_tokens", "message"),
    [
        *[(x, WHOLE) for x in (float("nan"), float("inf"), 99.5, True, "99")],
        *[(x, f"max_tokens={x}; raise max_tokens") for x in (0, -4096)],
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(max_tokens, message) -> None:
    with pytest.raises(ValueError, match=message):
        make([([5, EOS], [6])], max_tokens=max_tokens)


def test_nothing_to_batch_is_an_error() -> None:
    with pytest.raises(ValueError, match="the corpus is empty"):
        make([])


def test_fifty_thousand_pairs_are_batched_within_seconds() -> None:
    sizes = torch.randint(3, 20, (50_000, 2), generator=torch.manual_seed(0))
    encoded = [([7] * s + [EOS], [8] * t) for s, t in sizes.tolist()]
    start = time.process_time()
    n = sum(len(batch.source_ids) for batch in make(encoded, 25_000))
    assert n == 50_000
    assert time.process_time() - start < 3  # about 0.5 s on an idle core


# Encoding


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    text = ["the dog sees the cat", "der Hund sieht die Katze"] * 20
    return Tokenizer.train(text, 290)


def test_sources_end_with_eos_and_targets_carry_no_special_ids(tokenizer) -> None:
    pairs = [("the dog", "der Hund"), ("the cat", "die Katze")]
    encoded = encode_pairs(pairs, tokenizer, 64)
    for (source, target), (english, german) in zip(encoded, pairs, strict=True):
        assert source == [*tokenizer.encode(english), tokenizer.eos_id]
        assert target == tokenizer.encode(german)


def test_pairs_that_are_too_long_are_left_out_counted_and_reported(tokenizer) -> None:
    pairs = [("the dog", "der Hund"), ("the dog " * 9, "der"), ("the", "der Hund " * 9)]
    with pytest.warns(UserWarning, match="2 of 3 pairs are longer than max_len=9 pi"):
        encoded = encode_pairs(pairs, tokenizer, 9)
    assert len(encoded) == 1
    assert encoded.n_too_long == 2


@pytest.mark.parametrize("pair", [("the dog the cat", "der"), ("the", "der Hund die")])
def test_the_limit_counts_eos_and_bos(tokenizer, pair) -> None:
    limit = max(len(tokenizer.encode(side)) + 1 for side in pair)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(encode_pairs([pair], tokenizer, limit)) == 1
    with pytest.raises(ValueError, match="none is left; raise max_len"):
        encode_pairs([pair], tokenizer, limit - 1)


def test_a_sentence_takes_few_bytes_however_many_there_are(tokenizer) -> None:
    """As lists of Python's integers, they took three times as much."""
    pairs = [(f"the dog {n} ran and ran", f"der Hund {n} lief") for n in range(30_000)]
    tracemalloc.start()
    encoded = encode_pairs(pairs, tokenizer, 64, cache={})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(encoded) == len(pairs)
    assert peak / (2 * len(pairs)) < 350


def test_a_cache_of_sentences_changes_nothing(tokenizer) -> None:
    pairs = [("the dog", "der Hund"), ("the dog", "die Katze"), ("the cat", "der Hund")]
    cache: dict[str, list[int]] = {}
    first = encode_pairs(pairs, tokenizer, 64, cache=cache)
    assert first == encode_pairs(pairs, tokenizer, 64)
    assert first == encode_pairs(pairs, tokenizer, 64, cache=cache)
    assert set(cache) == {"the dog", "the cat", "der Hund", "die Katze"}
    first[0][0].append(99)  # a caller's change must not reach the cache
    assert list(cache["the dog"]) == tokenizer.encode("the dog")
    assert encode_pairs([], tokenizer, 64) == []
