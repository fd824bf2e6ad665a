"""Break the package on purpose, one formula at a time, and see that a test notices.

A test that cannot fail proves nothing. Each mutation below replaces one piece of the
source in a *copy* of the package, runs the tests that should notice, and is "killed" by
the first that fails. Then those tests run on the package as it is, where all must pass.

    make mutate                            # all of them
    python tests/mutate.py scale mask      # those whose names contain a word
    python tests/mutate.py --list

The exit status is 1 if a mutation survives, or if the piece to replace is not found
exactly once: a change of the source then asks for a change here.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# One thread: the mutations share the cores, and a process with threads cannot fork.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import hypothesis  # noqa: F401 (slow imports, done once for all mutations)
import numpy  # noqa: F401
import pytest
import torch  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tformer"
TIMEOUT = 300  # seconds for a test
UNUSABLE = 99  # exit status of a run that proves nothing


@dataclass(frozen=True)
class Mutation:
    """One way to be wrong.

    Attributes:
        name: what is wrong, in words.
        file: inside the package.
        old: the right source; stands in the file exactly once.
        new: the wrong one.
        tests: files, folders or single tests inside tests/ that should notice; the
            file's own if left out.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    @property
    def test_paths(self) -> list[str]:
        names = self.tests or (f"test_{self.file}",)
        return [f"tests/{name}" for name in names]

    def broken(self) -> str:
        """The file's source with the mutation.

        Raises:
            ValueError: the piece to replace is not there exactly once.
        """
        source = (PACKAGE / self.file).read_text(encoding="utf-8")
        count = source.count(self.old)
        if count != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} is {count} times in tformer/{self.file}, "
                "not once: bring the mutation up to date in tests/mutate.py"
            )
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation: the test that killed it, or why none did."""

    mutation: Mutation
    killer: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Job:
    """Tests to run on the copy in a folder."""

    folder: Path
    arguments: tuple[str, ...]

    @property
    def output(self) -> Path:
        return self.folder / "output.txt"


PARITY = "test_parity_with_torch.py"
DECODE = ("decode",)
AVERAGING = (
    "train/test_fitting.py::test_the_final_weights_are_the_mean_of_the_last_snapshots"
)
PARTS = (
    "train/test_fitting.py::test_parts_of_a_batch_add_up_to_the_gradients_of_the_whole"
)
VALIDATION = (
    "train/test_fitting.py::"
    "test_the_validation_loss_is_pytorchs_without_smoothing_or_dropout"
)

MUTATIONS = [
    # ------------------------------------------------------------------- attention
    Mutation(
        "scale: no root of Dh",
        "attention.py",
        "key.transpose(-2, -1) / math.sqrt(query.size(-1))",
        "key.transpose(-2, -1)",
    ),
    Mutation(
        "scale: divide by Dh, not by its root",
        "attention.py",
        "/ math.sqrt(query.size(-1))",
        "/ query.size(-1)",
    ),
    Mutation(
        "scale: none in the fused path",
        "attention.py",
        "query, key, value, attn_mask=mask)",
        "query, key, value, attn_mask=mask, scale=1.0)",
    ),
    Mutation(
        "mask polarity: True = may not, in the formula",
        "attention.py",
        "scores.masked_fill(~mask,",
        "scores.masked_fill(mask,",
    ),
    Mutation(
        "mask polarity: True = may not, in the fused path",
        "attention.py",
        "attn_mask=mask)",
        "attn_mask=None if mask is None else ~mask)",
    ),
    Mutation(
        "mask: filled with -10 instead of minus infinity",
        "attention.py",
        'float("-inf")',
        "-10.0",
    ),
    Mutation(
        "mask: forgotten in the fused path",
        "attention.py",
        "attn_mask=mask)",
        "attn_mask=None)",
    ),
    Mutation(
        "softmax over queries instead of keys",
        "attention.py",
        "scores.softmax(dim=-1)",
        "scores.softmax(dim=-2)",
    ),
    Mutation(
        "heads split by a view, without the transpose",
        "attention.py",
        "x.unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)",
        "x.reshape(*x.shape[:-2], self.n_heads, x.size(-2), -1)",
    ),
    Mutation(
        "heads merged by a view, without the transpose",
        "attention.py",
        "x.transpose(-3, -2).flatten(-2)",
        "x.reshape(*x.shape[:-3], x.size(-2), -1)",
    ),
    Mutation(
        "keys and values swapped",
        "attention.py",
        "_stacked(x, self.to_query, self.to_key, self.to_value)",
        "_stacked(x, self.to_query, self.to_value, self.to_key)",
    ),
    Mutation(
        "heads not mixed by W_O",
        "attention.py",
        "self.to_output(self.merge_heads(self.heads(output)))",
        "self.merge_heads(self.heads(output))",
    ),
    Mutation(
        "watching weights changes the output",
        "attention.py",
        "self.weights(weights) @ value",
        "self.weights(weights).round(decimals=2) @ value",
    ),
    # ----------------------------------------------------------------------- masks
    Mutation("causal: the next position is seen", "masks.py", ".tril()", ".tril(1)"),
    Mutation("causal: itself is not seen", "masks.py", ".tril()", ".tril(-1)"),
    Mutation(
        "mask polarity: padding seen, words hidden",
        "masks.py",
        "(ids != pad_id)[:, None, None, :]",
        "(ids == pad_id)[:, None, None, :]",
    ),
    Mutation(
        "padding hides queries, too",
        "masks.py",
        "causal & padding",
        "causal & padding & padding.transpose(-2, -1)",
    ),
    Mutation(
        "the target sees its future",
        "masks.py",
        "return causal & padding",
        "return padding.expand(-1, -1, causal.size(0), -1)",
        ("test_model.py",),
    ),
    Mutation(
        "the target sees its padding",
        "masks.py",
        "return causal & padding",
        "return causal | ~padding & causal",
    ),
    # ------------------------------------------------------------------- positions
    Mutation(
        "position exponent: i counts columns, not pairs",
        "positions.py",
        "base ** (pair / d_model)",
        "base ** (2 * pair / d_model)",
    ),
    Mutation(
        "position exponent: i / D instead of 2i / D",
        "positions.py",
        "base ** (pair / d_model)",
        "base ** (pair / 2 / d_model)",
    ),
    Mutation(
        "position exponent: D - 2 for D, so that it reaches 1",
        "positions.py",
        "base ** (pair / d_model)",
        "base ** (pair / max(d_model - 2, 1))",
    ),
    Mutation(
        "positions: base 1,000",
        "positions.py",
        "base: float = 10_000.0",
        "base: float = 1_000.0",
    ),
    Mutation(
        "positions: sine and cosine swapped",
        "positions.py",
        "[angle.sin(), angle.cos()]",
        "[angle.cos(), angle.sin()]",
    ),
    Mutation(
        "positions: all sines, then all cosines",
        "positions.py",
        "[angle.sin(), angle.cos()], dim=-1)",
        "[angle.sin(), angle.cos()], dim=-2)",
    ),
    Mutation(
        "positions: counted from 1",
        "positions.py",
        "torch.arange(length, dtype=torch.float64)[:, None]",
        "torch.arange(length, dtype=torch.float64)[:, None] + 1",
    ),
    Mutation(
        "positions: the offset is ignored",
        "positions.py",
        "self.table[offset:end]",
        "self.table[: x.size(-2)]",
    ),
    Mutation(
        "positions: learned, but a fixed table",
        "positions.py",
        "self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.5**0.5)",
        "self.register_buffer('table', torch.randn(max_len, d_model) * 0.5**0.5)",
    ),
    Mutation(
        "positions: the choice of learned ones is ignored",
        "model.py",
        "POSITIONS[config.positions]",
        "POSITIONS['sinusoidal']",
    ),
    # ------------------------------------------------------------------- embedding
    Mutation(
        "embedding: not times the root of d_model",
        "embedding.py",
        "self.table(ids) * self.scale",
        "self.table(ids)",
    ),
    Mutation(
        "embedding: times d_model",
        "embedding.py",
        "self.scale = math.sqrt(d_model)",
        "self.scale = float(d_model)",
    ),
    Mutation(
        "embedding: scaled on the way out, too",
        "embedding.py",
        "return F.linear(hidden, self.table.weight, self.output_bias)",
        "return self.scale * F.linear(hidden, self.table.weight, self.output_bias)",
    ),
    Mutation(
        "embedding: the bias of the output forgotten",
        "embedding.py",
        "F.linear(hidden, self.table.weight, self.output_bias)",
        "F.linear(hidden, self.table.weight)",
        ("test_model.py",),
    ),
    Mutation(
        "embedding: starts with variance 1",
        "embedding.py",
        "std=d_model**-0.5",
        "std=1.0",
    ),
    # ------------------------------------------------------------------------ norm
    Mutation(
        "epsilon: outside the root",
        "norm.py",
        "torch.sqrt(variance + epsilon)",
        "(torch.sqrt(variance) + epsilon)",
    ),
    Mutation(
        "epsilon: 1e-6 in the formula",
        "norm.py",
        "bias: Tensor, epsilon: float = 1e-5)",
        "bias: Tensor, epsilon: float = 1e-6)",
    ),
    Mutation(
        "epsilon: 1e-6 in the layer",
        "norm.py",
        "d_model: int, epsilon: float = 1e-5)",
        "d_model: int, epsilon: float = 1e-6)",
    ),
    Mutation(
        "epsilon: the layer ignores it",
        "norm.py",
        "self.bias, self.epsilon)",
        "self.bias, 1e-5)",
    ),
    Mutation(
        "norm: variance divided by D - 1",
        "norm.py",
        "(x - mean).pow(2).mean(dim=-1, keepdim=True)",
        "x.var(dim=-1, keepdim=True)",
    ),
    Mutation(
        "norm: mean not taken away",
        "norm.py",
        "return gain * (x - mean)",
        "return gain * x",
    ),
    # -------------------------------------------------------------------- residual
    Mutation(
        "residual: dropped (post)",
        "residual.py",
        "self.norm(x + self.dropout(sublayer(x)))",
        "self.norm(self.dropout(sublayer(x)))",
    ),
    Mutation(
        "residual: dropped (pre)",
        "residual.py",
        "return x + self.dropout(sublayer(self.norm(x)))",
        "return self.dropout(sublayer(self.norm(x)))",
    ),
    Mutation(
        "norm place: on the sub-layer's output, beside the stream",
        "residual.py",
        "self.norm(x + self.dropout(sublayer(x)))",
        "x + self.norm(self.dropout(sublayer(x)))",
    ),
    Mutation(
        "norm place: post and pre swapped",
        "residual.py",
        'norm == "pre"',
        'norm == "post"',
    ),
    Mutation(
        "norm place: pre-norm normalises the stream itself",
        "residual.py",
        "return x + self.dropout(sublayer(self.norm(x)))",
        "return (h := self.norm(x)) + self.dropout(sublayer(h))",
    ),
    Mutation(
        "dropout: on the stream",
        "residual.py",
        "x + self.dropout(sublayer(self.norm(x)))",
        "self.dropout(x + sublayer(self.norm(x)))",
    ),
    Mutation(
        "dropout: forgotten",
        "residual.py",
        "self.norm(x + self.dropout(sublayer(x)))",
        "self.norm(x + sublayer(x))",
    ),
    # ---------------------------------------------- feed-forward, encoder, decoder
    Mutation(
        "feed-forward: no activation",
        "feedforward.py",
        "self.activation(self.expand(x))",
        "self.expand(x)",
    ),
    Mutation(
        "feed-forward: swish is another function",
        "feedforward.py",
        '"swish": F.silu',
        '"swish": F.softplus',
    ),
    Mutation(
        "encoder: a last norm after post-norm layers",
        "encoder.py",
        'parts.norm(d_model) if norm == "pre" else nn.Identity()',
        "parts.norm(d_model)",
    ),
    Mutation(
        "encoder: no last norm after pre-norm layers",
        "encoder.py",
        'parts.norm(d_model) if norm == "pre" else nn.Identity()',
        "nn.Identity()",
        (PARITY,),
    ),
    Mutation(
        "encoder: mask forgotten",
        "encoder.py",
        "self.self_attention(h, mask=source_mask)",
        "self.self_attention(h)",
    ),
    Mutation(
        "decoder: a last norm after post-norm layers",
        "decoder.py",
        'parts.norm(d_model) if norm == "pre" else nn.Identity()',
        "parts.norm(d_model)",
    ),
    Mutation(
        "decoder: cross-attention looks at the target",
        "decoder.py",
        "keys, values = attention.project_memory(memory)",
        "keys, values = attention.project_memory(h)",
    ),
    Mutation(
        "decoder: cross-attention looks at the target when cached",
        "decoder.py",
        "cache.memory = attention.project_memory(memory)",
        "cache.memory = attention.project_memory(h)",
    ),
    Mutation(
        "decoder: source mask forgotten",
        "decoder.py",
        "keys, values, mask=mask)",
        "keys, values, mask=None)",
    ),
    Mutation(
        "decoder: target mask forgotten",
        "decoder.py",
        "query, key, value, mask=target_mask)",
        "query, key, value, mask=None)",
    ),
    Mutation(
        "decoder: feed-forward before cross-attention",
        "decoder.py",
        "        x = self.cross_attention_residual(x, look_across)\n"
        "        return self.feed_forward_residual(x, self.feed_forward)",
        "        x = self.feed_forward_residual(x, self.feed_forward)\n"
        "        return self.cross_attention_residual(x, look_across)",
    ),
    Mutation(
        "cache: forgets the past",
        "cache.py",
        "self._room[:, : self.length] = old",
        "self._room[:, : self.length] = 0",
    ),
    Mutation(
        "cache: rows are not reordered",
        "cache.py",
        "self._room.index_select(0, rows)",
        "self._room.index_select(0, rows.sort().values)",
    ),
    Mutation(
        "cache: hypotheses look at their neighbour's source",
        "cache.py",
        "sources = rows // self.width",
        "sources = rows // self.width - 1",
    ),
    Mutation(
        "dropout: what stays is not scaled",
        "dropout.py",
        "(1 / (1 - self.p))",
        "1",
    ),
    Mutation(
        "dropout: keeps what it should drop",
        "dropout.py",
        ">= dropped - STEPS // 2",
        "< dropped - STEPS // 2",
    ),
    # ----------------------------------------------------------------------- model
    Mutation(
        "tying: three tables instead of one",
        "model.py",
        "        if config.tie_embeddings:",
        "        if False:",
    ),
    Mutation(
        "tying: the output keeps a table of its own",
        "model.py",
        "self.target_embedding = self.output_embedding = self.source_embedding\n",
        "self.target_embedding = self.source_embedding\n"
        "            self.output_embedding = ScaledEmbedding("
        "config.vocab_size, config.d_model)\n",
    ),
    Mutation(
        "model: no positions in the source",
        "model.py",
        "self.positions(self.source_embedding(source_ids))",
        "self.source_embedding(source_ids)",
    ),
    Mutation(
        "model: every cached step stands at position 0",
        "model.py",
        "offset = cache.length",
        "offset = 0",
    ),
    Mutation(
        "model: the decoder's mask is the source's",
        "model.py",
        "return self.decode(target_ids, memory, source_mask)",
        "return self.decode(target_ids, memory, source_mask.any(-1, True))",
    ),
    Mutation(
        "model: no dropout on embedding and position",
        "model.py",
        "self.encoder(self.dropout(x), source_mask)",
        "self.encoder(x, source_mask)",
    ),
    # -------------------------------------------------------------- loss, schedule
    Mutation(
        "smoothing mass: the label keeps all of its own",
        "loss.py",
        "each = -(1 - smoothing) * at_label",
        "each = -at_label",
    ),
    Mutation(
        "smoothing mass: none of it for the label",
        "loss.py",
        "smoothing * log_p.mean(dim=-1)",
        "smoothing * (log_p.sum(dim=-1) - at_label) / (log_p.size(-1) - 1)",
    ),
    Mutation(
        "loss: padding counts in the mean",
        "loss.py",
        "/ is_real.sum()",
        "/ is_real.numel()",
    ),
    Mutation(
        "loss: padding counts in the sum",
        "loss.py",
        "(each * is_real).sum()",
        "each.sum()",
    ),
    Mutation(
        "loss: training forgets the bias of the output",
        "train/loop.py",
        "bias=output.output_bias",
        "bias=None",
        ("train/test_fitting.py::test_the_loss_counts_the_bias_of_the_output",),
    ),
    Mutation(
        "Marian: the stream stays in pairs",
        "interop/layout.py",
        "lambda along: along.view(-1, 2).T",
        "lambda along: along",
        ("interop/test_hugging_face.py",),
    ),
    Mutation(
        "Marian: the stream stays in halves",
        "interop/layout.py",
        "lambda along: along.view(2, -1).T",
        "lambda along: along",
        ("interop/test_marian.py",),
    ),
    Mutation(
        "schedule: the later arm first", "schedule.py", "min(step**", "max(step**"
    ),
    Mutation(
        "schedule: the climb's exponent",
        "schedule.py",
        "step * warmup_steps**-1.5)",
        "step * warmup_steps**-0.5)",
    ),
    Mutation(
        "schedule: the fall's exponent",
        "schedule.py",
        "min(step**-0.5,",
        "min(step**-1.0,",
    ),
    Mutation(
        "schedule: width ignored",
        "schedule.py",
        "scale * d_model**-0.5 * min(",
        "scale * 512**-0.5 * min(",
    ),
    # ------------------------------------------------------------------------ cost
    Mutation(
        "cost: an encoder without its mixing",
        "cost.py",
        "4 * d * f + 4 * source * d  #",
        "4 * d * f + 2 * source * d  #",
    ),
    Mutation(
        "cost: cross-attention forgotten",
        "cost.py",
        "8 * d * d + 4 * d * d + 4 * d * f",
        "8 * d * d + 4 * d * f",
    ),
    Mutation(
        "cost: the backward pass as dear as the forward pass",
        "cost.py",
        "return 3 * forward(",
        "return 2 * forward(",
    ),
    Mutation(
        "cost: a search that looks back at everything",
        "cost.py",
        "seen=(pieces + 1) / 2",
        "seen=pieces",
    ),
    Mutation(
        "cost: a GRU of five products",
        "cost.py",
        "return 12 * length",
        "return 10 * length",
    ),
    Mutation(
        "cost: one average for Adam",
        "cost.py",
        "moments=2 * weights",
        "moments=weights",
    ),
    Mutation("cost: three copies of a weight", "cost.py", "COPIES = 4", "COPIES = 3"),
    Mutation("cost: the queries are not kept", "cost.py", "(10 * d + f", "(9 * d + f"),
    Mutation(
        "cost: the memory's keys are not kept",
        "cost.py",
        "decoders * 2 * d + ends",
        "decoders * d + ends",
    ),
    Mutation(
        "cost: pre-norm keeps no more than post-norm",
        "cost.py",
        '(3 if config.norm == "pre" else 2) * d',
        "2 * d",
    ),
    Mutation(
        "cost: a cache of keys alone",
        "cost.py",
        "each = 2 * config.n_decoder_layers",
        "each = config.n_decoder_layers",
    ),
    Mutation(
        "trace: shared memory counts for each tensor",
        "trace.py",
        "found.setdefault(place, tensor.detach())",
        "found.setdefault(len(found), tensor.detach())",
    ),
    Mutation(
        "trace: weights count as kept", "trace.py", "if place not in own:", "if True:"
    ),
    # ---------------------------------------------------------------------- decode
    Mutation(
        "length penalty: n instead of (5 + n) / 6",
        "decode/beam.py",
        "return ((5 + length) / 6) ** alpha",
        "return length**alpha",
        DECODE,
    ),
    Mutation(
        "length penalty: sign of the exponent",
        "decode/beam.py",
        "return ((5 + length) / 6) ** alpha",
        "return ((5 + length) / 6) ** -alpha",
        DECODE,
    ),
    Mutation(
        "length penalty: eos not counted",
        "decode/beam.py",
        "length_penalty_of(len(pieces) + 1, self.alpha)",
        "length_penalty_of(len(pieces), self.alpha)",
        DECODE,
    ),
    Mutation(
        "length penalty: none",
        "decode/beam.py",
        "score = total / length_penalty_of(len(pieces) + 1, self.alpha)",
        "score = total",
        DECODE,
    ),
    Mutation(
        "decode: the first position instead of the newest",
        "decode/stepping.py",
        "hidden[:, -1]",
        "hidden[:, 0]",
        DECODE,
    ),
    Mutation(
        "decode: pad may be chosen",
        "decode/stepping.py",
        "[config.pad_id, config.bos_id, config.unk_id]",
        "[config.bos_id, config.unk_id]",
        DECODE,
    ),
    Mutation(
        "decode: beams keep their parents' caches mixed up",
        "decode/stepping.py",
        "self.cache.select(kept, same_sources=same_sources)",
        "self.cache.select(kept.sort().values, same_sources=same_sources)",
        DECODE,
    ),
    Mutation(
        "greedy: the least probable piece",
        "decode/choosing.py",
        "log_p.argmax(dim=-1)",
        "log_p.argmin(dim=-1)",
        DECODE,
    ),
    Mutation(
        "greedy: the least probable piece when nobody watches",
        "decode/stepping.py",
        "largest(logits, 1)",
        "largest(-logits, 1)",
        DECODE,
    ),
    Mutation(
        "beam: looks for its best in the wrong stretches",
        "decode/stepping.py",
        "stretches.amax(dim=-1)",
        "stretches.amin(dim=-1)",
        DECODE,
    ),
    Mutation(
        "sampling: the temperature multiplies",
        "decode/choosing.py",
        "(gaps / temperature)",
        "(gaps * temperature)",
        DECODE,
    ),
    Mutation(
        "sampling: top-k keeps one piece more",
        "decode/choosing.py",
        "p[..., top_k:] = 0",
        "p[..., top_k + 1 :] = 0",
        DECODE,
    ),
    Mutation(
        "sampling: top-p without the piece that reaches it",
        "decode/choosing.py",
        "before = p.cumsum(dim=-1) - p",
        "before = p.cumsum(dim=-1) - p.amax()",
        DECODE,
    ),
    Mutation(
        "sampling: top-p of a mass that top-k has cut",
        "decode/choosing.py",
        "p = p / p.sum(dim=-1, keepdim=True)\n        before",
        "before",
        DECODE,
    ),
    Mutation(
        "sampling: what is left does not sum to 1",
        "decode/choosing.py",
        "return p / p.sum(dim=-1, keepdim=True)",
        "return p",
        DECODE,
    ),
    Mutation(
        "sampling: all rows share one stream",
        "decode/choosing.py",
        "seed + STRIDE * row",
        "seed",
        DECODE,
    ),
    Mutation(
        "sampling: every step draws with the first number",
        "decode/choosing.py",
        "numbers[rows, step]",
        "numbers[rows, 0]",
        DECODE,
    ),
    Mutation(
        "sampling: the finished hand on their stream",
        "decode/choosing.py",
        "numbers[rows, step]",
        "numbers[: len(rows), step]",
        DECODE,
    ),
    Mutation(
        "sampling: a piece that is impossible",
        "decode/choosing.py",
        "(reached <= wanted[:, None])",
        "(reached < wanted[:, None])",
        DECODE,
    ),
    Mutation(
        "n-best: done when only the first is safe",
        "decode/beam.py",
        "self.finished[self.n - 1].score",
        "self.finished[0].score",
        DECODE,
    ),
    Mutation(
        "n-best: sorted by plain log-probability",
        "decode/beam.py",
        "key=lambda each: -each.score",
        "key=lambda each: -each.log_probability",
        DECODE,
    ),
    Mutation(
        "forced decoding: eos left out",
        "decode/forced.py",
        "log_p[:n]",
        "log_p[: n - 1]",
        DECODE,
    ),
    Mutation(
        "forced decoding: labels are the decoder's own input",
        "decode/forced.py",
        "target_ids[:, 1:], (0, 1)",
        "target_ids, (0, 0)",
        DECODE,
    ),
    Mutation(
        "translator: seeds in the order of lengths",
        "translator.py",
        "[seeds[i] for i in chosen]",
        "list(seeds[: len(chosen)])",
    ),
    # ----------------------------------------------------------------- data, train
    Mutation(
        "label shift: labels are the decoder's own input",
        "data/batches.py",
        "[target + self._eos for target in targets]",
        "[self._bos + target for target in targets]",
        ("data",),
    ),
    Mutation(
        "label shift: the decoder reads what it should say",
        "data/batches.py",
        "[self._bos + target for target in targets]",
        "[target + self._eos for target in targets]",
        ("data",),
    ),
    Mutation(
        "data: sources without eos",
        "data/batches.py",
        "return [*source, self._eos_id], target.tolist()",
        "return [*source], target.tolist()",
        ("data",),
    ),
    Mutation(
        "data: the budget forgets the targets",
        "data/batches.py",
        "(len(batch) + 1) * (widest_source + widest_target)",
        "(len(batch) + 1) * widest_source",
        ("data",),
    ),
    Mutation(
        "data: a batch that is just full is too full",
        "data/batches.py",
        "(widest_source + widest_target) > max_tokens",
        "(widest_source + widest_target) >= max_tokens",
        ("data/test_batches.py",),
    ),
    Mutation(
        "data: the last batch is lost",
        "data/batches.py",
        "    if batch:\n        closed.append(batch)\n    return closed",
        "    return closed",
        ("data/test_batches.py",),
    ),
    Mutation(
        "sampled pieces: the exponent is forgotten",
        "data/sampling.py",
        "math.exp(self.exponent * (score - highest))",
        "math.exp(score - highest)",
        ("data/test_sampling.py",),
    ),
    Mutation(
        "sampled pieces: the same in every epoch",
        "train/loop.py",
        'f"pieces/{self.recipe.seed}/{self.state.epoch}"',
        'f"pieces/{self.recipe.seed}"',
        ("train/test_fitting.py",),
    ),
    Mutation(
        "averaging: a sum instead of a mean",
        "train/checkpoints.py",
        "weight.double() / len(snapshots)",
        "weight.double()",
        (AVERAGING,),
    ),
    Mutation(
        "averaging: only the last snapshot",
        "train/checkpoints.py",
        "total[name] = total.get(name, 0) + weight.double() / len(snapshots)",
        "total[name] = weight.double()",
        (AVERAGING,),
    ),
    Mutation(
        "train: every part counts alike",
        "train/loop.py",
        "share = 0.0 if is_idle else part.n_labels / n_labels",
        "share = 0.0 if is_idle else 1 / len(parts)",
        (PARTS,),
    ),
    Mutation(
        "train: validation with smoothing",
        "train/loop.py",
        "self.loss(batch, smoothing=0.0)",
        "self.loss(batch, smoothing=0.1)",
        (VALIDATION,),
    ),
    # ------------------------------------------------------------- trace
    Mutation(
        "trace: nothing seen, nothing said",
        "trace.py",
        "if not seen[name]:",
        "if False:",
    ),
    Mutation(
        "trace: layers and batch swapped",
        "trace.py",
        "for name in names[site]], dim=1)",
        "for name in names[site]], dim=0)",
    ),
    Mutation(
        "trace: every head but one is scaled",
        "trace.py",
        "scale[head] = gain",
        "scale[:head] = gain",
    ),
    Mutation(
        "trace: the position's row counts the word, too",
        "trace.py",
        'Write("position", word, start - word, start)',
        'Write("position", word, start, start)',
    ),
    Mutation(
        "trace: every part finds the stream of the beginning",
        "trace.py",
        "Write(name, writes[-1].after, added, after)",
        "Write(name, writes[0].after, added, after)",
    ),
    # --------------------------------------------------------- additive attention
    Mutation(
        "additive: no tanh",
        "additive.py",
        "self.to_score(torch.tanh(hidden))",
        "self.to_score(hidden)",
    ),
    Mutation(
        "additive: query and key multiplied",
        "additive.py",
        ".unsqueeze(-2) + keys.unsqueeze(-3)",
        ".unsqueeze(-2) * keys.unsqueeze(-3)",
    ),
    Mutation(
        "additive: softmax over queries instead of keys",
        "additive.py",
        "scores.softmax(dim=-1)",
        "scores.softmax(dim=-2)",
    ),
    Mutation(
        "additive: mask polarity, True = may not",
        "additive.py",
        "masked_fill(~mask,",
        "masked_fill(mask,",
    ),
    Mutation(
        "additive: mask filled with -10 instead of minus infinity",
        "additive.py",
        'float("-inf")',
        "-10.0",
    ),
    # ------------------------------------------------------------ recurrent model
    Mutation(
        "recurrent: attention looks with no state",
        "recurrent.py",
        "query = cache.state[:, None]",
        "query = 0 * cache.state[:, None]",
    ),
    Mutation(
        "recurrent: padding is read like words",
        "recurrent.py",
        "(source_ids != self.config.pad_id).sum(dim=1).cpu()",
        "torch.full_like(source_ids[:, 0], source_ids.size(1)).cpu()",
    ),
    Mutation(
        "recurrent: the source mask is forgotten",
        "recurrent.py",
        "query, cache.keys, memory, mask=source_mask",
        "query, cache.keys, memory",
    ),
    Mutation(
        "recurrent: starts from the forward state at the first word",
        "recurrent.py",
        "memory[:, 0, self.config.d_hidden :]",
        "memory[:, 0, : self.config.d_hidden]",
    ),
    Mutation(
        "recurrent: the state is not carried on",
        "recurrent.py",
        "cache.state = self.decoder(torch.cat([y, context], dim=-1), cache.state)",
        "cache.state = self.decoder(torch.cat([y, context], dim=-1))",
    ),
    Mutation(
        "recurrent: a cache keeps its rows where they are",
        "recurrent.py",
        "self.state = self.state[rows]",
        "self.state = self.state[: len(rows)]",
    ),
    Mutation(
        "recurrent: no tanh before the vocabulary",
        "recurrent.py",
        "self.dropout(torch.tanh(self.to_output(",
        "self.dropout((self.to_output(",
    ),
    # ---------------------------------------------------------------------- paths
    Mutation(
        "paths: recurrence counted without the step into the state",
        "paths.py",
        "return distance + 1",
        "return max(1, distance)",
    ),
    Mutation(
        "paths: a convolution moves a signal by its whole kernel",
        "paths.py",
        "-(-distance // (kernel - 1))",
        "-(-distance // kernel)",
    ),
    Mutation(
        "paths: a started layer is not counted",
        "paths.py",
        "-(-distance // (kernel - 1))",
        "distance // (kernel - 1)",
    ),
    Mutation(
        "paths: dilation reaches one place too far",
        "paths.py",
        "kernel**layers <= distance",
        "kernel**layers < distance",
    ),
    Mutation(
        "paths: self-attention counted per token, not per pair",
        "paths.py",
        "return length**2 * width",
        "return length * width**2",
    ),
    Mutation(
        "paths: restricted attention at the price of a convolution",
        "paths.py",
        "        return kernel * length * width\n",
        "        return kernel * length * width**2\n",
    ),
    # ------------------------------------------------------------------ byte pairs
    Mutation(
        "byte pairs: words counted once, however often they occur",
        "byte_pairs.py",
        "counts[pair] += n\n    return counts",
        "counts[pair] += 1\n    return counts",
    ),
    Mutation(
        "byte pairs: another pair than the most frequent is merged",
        "byte_pairs.py",
        "n, best = heappop(queue)",
        "n, best = queue.pop()",
    ),
    Mutation(
        "byte pairs: a count that has changed is taken for the present one",
        "byte_pairs.py",
        "if counts[best] != -n:",
        "if not counts[best]:",
    ),
    Mutation(
        "byte pairs: a merge joins overlapping pairs",
        "byte_pairs.py",
        "i += 2",
        "i += 1",
    ),
    Mutation(
        "byte pairs: what a merge undid is still counted",
        "byte_pairs.py",
        "counts[pair] -= n",
        "counts[pair] -= 0",
    ),
    Mutation(
        "byte pairs: the latest merge is replayed first",
        "byte_pairs.py",
        "first = min(known,",
        "first = max(known,",
    ),
    Mutation(
        "byte pairs: no mark at the end of a word",
        "byte_pairs.py",
        "return (*word, END_OF_WORD)",
        "return (*word,)",
    ),
    Mutation(
        "byte pairs: an unknown character is left out",
        "byte_pairs.py",
        "[self._ids.get(piece, self.unk_id) for piece in self.pieces(text)]",
        "[self._ids[piece] for piece in self.pieces(text) if piece in self._ids]",
    ),
    # ------------------------------------------------------------- evaluate
    Mutation(
        "alignment error: possible links not counted",
        "evaluate/aligning.py",
        "len(links & aligned.sure) + len(links & aligned.possible)",
        "2 * len(links & aligned.sure)",
        ("evaluate/test_aligning.py",),
    ),
    Mutation(
        "alignment error: sure links not in the denominator",
        "evaluate/aligning.py",
        "1 - hits / (n_found + n_sure)",
        "1 - hits / (2 * n_found or 1)",
        ("evaluate/test_aligning.py",),
    ),
    Mutation(
        "alignment links: the row that reads taken for the one that predicts",
        "evaluate/aligning.py",
        'shift = 0 if row == "predicts" else 1',
        'shift = 1 if row == "predicts" else 0',
        ("evaluate/test_aligning.py",),
    ),
    Mutation(
        "alignment links: only the first piece of a word",
        "evaluate/aligning.py",
        "member[sorted(words), at] = 1",
        "member[sorted(words), at] = float(not any(words & p for p in pieces[:at]))",
        ("evaluate/test_aligning.py",),
    ),
    Mutation(
        "alignment rules: the worst first",
        "evaluate/aligning.py",
        "key=lambda item: item[1]))",
        "key=lambda item: -item[1]))",
        ("evaluate/test_aligning.py",),
    ),
    Mutation(
        "sentences: the worst are the best",
        "evaluate/scores.py",
        "sign * row.chrf",
        "-sign * row.chrf",
        ("evaluate/test_sentences.py",),
    ),
    Mutation(
        "checks: twice in a row is a loop of one word",
        "evaluate/checks.py",
        "3 if size == 1 else 2",
        "2",
        ("evaluate/test_sentences.py",),
    ),
    Mutation(
        "data: pairs are held together by their English alone",
        "data/corpus.py",
        "here, there = top(one), top(english_of[side])",
        "here, there = top(one), top(one)",
        ("data/test_splits.py",),
    ),
    Mutation(
        "data: a group is named by whatever came last",
        "data/corpus.py",
        "names[number] = min(names[number], key)",
        "names[number] = key",
        ("data/test_splits.py",),
    ),
    Mutation(
        "data: a pair is shared by its English alone",
        "data/corpus.py",
        "if sentence_key(pair[0]) in english or sentence_key(pair[1]) in german",
        "if sentence_key(pair[0]) in english",
        ("data/test_splits.py",),
    ),
    Mutation(
        "data: a mixture trains on what another part holds out",
        "data/loading.py",
        "train, n = _without(corpus.train, held_out)",
        "train, n = corpus.train, 0",
        ("data/test_corpora.py",),
    ),
    Mutation(
        "grammar: onto with the dative",
        "data/grammar/lexicon.py",
        "onto        | auf    | acc",
        "onto        | auf    | dat",
        ("data/test_grammar.py::test_the_german_is_right",),
    ),
    # --- weights in eight bits -----------------------------------------------------
    Mutation(
        "one scale for a whole matrix",
        "weights.py",
        "matrix.abs().amax(dim=1)",
        "matrix.abs().amax().expand(len(matrix))",
        ("test_pretrained.py",),
    ),
    Mutation(
        "the rows' scales averaged",
        "weights.py",
        "weight * scales[:, None]",
        "weight * scales.mean()",
        ("test_pretrained.py",),
    ),
    # ------------------------------------------------------- what came after the paper
    Mutation(
        "variants: RMSNorm of the sum of squares",
        "variants/rms_norm.py",
        "x.pow(2).mean(dim=-1, keepdim=True)",
        "x.pow(2).sum(dim=-1, keepdim=True)",
        ("test_variants.py",),
    ),
    Mutation(
        "variants: the pairs turn back",
        "variants/rotary.py",
        "[even * cosine - odd * sine, even * sine + odd * cosine]",
        "[even * cosine + odd * sine, odd * cosine - even * sine]",
        ("test_variants.py",),
    ),
    Mutation(
        "variants: with a cache, the newest query stands at 0",
        "variants/rotary.py",
        "first=key.size(-2) - query.size(-2)",
        "first=0",
        ("test_parts.py",),
    ),
    Mutation(
        "variants: groups in turn",
        "variants/grouped.py",
        "key.repeat_interleave(share, -3)",
        "key.repeat(1, share, 1, 1)",
        ("test_variants.py",),
    ),
    Mutation(
        "variants: no gate",
        "variants/swiglu.py",
        "F.silu(self.gate(x)) * self.expand(x)",
        "F.silu(self.gate(x)) + self.expand(x)",
        ("test_variants.py",),
    ),
    Mutation(
        "variants: nothing is kept as it is",
        "variants/masking.py",
        "chance < 0.9 * share",
        "chance < share",
        ("test_variants.py",),
    ),
    Mutation(
        "variants: the writer reads what comes later",
        "variants/one_stack.py",
        "masks.target_mask if self.causal else masks.source_mask",
        "masks.source_mask",
        ("test_variants.py",),
    ),
]


def make_copy(folder: Path) -> None:
    """Copy what the tests need, compiled files too; the released model is linked."""
    skip = shutil.ignore_patterns("*.safetensors")
    for name in ("tformer", "tests", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=skip)
    for weights in PACKAGE.rglob("*.safetensors"):
        (folder / weights.relative_to(ROOT)).symlink_to(weights)
    shutil.copy(ROOT / "pyproject.toml", folder)


def start(job: Job) -> int:
    """Run a job's tests in a child of this process; returns its process id.

    A fork starts with torch, pytest and hypothesis already imported, and with no module
    of tformer: it imports the copy in its folder, and no other.
    """
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = UNUSABLE
    try:
        output = os.open(job.output, os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(job.folder)
        os.environ["PYTHONPATH"] = sys.path[0] = str(job.folder)
        sys.dont_write_bytecode = True
        options = ["-q", "-rf", "--tb=no", f"--timeout={TIMEOUT}"]
        options += ["-p", "no:cacheprovider", "-p", "no:xdist"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        status = int(pytest.main([*options, *job.arguments]))
        imported = Path(sys.modules["tformer"].__file__ or "")
        if not imported.is_relative_to(job.folder):
            print(f"the tests ran on {imported}, not on the copy")
            status = UNUSABLE
        sys.stdout.flush()
    finally:
        os._exit(status)


def run(jobs: list[Job], at_once: int) -> Iterator[tuple[Job, int]]:
    """Run all jobs, some at a time; yields each with its exit status as it ends."""
    waiting, running = jobs[::-1], {}
    while waiting or running:
        while waiting and len(running) < at_once:
            job = waiting.pop()
            running[start(job)] = job
        child, status = os.wait()
        yield running.pop(child), os.waitstatus_to_exitcode(status)


def try_mutations(mutations: list[Mutation], at_once: int) -> Iterator[Outcome]:
    """Apply each mutation to a copy of its own and run its tests."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        base = Path(name).resolve()
        by_folder, jobs = {}, []
        for number, mutation in enumerate(mutations):
            folder = base / str(number)
            try:
                broken = mutation.broken()
            except ValueError as error:
                yield Outcome(mutation, problem=str(error))
                continue
            make_copy(folder)
            file = folder / "tformer" / mutation.file
            file.write_text(broken, encoding="utf-8")
            for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
                compiled.unlink()
            by_folder[folder] = mutation
            jobs.append(Job(folder, ("-x", *mutation.test_paths)))
        for job, status in run(jobs, at_once):
            yield judge(by_folder[job.folder], status, job.output.read_text())
            shutil.rmtree(job.folder)


def judge(mutation: Mutation, status: int, output: str) -> Outcome:
    """What pytest's exit status and summary say about a mutation."""
    # A test's parameters are left out: the whole test must pass on the right package.
    failed = re.findall(r"^FAILED ([^\s\[]+)", output, flags=re.MULTILINE)
    if "Failed: Timeout" in output:
        return Outcome(mutation, problem=f"too slow to tell:\n{output}")
    if status == 1 and failed:
        return Outcome(mutation, killer=failed[0])
    if status == 0:
        return Outcome(mutation, problem="survived: a test is missing")
    return Outcome(mutation, problem=f"no test ran (status {status}):\n{output}")


def failures_unbroken(tests: list[str]) -> str:
    """What goes wrong in these tests on the package as it is; empty if nothing."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        folder = Path(name).resolve() / "unbroken"
        make_copy(folder)
        [(job, status)] = run([Job(folder, tuple(tests))], 1)
        return job.output.read_text() if status else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only names that contain one of them")
    parser.add_argument("--jobs", type=int, default=2, help="mutations at a time")
    parser.add_argument("--list", action="store_true", help="name them all and stop")
    options = parser.parse_args()
    words = options.words or [""]
    chosen = [each for each in MUTATIONS if any(word in each.name for word in words)]
    if not chosen:
        parser.error(f"no mutation's name contains {' or '.join(words)}; try --list")
    width = max(len(mutation.name) for mutation in chosen)
    if options.list:
        for mutation in chosen:
            print(f"{mutation.name:{width}}  tformer/{mutation.file}")
        return 0
    print(f"{'mutation':{width}}  killed by")
    killers, problems = set(), []
    for outcome in try_mutations(chosen, options.jobs):
        name = outcome.mutation.name
        print(f"{name:{width}}  {outcome.killer or '*** NOTHING ***'}", flush=True)
        if outcome.killer:
            killers.add(outcome.killer)
        else:
            problems.append(f"{name}: {outcome.problem}")
    if killers and (output := failures_unbroken(sorted(killers))):
        problems.append(f"these tests fail on the package as it is, too:\n{output}")
    for problem in problems:
        print(f"\n{problem}", file=sys.stderr)
    print(f"\n{len(chosen)} mutations, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
