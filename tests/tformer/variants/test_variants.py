"""What came after the paper: each part against an oracle, and models of one stack."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tformer import TransformerConfig, masks
from tformer.attention import MultiHeadAttention
from tformer.variants import (
    GroupedAttention,
    OneStack,
    RMSNorm,
    RotaryAttention,
    SwiGLU,
    grouped_attention,
    mask_pieces,
    rms_norm,
    rotate_pairs,
)

TIGHT = {"rtol": 0, "atol": 1e-10}
MASK = 12


def doubles(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


# --- RMSNorm ------------------------------------------------------------------------


def test_rms_norm_by_hand():
    """The mean of 3² and 4² is 12.5."""
    x, gain = torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0])
    expected = torch.tensor([3 / 12.5**0.5, 8 / 12.5**0.5])
    assert_close(rms_norm(x, gain, epsilon=0.0), expected)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5])
def test_rms_norm_is_torchs(epsilon):
    x, norm = doubles(2, 3, 8), RMSNorm(8, epsilon).double()
    theirs = torch.nn.RMSNorm(8, eps=epsilon, dtype=torch.float64)
    with torch.no_grad():
        norm.gain.copy_(doubles(8))
        theirs.weight.copy_(norm.gain)
    assert_close(norm(x), theirs(x), **TIGHT)


def test_rms_norm_keeps_the_mean_and_forgets_the_length():
    x, one = doubles(5, 8) + 3, torch.ones(8).double()
    normed = rms_norm(x, one, epsilon=0.0)
    assert (normed.mean(-1) > 0.5).all()
    assert_close(normed.norm(dim=-1), torch.full((5,), 8.0).double().sqrt(), **TIGHT)
    assert_close(rms_norm(7 * x, one, epsilon=0.0), normed, **TIGHT)


# --- rotary positions ---------------------------------------------------------------


def as_complex(x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())


@pytest.mark.parametrize("first", [0, 5])
def test_a_turn_is_a_product_of_complex_numbers(first):
    x = doubles(2, 3, 7, 8)
    speed = 10_000.0 ** -(torch.arange(4, dtype=torch.float64) / 4)
    angle = torch.arange(first, first + 7)[:, None] * speed
    turned = as_complex(x) * torch.polar(torch.ones_like(angle), angle)
    wanted = torch.view_as_real(turned).flatten(-2)
    assert_close(rotate_pairs(x, first), wanted, rtol=0, atol=1e-6)


def test_rotary_scores_depend_on_the_offset_alone():
    query, key = doubles(1, 8).expand(20, 8), doubles(1, 8).expand(20, 8)
    scores = rotate_pairs(query) @ rotate_pairs(key).T
    for offset in range(-19, 20):
        diagonal = scores.diagonal(offset)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=0, atol=1e-6)
    assert scores[5, 3] != pytest.approx(scores[3, 5].item())  # its sign matters


def test_a_turn_keeps_every_length():
    x = doubles(4, 9, 6)
    assert_close(rotate_pairs(x).norm(dim=-1), x.norm(dim=-1), rtol=0, atol=1e-6)


def test_rotary_attention_turns_neither_the_values_nor_the_first_position():
    x, rotary = torch.randn(2, 1, 8), RotaryAttention(8, 2)
    plain = MultiHeadAttention(8, 2)
    plain.load_state_dict(rotary.state_dict())
    assert_close(rotary(x), plain(x))
    longer = torch.randn(2, 5, 8)
    assert not torch.allclose(rotary(longer), plain(longer), atol=1e-3)


# --- SwiGLU -------------------------------------------------------------------------


def test_swiglu_is_its_formula():
    x, part = doubles(2, 3, 6), SwiGLU(6, 12).double()
    gate, wide = x @ part.gate.weight.T, x @ part.expand.weight.T
    wanted = (gate * torch.sigmoid(gate) * wide) @ part.contract.weight.T
    assert_close(part(x), wanted, **TIGHT)


def test_swiglu_has_as_many_weights_as_the_papers_network():
    n = sum(parameter.numel() for parameter in SwiGLU(64, 192).parameters())
    assert n == 2 * 64 * 192


# --- grouped queries ----------------------------------------------------------------


@pytest.mark.parametrize("n_groups", [1, 2, 6])
def test_grouped_attention_is_torchs(n_groups):
    query, mask = doubles(2, 6, 5, 4), masks.causal_mask(5)
    key, value = doubles(2, n_groups, 5, 4), doubles(2, n_groups, 5, 4)
    output, weights = grouped_attention(query, key, value, mask=mask)
    theirs = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, enable_gqa=True
    )
    assert_close(output, theirs, **TIGHT)
    assert weights.shape == (2, 6, 5, 5)


@pytest.mark.parametrize("n_groups", [1, 2])
def test_grouped_heads_are_ordinary_ones_with_repeated_weights(n_groups):
    """And with as many groups as heads nothing is left to repeat."""
    x, memory = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    grouped, plain = GroupedAttention(8, 4, n_groups=n_groups), MultiHeadAttention(8, 4)
    state = grouped.state_dict()
    for name in ("to_key", "to_value"):
        for kind in ("weight", "bias"):
            heads = state[f"{name}.{kind}"].unflatten(0, (n_groups, -1))
            repeated = heads.repeat_interleave(4 // n_groups, dim=0).flatten(0, 1)
            state[f"{name}.{kind}"] = repeated
    plain.load_state_dict(state)
    assert_close(grouped(x), plain(x))
    assert_close(grouped(x, memory), plain(x, memory))


def test_the_projections_that_a_cache_keeps_have_the_groups_heads_only():
    layer = GroupedAttention(8, 4, n_groups=2)
    keys, values = layer.project_memory(torch.randn(3, 5, 8))
    assert keys.shape == values.shape == (3, 2, 5, 2)


# --- masked pieces ------------------------------------------------------------------


@pytest.fixture(scope="module")
def masked():
    """Ids 4 to 11 between specials, and what `mask_pieces` makes of them."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(4, 12, (500, 200), generator=generator)
    ids[:, 0], ids[:, -2], ids[:, -1] = 1, 2, 0
    chance = torch.rand(ids.shape, generator=generator)
    others = torch.randint(4, 12, ids.shape, generator=generator)
    return ids, *mask_pieces(ids, chance, others, mask_id=MASK)


def test_fifteen_percent_are_chosen_and_of_these_80_10_10(masked):
    ids, inputs, labels = masked
    text, chosen = ids >= 4, labels != 0
    assert chosen.sum() / text.sum() == pytest.approx(0.15, abs=0.005)
    hidden = (inputs == MASK)[chosen].double().mean()
    same = (inputs == ids)[chosen].double().mean()
    assert hidden == pytest.approx(0.8, abs=0.01)
    assert same == pytest.approx(0.1 + 0.1 / 8, abs=0.01)  # 1 of 8 is drawn again


def test_what_is_not_chosen_stays_and_has_no_label(masked):
    ids, inputs, labels = masked
    chosen = labels != 0
    assert torch.equal(labels[chosen], ids[chosen])
    assert torch.equal(inputs[~chosen], ids[~chosen])


def test_special_pieces_are_never_chosen(masked):
    ids, inputs, labels = masked
    assert not labels[ids < 4].any()
    assert torch.equal(inputs[ids < 4], ids[ids < 4])


# --- one stack ----------------------------------------------------------------------


def one_stack(causal: bool, **fields: object) -> OneStack:
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_encoder_layers": 3}
    config = TransformerConfig(13, **sizes, dropout=0.0, **fields)
    return OneStack(config, causal=causal).eval()


def sensitivity(model: OneStack, length: int = 6) -> torch.Tensor:
    """(T, T) how far output i moves with input j, from the Jacobian."""
    ids = torch.full((1, length), 5)

    def run(x: torch.Tensor) -> torch.Tensor:
        model.embedding.forward = lambda ids: x
        return model.hidden(ids)[0]

    x = torch.randn(1, length, model.config.d_model)
    jacobian = torch.autograd.functional.jacobian(run, x)  # (T, D, 1, T, D)
    return jacobian.abs().sum(dim=(1, 2, 4))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_causal_stack_reads_nothing_that_comes_later(norm):
    moved = sensitivity(one_stack(causal=True, norm=norm))
    assert (moved.triu(1) == 0).all()
    assert (moved.tril().diagonal() > 0).all() and moved[-1].min() > 0


def test_a_stack_without_a_causal_mask_reads_everything():
    assert (sensitivity(one_stack(causal=False)) > 0).all()


@pytest.mark.parametrize("causal", [False, True])
def test_padding_changes_nothing(causal, random_ids):
    model, ids = one_stack(causal), random_ids([7])
    alone = model(ids)
    padded = model(torch.cat([ids, torch.zeros_like(ids)], dim=1))
    assert_close(padded[:, :7], alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_one_stack_learns_a_batch_by_heart(causal, random_ids):
    """Next pieces for the one, hidden pieces for the other."""
    ids = F.pad(random_ids([6, 8, 8, 5], vocab_size=12), (1, 0), value=1)
    if causal:
        inputs, labels = ids[:, :-1], ids[:, 1:]
    else:
        inputs, labels = ids.clone(), torch.zeros_like(ids)
        inputs[:, 3], labels[:, 3] = MASK, ids[:, 3]
    model = one_stack(causal, norm="pre").train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        wanted = labels.flatten()
        loss = F.cross_entropy(model(inputs).flatten(0, 1), wanted, ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = model(inputs).argmax(-1) == labels
    assert right[labels != 0].double().mean() > 0.8  # first pieces cannot be known
    assert loss < 1.0
