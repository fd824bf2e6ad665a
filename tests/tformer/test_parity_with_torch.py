"""Weight for weight equal to torch.nn, outputs and gradients, with masks and padding.

Both sides get the same random parameters, gains and biases of norms included, and the
same inputs. Outputs and the gradients of every input and every parameter may differ by
1e-5 in float32 and by 1e-10 in float64. In PyTorch's masks True = may NOT attend, in
ours it may.
"""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from tformer.attention import MultiHeadAttention, attention
from tformer.config import TransformerConfig
from tformer.decoder import Decoder, DecoderLayer
from tformer.encoder import Encoder, EncoderLayer
from tformer.masks import causal_mask, source_mask, target_mask
from tformer.model import Transformer
from tformer.norm import LayerNorm

B, S, T, D, H, D_FF, V, PAD = 3, 9, 6, 16, 4, 32, 17, 0
SOURCE_LENGTHS, TARGET_LENGTHS = [9, 5, 2], [4, 6, 1]

pytestmark = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
norms = pytest.mark.parametrize("norm", ["post", "pre"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])


def agree(ours, theirs, *, what):
    """The tolerance of this module; and what is compared must not be nothing."""
    tolerance = 1e-5 if theirs.dtype == torch.float32 else 1e-10
    assert theirs.abs().max() > 1e-4, f"{what} is too small to tell anything"
    told = {"msg": lambda message: f"{what}: {message}"}
    assert_close(ours, theirs, rtol=0, atol=tolerance, **told)


def assert_parity(ours, theirs, pairs, inputs):
    """Run both, compare outputs and all gradients.

    A key bias adds one number to a whole row of scores: its gradient is 0 by the
    mathematics, so both must be (nearly) 0.

    Args:
        ours, theirs: functions of the inputs.
        pairs: (name, our parameter, their parameter or a function giving its gradient).
        inputs: tensors; integers get no gradient.
    """
    results = []
    for function in (ours, theirs):
        copies = [each.clone() for each in inputs]
        for each in copies:
            each.requires_grad_(each.is_floating_point())
        output = function(*copies)
        torch.manual_seed(3)
        probe = torch.randn(output.shape, dtype=output.dtype)
        ((output * probe).sum() / probe.numel() ** 0.5).backward()
        gradients = [each.grad for each in copies if each.requires_grad]
        results.append((output.detach(), gradients))
    (our_output, our_gradients), (their_output, their_gradients) = results
    agree(our_output, their_output, what="output")
    for number, both in enumerate(zip(our_gradients, their_gradients, strict=True)):
        agree(*both, what=f"gradient of input {number}")
    for name, parameter, gradient in pairs:
        if name.endswith("to_key.bias"):
            assert max(parameter.grad.abs().max(), gradient().abs().max()) < 1e-6
        else:
            agree(parameter.grad, gradient(), what=f"gradient of {name}")


# ---------------------------------------------------- the same weights on both sides


def copy_pairs(pairs):
    """Copy our parameters into theirs; return (name, ours, their gradient)."""
    result = []
    with torch.no_grad():
        for name, ours, theirs, rows in pairs:
            theirs[rows].copy_(ours)
            gradient = lambda theirs=theirs, rows=rows: theirs.grad[rows]  # noqa: E731
            result.append((name, ours, gradient))
    return result


def attention_pairs(name, ours, theirs):
    """PyTorch keeps query, key and value projections in one matrix, in this order."""
    packed = theirs.in_proj_weight, theirs.in_proj_bias
    width, pairs = ours.to_query.in_features, []
    for place, part in enumerate(["to_query", "to_key", "to_value"]):
        rows = slice(place * width, (place + 1) * width)
        pairs += linear_pairs(f"{name}.{part}", getattr(ours, part), *packed, rows)
    out = theirs.out_proj.weight, theirs.out_proj.bias
    return pairs + linear_pairs(f"{name}.to_output", ours.to_output, *out)


def linear_pairs(name, ours, weight, bias, rows=slice(None)):
    pairs = [(f"{name}.weight", ours.weight, weight, rows)]
    if ours.bias is not None:
        pairs.append((f"{name}.bias", ours.bias, bias, rows))
    return pairs


def norm_pairs(name, ours, theirs):
    return [
        (f"{name}.gain", ours.gain, theirs.weight, slice(None)),
        (f"{name}.bias", ours.bias, theirs.bias, slice(None)),
    ]


def layer_pairs(name, ours, theirs):
    has_memory = isinstance(ours, DecoderLayer)
    attentions = {"self_attention": theirs.self_attn}
    norms = {"self_attention_residual": theirs.norm1}
    norms["feed_forward_residual"] = theirs.norm3 if has_memory else theirs.norm2
    if has_memory:
        attentions["cross_attention"] = theirs.multihead_attn
        norms["cross_attention_residual"] = theirs.norm2
    pairs = []
    for part, its in attentions.items():
        pairs += attention_pairs(f"{name}.{part}", getattr(ours, part), its)
    for part, its in norms.items():
        pairs += norm_pairs(f"{name}.{part}", getattr(ours, part).norm, its)
    for part, its in {"expand": theirs.linear1, "contract": theirs.linear2}.items():
        linear = getattr(ours.feed_forward, part)
        pairs += linear_pairs(f"{name}.{part}", linear, its.weight, its.bias)
    return pairs


def stack_pairs(name, ours, theirs):
    pairs = []
    for number, layers in enumerate(zip(ours.layers, theirs.layers, strict=True)):
        pairs += layer_pairs(f"{name}.{number}", *layers)
    if theirs.norm is not None:
        pairs += norm_pairs(f"{name}.final_norm", ours.final_norm, theirs.norm)
    return pairs


def assert_all_are_paired(module, pairs):
    """No parameter of ours was forgotten."""
    paired = {id(ours) for _, ours, _ in pairs}
    assert paired == {id(parameter) for parameter in module.parameters()}


# ------------------------------------------------------------------------- attention


@pytest.mark.parametrize("masked", [None, "causal", "padding", "random"])
def test_attention_is_torchs_scaled_dot_product_attention(dtype, masked):
    keys = T if masked == "causal" else S
    query = torch.randn(B, H, T, D, dtype=dtype)
    key = torch.randn(B, H, keys, D, dtype=dtype)
    value = torch.randn(B, H, keys, 5, dtype=dtype)
    mask = {
        None: None,
        "causal": causal_mask(T),
        "padding": torch.arange(S) < torch.tensor(SOURCE_LENGTHS).view(-1, 1, 1, 1),
        "random": (torch.rand(B, H, T, S) < 0.6) | (torch.arange(S) == 4),
    }[masked]
    assert_parity(
        lambda q, k, v: attention(q, k, v, mask=mask)[0],
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        [],
        [query, key, value],
    )


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("kind", ["self", "cross", "three inputs"])
def test_multi_head_attention(randomise, dtype, bias, watched, kind):
    ours = randomise(MultiHeadAttention(D, H, bias=bias)).to(dtype)
    theirs = nn.MultiheadAttention(D, H, bias=bias, batch_first=True, dtype=dtype)
    pairs = copy_pairs(attention_pairs("attention", ours, theirs))
    assert_all_are_paired(ours, pairs)
    keys = T if kind == "self" else S
    lengths = TARGET_LENGTHS if kind == "self" else SOURCE_LENGTHS
    visible = torch.arange(keys) < torch.tensor(lengths)[:, None]  # (B, keys)
    near = torch.ones(T, keys).tril(keys - T + 2).bool()  # (T, keys)
    inputs = [torch.randn(B, T, D, dtype=dtype)]
    if kind != "self":
        inputs.append(torch.randn(B, keys, D, dtype=dtype))
    if kind == "three inputs":
        inputs.append(torch.randn(B, keys, D, dtype=dtype))
    our_weights, their_weights = [], []
    if watched:
        ours.weights.register_forward_hook(lambda m, i, o: our_weights.append(o))

    def reference(query, key=None, value=None):
        key = query if key is None else key
        output, weights = theirs(
            query,
            key,
            key if value is None else value,
            key_padding_mask=~visible,
            attn_mask=~near,
            average_attn_weights=False,
        )
        their_weights.append(weights)
        return output

    mask = visible[:, None, None] & near
    assert_parity(
        lambda *tensors: ours(*tensors, mask=mask),
        reference,
        pairs,
        inputs,
    )
    if watched:
        agree(our_weights[0], their_weights[0], what="weights")


# ------------------------------------------------------------------------------ norm


@pytest.mark.parametrize("epsilon", [1e-5, 1e-2])
@pytest.mark.parametrize("size", [1.0, 0.01])
def test_layer_norm(randomise, dtype, epsilon, size):
    """At size 0.01 the variance is near the usual epsilon."""
    ours = randomise(LayerNorm(D, epsilon)).to(dtype)
    theirs = nn.LayerNorm(D, eps=epsilon, dtype=dtype)
    pairs = copy_pairs(norm_pairs("norm", ours, theirs))
    assert_all_are_paired(ours, pairs)
    x = size * torch.randn(B, T, D, dtype=dtype)
    # The gradient of a small x is large: compare that of x / size.
    assert_parity(
        lambda x: ours(x * size),
        lambda x: theirs(x * size),
        pairs,
        [x / size],
    )


# ---------------------------------------------------------------------------- layers


def torch_layer(kind, norm, activation, dtype):
    options = {"activation": activation, "norm_first": norm == "pre", "dtype": dtype}
    return kind(D, H, D_FF, dropout=0.0, batch_first=True, **options)


@norms
@activations
def test_encoder_layer(randomise, random_ids, dtype, norm, activation):
    ours = EncoderLayer(D, H, D_FF, norm=norm, activation=activation)
    ours = randomise(ours).to(dtype)
    theirs = torch_layer(nn.TransformerEncoderLayer, norm, activation, dtype)
    pairs = copy_pairs(layer_pairs("layer", ours, theirs))
    assert_all_are_paired(ours, pairs)
    source_ids = random_ids(SOURCE_LENGTHS)
    assert_parity(
        lambda x: ours(x, source_mask(source_ids, PAD)),
        lambda x: theirs(x, src_key_padding_mask=source_ids == PAD),
        pairs,
        [torch.randn(B, S, D, dtype=dtype)],
    )


@norms
@activations
def test_decoder_layer(randomise, random_ids, dtype, norm, activation):
    ours = DecoderLayer(D, H, D_FF, norm=norm, activation=activation)
    ours = randomise(ours).to(dtype)
    theirs = torch_layer(nn.TransformerDecoderLayer, norm, activation, dtype)
    pairs = copy_pairs(layer_pairs("layer", ours, theirs))
    assert_all_are_paired(ours, pairs)
    source_ids, target_ids = random_ids(SOURCE_LENGTHS), random_ids(TARGET_LENGTHS)
    assert_parity(
        lambda x, memory: ours(
            x, memory, target_mask(target_ids, PAD), source_mask(source_ids, PAD)
        ),
        lambda x, memory: theirs(
            x,
            memory,
            tgt_mask=~causal_mask(T),
            tgt_key_padding_mask=target_ids == PAD,
            memory_key_padding_mask=source_ids == PAD,
        ),
        pairs,
        [torch.randn(B, T, D, dtype=dtype), torch.randn(B, S, D, dtype=dtype)],
    )


# ------------------------------------------------------------------- the whole model


def torch_transformer(norm, activation, dtype):
    """nn.Transformer with the norms that ours has: none at the end of post-norm stacks.

    Left to itself nn.Transformer ends both stacks in one more norm, which the paper's
    post-norm model lacks; so it is given stacks made by hand.
    """

    def final_norm():
        return nn.LayerNorm(D, dtype=dtype) if norm == "pre" else None

    layer = torch_layer(nn.TransformerEncoderLayer, norm, activation, dtype)
    encoder = nn.TransformerEncoder(layer, 2, final_norm(), enable_nested_tensor=False)
    layer = torch_layer(nn.TransformerDecoderLayer, norm, activation, dtype)
    stacks = {"custom_encoder": encoder}
    stacks["custom_decoder"] = nn.TransformerDecoder(layer, 3, final_norm())
    return nn.Transformer(D, H, batch_first=True, **stacks)


def run_torch(theirs, source, target, source_ids, target_ids):
    return theirs(
        source,
        target,
        tgt_mask=~causal_mask(T),
        src_key_padding_mask=source_ids == PAD,
        tgt_key_padding_mask=target_ids == PAD,
        memory_key_padding_mask=source_ids == PAD,
    )


@norms
@activations
def test_both_stacks_from_embeddings(randomise, random_ids, dtype, norm, activation):
    settings = {"norm": norm, "activation": activation}
    encoder = randomise(Encoder(2, D, H, D_FF, **settings), 1).to(dtype)
    decoder = randomise(Decoder(3, D, H, D_FF, **settings), 2).to(dtype)
    theirs = torch_transformer(norm, activation, dtype)
    pairs = stack_pairs("encoder", encoder, theirs.encoder)
    pairs = copy_pairs(pairs + stack_pairs("decoder", decoder, theirs.decoder))
    assert_all_are_paired(nn.ModuleList([encoder, decoder]), pairs)
    source_ids, target_ids = random_ids(SOURCE_LENGTHS), random_ids(TARGET_LENGTHS)

    def ours(source, target):
        mask = source_mask(source_ids, PAD)
        memory = encoder(source, mask)
        return decoder(target, memory, target_mask(target_ids, PAD), mask)

    def reference(source, target):
        return run_torch(theirs, source, target, source_ids, target_ids)

    assert_parity(
        ours,
        reference,
        pairs,
        [torch.randn(B, S, D, dtype=dtype), torch.randn(B, T, D, dtype=dtype)],
    )


@norms
@activations
@pytest.mark.parametrize("tied", [True, False])
def test_the_whole_model_from_ids_to_logits(
    randomise, random_ids, dtype, norm, activation, tied
):
    """nn.Transformer between the paper's ends written out: E[id] sqrt(D) + PE, and E^T.

    A tied table gets the sum of the gradients of its three places.
    """
    options = {"norm": norm, "activation": activation, "tie_embeddings": tied}
    config = TransformerConfig(V, D, H, D_FF, 2, 3, max_len=S, dropout=0.0, **options)
    model = randomise(Transformer(config)).to(dtype)
    theirs = torch_transformer(norm, activation, dtype)
    names = ["source_embedding", "target_embedding", "output_embedding"]
    own = {name: getattr(model, name).weight for name in names}
    made: dict[int, torch.Tensor] = {}  # one table of theirs for each of ours
    for weight in own.values():
        made.setdefault(id(weight), weight.detach().clone().requires_grad_())
    table = {name: made[id(weight)] for name, weight in own.items()}
    pairs = stack_pairs("encoder", model.encoder, theirs.encoder)
    pairs = copy_pairs(pairs + stack_pairs("decoder", model.decoder, theirs.decoder))
    unique = {id(weight): (name, weight) for name, weight in own.items()}
    pairs += [
        (name, weight, lambda name=name: table[name].grad)
        for name, weight in unique.values()
    ]
    assert_all_are_paired(model, pairs)
    assert len(unique) == (1 if tied else 3)

    # Our table of sinusoids is rounded to float32 once; 1e-10 sees that rounding, so
    # the reference rounds too. That the table is right is tested in test_positions.
    position = torch.arange(S, dtype=torch.float64)[:, None]
    angle = position / 10_000 ** (torch.arange(0, D, 2, dtype=torch.float64) / D)
    sinusoids = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    sinusoids = sinusoids.float().to(dtype)

    def reference(source_ids, target_ids):
        source = F.embedding(source_ids, table["source_embedding"]) * math.sqrt(D)
        target = F.embedding(target_ids, table["target_embedding"]) * math.sqrt(D)
        source, target = source + sinusoids, target + sinusoids[:T]
        hidden = run_torch(theirs, source, target, source_ids, target_ids)
        return hidden @ table["output_embedding"].T

    lengths = (SOURCE_LENGTHS, TARGET_LENGTHS)
    ids = [random_ids(each, vocab_size=V) for each in lengths]
    assert_parity(model, reference, pairs, ids)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@norms
def test_torchs_final_norm_is_what_post_norm_lacks(randomise, random_ids, dtype, norm):
    """nn.Transformer as it comes is our pre-norm stack, and not our post-norm one."""
    encoder = randomise(Encoder(2, D, H, D_FF, norm=norm), 1).to(dtype)
    options = {"batch_first": True, "norm_first": norm == "pre", "dtype": dtype}
    theirs = nn.Transformer(D, H, 2, 2, D_FF, 0.0, **options).encoder
    theirs.use_nested_tensor = False
    x, ids = torch.randn(B, S, D, dtype=dtype), random_ids(SOURCE_LENGTHS)
    own_norm, encoder.final_norm = encoder.final_norm, LayerNorm(D).to(dtype)
    randomise(encoder.final_norm, 5)
    copy_pairs(stack_pairs("encoder", encoder, theirs))
    reference = theirs(x, src_key_padding_mask=ids == PAD)
    agree(encoder(x, source_mask(ids, PAD)), reference, what="with a norm")
    if norm == "post":
        encoder.final_norm = own_norm
        difference = encoder(x, source_mask(ids, PAD)) - reference
        assert difference.abs().max() > 0.1
