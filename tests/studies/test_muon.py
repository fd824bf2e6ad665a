"""Muon for matrices that move together: the same steps as PyTorch's, one by one."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from studies.muon import Muon, MuonLoop, orthogonal
from tformer import TransformerConfig, data
from tformer.common.recipe import Recipe
from tformer.tokenization import Tokenizer
from tformer.train.ranks import Ranks

SHAPES = [(16, 16), (16, 16), (48, 16), (16, 48), (16,), (50, 16)]
N_MATRICES = 4  # the last of two axes is a table of pieces: it is left to Adam
ADAM = {"lr": 0.01, "betas": (0.9, 0.98), "eps": 1e-9}


def parameters():
    torch.manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]


def test_it_moves_as_pytorchs_muon_and_adam_do():
    ours, theirs = parameters(), parameters()
    both = Muon(ours, ours[:N_MATRICES], weight_decay=0.3, **ADAM)
    settings = {"lr": 0.01, "momentum": 0.95, "weight_decay": 0.3}
    muon = torch.optim.Muon(
        theirs[:N_MATRICES], adjust_lr_fn="match_rms_adamw", **settings
    )
    adam = torch.optim.Adam(theirs[N_MATRICES:], **ADAM)
    for _ in range(5):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        for optimizer in (both, muon, adam):
            optimizer.step()
    start = parameters()
    for one, other, before in zip(ours, theirs, start, strict=True):
        assert not torch.equal(other, before)
        # bfloat16 sums in another order where it takes several matrices at once
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


def test_all_directions_of_a_step_are_about_equally_long():
    torch.manual_seed(0)
    several = torch.randn(3, 16, 16) * torch.tensor([1e-3, 1.0, 1e3]).view(3, 1, 1)
    lengths = torch.linalg.svdvals(orthogonal(several).float())
    assert lengths.mean().item() == pytest.approx(1, abs=0.15)
    assert lengths.max() < 1.3
    assert torch.linalg.svdvals(several[1]).max() > 5


def test_gradients_come_before_the_step():
    whole = parameters()
    with pytest.raises(ValueError, match="closure"):
        Muon(whole, whole[:N_MATRICES]).step(partial(float, 1))


def test_a_loop_moves_every_parameter_and_matrices_by_muon():
    corpus = data.load("grammar")
    sentences = [each for pair in corpus.train[:500] for each in pair]
    tokenizer = Tokenizer.train(sentences, 350)
    config = TransformerConfig(
        vocab_size=350, d_model=16, n_heads=2, d_ff=32, n_encoder_layers=1,
        n_decoder_layers=1, max_len=64,
    )  # fmt: skip
    recipe = Recipe(max_tokens=512, warmup_steps=2, precision="fp32")
    loop = MuonLoop(config, corpus, recipe, tokenizer, Ranks(torch.device("cpu")))
    before = {name: each.clone() for name, each in loop.model.named_parameters()}
    loop.step(next(loop._feed()))
    by_muon = {id(each) for alike in loop.optimizer.alike.values() for each in alike}
    assert len(by_muon) == 3 * 4 + 2 * 2  # three attentions, two feed-forward layers
    for name, each in loop.model.named_parameters():
        assert not torch.equal(each, before[name]), name
        assert (id(each) in by_muon) == (each.dim() == 2 and "embed" not in name)
        assert ("momentum" in loop.optimizer.state[each]) == (id(each) in by_muon)
