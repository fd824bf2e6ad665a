"""The grader for `forward` of chapter *The whole Transformer*, and known mistakes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tformer import masks
from tformer.config import TransformerConfig
from tformer.decoder import Decoder
from tformer.encoder import Encoder
from tformer.model import Transformer
from tformer_book.check._compare import (
    Known,
    matches,
    recognise,
    slips,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    as_tensor,
    call,
    probe_gradients,
)


@dataclass(frozen=True)
class Pass:
    """The forward pass, put together from the parts; other fields make it wrong."""

    source_scale: float = 1.0  # exponent of sqrt(D) left: 1 as it is, 0 none, 2 twice
    target_scale: float = 1.0
    source_positions: int = 1
    target_positions: int = 1
    scale_after: bool = False
    encoder_mask: bool = True
    cross_mask: bool = True
    target_mask: str = "both"
    memory: str = "encoded"
    target_table: str = "target"
    output_table: str = "output"
    encoder_norm: bool = True
    decoder_norm: bool = True
    end: str = "logits"
    swapped_masks: bool = False
    flipped_masks: bool = False
    embedding_again: bool = False

    def run(self, model: Transformer, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Run it: (B, S), (B, T) ids -> (B, T, V) logits."""
        pad_id = model.config.pad_id
        see_source = masks.source_mask(source_ids, pad_id)
        see_target: Tensor | None = {
            "both": masks.target_mask(target_ids, pad_id),
            "causal": masks.causal_mask(target_ids.size(1)),
            "padding": masks.padding_mask(target_ids, pad_id),
            "none": None,
        }[self.target_mask]

        def embed(table: nn.Module, ids: Tensor, scale: float, times: int) -> Tensor:
            x = table(ids) * model.config.d_model ** ((scale - 1) / 2)
            if self.scale_after:
                x = x / math.sqrt(model.config.d_model)
            plain = x
            for _ in range(times):
                x = model.positions(x)
            x = x + plain if self.embedding_again else x
            return x * math.sqrt(model.config.d_model) if self.scale_after else x

        tables = {
            "source": model.source_embedding,
            "target": model.target_embedding,
            "output": model.output_embedding,
        }
        source = embed(
            tables["source"], source_ids, self.source_scale, self.source_positions
        )
        target = embed(
            tables[self.target_table],
            target_ids,
            self.target_scale,
            self.target_positions,
        )
        if self.flipped_masks:
            see_source, see_target = ~see_source, ~masks.target_mask(target_ids, pad_id)
        encoder_mask = see_source if self.encoder_mask else None
        if self.memory == "encoded":
            memory = _stack(model.encoder, source, encoder_mask, last=self.encoder_norm)
        elif self.memory == "embedded":
            memory = source
        elif self.memory == "encoded target":
            see_source = masks.padding_mask(target_ids, pad_id)
            memory = _stack(model.encoder, target, see_source, last=self.encoder_norm)
        else:
            memory, see_source = target, masks.padding_mask(target_ids, pad_id)
        across = see_source if self.cross_mask else None
        both = (across, see_target) if self.swapped_masks else (see_target, across)
        x = _stack(model.decoder, target, memory, *both, last=self.decoder_norm)
        logits = tables[self.output_table].unembed(x)
        return {
            "logits": logits,
            "softmax": logits.softmax(-1),
            "log-softmax": logits.log_softmax(-1),
            "scaled": logits * math.sqrt(model.config.d_model),
            "divided": logits / math.sqrt(model.config.d_model),
        }[self.end]


def _stack(
    stack: Encoder | Decoder, x: Tensor, *rest: Tensor | None, last: bool
) -> Tensor:
    for layer in stack.layers:
        x = layer(x, *rest)
    return stack.final_norm(x) if last else x


PASSES: dict[str, tuple[dict[str, object], str]] = {
    "no-masks": (
        {"encoder_mask": False, "cross_mask": False, "target_mask": "none"},
        "No mask is used at all: the decoder sees the future, and everybody sees "
        "padding. The decoder needs masks.target_mask(target_ids, pad_id), encoder and "
        "cross-attention need masks.source_mask(source_ids, pad_id).",
    ),
    "target-mask-forgotten": (
        {"target_mask": "none"},
        "The target mask is forgotten: the decoder's self-attention sees the words "
        "that it should predict. Give it masks.target_mask(target_ids, pad_id).",
    ),
    "not-causal": (
        {"target_mask": "padding"},
        "The target mask hides padding only, so each position sees its own answer one "
        "place further on. masks.target_mask joins it with the causal mask.",
    ),
    "target-padding-visible": (
        {"target_mask": "causal"},
        "The target mask is causal only. That changes no real position, since padding "
        "stands to the right of it; but the padded positions differ from the model's. "
        "masks.target_mask(target_ids, pad_id) hides padding, too.",
    ),
    "source-mask-forgotten": (
        {"encoder_mask": False, "cross_mask": False},
        "The source mask is forgotten, in encoder and cross-attention: both attend to "
        "padding, and a sentence's translation depends on its neighbours in the "
        "batch. Make masks.source_mask(source_ids, pad_id) once, use it in both.",
    ),
    "encoder-mask-forgotten": (
        {"encoder_mask": False},
        "The encoder runs without a mask, so real words attend to padding. Pass it the "
        "source mask, as you do for cross-attention.",
    ),
    "cross-mask-forgotten": (
        {"cross_mask": False},
        "Cross-attention runs without a mask. It needs no causal one, but the memory "
        "has rows of padding, too: pass the source mask as the decoder's fourth "
        "argument.",
    ),
    "source-unscaled": (
        {"source_scale": 0.0},
        "The source embedding is not multiplied by √d_model, so the positions drown "
        "it. Call model.source_embedding(ids): it scales; its bare table does not.",
    ),
    "target-unscaled": (
        {"target_scale": 0.0},
        "The target embedding is not multiplied by √d_model, so the positions drown "
        "it. Call model.target_embedding(ids): it scales; its bare table does not.",
    ),
    "unscaled": (
        {"source_scale": 0.0, "target_scale": 0.0},
        "The embeddings are not multiplied by √d_model, so the positions drown them. "
        "Call model.source_embedding(ids): it scales; its bare table does not.",
    ),
    "scaled-twice": (
        {"source_scale": 2.0, "target_scale": 2.0},
        "The embeddings are multiplied by √d_model twice: model.source_embedding does "
        "it already.",
    ),
    "positions-scaled": (
        {"scale_after": True},
        "You multiply by √d_model after the positions were added, so they grow, too. "
        "The factor belongs to the embedding alone: scale, then add.",
    ),
    "no-positions": (
        {"source_positions": 0, "target_positions": 0},
        "No positions are added: the model cannot tell the order of the words. "
        "model.positions(x) adds them to the scaled embedding.",
    ),
    "no-source-positions": (
        {"source_positions": 0},
        "The source gets no positions. model.positions(x) adds them, on both sides.",
    ),
    "no-target-positions": (
        {"target_positions": 0},
        "The target gets no positions. model.positions(x) adds them, on both sides.",
    ),
    "positions-twice": (
        {"source_positions": 2, "target_positions": 2},
        "The positions are added twice. model.positions(x) returns the sum already: "
        "write x = model.positions(x), not x = x + model.positions(x).",
    ),
    "embedding-counted-twice": (
        {"embedding_again": True},
        "You write x + model.positions(x). model.positions(x) is the sum already, so "
        "the embedding counts twice: write x = model.positions(x).",
    ),
    "memory-not-encoded": (
        {"memory": "embedded"},
        "The decoder looks at the embedded source, not at the encoder's output. What "
        "model.encoder returns is the memory: pass that.",
    ),
    "encoder-runs-on-the-target": (
        {"memory": "encoded target"},
        "The encoder runs on the target: the model would copy, not translate, and see "
        "every answer. The memory is made of the source.",
    ),
    "memory-forgotten": (
        {"memory": "target"},
        "Cross-attention looks at the decoder's own input: the source never gets in. "
        "The decoder's second argument is the memory that the encoder returns.",
    ),
    "source-table-for-the-target": (
        {"target_table": "source"},
        "The target is embedded by the source's table. In a tied model they are one, "
        "in others not: use model.target_embedding.",
    ),
    "unembedded-by-the-target-table": (
        {"output_table": "target"},
        "The logits come from the target's table. In a tied model it is the output's, "
        "too, in others not: use model.output_embedding.unembed, or model.unembed.",
    ),
    "unembedded-by-the-source-table": (
        {"output_table": "source"},
        "The logits come from the source's table. In a tied model it is the output's, "
        "too, in others not: use model.output_embedding.unembed, or model.unembed.",
    ),
    "final-norms-forgotten": (
        {"encoder_norm": False, "decoder_norm": False},
        "Both final norms are forgotten. Your layers are right, but a pre-norm stack "
        "ends in encoder.final_norm and decoder.final_norm; call the stack, or apply "
        "them.",
    ),
    "encoder-norm-forgotten": (
        {"encoder_norm": False},
        "The encoder's final norm is forgotten: with pre-norm, the memory is "
        "encoder.final_norm of what the last layer leaves.",
    ),
    "decoder-norm-forgotten": (
        {"decoder_norm": False},
        "The decoder's final norm is forgotten: with pre-norm, the logits come from "
        "decoder.final_norm of what the last layer leaves.",
    ),
    "softmax-applied": (
        {"end": "softmax"},
        "You return probabilities. The model returns logits, from before softmax: the "
        "loss takes its logarithm itself, and softmax twice would flatten everything.",
    ),
    "log-softmax-applied": (
        {"end": "log-softmax"},
        "You return log-probabilities. The model returns logits, from before softmax. "
        "(The loss would not notice; who adds or compares raw logits would.)",
    ),
    "logits-scaled": (
        {"end": "scaled"},
        "The logits are multiplied by √d_model. The factor belongs to the way in "
        "only; the way out uses the bare table.",
    ),
    "logits-divided": (
        {"end": "divided"},
        "The logits are divided by √d_model. On the way out the table is used as it "
        "is.",
    ),
    "masks-swapped": (
        {"swapped_masks": True},
        "The decoder's masks are swapped. The order is decoder(x, memory, target_mask, "
        "source_mask); write them with their names.",
    ),
    "masks-flipped": (
        {"flipped_masks": True},
        "The masks are the wrong way round. Here True means may attend, so what "
        "tformer.masks returns goes in as it is, without ~. (torch.nn.Transformer has "
        "it the other way.)",
    ),
}


@dataclass(frozen=True)
class Case:
    """A model with random numbers everywhere, and padded ids for it."""

    model: Transformer
    source_ids: Tensor
    target_ids: Tensor

    @classmethod
    def random(
        cls,
        norm: str,
        *,
        tied: bool,
        source: Sequence[int] = (7, 4, 2),
        target: Sequence[int] = (3, 5, 2),
        seed: int = 0,
        pad_id: int = 0,
    ) -> Case:
        """Draw a case; no gain is 1, no bias 0, and every row but one is padded."""
        config = TransformerConfig(
            vocab_size=19,
            d_model=8,
            n_heads=2,
            d_ff=12,
            n_encoder_layers=2,
            n_decoder_layers=2,
            max_len=16,
            norm=norm,
            dropout=0.0,
            tie_embeddings=tied,
            pad_id=pad_id,
            unk_id=3 - pad_id,
        )
        generator = torch.Generator().manual_seed(seed)
        model = Transformer(config).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                noise = torch.randn(parameter.shape, generator=generator).double()
                size = 0.4 if parameter.dim() == 1 else parameter.size(-1) ** -0.5
                parameter.copy_(size * noise + (parameter == 1))

        def ids(lengths: Sequence[int], first: int | None = None) -> Tensor:
            shape = (len(lengths), max(lengths))
            drawn = torch.randint(4, config.vocab_size, shape, generator=generator)
            if first is not None:
                drawn[:, 0] = first
            beyond = torch.arange(shape[1]) >= torch.tensor(lengths)[:, None]
            return drawn.masked_fill(beyond, config.pad_id)

        return cls(model, ids(source), ids(target, config.bos_id))

    def right(self) -> Tensor:
        """What should come out."""
        with torch.no_grad():
            return Transformer.forward(self.model, self.source_ids, self.target_ids)

    def known(self, changes: dict[str, Any]) -> Tensor:
        """What a known mistake gives."""
        wrong = dataclasses.replace(Pass(), **changes)
        with torch.no_grad():
            return wrong.run(self.model, self.source_ids, self.target_ids)

    def run(self, mine: Function) -> Tensor:
        """The reader's logits, of the right shape."""
        inputs = {
            "model": self.model,
            "source_ids": self.source_ids,
            "target_ids": self.target_ids,
        }
        for name in ("forward", "encode", "decode"):
            setattr(self.model, name, _forbidden(name))
        try:
            found = call(mine, inputs, {})
        finally:
            for name in ("forward", "encode", "decode"):
                delattr(self.model, name)
        return self._checked(found)

    def _checked(self, found: object) -> Tensor:
        found = as_tensor(found, "one tensor, the logits")
        (b, t), s = self.target_ids.shape, self.source_ids.size(1)
        v, d = self.model.config.vocab_size, self.model.config.d_model
        shape = tuple(found.shape)
        given = f"For a source of {s} and a target of {t} positions"
        if shape == (b, t, v):
            return found
        if shape == (b, t, d):
            raise Mistake(
                "not-unembedded",
                f"{given} you return {shape}: the decoder's stream. One step is "
                "missing, from width D to a score for each piece: model.unembed(x).",
            )
        if shape == (b, t - 1, v):
            raise Mistake(
                "shifted-inside",
                f"{given} you return {shape}: one position is lost. The target is "
                "shifted already when it comes (bos + pieces): leave it as it is.",
            )
        if shape == (b, s, v):
            raise Mistake(
                "as-long-as-the-source",
                f"{given} you return {shape}: as long as the source. Logits belong to "
                "target positions: the decoder's stream starts from target_ids.",
            )
        if shape == (b, v):
            raise Mistake(
                "last-position-only",
                f"{given} you return {shape}: one position only. In training all "
                "positions are scored at once; decoding takes the last one itself.",
            )
        raise Mistake(
            "shape",
            f"{given} the logits must be {(b, t, v)}: batch, target positions, "
            f"vocabulary. Yours are {shape}.",
        )


def _forbidden(name: str) -> Function:
    def stop(*_: object, **__: object) -> None:
        what = "model(…)" if name == "forward" else f"model.{name}(…)"
        raise Mistake(
            "calls-the-model",
            f"You call {what}, which is the answer. Put the pass together yourself, "
            "from model.source_embedding, .positions, .dropout, .encoder, "
            ".target_embedding, .decoder and .unembed, with the masks of "
            "tformer.masks.",
        )

    return stop


def _wrong(cases: list[Case]) -> Known:
    """Known mistakes, single ones first, then two at once."""
    yield from slips(lambda **changes: [each.known(changes) for each in cases], PASSES)


def _compare(cases: list[Case], found: list[Tensor]) -> None:
    right = [case.right() for case in cases]
    if matches(found, right):
        return
    recognise(found, _wrong(cases))
    if any(bool(each.isnan().any()) for each in found):
        raise Mistake(
            "nan",
            "There is nan (not a number) in your logits: some row of attention sees "
            "nothing. Is a mask the wrong way round? Here True means may attend.",
        )
    i = next(i for i in range(len(cases)) if not matches(found[i], right[i]))
    config = cases[i].model.config
    kind = f"{'a tied' if config.tie_embeddings else 'an untied'} {config.norm}-norm"
    raise Mistake(
        "wrong-numbers",
        f"The shapes are right but the numbers are not, for {kind} model, and I do not "
        "know this mistake. Compare yours with the real pass step by step: "
        "trace.watch(model, 'encoder', 'decoder') shows what it computes.",
    )


def _pass_probe(mine: Function) -> None:
    cases = [Case.random("pre", tied=False), Case.random("post", tied=True, seed=1)]
    try:
        found = [case.run(mine) for case in cases]
    except Stopped as stopped:
        _explain_stop(mine, stopped)
        raise
    _compare(cases, found)


def _padding_probe(mine: Function) -> None:
    """Padding is where the model's configuration says."""
    case = Case.random("pre", tied=False, seed=3, pad_id=3)
    if not matches(case.run(mine), case.right()):
        raise Mistake(
            "pad-id-ignored",
            "Right where padding is 0, wrong for a model whose padding is 3: an id is "
            "written into your code. model.config.pad_id says where padding is.",
        )


def _mode_probe(mine: Function) -> None:
    """Whether it trains or not is the caller's affair."""
    case = Case.random("post", tied=False, seed=4)
    for training in (True, False):
        case.model.train(training)
        case.run(mine)
        if any(module.training != training for module in case.model.modules()):
            before, after = ("train", "eval") if training else ("eval", "train")
            raise Mistake(
                "mode-changed",
                f"The numbers are right, but the model comes in .{before}() and is "
                f"left in .{after}(): from then on dropout would be "
                f"{'off' if training else 'on'}, and nobody would notice. A forward "
                "pass leaves the mode to its caller.",
            )


def _explain_stop(mine: Function, stopped: Stopped) -> None:
    """Where source and target are equally long it may run: then its numbers tell."""
    lengths = (5, 3, 2)
    case = Case.random("pre", tied=False, source=lengths, target=lengths)
    try:
        found = case.run(mine)
    except Mistake:
        return
    recognise([found], _wrong([case]))
    raise Mistake(
        "only-equal-lengths",
        "It runs where source and target are equally long and stops elsewhere: "
        f"{stopped.message} Output rows follow the queries; who may be seen follows "
        "the keys.",
    )


def _training_probe(mine: Function) -> None:
    """Gradients flow, and dropout acts on both sums."""
    case = Case.random("pre", tied=True, seed=2)
    dropped: list[Tensor] = []
    handle = case.model.dropout.register_forward_hook(
        lambda module, inputs, output: dropped.append(inputs[0])
    )
    try:
        case.run(mine)
    finally:
        handle.remove()
    probe_gradients(
        mine,
        lambda: case.run(mine),
        lambda: Transformer.forward(case.model, case.source_ids, case.target_ids),
        dict(case.model.named_parameters()),
    )
    tables = case.model.source_embedding, case.model.target_embedding
    sides = ("source", case.source_ids), ("target", case.target_ids)
    for (side, ids), table in zip(sides, tables, strict=True):
        total = case.model.positions(table(ids))
        if any(matches(given, total) for given in dropped):
            continue
        if any(given.shape == total.shape for given in dropped):
            raise Mistake(
                "dropout-misplaced",
                f"Right as long as dropout is off, but on the {side} side it stands in "
                "the wrong place: the paper drops out the sum of embedding and "
                "position (section 5.4), so the positions come first: "
                "model.dropout(model.positions(…)).",
            )
        raise Mistake(
            "dropout-forgotten",
            f"Right as long as dropout is off, but in training the {side} would "
            "get none: the paper drops out the sum of embedding and position "
            "(section 5.4). Send it through model.dropout.",
        )


def forward(mine: Function) -> Result:
    """Grade ``mine(model, source_ids, target_ids)``, the whole forward pass.

    Args:
        mine: puts the pass together from the parts of a `tformer.Transformer` and
            returns the logits (B, T, V).

    Returns:
        True only if it agrees with the model in every hidden case.
    """
    return grade(
        "forward",
        mine,
        [_pass_probe, _padding_probe, _training_probe, _mode_probe],
        "It agrees with the model, number for number: pre- and post-norm, tied and "
        "not, with padding on both sides; gradients flow, and dropout stands in both "
        "places.",
    )
