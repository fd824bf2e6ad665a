"""Every mistake that the grader knows is made here on purpose."""

import math

import pytest
import torch

from tformer.attention import attention as reference
from tformer_book import check

INF = float("-inf")


def correct(query, key, value, *, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, INF)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def build(
    *,
    scores=lambda q, k: q @ k.transpose(-2, -1),
    scale=lambda q, k, v: math.sqrt(q.size(-1)),
    hide=lambda s, m: s.masked_fill(~m, INF),
    normalise=lambda s: s.softmax(-1),
    late=lambda w, m, q: w,
    mix=lambda w, k, v: w @ v,
    give=lambda output, weights: (output, weights),
):
    """Attention with one step exchanged."""

    def mine(query, key, value, *, mask=None):
        s = scores(query, key) / scale(query, key, value)
        if mask is not None:
            s = hide(s, mask)
        weights = late(normalise(s), mask, query)
        return give(mix(weights, key, value), weights)

    return mine


def after_softmax(weights, mask, query):
    return weights if mask is None else weights * mask


def hand_made_softmax(scores):
    e = scores.exp()
    return e / e.sum(-1, keepdim=True)


def in_place(query, key, value, *, mask=None):
    query /= math.sqrt(query.size(-1))
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, INF)
    weights = scores.softmax(-1)
    return weights @ value, weights


def needs_a_mask(query, key, value, *, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores.masked_fill(~mask, INF).softmax(-1)
    return weights @ value, weights


def forgets_the_scale_with_a_mask(query, key, value, *, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is None:
        scores = scores / math.sqrt(query.size(-1))
    else:
        scores = scores.masked_fill(~mask, INF)
    weights = scores.softmax(-1)
    return weights @ value, weights


def cut_gradient(query, key, value, *, mask=None):
    return correct(query.detach(), key.detach(), value.detach(), mask=mask)


def always_double(query, key, value, *, mask=None):
    return correct(query.double(), key.double(), value.double(), mask=mask)


def dropped(query, key, value, *, mask=None):
    output, weights = correct(query, key, value, mask=mask)
    noise = torch.rand_like(weights) * 1e-3 if mask is None and query.dim() == 2 else 0
    return output + (noise.sum() if mask is None and query.dim() == 2 else 0), weights


def mixes_the_batch(query, key, value, *, mask=None):
    if query.dim() == 2:
        return correct(query, key, value, mask=mask)
    key = key.mean(0, keepdim=True).expand_as(key)
    return correct(query, key, value, mask=mask)


def mixes_the_heads(query, key, value, *, mask=None):
    if query.dim() == 2:
        return correct(query, key, value, mask=mask)
    value = value.mean(1, keepdim=True).expand_as(value)
    return correct(query, key, value, mask=mask)


def stub(query, key, value, *, mask=None):
    raise NotImplementedError


def own_shape_mask_only(query, key, value, *, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = torch.where(mask.view(scores.shape), scores, INF)
    weights = scores.softmax(-1)
    return weights @ value, weights


MISTAKES = {
    "stub": [stub],
    "returns-nothing": [lambda query, key, value, *, mask=None: None],
    "signature": [
        lambda q, k: (q, k),
        lambda query, key, value: correct(query, key, value),
    ],
    "stops-with-an-error": [build(scores=lambda q, k: q.no_such_thing())],
    "returns-only-one": [
        build(give=lambda o, w: o),
        build(give=lambda o, w: w),
    ],
    "returns-something-else": [build(give=lambda o, w: (o, w, w))],
    "not-a-tensor": [build(give=lambda o, w: (o.tolist(), w))],
    "returns-in-the-wrong-order": [build(give=lambda o, w: (w, o))],
    "returns-scores": [build(give=lambda o, w: (o, w.log() * 0 + w), late=None)],
    "softmax-over-queries": [
        build(normalise=lambda s: s.softmax(-2)),
        build(normalise=lambda s: s.softmax(0)),
        build(normalise=lambda s: s.softmax(-2), scale=lambda q, k, v: 1.0),
    ],
    "softmax-over-everything": [
        build(normalise=lambda s: s.flatten().softmax(0).view_as(s))
    ],
    "no-softmax": [build(normalise=lambda s: s / s.sum(-1, keepdim=True))],
    "sigmoid": [build(normalise=torch.sigmoid)],
    "not-scaled": [
        build(scale=lambda q, k, v: 1.0),
        forgets_the_scale_with_a_mask,
    ],
    "scaled-by-width": [build(scale=lambda q, k, v: q.size(-1))],
    "scaled-by-value-width": [build(scale=lambda q, k, v: math.sqrt(v.size(-1)))],
    "scaled-by-key-count": [build(scale=lambda q, k, v: math.sqrt(k.size(-2)))],
    "scaled-by-query-count": [build(scale=lambda q, k, v: math.sqrt(q.size(-2)))],
    "multiplied-by-root": [build(scale=lambda q, k, v: 1 / math.sqrt(q.size(-1)))],
    "scaled-after-softmax": [
        build(scale=lambda q, k, v: 1.0, late=lambda w, m, q: w / math.sqrt(q.size(-1)))
    ],
    "mask-flipped": [build(hide=lambda s, m: s.masked_fill(m, INF))],
    "mask-ignored": [build(hide=lambda s, m: s)],
    "mask-added-as-number": [
        build(hide=lambda s, m: s + m),
        build(hide=lambda s, m: s - (~m).float()),
    ],
    "mask-multiplied": [
        build(hide=lambda s, m: s * m),
        build(hide=lambda s, m: s.masked_fill(~m, 0)),
    ],
    "mask-after-softmax": [build(hide=lambda s, m: s, late=after_softmax)],
    "mask-leaks": [build(hide=lambda s, m: s.masked_fill(~m, -10.0))],
    "nan": [build(hide=lambda s, m: s + (1 - m.float()) * INF)],
    "mask-not-optional": [needs_a_mask],
    "mask-does-not-broadcast": [own_shape_mask_only],
    "key-not-transposed": [
        build(scores=lambda q, k: q @ k),
        build(scores=lambda q, k: q @ k, scale=lambda q, k, v: 1.0),
    ],
    "query-and-key-swapped": [build(scores=lambda q, k: k @ q.transpose(-2, -1))],
    "weights-transposed": [build(give=lambda o, w: (o, w.transpose(-2, -1)))],
    "weights-shape": [build(give=lambda o, w: (o, w[..., :1]))],
    "mixes-the-keys": [build(mix=lambda w, k, v: w @ k)],
    "output-shape": [build(give=lambda o, w: (o[..., :1], w))],
    "output-is-not-the-mix": [build(mix=lambda w, k, v: w @ v * 2)],
    "rows-do-not-sum-to-1": [build(late=lambda w, m, q: w * 0.9)],
    "wrong-numbers": [
        build(normalise=lambda s: (2 * s).softmax(-1)),
    ],
    "key-transposed-by-reshape": [
        build(scores=lambda q, k: q @ k.reshape(k.size(-1), k.size(-2))),
    ],
    "only-two-axes": [build(scores=lambda q, k: q @ k.t())],
    "softmax-axis-counted-from-the-front": [build(normalise=lambda s: s.softmax(1))],
    "scale-axis-counted-from-the-front": [
        build(scale=lambda q, k, v: math.sqrt(q.size(1)))
    ],
    "mixes-examples": [mixes_the_batch],
    "mixes-heads": [mixes_the_heads],
    "changes-inputs": [in_place],
    "random": [dropped],
    "overflow": [build(normalise=hand_made_softmax)],
    "gradient-cut": [cut_gradient],
    "dtype": [always_double],
}
MISTAKES["returns-scores"] = [
    lambda query, key, value, *, mask=None: (
        correct(query, key, value, mask=mask)[0],
        query @ key.transpose(-2, -1),
    )
]
NAMED = [(name, i) for name, wrong in MISTAKES.items() for i in range(len(wrong))]


@pytest.mark.parametrize(("name", "i"), NAMED)
def test_the_mistake_is_called_by_its_name(name, i, capsys):
    result = check.attention(MISTAKES[name][i])
    assert not result
    assert result.diagnosis == name, result.message
    assert result.message.split()[0] in capsys.readouterr().out


@pytest.mark.parametrize("mine", [correct, reference])
def test_the_right_solution_is_accepted(mine, capsys):
    result = check.attention(mine)
    assert result
    assert result.diagnosis == "correct"
    assert "✓" in capsys.readouterr().out


def test_other_right_ways_are_accepted_too(capsys):
    ways = [
        build(scores=lambda q, k: torch.einsum("...id,...jd->...ij", q, k)),
        build(hide=lambda s, m: torch.where(m, s, -1e9)),
        build(hide=lambda s, m: s + torch.zeros_like(s).masked_fill(~m, INF)),
        build(
            normalise=lambda s: hand_made_softmax(s - s.amax(-1, keepdim=True).detach())
        ),
        build(give=lambda o, w: [o, w]),
    ]
    for mine in ways:
        assert check.attention(mine), check.attention(mine).message


def test_an_attention_called_instead_of_passed_is_explained(capsys):
    result = check.attention(correct(*torch.ones(3, 2, 2)))
    assert not result
    assert result.diagnosis == "not-a-function"


def test_an_error_inside_is_shown_with_its_line(capsys):
    result = check.attention(needs_something_missing)
    assert "query.no_such_thing()" in result.message


def needs_something_missing(query, key, value, *, mask=None):
    return query.no_such_thing()


def test_two_mistakes_at_once_are_both_told(capsys):
    mine = build(normalise=lambda s: s.softmax(-2), scale=lambda q, k, v: 1.0)
    message = check.attention(mine).message
    assert "wrong axis" in message
    assert "not scaled" in message


def test_grading_leaves_the_random_state_alone(capsys):
    before = torch.get_rng_state()
    check.attention(correct)
    assert torch.equal(before, torch.get_rng_state())
