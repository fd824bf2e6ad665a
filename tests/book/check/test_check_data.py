"""Every mistake that the graders of chapter 11 know is made here on purpose."""

import hashlib
import random

import pytest
import torch

from tformer.data import cut
from tformer.data.corpus import sentence_key, split_position
from tformer_book import check

PAD, BOS, EOS = 0, 1, 2


def right_shift(target_ids):
    return target_ids[:, :-1], target_ids[:, 1:]


def shift_by_value(target_ids):
    kept = target_ids[target_ids != PAD].view(target_ids.size(0), -1)
    return kept[:, :-1], kept[:, 1:]


SHIFT = {
    "not-shifted": lambda t: (t[:, :-1], t[:, :-1]),
    "wrong-way-round": lambda t: (t[:, 1:], t[:, :-1]),
    "rolled": lambda t: (t, t.roll(-1, 1)),
    "shifted-by-two": lambda t: (t[:, :-2], t[:, 2:]),
    "labels-without-eos": lambda t: (t[:, :-1], t[:, 1:].masked_fill(t[:, 1:] == 2, 0)),
    "labels-minus-100": lambda t: (
        t[:, :-1],
        t[:, 1:].masked_fill(t[:, 1:] == PAD, -100),
    ),
    "last-sentence-cut": lambda t: (t[:-1], t[1:]),
    "picks-by-value": shift_by_value,
    "input-without-bos": lambda t: (
        torch.cat([t[:, 1:-1], torch.zeros_like(t[:, :1])], 1),
        t[:, 1:],
    ),
    "widths-differ": lambda t: (t, t[:, 1:]),
    "shape": lambda t: (t[:, :-3], t[:, 3:]),
    "wrong-numbers": lambda t: (t[:, :-1], t[:, 1:].masked_fill(t[:, 1:] == 8, 9)),
    "not-two-tensors": lambda t: t[:, :-1],
    "returns-nothing": lambda t: None,
}


@pytest.mark.parametrize("name", SHIFT)
def test_a_wrong_shift_is_named(name):
    result = check.shift(SHIFT[name])
    assert not result
    assert result.diagnosis == name


@pytest.mark.parametrize(
    "same", [lambda t: (t[:, 1:], t[:, 1:]), lambda t: (t, t)], ids=["labels", "rows"]
)
def test_inputs_that_are_their_own_labels_are_not_shifted(same):
    assert check.shift(same).diagnosis == "not-shifted"


def test_the_right_shift_passes_with_eos_in_short_inputs_and_without():
    def tidy(target_ids):
        inputs, labels = right_shift(target_ids)
        return inputs.masked_fill(inputs == EOS, PAD), labels

    assert check.shift(right_shift)
    assert check.shift(tidy)


# Batches


def in_order(pairs):
    return sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0])))


def right_batches(pairs, max_tokens):
    batches, batch, s, t = [], [], 0, 0
    for pair in in_order(pairs):
        s, t = max(s, len(pair[0])), max(t, len(pair[1]))
        if (len(batch) + 1) * (s + t) > max_tokens:
            batches.append(batch)
            batch, s, t = [], len(pair[0]), len(pair[1])
        batch.append(pair)
    return [*batches, batch]


def fill(pairs, closes, *, keep_last=True, put_twice=False, drop=False):
    """Batches by a rule: ``closes(batch, pair)`` says whether to close first."""
    batches, batch = [], []
    for pair in pairs:
        if batch and closes(batch, pair):
            batches.append([*batch, pair] if put_twice else batch)
            batch = []
            if drop:
                continue
        batch.append(pair)
    return [*batches, batch] if keep_last else batches


def padded(batch):
    return len(batch) * (max(len(s) for s, _ in batch) + max(len(t) for _, t in batch))


def rectangle(limit, *, strict=True):
    def closes(batch, pair):
        cost = padded([*batch, pair])
        return cost > limit if strict else cost >= limit

    return closes


def real(limit):
    return lambda batch, pair: sum(len(s) + len(t) for s, t in [*batch, pair]) > limit


def one_side(limit, side):
    return lambda batch, pair: (
        (len(batch) + 1) * max(len(p[side]) for p in [*batch, pair]) > limit
    )


def torn(pairs, max_tokens):
    sources = sorted((s for s, _ in pairs), key=len)
    targets = sorted((t for _, t in pairs), key=len)
    return right_batches(list(zip(sources, targets, strict=True)), max_tokens)


def begins_empty(pairs, max_tokens):
    return [[], *right_batches(pairs, max_tokens)]


def too_late(pairs, max_tokens):
    batches, batch = [], []
    for pair in in_order(pairs):
        batch = [*batch, pair]
        if padded(batch) > max_tokens:
            batches.append(batch)
            batch = []
    return [*batches, batch]


def sorts_in_place(pairs, max_tokens):
    pairs.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
    return right_batches(pairs, max_tokens)


def eights(pairs, max_tokens):
    rows = in_order(pairs)
    return [rows[i : i + 8] for i in range(0, len(rows), 8)]


BATCHES = {
    "last-batch-lost": lambda p, max_tokens: fill(
        in_order(p), rectangle(max_tokens), keep_last=False
    ),
    "pairs-lost": lambda p, max_tokens: fill(
        in_order(p), rectangle(max_tokens), drop=True
    ),
    "twice": lambda p, max_tokens: fill(
        in_order(p), rectangle(max_tokens), put_twice=True
    ),
    "torn-apart": torn,
    "empty-batch": begins_empty,
    "changes-inputs": sorts_in_place,
    "overfull": too_late,
    "counts-real-tokens": lambda p, max_tokens: fill(p, real(max_tokens)),
    "forgets-targets": lambda p, max_tokens: fill(in_order(p), one_side(max_tokens, 0)),
    "forgets-sources": lambda p, max_tokens: fill(in_order(p), one_side(max_tokens, 1)),
    "counts-pairs": eights,
    "not-sorted": lambda p, max_tokens: fill(p, rectangle(max_tokens)),
    "one-by-one": lambda p, max_tokens: [[pair] for pair in p],
    "underfull": lambda p, max_tokens: fill(
        in_order(p), rectangle(max_tokens, strict=False)
    ),
    "other-pairs": lambda p, max_tokens: right_batches(
        [([*s, 0], t) for s, t in p], max_tokens
    ),
    "not-batches": lambda p, max_tokens: p,
    "returns-nothing": lambda p, max_tokens: None,
}


@pytest.mark.parametrize("name", BATCHES)
def test_wrong_batches_are_named(name):
    result = check.batches_by_tokens(BATCHES[name])
    assert not result
    assert result.diagnosis == name


def test_real_tokens_counted_in_sorted_order_are_named_too():
    def mine(pairs, max_tokens):
        return fill(in_order(pairs), real(max_tokens))

    assert check.batches_by_tokens(mine).diagnosis == "counts-real-tokens"


def test_the_last_batch_may_be_lost_in_any_order():
    def mine(pairs, max_tokens):
        return fill(pairs, rectangle(max_tokens), keep_last=False)

    assert check.batches_by_tokens(mine).diagnosis == "last-batch-lost"


def test_batches_that_are_half_full_are_named():
    def mine(pairs, max_tokens):
        return fill(in_order(pairs), rectangle(max_tokens * 0.6))

    assert check.batches_by_tokens(mine).diagnosis == "underfull"


def test_right_batches_pass_shortest_or_longest_first_and_shuffled():
    def longest_first(pairs, max_tokens):
        return fill(in_order(pairs)[::-1], rectangle(max_tokens))

    def packages(pairs, max_tokens):
        sizes = [(len(s), len(t)) for s, t in pairs]
        order = sorted(range(len(pairs)), key=lambda row: sizes[row])
        rows = cut(order, sizes, max_tokens)
        random.Random(0).shuffle(rows)
        return [[pairs[row] for row in batch] for batch in rows]

    assert check.batches_by_tokens(right_batches)
    assert check.batches_by_tokens(longest_first)
    assert check.batches_by_tokens(packages)


# Split


def by(pairs, is_test):
    return [p for p in pairs if not is_test(p)], [p for p in pairs if is_test(p)]


def right_split(pairs, share):
    return by(pairs, lambda pair: split_position(pair[0]) < share)


def by_pair(pairs, share):
    pairs = list(pairs)
    random.Random(0).shuffle(pairs)
    n = round(share * len(pairs))
    return pairs[n:], pairs[:n]


def drawn(pairs, share, draw, key=str):
    english = sorted({key(p[0]) for p in pairs})
    draw.shuffle(english)
    chosen = set(english[: round(share * len(english))])
    return by(pairs, lambda pair: key(pair[0]) in chosen)


def digest(text):
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8


def shuffles_in_place(pairs, share):
    random.Random(0).shuffle(pairs)
    return right_split(pairs, share)


SPLIT = {
    "by-pair": by_pair,
    "leaks-but-for-a-mark": lambda p, share: by(p, lambda x: digest(x[0]) < share),
    "swapped": lambda p, share: right_split(p, share)[::-1],
    "wrong-share": lambda p, share: right_split(p, share / 2),
    "in-both": lambda p, share: (p, right_split(p, share)[1]),
    "pairs-lost": lambda p, share: by(dict(p).items(), lambda x: digest(x[0]) < share),
    "salted-hash": lambda p, share: by(
        p, lambda x: hash(sentence_key(x[0])) % 100 < 100 * share
    ),
    "differs-each-time": lambda p, share: drawn(
        p, share, random.Random(), sentence_key
    ),
    "moves-when-it-grows": lambda p, share: drawn(
        p, share, random.Random(0), sentence_key
    ),
    "changes-inputs": shuffles_in_place,
    "not-two-lists": lambda p, share: p,
    "returns-nothing": lambda p, share: None,
}


@pytest.mark.parametrize("name", SPLIT)
def test_a_wrong_split_is_named(name):
    result = check.split(SPLIT[name])
    assert not result
    assert result.diagnosis == name


def test_the_right_split_passes():
    assert check.split(right_split)


def test_the_built_in_hash_is_as_it_was_after_grading():
    check.split(right_split)
    assert type(hash).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize("grader", [check.shift, check.batches_by_tokens, check.split])
def test_the_starting_stub_is_named(grader):
    def mine(*args, **keywords):
        raise NotImplementedError

    assert grader(mine).diagnosis == "stub"
