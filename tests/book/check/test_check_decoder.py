"""Every mistake that the graders of chapter 09 know is made here on purpose."""

import math

import pytest
import torch
from answers import diagnoses

from tformer.attention import attention
from tformer_book import check
from tformer_book.check.problems import cross_attention as _cross
from tformer_book.check.problems import decoder_layer as _layer
from tformer_book.check.problems import greedy as _greedy

# --- inputs and labels --------------------------------------------------------------


def pad(rows, pad_id, width=None, *, left=False):
    width = width or max(map(len, rows))
    gaps = [[pad_id] * (width - len(row)) for row in rows]
    return torch.tensor(
        [gap + row if left else row + gap for row, gap in zip(rows, gaps, strict=True)]
    )


def lists(inputs, labels):
    """A reader's function, from one that makes a row of each side."""

    def mine(targets, *, pad_id, bos_id, eos_id):
        bos, eos = [bos_id], [eos_id]
        width = 1 + max(map(len, targets))
        return tuple(
            pad([list(side(bos, list(t), eos)) for t in targets], pad_id, width)
            for side in (inputs, labels)
        )

    return mine


def read(bos, t, eos):
    return bos + t


def say(bos, t, eos):
    return t + eos


def sliced(inputs, labels, rows=lambda bos, t, eos: bos + t + eos):
    def mine(targets, *, pad_id, bos_id, eos_id):
        whole = pad([rows([bos_id], list(t), [eos_id]) for t in targets], pad_id)
        return inputs(whole), labels(whole)

    return mine


def eos_after_padding(targets, *, pad_id, bos_id, eos_id):
    inputs = pad([[bos_id, *t] for t in targets], pad_id)
    column = torch.full((len(targets), 1), eos_id)
    return inputs, torch.cat([inputs[:, 1:], column], dim=1)


def on_the_left(targets, *, pad_id, bos_id, eos_id):
    return (
        pad([[bos_id, *t] for t in targets], pad_id, left=True),
        pad([[*t, eos_id] for t in targets], pad_id, left=True),
    )


def changes_lists(targets, *, pad_id, bos_id, eos_id):
    inputs = pad([[bos_id, *t] for t in targets], pad_id)
    for target in targets:
        target.append(eos_id)
    return inputs, pad(targets, pad_id)


def not_padded(targets, *, pad_id, bos_id, eos_id):
    return (
        torch.tensor([[bos_id, *t] for t in targets]),
        torch.tensor([[*t, eos_id] for t in targets]),
    )


def fixed_ids(targets, *, pad_id, bos_id, eos_id):
    return lists(read, say)(targets, pad_id=0, bos_id=1, eos_id=2)


def zero_padding(targets, *, pad_id, bos_id, eos_id):
    return lists(read, say)(targets, pad_id=0, bos_id=bos_id, eos_id=eos_id)


def as_floats(targets, **ids):
    inputs, labels = lists(read, say)(targets, **ids)
    return inputs.float(), labels


def minus_100(targets, *, pad_id, bos_id, eos_id):
    ids = {"bos_id": bos_id, "eos_id": eos_id}
    inputs, labels = lists(read, say)(targets, pad_id=pad_id, **ids)
    return inputs, labels.masked_fill(labels == pad_id, -100)


def cut(x):
    return x[:, :-1]


def rest(x):
    return x[:, 1:]


def whole_row(x):
    return x


LISTS = {
    "wrong-way-round": [lists(say, read), sliced(rest, cut)],
    "not-shifted": [
        lists(read, read),
        lists(say, say),
        sliced(cut, cut),
        sliced(rest, rest),
        sliced(whole_row, whole_row),
    ],
    "labels-without-eos": [
        lists(read, lambda bos, t, eos: t),
        sliced(cut, rest, rows=lambda bos, t, eos: bos + t),
    ],
    "eos-after-the-padding": [eos_after_padding],
    "input-without-bos": [
        lists(lambda bos, t, eos: t, say),
        lambda targets, **ids: tuple(
            cut(x) for x in lists(lambda bos, t, eos: t, say)(targets, **ids)
        ),
    ],
    "labels-with-bos": [
        sliced(cut, whole_row),
    ],
    "input-with-the-last-column": [sliced(whole_row, rest)],
    "shifted-twice": [
        sliced(lambda x: x[:, :-2], lambda x: x[:, 2:]),
    ],
    "padded-on-the-left": [on_the_left],
    "ids-ignored": [fixed_ids, zero_padding],
    "labels-minus-100": [minus_100],
    "changes-inputs": [changes_lists],
    "not-padded": [not_padded],
    "not-int64": [as_floats],
    "widths-differ": [sliced(lambda x: x[:, :-2], rest)],
    "shape": [sliced(lambda x: x[:, :2], lambda x: x[:, :2])],
    "wrong-numbers": [
        lists(read, lambda bos, t, eos: t[::-1] + eos),
        lists(lambda bos, t, eos: bos + t[::-1], say),
    ],
    "not-two-tensors": [sliced(cut, lambda x: None), lambda targets, **ids: targets],
    "returns-nothing": [lambda targets, **ids: None],
}


@pytest.mark.parametrize(
    ("name", "mine"),
    [(name, mine) for name, several in LISTS.items() for mine in several],
)
def test_wrong_inputs_and_labels_are_called_by_their_name(name, mine):
    result = check.inputs_and_labels(mine)
    assert not result
    assert result.diagnosis == name, result.message


def test_right_inputs_and_labels_pass_with_eos_in_short_inputs_and_without():
    assert check.inputs_and_labels(lists(read, say))
    assert check.inputs_and_labels(sliced(cut, rest))


# --- cross-attention ----------------------------------------------------------------


def across(x, memory, w_query, w_key, w_value, *, mask=None):
    return attention(x @ w_query, memory @ w_key, memory @ w_value, mask=mask)[0]


def mixed(query, key, value, mask_of=lambda mask: mask):
    """A reader's cross-attention, from what the three are made of."""

    def mine(x, memory, w_query, w_key, w_value, *, mask=None):
        given = x, memory, w_query, w_key, w_value
        parts = query(*given), key(*given), value(*given)
        return attention(*parts, mask=None if mask is None else mask_of(mask))[0]

    return mine


def asks(x, m, q, k, v):
    return x @ q


def is_found(x, m, q, k, v):
    return m @ k


def is_read(x, m, q, k, v):
    return m @ v


def unscaled(x, memory, w_query, w_key, w_value, *, mask=None):
    scores = (x @ w_query) @ (memory @ w_key).mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ (memory @ w_value)


def over_queries(x, memory, w_query, w_key, w_value, *, mask=None):
    scores = (x @ w_query) @ (memory @ w_key).mT / math.sqrt(w_query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-2) @ (memory @ w_value)


def needs_a_mask(x, memory, w_query, w_key, w_value, *, mask=None):
    return across(x, memory, w_query, w_key, w_value, mask=mask & mask)


def reshaped(x, memory, w_query, w_key, w_value, *, mask=None):
    found = across(x, memory, w_query, w_key, w_value, mask=mask)
    return found.view(x.shape)


def cut_to_the_target(x, memory, w_query, w_key, w_value, *, mask=None):
    memory = memory[:, : x.size(1)]
    mask = None if mask is None else mask[..., : x.size(1)]
    return across(x, memory, w_query, w_key, w_value, mask=mask)


def no_query_sees(x, memory, w_query, w_key, w_value, *, mask=None):
    hidden = torch.zeros(1, 1, memory.size(1), dtype=torch.bool)
    return across(x, memory, w_query, w_key, w_value, mask=hidden)


CROSS = {
    "queries-from-the-memory": mixed(
        lambda x, m, q, k, v: m @ q,
        lambda x, m, q, k, v: x @ k,
        lambda x, m, q, k, v: x @ v,
    ),
    "memory-not-used": mixed(
        asks, lambda x, m, q, k, v: x @ k, lambda x, m, q, k, v: x @ v
    ),
    "keys-from-the-decoder": mixed(asks, lambda x, m, q, k, v: x @ k, is_read),
    "values-from-the-decoder": mixed(asks, is_found, lambda x, m, q, k, v: x @ v),
    "all-from-the-memory": mixed(lambda x, m, q, k, v: m @ q, is_found, is_read),
    "causal": mixed(
        asks, is_found, is_read, lambda mask: mask & mask.new_ones(4, 4).tril()
    ),
    "mask-ignored": mixed(asks, is_found, is_read, lambda mask: None),
    "mask-flipped": mixed(asks, is_found, is_read, lambda mask: ~mask),
    "mask-on-queries": mixed(asks, is_found, is_read, lambda mask: mask.mT),
    "not-scaled": unscaled,
    "softmax-over-queries": over_queries,
    "keys-not-projected": mixed(asks, lambda x, m, q, k, v: m, is_read),
    "values-not-projected": mixed(asks, is_found, lambda x, m, q, k, v: m),
    "keys-and-values-not-projected": mixed(
        asks, lambda x, m, q, k, v: m, lambda x, m, q, k, v: m
    ),
    "one-matrix-for-keys-and-values": mixed(asks, is_found, is_found),
    "matrices-swapped": mixed(asks, is_read, is_found),
    "mask-not-optional": needs_a_mask,
    "only-equal-lengths": reshaped,
    "returns-weights-too": lambda x, m, q, k, v, *, mask=None: attention(
        x @ q, m @ k, m @ v, mask=mask
    ),
    "not-a-tensor": lambda x, m, q, k, v, *, mask=None: [1.0],
    "shape": lambda x, m, q, k, v, *, mask=None: across(x, m, q, k, v, mask=mask)[0],
    "nan": no_query_sees,
    "wrong-numbers": lambda x, m, q, k, v, *, mask=None: (
        across(x, m, q, k, v, mask=mask) + 0.1
    ),
}


@pytest.mark.parametrize("name", CROSS)
def test_a_wrong_cross_attention_is_called_by_its_name(name):
    def plain(x, memory, w_query, w_key, w_value, *, mask=None):
        return CROSS[name](x, memory, w_query, w_key, w_value, mask=mask)

    result = check.cross_attention(plain)
    assert not result
    assert result.diagnosis == name, result.message


def test_every_known_wrong_cross_attention_is_made_above():
    assert set(_cross.CROSSINGS) <= {*CROSS, *diagnoses("cross_attention")}


def test_a_memory_cut_to_the_targets_length_is_found_by_uneven_lengths():
    assert check.cross_attention(cut_to_the_target).diagnosis == "only-equal-lengths"


def test_the_right_cross_attention_passes_and_a_stub_does_not():
    def stub(x, memory, w_query, w_key, w_value, *, mask=None):
        raise NotImplementedError

    assert check.cross_attention(across)
    assert check.cross_attention(stub).diagnosis == "stub"
    assert check.cross_attention(lambda x: x).diagnosis == "signature"


# --- the decoder's layer ------------------------------------------------------------


def back(layer, memory, target_mask, source_mask):
    return lambda h: layer.self_attention(h, mask=target_mask)


def over(layer, memory, target_mask, source_mask):
    return lambda h: layer.cross_attention(h, memory, mask=source_mask)


def think(layer, memory, target_mask, source_mask):
    return layer.feed_forward


def built(back=back, over=over, think=think, order="bot", beside=None):
    """A reader's layer: sub-layers, their order, how each runs beside the stream."""

    def mine(layer, x, memory, target_mask, source_mask):
        steps = {
            "b": (back, layer.self_attention_residual),
            "o": (over, layer.cross_attention_residual),
            "t": (think, layer.feed_forward_residual),
        }
        for letter in order:
            make, residual = steps[letter]
            sublayer = make(layer, memory, target_mask, source_mask)
            around = (beside or {}).get(letter) or (beside or {}).get("all")
            x = (
                around(residual, x, sublayer, layer)
                if around
                else residual(x, sublayer)
            )
        return x

    return mine


def bare(residual, x, sublayer, layer):
    return sublayer(x)


def normed(residual, x, sublayer, layer):
    return residual.norm(sublayer(x))


def added(residual, x, sublayer, layer):
    return x + sublayer(x)


def pre(residual, x, sublayer, layer):
    return x + sublayer(residual.norm(x))


def post(residual, x, sublayer, layer):
    return residual.norm(x + sublayer(x))


def by_the_first(residual, x, sublayer, layer):
    return layer.self_attention_residual(x, sublayer)


def lost_first(layer, x, memory, target_mask, source_mask):
    layer.self_attention_residual(x, back(layer, memory, target_mask, source_mask))
    return built(order="ot")(layer, x, memory, target_mask, source_mask)


def lost_second(layer, x, memory, target_mask, source_mask):
    built(order="bo")(layer, x, memory, target_mask, source_mask)
    return built(order="t")(layer, x, memory, target_mask, source_mask)


LAYERS = {
    "target-mask-forgotten": built(back=lambda part, m, t, s: part.self_attention),
    "source-mask-forgotten": built(
        over=lambda part, m, t, s: lambda h: part.cross_attention(h, m)
    ),
    "no-masks": built(
        back=lambda part, m, t, s: part.self_attention,
        over=lambda part, m, t, s: lambda h: part.cross_attention(h, m),
    ),
    "masks-swapped": built(
        back=lambda part, m, t, s: lambda h: part.self_attention(h, mask=s),
        over=lambda part, m, t, s: lambda h: part.cross_attention(h, m, mask=t),
    ),
    "source-mask-everywhere": built(
        back=lambda part, m, t, s: lambda h: part.self_attention(h, mask=s)
    ),
    "target-mask-everywhere": built(
        over=lambda part, m, t, s: lambda h: part.cross_attention(h, m, mask=t)
    ),
    "memory-not-used": built(
        over=lambda part, m, t, s: lambda h: part.cross_attention(h, mask=t)
    ),
    "queries-from-the-memory": built(
        over=lambda part, m, t, s: lambda h: part.cross_attention(m, h, mask=s)
    ),
    "self-attention-asks-the-memory": built(
        back=lambda part, m, t, s: lambda h: part.self_attention(h, m, mask=t)
    ),
    "cross-attention-first": built(order="obt"),
    "feed-forward-too-early": built(order="bto"),
    "self-attention-lost": lost_first,
    "both-attentions-lost": lost_second,
    "feed-forward-forgotten": built(order="bo"),
    "cross-attention-forgotten": built(order="bt"),
    "residuals-forgotten": built(beside={"all": bare}),
    "norms-forgotten": built(beside={"all": added}),
    "one-residual-for-all": built(beside={"all": by_the_first}),
    "one-attention-for-both": built(
        over=lambda part, m, t, s: lambda h: part.self_attention(h, m, mask=s)
    ),
    "residual-of-self-attention-forgotten": built(beside={"b": bare}),
    "residual-of-cross-attention-forgotten": built(beside={"o": added}),
    "residual-of-feed-forward-forgotten": built(beside={"t": bare}),
    "pre-norm-only": built(beside={"all": pre}),
    "post-norm-only": built(beside={"all": post}),
    "calls-the-layer": lambda layer, x, memory, target_mask, source_mask: layer(
        x, memory, target_mask, source_mask
    ),
    "not-a-tensor": lambda layer, x, memory, target_mask, source_mask: 0,
    "shape": lambda layer, x, memory, target_mask, source_mask: x[:, -1],
    "wrong-numbers": lambda layer, x, memory, target_mask, source_mask: x,
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_wrong_layer_is_called_by_its_name(name):
    result = check.decoder_layer(LAYERS[name])
    assert not result
    assert result.diagnosis == name, result.message


def test_every_known_wrong_layer_is_made_above():
    known = {name.split(":")[0] for name in _layer.LAYERS}
    assert known <= {*LAYERS, *diagnoses("decoder_layer")}


def test_other_ways_to_the_same_wrong_layer_have_the_same_name():
    def name(**changes):
        return check.decoder_layer(built(**changes)).diagnosis

    assert name(order="tbo") == "feed-forward-too-early"
    assert name(order="ot") == "self-attention-lost"
    assert name(beside={"all": normed}) == "wrong-numbers"  # not how pre-norm is built
    assert (
        name(over=lambda part, m, t, s: lambda h: part.cross_attention(h, mask=s))
        == "memory-not-used"
    )


def test_a_layer_that_mixes_up_the_lengths_is_found():
    def sized(layer, x, memory, target_mask, source_mask):
        causal = torch.ones(x.size(1), memory.size(1), dtype=torch.bool)
        mask = source_mask & causal[: source_mask.size(-1)]
        assert x.size(1) == memory.size(1)
        return built(
            over=lambda part, m, t, s: lambda h: part.cross_attention(h, m, mask=s)
        )(layer, x, memory, target_mask, mask)

    assert check.decoder_layer(sized).diagnosis == "only-equal-lengths"


def test_the_right_layer_passes_and_a_stub_does_not():
    def stub(layer, x, memory, target_mask, source_mask):
        raise NotImplementedError

    assert check.decoder_layer(built())
    assert check.decoder_layer(stub).diagnosis == "stub"


# --- greedy search ------------------------------------------------------------------


def speak(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) <= max_len:
        best = int(next_logits(torch.tensor([ids]))[0, -1].argmax())
        if best == eos_id:
            break
        ids.append(best)
    return ids[1:]


def loop(choose=None, given=None, ends=True, first=None, gives=None, more=0):
    """A reader's loop, with a line exchanged."""

    def mine(next_logits, *, bos_id, eos_id, max_len):
        ids = [bos_id if first is None else eos_id]
        ended = False
        for _ in range(max_len + more):
            read = given(ids) if given else ids
            logits = next_logits(torch.tensor([read]))
            best = int(choose(logits) if choose else logits[0, -1].argmax())
            if ends and best == eos_id:
                ended = True
                break
            ids.append(best)
        if gives:
            return gives(ids, [eos_id] if ended else [])
        return ids[1:]

    return mine


def endless(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    while True:
        best = int(next_logits(torch.tensor([ids]))[0, -1].argmax())
        ids.append(best)


def asks_twice(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        if next_logits(torch.tensor([ids]))[0, -1].argmax() == eos_id:
            break
        ids.append(int(next_logits(torch.tensor([ids]))[0, -1].argmax()))
    return ids[1:]


def no_limit(next_logits, *, bos_id, eos_id, max_len):
    return speak(next_logits, bos_id=bos_id, eos_id=eos_id, max_len=50)


GREEDY = {
    "never-stops": loop(ends=False),
    "emits-eos": loop(gives=lambda ids, eos: ids[1:] + eos),
    "emits-bos": loop(gives=lambda ids, eos: ids),
    "emits-bos-and-eos": loop(gives=lambda ids, eos: ids + eos),
    "first-position": loop(choose=lambda logits: logits[0, 0].argmax()),
    "position-before-the-last": loop(
        choose=lambda logits: logits[0, max(0, logits.size(1) - 2)].argmax()
    ),
    "argmax-over-positions": loop(choose=lambda logits: logits.argmax(dim=1)[0, -1]),
    "only-the-last-piece": loop(given=lambda ids: ids[-1:]),
    "nothing-is-appended": loop(given=lambda ids: ids[:1]),
    "starts-with-eos": loop(first="eos"),
    "lowest": loop(choose=lambda logits: logits[0, -1].argmin()),
    "one-too-many": loop(more=1),
    "one-too-few": loop(more=-1),
    "not-an-id": loop(choose=lambda logits: logits[0].argmax()),
    "not-a-batch": lambda next_logits, *, bos_id, eos_id, max_len: next_logits(
        torch.tensor([bos_id])
    ),
    "endless": endless,
    "max-len-ignored": no_limit,
    "too-many-calls": asks_twice,
    "not-a-list": lambda next_logits, *, bos_id, eos_id, max_len: "ids",
    "wrong-pieces": lambda next_logits, *, bos_id, eos_id, max_len: [3],
    "returns-nothing": lambda next_logits, *, bos_id, eos_id, max_len: None,
}


@pytest.mark.parametrize("name", GREEDY)
def test_a_wrong_greedy_search_is_called_by_its_name(name):
    result = check.greedy(GREEDY[name])
    assert not result
    assert result.diagnosis == name, result.message


def test_every_known_wrong_greedy_search_is_made_above():
    assert set(_greedy.GREEDY) <= {*GREEDY, *diagnoses("greedy")}


def test_right_greedy_searches_pass():
    assert check.greedy(speak)
    assert check.greedy(loop())
