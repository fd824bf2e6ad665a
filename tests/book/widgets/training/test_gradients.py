"""The gradients of the engine that learns, in Node, against PyTorch's."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from tformer import masks
from tformer.attention import attention
from tformer.decoder import Decoder
from tformer.embedding import ScaledEmbedding
from tformer.encoder import Encoder
from tformer.loss import cross_entropy
from tformer.norm import layer_norm
from tformer.positions import sinusoids
from tformer.residual import Residual

TOLERANCE = 1e-5

# One operation on given tensors: its result, and the gradients of sum(probe * result).
OPERATE = """
import { attention } from "./training/attention.js";
import { crossEntropy } from "./training/loss.js";
import { add, embed, layerNorm, linear, relu } from "./training/operations.js";
import { multiply } from "./training/products.js";
import { sinusoids } from "./engine/positions.js";
import { Tape } from "./training/tape.js";

const OPERATIONS = {
  linear: ({ x, weight, bias }) => linear(x, weight, bias),
  layerNorm: ({ x, gain, bias }) => layerNorm(x, gain, bias),
  relu: ({ x }) => relu(x),
  add: ({ x, y }) => add(x, y),
  twice: ({ x }) => add(x, relu(x)),
  shared: ({ x, weight }) => linear(linear(x, weight), weight),
  attention: ({ query, key, value }, options) =>
    attention(query, key, value, options).output,
  embed: ({ table }, { ids, factor, placed }, tape) =>
    embed(tape, ids, table, factor, placed ? sinusoids(50, table.shape[1]) : null),
};

function node(tape, { shape, data }) {
  const made = tape.node(shape);
  made.data.set(data.map((each) => each ?? NaN));
  const [nOut, nIn] = shape;
  made.product = (x, y) => multiply(x, made.data, y, x.length / nIn, nIn, nOut);
  return made;
}

const tape = new Tape();
const found = given.map(({ kind, inputs, options, probe }) => {
  tape.rewind();
  const nodes = Object.fromEntries(
    Object.entries(inputs).map(([name, each]) => [name, node(tape, each)]),
  );
  let result;
  if (kind === "crossEntropy") {
    result = [crossEntropy(nodes.logits, options.labels, options)];
  } else {
    const output = OPERATIONS[kind](nodes, options, tape);
    output.gradient.set(probe);
    result = Array.from(output.data);
  }
  tape.backward();
  const gradients = Object.entries(nodes).map(([name, each]) => [
    name,
    Array.from(each.gradient),
  ]);
  return { result, gradients: Object.fromEntries(gradients) };
});
console.log(JSON.stringify(found));
"""


def heads_of(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def attended(query, key, value, *, n_heads, mask, is_scaled):
    if not is_scaled:
        query = query * math.sqrt(query.size(-1) // n_heads)
    split = [heads_of(each, n_heads) for each in (query, key, value)]
    output, _ = attention(*split, mask=mask)
    return output.transpose(1, 2).flatten(-2)


def sizes(seed, *ranges):
    draw = torch.Generator().manual_seed(seed)
    found = [torch.randint(a, b + 1, (), generator=draw).item() for a, b in ranges]
    return draw, found


def case(kind, inputs, oracle, options=None, draw=None):
    """What Node gets, and what PyTorch finds in float64."""
    leaves = {name: each.double().requires_grad_() for name, each in inputs.items()}
    result = oracle(**leaves)
    probe = torch.ones(()) if result.dim() == 0 else None
    if probe is None:
        probe = torch.randn(result.shape, generator=draw)
    (result * probe.double()).sum().backward()
    packed = {
        name: {"shape": list(each.shape), "data": each.flatten().tolist()}
        for name, each in inputs.items()
    }
    given = {
        "kind": kind,
        "inputs": packed,
        "options": options or {},
        "probe": probe.flatten().tolist(),
    }
    return given, result.detach(), {name: each.grad for name, each in leaves.items()}


def linear_case(seed):
    draw, (b, t, n_in, n_out) = sizes(seed, (1, 7), (1, 9), (1, 40), (1, 40))
    inputs = {
        "x": torch.randn(b, t, n_in, generator=draw),
        "weight": torch.randn(n_out, n_in, generator=draw),
    }
    if seed % 3:
        inputs["bias"] = torch.randn(n_out, generator=draw)
    return case(
        "linear",
        inputs,
        lambda x, weight, bias=None: F.linear(x, weight, bias),
        draw=draw,
    )


def norm_case(seed):
    draw, (b, t, d) = sizes(seed, (1, 5), (1, 9), (2, 40))
    inputs = {
        "x": 3 * torch.randn(b, t, d, generator=draw) + 1,
        "gain": torch.randn(d, generator=draw),
        "bias": torch.randn(d, generator=draw),
    }
    return case("layerNorm", inputs, layer_norm, draw=draw)


def relu_case(seed):
    draw, shape = sizes(seed, (1, 5), (1, 9), (1, 40))
    inputs = {"x": torch.randn(*shape, generator=draw)}
    return case("relu", inputs, torch.relu, draw=draw)


def add_case(seed):
    draw, shape = sizes(seed, (1, 5), (1, 9), (1, 40))
    inputs = {name: torch.randn(*shape, generator=draw) for name in "xy"}
    return case("add", inputs, lambda x, y: x + y, draw=draw)


def twice_case(seed):
    draw, shape = sizes(seed, (1, 5), (1, 9), (1, 40))
    inputs = {"x": torch.randn(*shape, generator=draw)}
    return case("twice", inputs, lambda x: x + torch.relu(x), draw=draw)


def shared_case(seed):
    draw, (b, t, d) = sizes(seed, (1, 5), (1, 9), (1, 12))
    inputs = {
        "x": torch.randn(b, t, d, generator=draw),
        "weight": torch.randn(d, d, generator=draw) / d**0.5,
    }

    def oracle(x, weight):
        return F.linear(F.linear(x, weight), weight)

    return case("shared", inputs, oracle, draw=draw)


def attention_case(seed):
    ranges = (1, 5), (1, 9), (1, 9), (1, 4), (1, 12)
    draw, (b, t, s, n_heads, d_head) = sizes(seed, *ranges)
    mask = None
    if seed % 3 == 1:
        s, mask = t, masks.causal_mask(t)[None, None]
    if seed % 3 == 2:
        lengths = torch.randint(1, s + 1, (b, 1), generator=draw)
        mask = (torch.arange(s) < lengths)[:, None, None, :]
    is_scaled = seed % 2 == 0
    d = n_heads * d_head
    inputs = {
        name: torch.randn(b, length, d, generator=draw)
        for name, length in (("query", t), ("key", s), ("value", s))
    }
    options = {"nHeads": n_heads, "scale": d_head**-0.5 if is_scaled else 1}
    if mask is not None:
        options["mask"] = {
            "shape": list(mask[:, 0].shape),
            "data": mask.int().flatten().tolist(),
        }

    def oracle(query, key, value):
        return attended(
            query, key, value, n_heads=n_heads, mask=mask, is_scaled=is_scaled
        )

    return case("attention", inputs, oracle, options, draw)


def embed_case(seed):
    draw, (b, t, v, pairs) = sizes(seed, (1, 5), (1, 9), (1, 20), (1, 16))
    ids = torch.randint(0, v, (b, t), generator=draw)
    inputs = {"table": torch.randn(v, 2 * pairs, generator=draw)}
    options = {
        "ids": ids.tolist(),
        "factor": math.sqrt(2 * pairs),
        "placed": seed % 2 == 0,
    }

    def oracle(table):
        places = sinusoids(t, 2 * pairs) if options["placed"] else 0
        return F.embedding(ids, table) * options["factor"] + places

    return case("embed", inputs, oracle, options, draw)


def loss_case(seed):
    draw, (b, t, v) = sizes(seed, (1, 5), (1, 9), (2, 40))
    labels = torch.randint(0, v, (b, t), generator=draw)
    labels[0, 0] = 1  # one at least is no padding
    smoothing = (0, 0.1, 0.35)[seed % 3]
    inputs = {"logits": 3 * torch.randn(b, t, v, generator=draw)}
    options = {"labels": labels.tolist(), "padId": 0, "smoothing": smoothing}

    def oracle(logits):
        return cross_entropy(logits, labels, pad_id=0, smoothing=smoothing)

    return case("crossEntropy", inputs, oracle, options, draw)


CASES = {
    "linear": linear_case,
    "norm": norm_case,
    "relu": relu_case,
    "add": add_case,
    "read twice": twice_case,
    "shared weight": shared_case,
    "attention": attention_case,
    "embedding": embed_case,
    "loss": loss_case,
}


@pytest.mark.parametrize("name", CASES)
def test_an_operation_and_its_gradients_are_pytorchs(node, name, record_property):
    cases = [CASES[name](seed) for seed in range(24)]
    found = node(OPERATE, [given for given, _, _ in cases])
    worst = 0.0
    for mine, (_, result, gradients) in zip(found, cases, strict=True):
        pairs = [(mine["result"], result)]
        pairs += [(mine["gradients"][each], gradients[each]) for each in gradients]
        for numbers, wanted in pairs:
            got = torch.tensor(numbers, dtype=torch.float64).view(wanted.shape)
            assert_close(got, wanted, rtol=TOLERANCE, atol=TOLERANCE)
            worst = max(worst, (got - wanted).abs().max().item())
    record_property("largest error", worst)


# A whole model on one batch: its loss, all weights, all gradients.
LEARN = """
import { crossEntropy } from "./training/loss.js";
import { Dice } from "./training/dice.js";
import { Model } from "./training/model.js";
import { Tape } from "./training/tape.js";

const tape = new Tape();
console.log(JSON.stringify(given.map(({ settings, vocabSize, batch, smoothing }) => {
  const model = new Model(settings, vocabSize, new Dice(settings.seed));
  let loss;
  for (let i = 0; i < 2; i++) {
    tape.rewind(); // and the tape's memory may be used again
    for (const weight of model.weights) weight.gradient.fill(0);
    const logits = model.forward(tape, batch);
    loss = crossEntropy(logits, batch.labels, { padId: 0, smoothing });
    tape.backward();
  }
  const weights = [...model.namedParameters()].map(([name, weight]) => ({
    name,
    shape: weight.shape,
    data: Array.from(weight.data),
    gradient: Array.from(weight.gradient),
  }));
  return { loss, weights };
})));
"""

SOUND = {
    "layers": 2,
    "heads": 2,
    "width": 12,
    "dFf": 20,
    "norm": "pre",
    "causal": True,
    "padding": True,
    "positions": True,
    "residual": True,
    "scale": True,
    "seed": 3,
}
SHAPES = ("encoder-decoder", "decoder", "encoder")
SWITCHES = ("causal", "padding", "positions", "residual", "scale")


class Oracle(nn.Module):
    """The same model from the package's own parts."""

    def __init__(self, settings, vocab_size):
        super().__init__()
        self.settings = settings
        sizes = [settings[name] for name in ("layers", "width", "heads", "dFf")]
        self.source_embedding = ScaledEmbedding(vocab_size, settings["width"])
        if settings["shape"] != "decoder":
            self.encoder = Encoder(*sizes, norm=settings["norm"])
        if settings["shape"] == "decoder":
            self.decoder = Encoder(*sizes, norm=settings["norm"])
        if settings["shape"] == "encoder-decoder":
            self.decoder = Decoder(*sizes, norm=settings["norm"])

    def embedded(self, ids):
        x = self.source_embedding(ids)
        if not self.settings["positions"]:
            return x
        return x + sinusoids(ids.size(1), x.size(-1))

    def hiding(self, ids, causal=False):
        mask = torch.ones(1, 1, 1, ids.size(1), dtype=torch.bool)
        if self.settings["padding"]:
            mask = masks.padding_mask(ids, 0)
        if causal and self.settings["causal"]:
            mask = mask & masks.causal_mask(ids.size(1))
        return mask

    def forward(self, source, target):
        if source is not None:
            hidden = self.encoder(self.embedded(source), self.hiding(source))
        if target is not None:
            x, mask = self.embedded(target), self.hiding(target, causal=True)
            if source is None:
                hidden = self.decoder(x, mask)
            else:
                hidden = self.decoder(x, hidden, mask, self.hiding(source))
        return self.source_embedding.unembed(hidden)


def _rows(draw, n, length, vocab_size):
    ids = torch.randint(3, vocab_size, (n, length), generator=draw)
    lengths = torch.randint(1, length + 1, (n, 1), generator=draw)
    lengths[0] = length
    return ids.where(torch.arange(length) < lengths, 0)


def model_case(seed, **changes):
    settings = {**SOUND, **changes}
    draw, (n, s, t, v) = sizes(seed, (2, 4), (2, 7), (2, 7), (5, 12))
    source, target = _rows(draw, n, s, v), _rows(draw, n, t, v)
    labels = _rows(draw, n, s if settings["shape"] == "encoder" else t, v)
    batch = {
        "source": None if settings["shape"] == "decoder" else source,
        "target": None if settings["shape"] == "encoder" else target,
        "labels": labels,
    }
    return {
        "settings": settings,
        "vocabSize": v,
        "batch": batch,
        "smoothing": (0, 0.2)[seed % 2],
    }


def model_cases():
    pairs = itertools.product(SHAPES, ("pre", "post"))
    cases = [
        model_case(seed, shape=shape, norm=norm)
        for seed, (shape, norm) in enumerate(pairs)
    ]
    for seed, (shape, switch) in enumerate(itertools.product(SHAPES, SWITCHES)):
        norm = ("pre", "post")[seed % 2]
        cases.append(model_case(seed, shape=shape, norm=norm, **{switch: False}))
    return cases


def test_a_whole_models_gradients_are_those_of_the_packages_model(node, monkeypatch):
    cases = model_cases()
    ids = [
        {
            **each,
            "batch": {
                k: None if v is None else v.tolist() for k, v in each["batch"].items()
            },
        }
        for each in cases
    ]
    for each, mine in zip(cases, node(LEARN, ids), strict=True):
        settings, batch = each["settings"], each["batch"]
        oracle = Oracle(settings, each["vocabSize"]).double()
        weights = {
            weight["name"]: torch.tensor(weight["data"]).view(weight["shape"])
            for weight in mine["weights"]
        }
        oracle.load_state_dict(weights)  # all names, and no other
        with monkeypatch.context() as patch:
            if not settings["residual"]:
                patch.setattr(Residual, "forward", without_stream)
            if not settings["scale"]:
                patch.setattr("tformer.attention.fused_attention", without_scale)
            logits = oracle(batch["source"], batch["target"])
        loss = cross_entropy(
            logits, batch["labels"], pad_id=0, smoothing=each["smoothing"]
        )
        loss.backward()
        assert mine["loss"] == pytest.approx(loss.item(), rel=TOLERANCE), settings
        wanted = dict(oracle.named_parameters())
        for weight in mine["weights"]:
            gradient = wanted[weight["name"]].grad
            got = torch.tensor(weight["gradient"], dtype=torch.float64)
            assert_close(
                got.view(gradient.shape),
                gradient,
                rtol=TOLERANCE,
                atol=TOLERANCE,
                msg=lambda text, name=weight["name"]: f"{name}: {text}",
            )


def without_scale(query, key, value, mask):
    scores = (query @ key.transpose(-2, -1)).masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1) @ value


def without_stream(self, x, sublayer):
    return sublayer(self.norm(x)) if self.is_pre else self.norm(sublayer(x))


PRODUCTS = """
import { multiply } from "./training/products.js";
import { multiply as plainly } from "./engine/kernel/plain.js";
console.log(JSON.stringify(given.map(({ x, w, n, nIn, nOut }) =>
  [multiply, plainly].map((way) => {
    const y = new Float32Array(n * nOut);
    way(Float32Array.from(x), Float32Array.from(w), y, n, nIn, nOut);
    return Array.from(y);
  }))));
"""


def test_products_of_all_sizes_are_the_same_in_both_kernels(node):
    cases, exact = [], []
    for seed in range(40):
        draw, (n, n_in, n_out) = sizes(seed, (1, 9), (1, 40), (1, 20))
        x = torch.randn(n, n_in, generator=draw)
        w = torch.randn(n_out, n_in, generator=draw)
        both = {"x": x.flatten().tolist(), "w": w.flatten().tolist()}
        cases.append({**both, "n": n, "nIn": n_in, "nOut": n_out})
        exact.append((x.double() @ w.double().T).flatten())
    for found, wanted in zip(node(PRODUCTS, cases), exact, strict=True):
        for y in found:
            assert_close(
                torch.tensor(y).double(), wanted, rtol=TOLERANCE, atol=TOLERANCE
            )
