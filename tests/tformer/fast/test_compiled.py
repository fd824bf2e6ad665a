"""When the flat form is used, when not, and when it is made anew."""

from __future__ import annotations

import contextlib
import copy
import gc
import weakref
from unittest import mock

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from tformer import Transformer, decode
from tformer.analysis import trace
from tformer.attention import Probe
from tformer.fast import products
from tformer.fast.compiled import flat_form
from tformer.masks import source_mask
from tformer.norm import LayerNorm


@pytest.fixture
def model(make_model):
    return make_model(norm="pre", max_len=32)


@pytest.fixture
def source_ids(random_ids):
    return random_ids([5, 2, 7])


def form(model, precision="float32"):
    with torch.inference_mode():
        return flat_form(model, precision)


def logits(decoder, source_ids):
    """Of the first step, by a model or its flat form."""
    with torch.inference_mode():
        mask, cache = source_mask(source_ids, 0), decoder.new_cache()
        start = torch.full((len(source_ids), 1), 1)
        memory = decoder.encode(source_ids)
        return decoder.unembed(decoder.decode(start, memory, mask, cache)[:, -1])


# What has no flat form: how to get there, and what is said.


class OwnNorm(LayerNorm):
    pass


class OwnTransformer(Transformer):
    pass


class OwnTensor(torch.Tensor):
    pass


def set_to(path, make):
    """Put something in place of a part."""

    def change(model):
        parent, _, name = path.rpartition(".")
        setattr(model.get_submodule(parent), name, make().eval())

    return change


def own_class(model):
    model.__class__ = OwnTransformer


def hooked(model):
    model.decoder.layers[1].register_forward_hook(lambda *given: None)


def hooked_before(model):
    model.encoder.layers[0].feed_forward.register_forward_pre_hook(lambda *x: None)


def replaced_method(model):
    model.unembed = lambda hidden: hidden


def compiled_in_place(model):
    model.decoder.layers[0].compile()


def compiled_part(model):
    model.decoder.layers[0] = torch.compile(model.decoder.layers[0])


def in_training(model):
    model.decoder.layers[1].feed_forward_residual.dropout.train()


def one_part_in(dtype):
    return lambda model: model.decoder.layers[1].feed_forward.to(dtype)


def own_tensor(model):
    gain = model.decoder.final_norm.gain.detach().as_subclass(OwnTensor)
    model.decoder.final_norm.gain = nn.Parameter(gain)


def without_one_bias(model):
    model.decoder.layers[0].self_attention.to_key.bias = None


def turned(model):
    weight = model.decoder.layers[0].feed_forward.expand.weight
    weight.data = weight.data.T.contiguous().T


def in_inference_mode(model):
    with torch.inference_mode():
        model.decoder.final_norm.gain = nn.Parameter(torch.ones(8))


def parametrized(model):
    part = model.decoder.layers[0].feed_forward.expand
    parametrize.register_parametrization(part, "weight", nn.Identity())
    model.eval()


def weight_normed(model):
    parametrizations.weight_norm(model.decoder.layers[0].feed_forward.expand)
    model.eval()


UNFIT = {
    "a part of one's own": (set_to("decoder.final_norm", lambda: OwnNorm(8)), "OwnN"),
    "no feed-forward": (set_to("decoder.layers.0.feed_forward", nn.Identity), "Iden"),
    "another dropout": (set_to("dropout", lambda: nn.Dropout(0.1)), "Dropout is a"),
    "another dropout in a layer": (
        set_to("decoder.layers.0.feed_forward_residual.dropout", nn.Identity),
        "Identity is a part",
    ),
    "an encoder's layer in the decoder": (
        lambda model: model.decoder.layers.__setitem__(0, model.encoder.layers[0]),
        "EncoderLayer is a part",
    ),
    "the encoder for a decoder": (
        lambda model: setattr(model, "decoder", model.encoder),
        "Encoder is a part",
    ),
    "the decoder for an encoder": (
        lambda model: setattr(model, "encoder", model.decoder),
        "Decoder is a part",
    ),
    "no scaled embedding": (
        set_to("target_embedding", lambda: nn.Embedding(13, 8)),
        "Embedding is a part",
    ),
    "another probe": (
        set_to("decoder.layers.0.self_attention.heads", nn.Identity),
        "Identity is a part",
    ),
    "a norm for a residual": (
        set_to("decoder.layers.0.feed_forward_residual", lambda: LayerNorm(8)),
        "LayerNorm is a part",
    ),
    "another embedding": (
        set_to("source_embedding.table", lambda: nn.EmbeddingBag(13, 8)),
        "EmbeddingBag is a part",
    ),
    "a derived model": (own_class, "OwnTransformer is a part"),
    "a hook": (hooked, "a hook watches its DecoderLayer"),
    "a hook before": (hooked_before, "a hook watches its FeedForward"),
    "a method replaced": (replaced_method, "a method of its Transformer was replaced"),
    "compiled in place": (compiled_in_place, "a method of its DecoderLayer"),
    "a compiled part": (compiled_part, "OptimizedModule"),
    "training mode": (in_training, "training mode"),
    "half precision": (one_part_in(torch.bfloat16), "not float32 on a CPU"),
    "double precision": (one_part_in(torch.float64), "not float32 on a CPU"),
    "another device": (lambda model: model.to("meta"), "not float32 on a CPU"),
    "another tensor": (own_tensor, "tensors of another kind"),
    "one bias less": (without_one_bias, "differ in having a bias"),
    "a turned matrix": (turned, "tensors of another kind"),
    "inference mode": (in_inference_mode, "nothing counts the changes"),
    "parametrised": (parametrized, "ParametrizedLinear"),
    "weight norm": (weight_normed, "ParametrizedLinear"),
}


@pytest.mark.parametrize(("change", "why"), UNFIT.values(), ids=UNFIT)
def test_what_has_no_flat_form_decodes_as_it_is_and_int8_says_why(model, change, why):
    assert form(model) is not None and form(model, "int8") is not None
    change(model)
    assert form(model) is None
    assert form(model) is None  # the second time, from memory
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"'int8' is not possible here: .*{why}"):
            form(model, "int8")


@pytest.mark.parametrize(
    "fields",
    [{"positions": "rotary"}, {"positions": "rotary", "attention": "grouped"}],
)
def test_rotary_attention_has_no_flat_form(make_model, source_ids, fields):
    model = make_model(**fields)
    assert form(model) is None
    assert decode.greedy(model, source_ids) == decode.greedy(
        model, source_ids, use_cache=False
    )


def test_a_model_that_is_no_module_decodes_as_it_is():
    assert form(mock.Mock(spec=["encode", "decode"])) is None


@contextlib.contextmanager
def watching_all(register):
    handle = register(lambda *given: None)
    try:
        yield
    finally:
        handle.remove()


def tracing():
    return mock.patch.object(torch.jit, "is_tracing", return_value=True)


def compiling():
    return mock.patch.object(torch.compiler, "is_compiling", return_value=True)


PROBE = "decoder.layers.0.cross_attention.weights"
every = nn.modules.module
MOMENTS = {
    "gradients": (lambda model: torch.inference_mode(False), "gradients are wanted"),
    "autocast": (lambda model: torch.autocast("cpu", torch.bfloat16), "autocast"),
    "operations counted": (lambda model: FlopCounterMode(display=False), "traced"),
    "functions replaced": (lambda model: torch.device("cpu"), "traced"),
    "tracing": (lambda model: tracing(), "traced"),
    "compiling": (lambda model: compiling(), "traced"),
    "attention captured": (
        lambda model: trace.weight_gains(model, ("cross", 0), torch.ones(7)),
        "its Probe",
    ),
    "a hook on all": (
        lambda model: watching_all(every.register_module_forward_hook),
        "all modules",
    ),
    "a hook before all": (
        lambda model: watching_all(every.register_module_forward_pre_hook),
        "all modules",
    ),
}


@pytest.mark.parametrize(("moment", "why"), MOMENTS.values(), ids=MOMENTS)
def test_there_is_no_flat_form_while_somebody_watches_and_again_after(
    model, moment, why
):
    before = form(model)
    with torch.inference_mode(), moment(model):
        assert flat_form(model, "float32") is None
        with pytest.raises(ValueError, match=why):
            flat_form(model, "int8")
    assert form(model) is before


def test_a_search_shows_its_attention_to_whom_watches_and_obeys_a_knock_out(
    model, source_ids
):
    free = decode.greedy(model, source_ids)
    with trace.watch(model, PROBE) as seen:
        decode.greedy(model, source_ids)
    assert len(seen[PROBE]) > 1
    with trace.weight_gains(model, ("cross", 0), torch.zeros(source_ids.size(1))):
        assert decode.greedy(model, source_ids) != free


# What changes a model.


@torch.no_grad()
def written_in_place(model):
    model.decoder.layers[1].feed_forward.contract.weight[3, 2:] *= -3


def written_behind_pytorchs_back(model):
    model.source_embedding.weight.data[5:] *= 2


def moved_buffer(model):
    model.positions.table.copy_(model.positions.table.roll(1, 0))


def other_weights_loaded(model):
    weights = {name: each + 0.5 for name, each in model.state_dict().items()}
    model.load_state_dict(weights)


def other_weights_assigned(model):
    weights = {name: each + 0.5 for name, each in model.state_dict().items()}
    model.load_state_dict(weights, assign=True)


def stepped(kind, **settings):
    def step(model):
        model(torch.tensor([[4, 5]]), torch.tensor([[1, 6]])).logsumexp(
            -1
        ).sum().backward()
        kind(model.parameters(), lr=0.1, **settings).step()

    return step


def other_data(model):
    gain = model.decoder.final_norm.gain
    gain.data = gain.data * 2


def other_parameter(model):
    model.decoder.final_norm.bias = nn.Parameter(torch.randn(8))


def layers_swapped(model):
    first, second = model.decoder.layers
    model.decoder.layers = nn.ModuleList([second, first]).eval()


def layer_removed(model):
    del model.decoder.layers[0]


def no_norm(model):
    model.decoder.final_norm = nn.Identity().eval()


def fewer_heads(model):
    model.decoder.layers[0].cross_attention.n_heads = 1


def other_scale(model):
    model.target_embedding.scale *= 2


def other_activation(model):
    model.decoder.layers[0].feed_forward.activation = torch.tanh


CHANGES = [
    written_in_place,
    written_behind_pytorchs_back,
    moved_buffer,
    other_weights_loaded,
    other_weights_assigned,
    stepped(torch.optim.SGD),
    stepped(torch.optim.Adam, fused=True),  # which raises no version
    stepped(torch.optim.Adam, foreach=True),
    other_data,
    other_parameter,
    layers_swapped,
    layer_removed,
    no_norm,
    fewer_heads,
    other_scale,
    other_activation,
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_noticed(model, source_ids, change):
    before = logits(form(model), source_ids)
    change(model)
    found = logits(form(model), source_ids)
    assert_close(found, logits(model, source_ids), rtol=0, atol=1e-4)
    assert not torch.allclose(found, before, atol=1e-3)


def test_one_number_of_a_large_matrix_is_noticed_though_no_sample_has_it(
    make_model, source_ids
):
    model = make_model(vocab_size=1000)
    before = logits(form(model), source_ids)
    with torch.no_grad():
        model.output_embedding.weight[900, 1] = 50
    found = logits(form(model), source_ids)
    assert not torch.allclose(found[:, 900], before[:, 900])
    assert_close(found, logits(model, source_ids), rtol=0, atol=1e-4)


def test_new_weights_where_old_ones_lay_are_noticed(model, source_ids):
    """Else memory that is used again would pass for the weights that were there."""
    gain = model.decoder.final_norm.gain
    for value in range(20):
        gain.data = torch.full((8,), float(value))
        expected = logits(model, source_ids)
        assert_close(logits(form(model), source_ids), expected, rtol=0, atol=1e-4)


def test_a_form_is_made_once_and_goes_with_its_model(make_model):
    model = make_model()
    first, eight = form(model), form(model, "int8")
    assert form(model) is first and form(model, "int8") is eight is not first
    gone = weakref.ref(model), weakref.ref(first)
    del model, first, eight
    gc.collect()
    assert [each() for each in gone] == [None, None]


def test_a_model_that_has_a_form_can_still_be_copied(model, source_ids):
    expected = logits(form(model), source_ids)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.decoder.final_norm.gain *= 2
    assert_close(logits(form(twin), source_ids), logits(twin, source_ids))
    assert torch.equal(logits(form(model), source_ids), expected)


# Without the operators, and in eight bits.


def test_without_onednn_the_usual_products_are_taken(model, source_ids):
    with mock.patch.object(products, "packed", side_effect=AttributeError):
        found = logits(form(model), source_ids)
    assert_close(found, logits(model, source_ids), rtol=0, atol=1e-4)


def test_without_its_operators_int8_is_refused(model):
    missing = mock.patch.object(products, "eight_bit", side_effect=AttributeError)
    with missing, pytest.raises(ValueError, match="no products of eight-bit numbers"):
        form(model, "int8")


def test_int8_is_close_and_float32_stays_what_it_was(model, source_ids):
    plain = logits(model, source_ids)
    eight = logits(form(model, "int8"), source_ids)
    assert_close(eight, plain, rtol=0, atol=0.1 * plain.abs().max().item())
    assert not torch.allclose(eight, plain, atol=1e-4)
    assert_close(logits(form(model), source_ids), plain, rtol=0, atol=1e-4)


@pytest.mark.parametrize("search", [decode.greedy, decode.beam_search, decode.sample])
def test_every_search_takes_a_precision(model, source_ids, search):
    with mock.patch("tformer.decode.stepping.flat_form", wraps=flat_form) as asked:
        found = search(model, source_ids, max_len=20, precision="int8")
        assert asked.call_args.args == (model, "int8")
        search(model, source_ids, max_len=20)
        assert asked.call_args.args == (model, "float32")
    assert len(found) == len(source_ids)
    with pytest.raises(
        ValueError, match=r"precision='int4' must be 'float32' or 'int8'"
    ):
        search(model, source_ids, precision="int4")
    with pytest.raises(ValueError, match=r"precision='int8' needs use_cache=True"):
        search(model, source_ids, precision="int8", use_cache=False)


def test_the_probe_of_ones_own_is_not_the_packages(model):
    """A derived class may do something else, whatever it is called."""
    kind = type("Probe", (Probe,), {"__module__": "tformer.elsewhere"})
    model.decoder.layers[0].cross_attention.weights = kind()
    assert form(model) is None
