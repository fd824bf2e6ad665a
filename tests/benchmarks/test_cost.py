"""The cost model counts what PyTorch counts."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import cost, growth
from tformer import Transformer, TransformerConfig

SMALL = TransformerConfig(
    vocab_size=50,
    d_model=16,
    n_heads=4,
    d_ff=24,
    n_encoder_layers=2,
    n_decoder_layers=3,
)


def counted(call) -> int:
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


@pytest.fixture
def model():
    """Watched, so that attention is two products that PyTorch's counter knows."""
    model = Transformer(SMALL).eval()
    for name, module in model.named_modules():
        if name.endswith("attention.weights"):
            module.register_forward_hook(lambda m, inputs, output: output)
    return model


@torch.no_grad()
@pytest.mark.parametrize(("rows", "source", "target"), [(1, 5, 7), (3, 9, 4)])
def test_a_forward_pass_costs_what_pytorch_counts(model, rows, source, target):
    source_ids = torch.randint(4, 50, (rows, source))
    target_ids = torch.randint(4, 50, (rows, target))
    expected = counted(lambda: model(source_ids, target_ids))
    # A watched layer multiplies weights and values once to look, and once to go on.
    twice = 2 * rows * SMALL.d_model * (2 * source**2 + 3 * target * (target + source))
    step = cost.training_step(SMALL, rows, source, target, rows * target)
    assert step == 3 * (expected - twice)


def test_a_wider_beam_pays_for_its_hypotheses_but_not_for_its_sources():
    one, five = (cost.search(SMALL, 2, 6, 8, width) for width in (1, 5))
    reading = cost.encoder(SMALL, 2, 6) + cost.memory(SMALL, 2, 6)
    assert five - reading == 5 * (one - reading)


@pytest.mark.parametrize("size", growth.SWEEPS)
def test_more_of_anything_costs_more(size):
    points = [
        growth.Point(**{**growth.USUAL, size: value}) for value in growth.SWEEPS[size]
    ]
    for kind in growth.KINDS:
        costs = [point.operations(kind) for point in points]
        assert costs == sorted(set(costs))


def test_growth_is_measured_written_and_drawn(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "benchmarks").mkdir()
    arguments = ["--rotations", "1", "--only", "batch", "length", "--points", "2"]
    growth.main([*arguments, "--folder", str(tmp_path)])
    text = (tmp_path / "results" / "bench-growth.json").read_text()
    assert '"predicted_seconds"' in text
    assert "<svg" in (tmp_path / "benchmarks" / "growth.svg").read_text()
