"""A model as two ONNX graphs, which many programs and languages can run.

``encoder.onnx`` reads a source once and outputs what the decoder will attend to: keys
and values, projected by each of its layers. ``step.onnx`` takes the newest piece of
each translation, with the keys and values of all earlier ones, and outputs the logits
of the next piece, and those keys and values extended by one. Batch size and lengths are
free. This is all that a program needs around them::

    import json, numpy, onnxruntime, sentencepiece
    encoder, step = (
        onnxruntime.InferenceSession(f"{folder}/{name}.onnx")
        for name in ("encoder", "step")
    )
    pieces = sentencepiece.SentencePieceProcessor(f"{folder}/tokenizer.model")
    about = json.load(open(f"{folder}/config.json"))
    pad, bos, eos, unk = (about[f"{name}_id"] for name in ("pad", "bos", "eos", "unk"))

    def greedy(texts, max_len=128):
        rows = [pieces.EncodeAsIds(text) + [eos] for text in texts]
        source = numpy.full((len(rows), max(map(len, rows))), pad)
        for filled, row in zip(source, rows):
            filled[: len(row)] = row
        names = [each.name for each in encoder.get_outputs()]
        memory = dict(zip(names, encoder.run(None, {"source_ids": source})))
        nothing = numpy.zeros((len(rows), *about["empty_past"]), "float32")
        names = [each.name for each in step.get_inputs()]
        past = {name: nothing for name in names if name.startswith("past")}
        said = numpy.full((len(rows), 1), bos)
        for _ in range(max_len):
            given = {"ids": said[:, -1:], "source_ids": source, **memory, **past}
            logits, *grown = step.run(None, given)
            past = dict(zip(past, grown))
            logits[:, [pad, bos, unk]] = -numpy.inf
            said = numpy.hstack([said, logits.argmax(-1)[:, None]])
            if (said == eos).any(-1).all():
                break
        found = [[*row[1:], eos] for row in said.tolist()]
        return [row[: row.index(eos)] for row in found]

The graphs are built here, operation by operation, not recorded from a run of the model,
so they contain what they should and nothing else.
"""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from tformer.common.files import write_atomically, write_json
from tformer.config import TransformerConfig
from tformer.interop.models import transformer_of
from tformer.positions import Positions
from tformer.translator import Translator
from tformer.translator.weights import stored_weights

NEEDS = ("onnx",)
OPSET, IR = 20, 9  # the first operator set with Gelu, and the format of its time
EPSILON = 1e-5  # of `tformer.norm.LayerNorm`


def write(translator: Translator, folder: Path) -> None:
    """Write both graphs, the tokenizer, and ``config.json`` with ids and sizes.

    Raises:
        TypeError: the model is not a `Transformer`.
        ValueError: its weights are not finite, or its tokenizer is two.
    """
    model = transformer_of(translator)
    config = model.config
    weights = stored_weights(model, torch.float32)
    table = cast(Positions, model.positions).table.detach().float()
    weights["positions.table"] = table
    write_atomically(folder / "tokenizer.model", translator.tokenizer.model_bytes)
    empty = (config.n_heads, 0, config.d_model // config.n_heads)
    write_json(folder / "config.json", config.to_dict() | {"empty_past": empty})
    for name, drawn in (("encoder", _encoder), ("step", _step)):
        graph = drawn(config, weights)
        write_atomically(folder / f"{name}.onnx", graph.SerializeToString())


def _encoder(config: TransformerConfig, weights: dict[str, Tensor]) -> Any:
    """source_ids (B, S) -> keys and values (B, H, S, Dh) for each decoder layer."""
    net = _Network(config, weights)
    mask = net.source_mask()
    x = net.embedded("source", "source_ids")
    positions = net.slice(net.weight("positions.table"), net.length("source_ids", 1))
    x = net("Add", x, positions)
    for number in range(config.n_encoder_layers):
        layer = f"encoder.layers.{number}"

        def attend(h: str, part: str = f"{layer}.self_attention") -> str:
            query, key, value = (net.heads(h, f"{part}.to_{w}") for w in _LOOKED_UP)
            return net.attention(part, query, key, value, mask)

        x = net.residual(x, f"{layer}.self_attention", attend)
        x = net.feed_forward(x, layer)
    memory = net.last_norm(x, "encoder")
    outputs = []
    for number in range(config.n_decoder_layers):
        for what in ("key", "value"):
            part = f"decoder.layers.{number}.cross_attention.to_{what}"
            outputs.append(
                net.named(f"memory_{what}_{number}", net.heads(memory, part))
            )
    return net.graph("encoder", _ids("source_ids"), _caches(outputs, "source"))


def _step(config: TransformerConfig, weights: dict[str, Tensor]) -> Any:
    """The newest ids (B, 1) and the cache -> logits (B, V) and the longer cache."""
    net = _Network(config, weights)
    mask = net.source_mask()
    place = net.length("past_key_0", 2)  # of the newest piece: this many came before
    position = net("Gather", net.weight("positions.table"), place)
    x = net("Add", net.embedded("target", "ids"), position)
    kept, memory, past = [], [], []
    for number in range(config.n_decoder_layers):
        layer = f"decoder.layers.{number}"
        own = [f"past_key_{number}", f"past_value_{number}"]
        across = [f"memory_key_{number}", f"memory_value_{number}"]
        past += own
        memory += across

        def look_back(
            h: str, part: str = f"{layer}.self_attention", own: list[str] = own
        ) -> str:
            query, *new = (net.heads(h, f"{part}.to_{w}") for w in _LOOKED_UP)
            both = [
                net.named(each.removeprefix("past_"), net("Concat", each, more, axis=2))
                for each, more in zip(own, new, strict=True)
            ]
            kept.extend(both)
            return net.attention(part, query, both[0], both[1])

        def look_across(
            h: str, part: str = f"{layer}.cross_attention", across: list[str] = across
        ) -> str:
            query = net.heads(h, f"{part}.to_query")
            return net.attention(part, query, across[0], across[1], mask)

        x = net.residual(x, f"{layer}.self_attention", look_back)
        x = net.residual(x, f"{layer}.cross_attention", look_across)
        x = net.feed_forward(x, layer)
    logits = net.named("logits", net.unembedded(net.last_norm(x, "decoder")))
    inputs = [*_ids("ids", 1), *_ids("source_ids")]
    inputs += [*_caches(memory, "source"), *_caches(past, "past")]
    outputs = [(logits, "FLOAT", ["batch", config.vocab_size])]
    return net.graph("step", inputs, [*outputs, *_caches(kept, "past + 1")])


_LOOKED_UP = ("query", "key", "value")
Value = tuple[str, str, list[Any]]  # name, type, axes


def _ids(name: str, length: int | str = "source") -> list[Value]:
    return [(name, "INT64", ["batch", length])]


def _caches(names: Iterable[str], length: str) -> list[Value]:
    return [(name, "FLOAT", ["batch", "heads", length, "width"]) for name in names]


class _Network:
    """A graph that grows by one operation per call, with the model's weights in it."""

    def __init__(self, config: TransformerConfig, weights: dict[str, Tensor]) -> None:
        self.config, self._weights = config, weights
        self._nodes: list[Any] = []
        self._tensors: dict[str, Any] = {}

    def __call__(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation; return the name of its result."""
        from onnx import helper

        result = f"{operation}_{len(self._nodes)}"
        node = helper.make_node(operation, inputs, [result], **attributes)
        self._nodes.append(node)
        return result

    def named(self, name: str, value: str) -> str:
        """The same value under a public name, for those who run the graph."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [value], [name]))
        return name

    def graph(self, name: str, inputs: list[Value], outputs: list[Value]) -> Any:
        """The whole graph in ONNX's format."""
        from onnx import TensorProto, helper

        def told(values: list[Value]) -> list[Any]:
            return [
                helper.make_tensor_value_info(each, getattr(TensorProto, kind), axes)
                for each, kind, axes in values
            ]

        graph = helper.make_graph(
            self._nodes, name, told(inputs), told(outputs), [*self._tensors.values()]
        )
        versions = [helper.make_opsetid("", OPSET)]
        return helper.make_model(
            graph, opset_imports=versions, ir_version=IR, producer_name="tformer"
        )

    def weight(self, name: str) -> str:
        """A weight of the model, by name."""
        return self._tensor(name, self._weights[name])

    def _tensor(self, name: str, tensor: Tensor) -> str:
        from onnx import numpy_helper

        if name not in self._tensors:
            values = tensor.contiguous().numpy()
            self._tensors[name] = numpy_helper.from_array(values, name)
        return name

    def _constant(self, value: Any) -> str:
        return self._tensor(f"constant {value}", torch.tensor(value))

    def length(self, of: str, axis: int) -> str:
        """How long an axis is, (1,) int64."""
        return self("Shape", of, start=axis, end=axis + 1)

    def slice(self, table: str, end: str) -> str:
        """The first rows of a table."""
        return self("Slice", table, self._constant([0]), end, self._constant([0]))

    def source_mask(self) -> str:
        """(B, 1, 1, S) bool: what may be attended to."""
        pad = self._constant(self.config.pad_id)
        is_pad = self("Equal", "source_ids", pad)
        return self("Unsqueeze", self("Not", is_pad), self._constant([1, 2]))

    def embedded(self, side: str, ids: str) -> str:
        """(B, T) ids -> (B, T, D), scaled."""
        side = "source" if self.config.tie_embeddings else side
        rows = self("Gather", self.weight(f"{side}_embedding.table.weight"), ids)
        return self("Mul", rows, self._constant(math.sqrt(self.config.d_model)))

    def unembedded(self, x: str) -> str:
        """(B, 1, D) -> (B, V) logits."""
        owner = "source" if self.config.tie_embeddings else "output"
        x = self("Squeeze", x, self._constant([1]))
        table = self.weight(f"{owner}_embedding.table.weight")
        inputs = [x, table]
        if self.config.output_bias:
            inputs.append(self.weight(f"{owner}_embedding.output_bias"))
        return self("Gemm", *inputs, transB=1)

    def linear(self, x: str, name: str) -> str:
        """Compute ``x W^T + b``."""
        turned = self._tensor(f"{name}.weight", self._weights[f"{name}.weight"].T)
        return self("Add", self("MatMul", x, turned), self.weight(f"{name}.bias"))

    def heads(self, x: str, name: str) -> str:
        """(B, T, D) -> projected and split, (B, H, T, Dh)."""
        shape = self._constant([0, 0, self.config.n_heads, -1])  # 0: as it was
        cut = self("Reshape", self.linear(x, name), shape)
        return self("Transpose", cut, perm=[0, 2, 1, 3])

    def attention(
        self, name: str, query: str, key: str, value: str, mask: str | None = None
    ) -> str:
        """softmax(Q K^T / sqrt(Dh)) V, heads merged and projected: (B, T, D)."""
        scale = self._constant((self.config.d_model / self.config.n_heads) ** -0.5)
        turned = self("Transpose", key, perm=[0, 1, 3, 2])
        scores = self("Mul", self("MatMul", query, turned), scale)
        if mask is not None:
            scores = self("Where", mask, scores, self._constant(float("-inf")))
        weights = self("Softmax", scores, axis=-1)
        mixed = self("Transpose", self("MatMul", weights, value), perm=[0, 2, 1, 3])
        merged = self("Reshape", mixed, self._constant([0, 0, self.config.d_model]))
        return self.linear(merged, f"{name}.to_output")

    def feed_forward(self, x: str, layer: str) -> str:
        """The feed-forward network with its residual connection."""

        def network(h: str) -> str:
            wide = self.linear(h, f"{layer}.feed_forward.expand")
            return self.linear(self._active(wide), f"{layer}.feed_forward.contract")

        return self.residual(x, f"{layer}.feed_forward", network)

    def _active(self, x: str) -> str:
        if self.config.activation == "relu":
            return self("Relu", x)
        if self.config.activation == "gelu":
            return self("Gelu", x)
        return self("Mul", x, self("Sigmoid", x))

    def residual(self, x: str, name: str, sublayer: Callable[[str], str]) -> str:
        """A sub-layer with its residual connection, and the norm in its place."""
        norm = f"{name}_residual.norm"
        if self.config.norm == "pre":
            return self("Add", x, sublayer(self.norm(x, norm)))
        return self.norm(self("Add", x, sublayer(x)), norm)

    def last_norm(self, x: str, stack: str) -> str:
        """The final norm of a pre-norm stack."""
        return self.norm(x, f"{stack}.final_norm") if self.config.norm == "pre" else x

    def norm(self, x: str, name: str) -> str:
        """Layer normalisation."""
        gain, bias = self.weight(f"{name}.gain"), self.weight(f"{name}.bias")
        return self("LayerNormalization", x, gain, bias, epsilon=EPSILON)
