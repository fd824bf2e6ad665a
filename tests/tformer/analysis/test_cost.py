"""The cost model counts what PyTorch counts, and the bytes that it keeps."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tformer import Transformer, TransformerConfig, decode
from tformer.analysis import cost, trace
from tformer.attention import MultiHeadAttention
from tformer.loss import cross_entropy, projected_cross_entropy

SMALL = TransformerConfig(50, 16, 4, 24, 2, 3)
LARGER = TransformerConfig(60, 96, 6, 128, 3, 1)


def counted(call) -> int:
    """What PyTorch counts, with attention as two products that its counter knows."""
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        call()
    return counter.get_total_flops()


def ids(config, rows, length):
    return torch.randint(4, config.vocab_size, (rows, length))


@torch.no_grad()
@pytest.mark.parametrize("config", [SMALL, LARGER])
@pytest.mark.parametrize(("rows", "source", "target"), [(1, 5, 7), (3, 9, 4)])
def test_a_forward_pass_costs_what_pytorch_counts(config, rows, source, target):
    model = Transformer(config).eval()
    source_ids, target_ids = ids(config, rows, source), ids(config, rows, target)
    expected = counted(lambda: model(source_ids, target_ids))
    assert cost.forward(config, rows, source, target, rows * target) == expected


@pytest.mark.parametrize("config", [SMALL, LARGER])
def test_the_backward_pass_costs_twice_the_forward_pass(config):
    model = Transformer(config)
    source, target = ids(config, 2, 6), ids(config, 2, 9)
    expected = counted(
        lambda: cross_entropy(model(source, target), target, pad_id=0).backward()
    )
    assert cost.training_step(config, 2, 6, 9, 18) == expected


@torch.no_grad()
def test_a_search_costs_what_pytorch_counts():
    """Greedy, one sentence, as long as it may get: an end is never the best piece."""
    model = Transformer(SMALL).eval()
    never_ends = torch.zeros(50)
    never_ends[SMALL.eos_id] = -torch.inf
    free = model.unembed
    model.unembed = lambda hidden: free(hidden) + never_ends
    source = ids(SMALL, 1, 6)
    expected = counted(lambda: decode.greedy(model, source, max_len=8))
    assert cost.search(SMALL, 1, 6, 8) == expected


@torch.no_grad()
def test_a_recurrent_layer_and_an_attention_cost_what_pytorch_counts():
    attention, gru = MultiHeadAttention(32, 4).eval(), nn.GRUCell(32, 32)
    x = torch.randn(1, 11, 32)
    assert cost.attention_layer(32, 11) == counted(lambda: attention(x, x))
    each = counted(lambda: gru(x[0], x[0]))  # PyTorch does not look into nn.GRU
    assert cost.recurrent_layer(32, 11) == each


def test_attention_and_a_gru_cost_the_same_where_the_length_is_the_width():
    for d in (8, 64, 512):
        assert cost.attention_layer(d, d) == cost.recurrent_layer(d, d)
        assert cost.attention_layer(d, d - 1) < cost.recurrent_layer(d, d - 1)
        assert cost.attention_layer(d, d + 1) > cost.recurrent_layer(d, d + 1)


def test_a_wider_beam_pays_for_its_hypotheses_but_not_for_its_sources():
    one, five = (cost.search(SMALL, 2, 6, 8, width) for width in (1, 5))
    reading = cost.encoder(SMALL, 2, 6) + cost.memory(SMALL, 2, 6)
    assert five - reading == 5 * (one - reading)


def bytes_of(tensors) -> int:
    return sum(each.numel() * each.element_size() for each in tensors)


def test_weights_gradients_and_moments_take_the_bytes_that_pytorch_holds():
    model = Transformer(LARGER)
    adam = torch.optim.Adam(model.parameters())
    model(ids(LARGER, 2, 5), ids(LARGER, 2, 6)).sum().backward()
    adam.step()
    found = cost.training_memory(LARGER, 2, 5, 6)
    parameters = list(model.parameters())
    assert found.weights == bytes_of(parameters)
    assert found.gradients == bytes_of(each.grad for each in parameters)
    moments = [state[name] for state in adam.state.values() for name in state]
    assert found.moments == bytes_of(each for each in moments if each.dim())
    tables = bytes_of(model.buffers())
    held = found.weights + found.gradients + found.moments + tables
    assert cost.bytes_to_train(LARGER) == held


def kept(model, source, target) -> int:
    """Bytes that the backward pass finds, the gradient of the table aside."""
    table = model.output_embedding.weight
    with trace.kept_for_backward(model) as found:
        hidden = model.hidden(source, target)
        projected_cross_entropy(hidden, table, target, pad_id=0)
    return found.n_bytes - bytes_of([table])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    ("sizes", "rows", "source", "target"),
    [
        ({"d_model": 64, "d_ff": 256, "n_heads": 4}, 8, 20, 30),
        ({"d_model": 192, "d_ff": 384, "n_heads": 6}, 4, 64, 40),
        ({"d_model": 96, "d_ff": 384, "n_heads": 4, "n_encoder_layers": 1}, 3, 90, 150),
    ],
)
def test_activations_take_the_bytes_that_are_kept(norm, sizes, rows, source, target):
    config = TransformerConfig(vocab_size=100, norm=norm, **sizes)
    model = Transformer(config).train()
    expected = kept(model, ids(config, rows, source), ids(config, rows, target))
    found = cost.training_memory(config, rows, source, target).activations
    assert found == pytest.approx(expected, rel=0.005)  # ids and masks are left out
    assert found <= expected


@torch.no_grad()
@pytest.mark.parametrize("target", [1, 9])
def test_the_cache_takes_the_bytes_of_its_keys_and_values(target):
    model = Transformer(SMALL).eval()
    source = ids(SMALL, 3, 7)
    cache, memory = model.new_cache(), model.encode(source)
    mask = (source != 0)[:, None, None]
    for column in ids(SMALL, 3, target).split(1, dim=1):
        model.decode(column, memory, mask, cache)
    held = [t for layer in cache.layers for t in (*layer.target, *layer.memory)]
    assert cost.cache_bytes(SMALL, 3, 7, target) == bytes_of(held)
    assert cost.cache_bytes(SMALL, 3, 7, target, 2) == bytes_of(held) / 2


def test_the_cost_model_needs_no_torch():
    code = (
        "import sys; import tformer.analysis.cost; "
        "sys.exit(any(name.split('.')[0] == 'torch' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
