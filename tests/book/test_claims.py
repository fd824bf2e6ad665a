"""Every claim's check finds its evidence, and notices a change the wrong way.

``fails_if`` in ``book/tformer_book/claims/claims.toml`` says which change; `CHANGES`
makes it.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
from collections import Counter
from functools import partial
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from docutils.nodes import make_id
from torch import nn

from tformer import decode
from tformer.attention import attention
from tformer.data import batches
from tformer.data.batches import Batch
from tformer.decoder import DecoderLayer
from tformer.encoder import Encoder
from tformer.loss import cross_entropy
from tformer.model import Transformer
from tformer.positions import sinusoids
from tformer_book import claims
from tformer_book.claims import Unproven, all_claims
from tformer_book.press.chapters import chapter, read, source, tags
from tformer_book.press.labels import LESSON

CELLS = read(chapter("claims"))["cells"]
CODE = {cell["id"]: source(cell) for cell in CELLS if cell["cell_type"] == "code"}
TEXT = {cell["id"]: source(cell) for cell in CELLS if cell["cell_type"] == "markdown"}
NUMBERS = [claim.number for claim in all_claims()]

# What is changed: a part of the package, or the input in a cell.

# Positions


def different_angles(length, d_model, *, base=10_000.0):
    column = torch.arange(1, d_model + 1)
    angle = torch.arange(length)[:, None] / base ** (column / d_model)
    return torch.where(column % 2 == 1, angle.cos(), angle.sin())


def dimensions_counted(length, d_model, *, base=10_000.0):
    column = torch.arange(d_model)
    angle = torch.arange(length)[:, None] / base ** (2 * column / d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


def without_positions(self, source_ids, source_mask=None):
    return self.encoder(self.source_embedding(source_ids), source_mask)


encode_as_it_is = Encoder.forward


def with_positions(self, x, source_mask=None):
    return encode_as_it_is(self, x + sinusoids(*x.shape[-2:]), source_mask)


def unscaled(self, ids):
    return self.table(ids)


# Attention, masks, heads


def distances_count(query, key, value, mask):
    i, j = torch.arange(query.size(-2)), torch.arange(key.size(-2))
    bias = -(i[:, None] - j).abs().to(query.dtype)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)


def sees_the_next(length, *, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril(1)


def hides_nothing(length, *, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device)


def no_padding(ids, pad_id):
    return torch.ones_like(ids, dtype=torch.bool)[:, None, None, :]


def hides_queries(ids, pad_id):
    real = ids != pad_id
    return (real[:, None, :] & real[:, :, None])[:, None]


layer_as_it_is = DecoderLayer.forward


def row_for_each_key(self, x, memory, *masks):
    return layer_as_it_is(self, memory, x)


def asks_with_its_input(
    self, x, memory, target_mask=None, source_mask=None, cache=None
):
    came = x
    x = self.self_attention_residual(
        x, lambda h: self.self_attention(h, mask=target_mask)
    )
    x = self.cross_attention_residual(
        x, lambda h: self.cross_attention(came, memory, mask=source_mask)
    )
    return self.feed_forward_residual(x, self.feed_forward)


def as_many_as_queries(query, key, value, *, mask=None):
    output, weights = attention(query, key, value, mask=mask)
    return output[: len(query)], weights[: len(query)]


def keys_in_rows(query, key, value, *, mask=None):
    if mask is not None and mask.dim() == 2:
        mask = mask.T
    return attention(query, key, value, mask=mask)


def the_same_for_all(query, key, value, *, mask=None):
    return attention(0 * query, key, value, mask=mask)


def the_best_key(query, key, value, *, mask=None):
    return attention(1e6 * query, key, value, mask=mask)


def split_by_view(self, x):
    return x.reshape(x.size(0), self.n_heads, x.size(1), -1)


def not_moved_back(self, x):
    return x.reshape(x.size(0), x.size(2), -1)


def not_projected(self, key, value=None):
    return self.split_heads(key), self.split_heads(key)


decode_as_it_is = Transformer.decode


def reads_again(self, target_ids, memory, source_mask, cache=None):
    self.encoder(memory, source_mask)
    return decode_as_it_is(self, target_ids, memory, source_mask, cache)


# Blocks


def epsilon_outside(x, gain, bias, epsilon=1e-5):
    x = x - x.mean(-1, keepdim=True)
    return gain * x / (x.square().mean(-1, keepdim=True).sqrt() + epsilon) + bias


def over_the_batch(self, x):
    x = x - x.mean(dim=0)
    return self.gain * x / (x.square().mean(dim=0) + self.epsilon).sqrt() + self.bias


def mixes(self, x):
    return self.contract(self.activation(self.expand(x.mean(1, keepdim=True) + x)))


def no_addition(self, x, source_mask=None):
    x = self.self_attention_residual(
        x, lambda h: self.self_attention(h, mask=source_mask)
    )
    return self.feed_forward(self.feed_forward_residual.norm(x))


class Forgetful(nn.RNN):
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        nn.init.zeros_(self.weight_hh_l0)


# Data, training, decoding


def labels_as_input(*given, **options):
    return [
        Batch(each.source_ids, each.labels, each.labels, each.n_tokens, each.n_labels)
        for each in batches(*given, **options)
    ]


def exchanged(*given, **options):
    return [
        Batch(
            each.source_ids, each.labels, each.target_ids, each.n_tokens, each.n_labels
        )
        for each in batches(*given, **options)
    ]


def counts_padding(logits, labels, *, pad_id, smoothing=0.0):
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def always_smoothed(logits, labels, *, pad_id, smoothing=0.0):
    return cross_entropy(logits, labels, pad_id=pad_id, smoothing=0.1)


def no_warm_up(step, *, d_model, warmup_steps, scale=1.0):
    return scale * d_model**-0.5 * step**-0.5


def a_sentence_is_a_word(sentences):
    return Counter(each.replace(" ", "·") for each in sentences)


seeds = itertools.count()


def draws(model, source_ids):
    return decode.sample(model, source_ids, seed=next(seeds))


def from_one_pass(model, source_ids):
    begin = torch.full((1, 13), model.config.bos_id)
    return model(source_ids, begin).argmax(-1).tolist()


def part(name, replacement):
    """Replace a part of the package, or of PyTorch."""
    return ("", ""), partial(mock.patch, name, replacement)


def edit(old, new):
    """Change a piece of a cell: an input, or a number that the paper gives."""
    return (old, new), contextlib.nullcontext


HEADS = "tformer.attention.MultiHeadAttention"
CHANGES = {
    1: part("tformer.positions.sinusoids", partial(sinusoids, base=1_000.0)),
    2: part("tformer.positions.sinusoids", different_angles),
    3: part("tformer.positions.sinusoids", dimensions_counted),
    4: part("tformer.positions.sinusoids", partial(sinusoids, base=1_000.0)),
    5: edit('"learned positions": (4.92, 25.7)', '"learned positions": (4.92, 24.9)'),
    6: part("tformer.attention.fused_attention", distances_count),
    7: part("tformer.model.Transformer.encode", without_positions),
    8: part("tformer.encoder.Encoder.forward", with_positions),
    9: edit("nearest(2 * math.pi / 8)", "nearest(1.0)"),
    10: part("tformer.positions.sinusoids", different_angles),
    11: part("tformer.embedding.ScaledEmbedding.forward", unscaled),
    12: part("tformer.masks.causal_mask", sees_the_next),
    13: part("tformer.decoder.DecoderLayer.forward", row_for_each_key),
    14: part("tformer.masks.causal_mask", hides_nothing),
    15: part("tformer.masks.causal_mask", hides_nothing),
    16: part("tformer.data.batches", labels_as_input),
    17: edit("torch.randn(5, 12)", "torch.randn(5, 5)"),
    18: edit("apart(-math.inf)", "apart(-5.0)"),
    19: part("tformer.masks.padding_mask", no_padding),
    20: part("tformer.masks.causal_mask", sees_the_next),
    21: part("tformer.masks.padding_mask", hides_queries),
    22: part("tformer.masks.causal_mask", sees_the_next),
    23: part("tformer.attention.attention", as_many_as_queries),
    24: edit("torch.float16", "torch.bfloat16"),
    25: part("tformer.attention.attention", keys_in_rows),
    26: part("tformer.attention.attention", the_same_for_all),
    27: edit(
        "torch.randn(12, 12), torch.randn(12, 12)", "torch.eye(12), torch.eye(12)"
    ),
    28: edit("n_heads=4", "n_heads=1"),
    29: part(f"{HEADS}.merge_heads", not_moved_back),
    30: part(f"{HEADS}.split_heads", split_by_view),
    31: edit("return (q * k).sum(-1)", "return (q * k).sum(-1) / math.sqrt(d)"),
    32: edit("[9.31, 0.0]", "[0.0, 0.0]"),
    33: edit("to_query(x) * to_key(y)", "x * y"),
    34: edit('"base": (4.92, 25.8)', '"base": (4.92, 25.0)'),
    35: part(f"{HEADS}.project_memory", not_projected),
    36: part("tformer.model.Transformer.decode", reads_again),
    37: part("tformer.attention.attention", the_best_key),
    38: part("tformer.decoder.DecoderLayer.forward", asks_with_its_input),
    39: part("tformer.attention.fused_attention", distances_count),
    40: part("tformer.norm.layer_norm", epsilon_outside),
    41: part("tformer.norm.LayerNorm.forward", lambda self, x: x),
    42: part("tformer.norm.LayerNorm.forward", over_the_batch),
    43: part("tformer.norm.LayerNorm.forward", over_the_batch),
    44: part("tformer.feedforward.FeedForward.forward", mixes),
    45: edit('"d_ff 4096": (4.75, 26.2)', '"d_ff 4096": (4.75, 25.6)'),
    46: part("tformer.encoder.EncoderLayer.forward", no_addition),
    47: part("torch.nn.RNN", Forgetful),
    48: part("tformer.data.batches", exchanged),
    49: part("tformer.loss.cross_entropy", counts_padding),
    50: part("tformer.loss.cross_entropy", counts_padding),
    51: part("tformer.schedule.inverse_square_root", no_warm_up),
    52: part("tformer.tokenization.byte_pairs._count_words", a_sentence_is_a_word),
    53: part("tformer.decode.greedy", draws),
    54: edit("[fate < 0.8,", "[fate < 1.0,"),
    55: edit('{"Hund": 0.9, "Mann": 0.1}', '{"Hund": 0.5, "Mann": 0.5}'),
    56: part("tformer.loss.cross_entropy", always_smoothed),
    57: part("tformer.decode.greedy", from_one_pass),
    58: edit('tokenize="char"', 'tokenize="13a"'),
    59: edit("unknown(learn + held_out, held_out)", "unknown(learn, held_out)"),
    60: edit('"smoothing 0": (4.67, 25.3)', '"smoothing 0": (4.67, 26.0)'),
}


def names(tree, kind):
    """The names that some code stores or loads."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, kind)
    } | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def cells_of(number):
    """The imports, what is shared and used, and the claim's own cells."""
    own = [name for name in CODE if re.match(rf"claim-{number:02}\b", name)]
    used = names(ast.parse("\n".join(CODE[name] for name in own)), ast.Load)
    shared = [name for name in CODE if name.startswith("given-")]
    shared = [n for n in shared if names(ast.parse(CODE[n]), ast.Store) & used]
    return ["imports", *shared, *own]


def check(number, old="", new=""):
    """Run a claim's cells in a fresh namespace, with a piece of them replaced."""
    code = [CODE[name] for name in cells_of(number)]
    if old:
        assert sum(each.count(old) for each in code) == 1, old
        code = [each.replace(old, new) for each in code]
    space = {}
    for each in code:
        exec(compile(each, f"claim {number}", "exec"), space)


@pytest.fixture(autouse=True)
def settings_restored():
    """The chapter switches gradients off, and takes one thread."""
    gradients, threads = torch.is_grad_enabled(), torch.get_num_threads()
    yield
    torch.set_grad_enabled(gradients)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_check_finds_what_its_verdict_rests_on(number):
    check(number)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_check_fails_once_the_code_under_test_is_changed(number):
    edited, changed = CHANGES[number]
    with changed(), pytest.raises(Unproven, match=f"claim {number}:"):
        check(number, *edited)


def test_there_are_sixty_claims_in_order_and_each_says_what_makes_it_fail():
    assert NUMBERS == list(range(1, 61)) == sorted(CHANGES)
    assert all(claim.fails_if for claim in all_claims())


def test_each_claim_has_its_section_where_the_list_leads():
    sections = [
        cell for name, cell in TEXT.items() if re.fullmatch(r"claim-\d\d-text", name)
    ]
    headings = [text.splitlines()[0].removeprefix("### ") for text in sections]
    assert headings == [claim.heading for claim in all_claims()]
    anchors = [claim.anchor for claim in all_claims()]
    assert anchors == [make_id(heading) for heading in headings]
    assert len(set(anchors)) == 60


def test_each_claim_stands_under_its_topic():
    topic, found = "", []
    for text in TEXT.values():
        if text.startswith("## "):
            topic = text.splitlines()[0].removeprefix("## ")
        if text.startswith("### "):
            found.append(topic)
    assert found == [claim.topic for claim in all_claims()]
    assert set(found) == set(claims.TOPICS)


def test_each_claim_leads_to_a_chapter():
    for name, text in TEXT.items():
        if re.fullmatch(r"claim-\d\d-text", name):
            last = text.splitlines()[-1]
            assert re.match(r"→ \[[^]]+\]\(\d\d-[a-z-]+\.ipynb", last), name


def test_a_check_is_short_and_decides_with_the_declared_word():
    for claim in all_claims():
        name = f"claim-{claim.number:02}"
        lines = [line for line in CODE[name].splitlines() if line.strip()]
        assert len(lines) <= 12, name
        assert f'shows = verdict({claim.number}, "{claim.verdict}")' in lines, name
    given = [cell for cell in CELLS if cell["id"].endswith("-given")]
    assert not any(LESSON in tags(cell) for cell in given)
