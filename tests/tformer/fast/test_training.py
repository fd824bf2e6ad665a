"""Training by oneDNN's products: the same numbers as by PyTorch's usual ones."""

import platform

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tformer import Transformer
from tformer.config import TransformerConfig
from tformer.fast import products, training
from tformer.loss import projected_cross_entropy

CONFIG = TransformerConfig(
    vocab_size=3000,
    d_model=128,
    n_heads=4,
    d_ff=512,
    n_encoder_layers=1,
    n_decoder_layers=1,
    dropout=0.0,
)
N_ROWS = 12 * 30
HAS_ONEDNN = products.works(products.by_onednn)  # else all is as usual


class Counted(TorchDispatchMode):
    """Counts oneDNN's products."""

    def __init__(self):
        super().__init__()
        self.n = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.n += "mkldnn" in str(function)
        return function(*args, **kwargs or {})


def lesson(model, inside=None):
    """The loss of a batch, all gradients, and how many products oneDNN computed."""
    torch.manual_seed(1)
    source, target, labels = torch.randint(4, 3000, (3, 12, 30))
    labels[:, 25:] = model.config.pad_id
    model.zero_grad()
    entered = training.faster_products(model, N_ROWS) if inside is None else inside
    with Counted() as counted:
        with entered():
            hidden = model.hidden(source, target)
            table = model.output_embedding.weight
            loss = projected_cross_entropy(hidden, table, labels, pad_id=0)
        loss.backward()
    gradients = {name: each.grad for name, each in model.named_parameters()}
    return loss.detach(), gradients, counted.n


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Transformer(CONFIG)


def test_loss_and_gradients_are_those_of_the_usual_products(model, monkeypatch):
    loss, gradients, n = lesson(model)
    # Of each layer three, and three of each piece of the loss.
    assert n > 30 if HAS_ONEDNN else n == 0
    monkeypatch.setattr(training, "works", lambda prepare: False)
    usual, expected, none = lesson(model)
    assert none == 0
    torch.testing.assert_close(loss, usual, rtol=1e-6, atol=0)
    for name, each in expected.items():
        torch.testing.assert_close(gradients[name], each, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("frozen", ["input", "weight"])
def test_a_layer_of_any_kind_has_its_gradients(bias, frozen):
    layer = nn.Linear(256, 128, bias=bias)
    x = torch.randn(4, 50, 256).transpose(0, 1).requires_grad_(frozen != "input")
    layer.weight.requires_grad_(frozen != "weight")
    outer = torch.randn(50, 4, 128)
    wanted = [each for each in (x, *layer.parameters()) if each.requires_grad]
    expected = torch.autograd.grad(layer(x), wanted, outer)
    bare = F.linear(x, layer.weight)
    with training.faster_products(layer, 1000)():
        torch.testing.assert_close(F.linear(x, layer.weight), bare)
    with training.faster_products(layer, 1000)(), Counted() as counted:
        found = torch.autograd.grad(layer(x), wanted, outer)
    assert counted.n == (2 if HAS_ONEDNN else 0)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="elsewhere PyTorch may be built without oneDNN",
)
def test_onednn_is_where_it_is_to_help():
    assert HAS_ONEDNN


def test_what_onednn_does_not_compute_is_left_as_it_is(model):
    always = training._ByOneDnn
    assert lesson(model.double(), always)[2] == 0
    model.float()
    x, row = torch.randn(4096, 128), torch.randn(128)
    layer = model.encoder.layers[0].feed_forward.expand
    with always(), Counted() as counted:
        for run in (
            lambda: layer(row),
            lambda: layer(x[:2]),
            lambda: F.linear(input=x, weight=layer.weight),
            lambda: torch.func.vmap(layer)(x),
        ):
            run()
        with torch.autocast("cpu", torch.bfloat16):
            assert layer(x).dtype == torch.bfloat16
    assert counted.n == 0


def test_a_small_model_is_not_slowed_down(model):
    assert training.faster_products(model, 10)().__class__.__name__ == "nullcontext"
    meta = nn.Linear(4096, 4096, device="meta")
    assert training.faster_products(meta, 4096)().__class__.__name__ == "nullcontext"
