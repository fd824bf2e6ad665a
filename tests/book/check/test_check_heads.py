"""Every mistake that the graders of chapter 06 know is made here on purpose."""

import math

import pytest
import torch

from tformer.attention import MultiHeadAttention, attention
from tformer_book import check


def split(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def merge(x):
    return x.transpose(-3, -2).flatten(-2)


def fixed_sizes(x, n_heads):
    if n_heads == 1:
        return x[:, None]
    return x.view(2, 3, 2, 4).transpose(1, 2)


def slices(x, n_heads):
    each = x.size(-1) // n_heads
    return torch.stack([x[..., i * each : (i + 1) * each] for i in range(n_heads)], 1)


def by_storage(x, n_heads):
    batch, length, width = x.shape
    each = width // n_heads
    steps = (length * width, each, width, 1)
    return torch.as_strided(x, (batch, n_heads, length, each), steps)


def one_off(x, n_heads):
    return split(x, n_heads).roll(1, -1) if n_heads > 1 else split(x, n_heads)


SPLIT = {
    "view-without-transpose": lambda x, h: x.view(x.size(0), h, x.size(1), -1),
    "not-transposed": lambda x, h: x.view(*x.shape[:2], h, -1),
    "interleaved": lambda x, h: x.view(*x.shape[:2], -1, h).permute(0, 3, 1, 2),
    "heads-reversed": lambda x, h: split(x, h).flip(1),
    "heads-last": lambda x, h: split(x, h).permute(0, 2, 3, 1),
    "words-and-numbers-swapped": lambda x, h: split(x, h).mT,
    "heads-before-the-batch": lambda x, h: torch.stack(x.chunk(h, -1)),
    "batch-and-heads-in-one-axis": lambda x, h: (
        split(x, h).flatten(0, 1) if h > 1 else split(x, h)
    ),
    "every-head-gets-all": lambda x, h: x[:, None].repeat(1, h, 1, 1),
    "cuts-the-sentence": lambda x, h: (
        x.view(x.size(0), h, x.size(1) // h, -1) if x.size(1) == 4 else split(x, h)
    ),
    "returns-several": lambda x, h: x.chunk(h, dim=-1),
    "not-a-tensor": lambda x, h: x.tolist(),
    "axis-lost": lambda x, h: x,
    "sizes-fixed": fixed_sizes,
    "shifted": one_off,
    "needs-one-block-of-memory": lambda x, h: (
        x.view(-1).view(*x.shape[:2], h, -1).transpose(1, 2)
    ),
    "memory-order": by_storage,
    "gradient-cut": lambda x, h: split(x.detach(), h),
    "stops-with-an-error": lambda x, h: x.view(x.size(0), h, 7),
    "signature": lambda x: x,
}


@pytest.mark.parametrize("name", SPLIT)
def test_a_wrong_split_is_named(name):
    result = check.split_heads(SPLIT[name])
    assert not result
    assert result.diagnosis == name


MERGE = {
    "not-transposed-back": lambda x: x.reshape(x.size(0), x.size(2), -1),
    "interleaved": lambda x: x.permute(0, 2, 3, 1).flatten(-2),
    "heads-reversed": lambda x: merge(x.flip(1)),
    "added-up": lambda x: x.sum(1),
    "averaged": lambda x: x.mean(1),
    "concatenated-along-the-words": lambda x: x.flatten(1, 2),
    "not-flattened": lambda x: x.transpose(1, 2),
    "words-and-numbers-swapped": lambda x: merge(x).mT,
    "view-of-a-transposed-tensor": lambda x: x.transpose(1, 2).view(
        x.size(0), x.size(2), -1
    ),
    "sizes-fixed": lambda x: x.transpose(1, 2).reshape(2, 5, 12),
    "shape": lambda x: merge(x)[:, :1],
    "shifted": lambda x: merge(x).roll(1, -1),
    "returns-several": lambda x: list(x.unbind(1)),
    "not-a-tensor": lambda x: x.tolist(),
    "gradient-cut": lambda x: merge(x.detach()),
    "changes-inputs": lambda x: merge(x.mul_(1.5)) / 1.5,
}


@pytest.mark.parametrize("name", MERGE)
def test_a_wrong_merge_is_named(name):
    result = check.merge_heads(MERGE[name])
    assert not result
    assert result.diagnosis == name


def view(x, n_heads):
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


def flat(x):
    return x.reshape(x.size(0), x.size(2), -1)


def hidden(scores, mask):
    return scores.masked_fill(~mask, -math.inf)


def layer_with(
    *,
    project=lambda linear, x: linear(x),
    split=split,
    root=lambda q: math.sqrt(q.size(-1)),
    hide=hidden,
    softmax=lambda s: s.softmax(-1),
    late=lambda w, m: w,
    merge=merge,
    finish=lambda linear, x: linear(x),
    sources=lambda q, k, v: (q, k, v),
):
    """Multi-head attention with one step exchanged."""

    def mine(layer, query, key, value, *, mask=None):
        maps = layer.to_query, layer.to_key, layer.to_value
        q, k, v = (
            split(project(linear, x), layer.n_heads)
            for linear, x in zip(maps, sources(query, key, value), strict=True)
        )
        scores = q @ k.mT / root(q)
        if mask is not None:
            scores = hide(scores, mask)
        weights = softmax(scores)
        if mask is not None:
            weights = late(weights, mask)
        return finish(layer.to_output, merge(weights @ v))

    return mine


def first_head_only(scores, mask):
    return torch.cat([hidden(scores, mask)[:, :1], scores[:, 1:]], 1)


def repeated(scores, mask):
    mask = mask.expand(scores.size(0), -1, *scores.shape[-2:])[:, 0]
    return hidden(scores, mask.repeat(scores.size(1), 1, 1).view(scores.shape))


def exact_mask(scores, mask):
    if mask.shape != scores.shape:
        raise RuntimeError("mask and scores differ in shape")
    return hidden(scores, mask)


def alone(layer, query, key, value, *, mask=None):
    """Only right for a single head."""
    if layer.n_heads > 1:
        raise RuntimeError("heads?")
    return layer_with()(layer, query, key, value, mask=mask)


def keys_have_the_queries_length(layer, query, key, value, *, mask=None):
    if key.size(1) != query.size(1):
        raise RuntimeError("lengths differ")
    return layer_with()(layer, query, key, value, mask=mask)


def loses_the_maps(layer, query, key, value, *, mask=None):
    return layer_with()(layer, query, key, value, mask=mask).detach()


def times_weight(linear, x):
    return x @ linear.weight + linear.bias


def without_bias(linear, x):
    return x @ linear.weight.T


def swapped_shape(x):
    return x.permute(0, 2, 3, 1).flatten(-2)


LAYER = {
    "view-without-transpose": layer_with(split=view),
    "not-transposed-back": layer_with(merge=flat),
    "attends-among-heads": layer_with(
        split=lambda x, h: x.unflatten(-1, (h, -1)), merge=lambda x: x.flatten(-2)
    ),
    "one-wide-head": layer_with(split=lambda x, h: x[:, None]),
    "interleaved": layer_with(
        split=lambda x, h: x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2),
        merge=swapped_shape,
    ),
    "concatenated-in-the-wrong-order": layer_with(merge=swapped_shape),
    "scaled-by-d-model": layer_with(root=lambda q: math.sqrt(12)),
    "not-scaled": layer_with(root=lambda q: 1.0),
    "scaled-without-root": layer_with(root=lambda q: q.size(-1)),
    "scaled-by-head-count": layer_with(root=lambda q: math.sqrt(q.size(1))),
    "softmax-over-heads": layer_with(softmax=lambda s: s.softmax(1)),
    "softmax-over-queries": layer_with(softmax=lambda s: s.softmax(-2)),
    "softmax-over-the-batch": layer_with(softmax=lambda s: s.softmax(0)),
    "no-output-projection": layer_with(finish=lambda linear, x: x),
    "weight-not-transposed": layer_with(project=times_weight, finish=times_weight),
    "bias-forgotten": layer_with(project=without_bias, finish=without_bias),
    "nothing-projected": layer_with(project=lambda linear, x: x),
    "values-from-the-keys": layer_with(sources=lambda q, k, v: (q, k, k)),
    "keys-and-values-swapped": layer_with(sources=lambda q, k, v: (q, v, k)),
    "keys-from-the-query": layer_with(sources=lambda q, k, v: (q, q, q)),
    "averaged": layer_with(merge=lambda x: merge(x.mean(1, keepdim=True).expand_as(x))),
    "only-one-head": alone,
    "only-self-attention": keys_have_the_queries_length,
    "mask-ignored": layer_with(hide=lambda s, m: s),
    "mask-flipped": layer_with(hide=lambda s, m: hidden(s, ~m)),
    "mask-after-softmax": layer_with(
        hide=lambda s, m: s, late=lambda w, m: w * m.to(w.dtype)
    ),
    "mask-multiplied": layer_with(hide=lambda s, m: s * m),
    "mask-on-one-head": layer_with(hide=first_head_only),
    "mask-meets-the-wrong-sentence": layer_with(hide=repeated),
    "mask-does-not-broadcast": layer_with(hide=exact_mask),
    "nan": layer_with(hide=lambda s, m: s + (~m) * -math.inf),
    "gradient-cut": loses_the_maps,
    "returns-several": lambda layer, q, k, v, *, mask=None: (q, k),
    "not-a-tensor": lambda layer, q, k, v, *, mask=None: q.tolist(),
    "shape": layer_with(merge=lambda x: x, finish=lambda linear, x: x),
    "wrong-numbers": layer_with(finish=lambda linear, x: 2 * linear(x)),
    "signature": lambda layer, x: x,
}


def values_as_they_are(layer, query, key, value, *, mask=None):
    q, k = layer.to_query(query), layer.to_key(key)
    q, k, v = (split(x, layer.n_heads) for x in (q, k, value))
    return layer.to_output(merge(attention(q, k, v, mask=mask)[0]))


LAYER["values-not-projected"] = values_as_they_are


@pytest.mark.parametrize("name", LAYER)
def test_a_wrong_layer_is_named(name):
    result = check.multi_head_attention(LAYER[name])
    assert not result
    assert result.diagnosis == name


def test_a_view_there_and_back_is_named_at_both_places():
    result = check.multi_head_attention(layer_with(split=view, merge=flat))
    assert result.diagnosis == "view-at-both-ends"
    assert "works for one head, and mixes heads for two" in result.message
    assert "at the split and at the merge" in result.message


def test_reversed_heads_are_the_wrong_order_too():
    result = check.multi_head_attention(layer_with(merge=lambda x: merge(x.flip(1))))
    assert result.diagnosis == "concatenated-in-the-wrong-order"


def test_a_mask_whose_batch_meets_as_many_heads_is_named():
    def squeezed(scores, mask):
        if mask.dim() == 4 and mask.size(1) == 1:
            mask = mask.squeeze(1)
        return hidden(scores, mask)

    result = check.multi_head_attention(layer_with(hide=squeezed))
    assert result.diagnosis == "mask-meets-the-heads"


def loop(layer, query, key, value, *, mask=None):
    """The slow way, one head after the other, each with its own matrices."""
    each = query.size(-1) // layer.n_heads
    outputs = []
    for i in range(layer.n_heads):
        rows = slice(i * each, (i + 1) * each)
        q, k, v = (
            x @ linear.weight[rows].T + linear.bias[rows]
            for linear, x in (
                (layer.to_query, query),
                (layer.to_key, key),
                (layer.to_value, value),
            )
        )
        seen = mask
        if mask is not None and mask.dim() == 4:
            seen = mask.expand(-1, layer.n_heads, -1, -1)[:, i]
        outputs.append(attention(q, k, v, mask=seen)[0])
    return layer.to_output(torch.cat(outputs, dim=-1))


def test_right_answers_are_accepted():
    def by_reshape(x, n_heads):
        batch, length, width = x.shape
        if width % n_heads:
            raise ValueError("cannot be shared out")
        return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)

    def by_stack(x, n_heads):
        return torch.stack(x.unflatten(-1, (n_heads, -1)).unbind(-2), dim=1)

    assert check.split_heads(split)
    assert check.split_heads(by_reshape)
    assert check.split_heads(by_stack)
    assert check.split_heads(slices)
    assert check.merge_heads(merge)
    assert check.merge_heads(lambda x: torch.cat(x.unbind(1), dim=-1))
    assert check.multi_head_attention(layer_with())
    assert check.multi_head_attention(loop)


def test_the_packages_own_layer_is_accepted():
    def packages(layer, query, key, value, *, mask=None):
        whole = MultiHeadAttention(query.size(-1), layer.n_heads)
        for name in ("to_query", "to_key", "to_value", "to_output"):
            setattr(whole, name, getattr(layer, name))
        return whole(query, key, value, mask=mask)

    assert check.multi_head_attention(packages)


@pytest.mark.parametrize("part", ["split_heads", "merge_heads", "multi_head_attention"])
def test_a_stub_is_told_that_it_is_one(part):
    def stub(*arguments, **options):
        raise NotImplementedError

    assert getattr(check, part)(stub).diagnosis == "stub"


@pytest.mark.parametrize("part", ["split_heads", "merge_heads", "multi_head_attention"])
def test_what_was_computed_before_is_no_function(part):
    assert getattr(check, part)(torch.ones(3)).diagnosis == "not-a-function"
