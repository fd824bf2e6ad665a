"""The grader for `forward` of chapter *The whole Transformer*, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tformer import masks
from tformer.config import TransformerConfig
from tformer.decoder import Decoder
from tformer.encoder import Encoder
from tformer.model import Transformer
from tformer_book.check import kit

HINTS = (
    "What must exist before the decoder can run, and which two masks does it need?",
    "Make both masks from the ids. Embed the source, add positions, dropout, and send"
    " it through the encoder: that is the memory. Do the same with the target, send "
    "it through the decoder with memory and masks, and end with `unembed`.",
    "source_mask = masks.source_mask(source_ids, model.config.pad_id)",
)


def built(
    model: Transformer,
    source_ids: Tensor,
    target_ids: Tensor,
    *,
    source_scale: float = 1.0,  # exponent of sqrt(D) left: 1 as it is, 0 none, 2 twice
    target_scale: float = 1.0,
    source_positions: int = 1,
    target_positions: int = 1,
    scale_after: bool = False,
    encoder_mask: bool = True,
    cross_mask: bool = True,
    target_mask: str = "both",
    memory: str = "encoded",
    target_table: str = "target",
    output_table: str = "output",
    encoder_norm: bool = True,
    decoder_norm: bool = True,
    end: str = "logits",
    swapped_masks: bool = False,
    flipped_masks: bool = False,
    embedding_again: bool = False,
) -> Tensor:
    """The forward pass from its parts; other settings make it wrong."""
    pad_id, root = model.config.pad_id, math.sqrt(model.config.d_model)
    see_source = masks.source_mask(source_ids, pad_id)
    see_target: Tensor | None = {
        "both": masks.target_mask(target_ids, pad_id),
        "causal": masks.causal_mask(target_ids.size(1)),
        "padding": masks.padding_mask(target_ids, pad_id),
        "none": None,
    }[target_mask]

    def embed(table: nn.Module, ids: Tensor, scale: float, times: int) -> Tensor:
        x = table(ids) * root ** (scale - 1)
        if scale_after:
            x = x / root
        plain = x
        for _ in range(times):
            x = model.positions(x)
        x = x + plain if embedding_again else x
        return model.dropout(x * root if scale_after else x)

    tables = {
        "source": model.source_embedding,
        "target": model.target_embedding,
        "output": model.output_embedding,
    }
    source = embed(tables["source"], source_ids, source_scale, source_positions)
    target = embed(tables[target_table], target_ids, target_scale, target_positions)
    if flipped_masks:
        see_source, see_target = ~see_source, ~masks.target_mask(target_ids, pad_id)
    read = source if memory in ("encoded", "embedded") else target
    if memory in ("encoded target", "target"):
        see_source = masks.padding_mask(target_ids, pad_id)
    if memory in ("encoded", "encoded target"):
        see = see_source if encoder_mask else None
        read = _stack(model.encoder, read, see, last=encoder_norm)
    across = see_source if cross_mask else None
    both = (across, see_target) if swapped_masks else (see_target, across)
    x = _stack(model.decoder, target, read, *both, last=decoder_norm)
    logits = tables[output_table].unembed(x)
    return {
        "logits": logits,
        "softmax": logits.softmax(-1),
        "log-softmax": logits.log_softmax(-1),
        "scaled": logits * root,
        "divided": logits / root,
    }[end]


def _stack(
    stack: Encoder | Decoder, x: Tensor, *rest: Tensor | None, last: bool
) -> Tensor:
    for layer in stack.layers:
        x = layer(x, *rest)
    return stack.final_norm(x) if last else x


SLIPS: kit.Table = {
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


class Pass(kit.Case):
    """A model with random numbers everywhere, and padded ids for it."""

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
    ) -> Pass:
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

        given = model, ids(source), ids(target, config.bos_id)
        names = ("model", "source_ids", "target_ids")
        return cls(dict(zip(names, given, strict=True)))

    def ask(self, mine: kit.Function, take: kit.Function = kit.as_tensor) -> Tensor:
        """The reader's logits, of the right shape."""
        for name in ("forward", "encode", "decode"):
            setattr(self["model"], name, _forbidden(name))
        try:
            found: Tensor = super().ask(
                mine, lambda out: take(out, "one tensor, the logits")
            )
        finally:
            for name in ("forward", "encode", "decode"):
                delattr(self["model"], name)
        self._check_shape(tuple(found.shape))
        return found

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        (b, t), s = self["target_ids"].shape, self["source_ids"].size(1)
        v, d = self["model"].config.vocab_size, self["model"].config.d_model
        given = f"For a source of {s} and a target of {t} positions"
        if shape == (b, t, v):
            return
        if shape == (b, t, d):
            raise kit.Mistake(
                "not-unembedded",
                f"{given} you return {shape}: the decoder's stream. One step is "
                "missing, from width D to a score for each piece: model.unembed(x).",
            )
        if shape == (b, t - 1, v):
            raise kit.Mistake(
                "shifted-inside",
                f"{given} you return {shape}: one position is lost. The target is "
                "shifted already when it comes (bos + pieces): leave it as it is.",
            )
        if shape == (b, s, v):
            raise kit.Mistake(
                "as-long-as-the-source",
                f"{given} you return {shape}: as long as the source. Logits belong to "
                "target positions: the decoder's stream starts from target_ids.",
            )
        if shape == (b, v):
            raise kit.Mistake(
                "last-position-only",
                f"{given} you return {shape}: one position only. In training all "
                "positions are scored at once; decoding takes the last one itself.",
            )
        raise kit.Mistake(
            "shape",
            f"{given} the logits must be {(b, t, v)}: batch, target positions, "
            f"vocabulary. Yours are {shape}.",
        )


def _forbidden(name: str) -> kit.Function:
    def stop(*_: object, **__: object) -> None:
        what = "model(…)" if name == "forward" else f"model.{name}(…)"
        raise kit.Mistake(
            "calls-the-model",
            f"You call {what}, which is the answer. Put the pass together yourself, "
            "from model.source_embedding, .positions, .dropout, .encoder, "
            ".target_embedding, .decoder and .unembed, with the masks of "
            "tformer.masks.",
        )

    return stop


def _right(model: Transformer, source_ids: Tensor, target_ids: Tensor) -> Tensor:
    return Transformer.forward(model, source_ids, target_ids)


def _compare(both: list[Pass], found: list[Tensor]) -> None:
    right = kit.all_of(both)(_right)
    if kit.matches(found, right):
        return
    kit.recognise(found, kit.slips(SLIPS, kit.all_of(both), built))
    if any(bool(each.isnan().any()) for each in found):
        raise kit.Mistake(
            "nan",
            "There is nan (not a number) in your logits: some row of attention sees "
            "nothing. Is a mask the wrong way round? Here True means may attend.",
        )
    i = next(i for i in range(len(both)) if not kit.matches(found[i], right[i]))
    config = both[i]["model"].config
    kind = f"{'a tied' if config.tie_embeddings else 'an untied'} {config.norm}-norm"
    raise kit.Mistake(
        "wrong-numbers",
        f"The shapes are right but the numbers are not, for {kind} model, and I do not "
        "know this mistake. Compare yours with the real pass step by step: "
        "trace.watch(model, 'encoder', 'decoder') shows what it computes.",
    )


def _pass_probe(mine: kit.Function) -> None:
    both = [Pass.random("pre", tied=False), Pass.random("post", tied=True, seed=1)]
    try:
        found = [case.ask(mine) for case in both]
    except kit.Stopped as stopped:
        _explain_stop(mine, stopped)
        raise
    _compare(both, found)


def _padding_probe(mine: kit.Function) -> None:
    """Padding is where the model's configuration says."""
    case = Pass.random("pre", tied=False, seed=3, pad_id=3)
    if not kit.matches(case.ask(mine), case.of(_right)):
        raise kit.Mistake(
            "pad-id-ignored",
            "Right where padding is 0, wrong for a model whose padding is 3: an id is "
            "written into your code. model.config.pad_id says where padding is.",
        )


def _mode_probe(mine: kit.Function) -> None:
    """Whether it trains or not is the caller's affair."""
    case = Pass.random("post", tied=False, seed=4)
    for training in (True, False):
        case["model"].train(training)
        case.ask(mine)
        if any(module.training != training for module in case["model"].modules()):
            before, after = ("train", "eval") if training else ("eval", "train")
            raise kit.Mistake(
                "mode-changed",
                f"The numbers are right, but the model comes in .{before}() and is "
                f"left in .{after}(): from then on dropout would be "
                f"{'off' if training else 'on'}, and nobody would notice. A forward "
                "pass leaves the mode to its caller.",
            )


def _explain_stop(mine: kit.Function, stopped: kit.Stopped) -> None:
    """Where source and target are equally long it may run: then its numbers tell."""
    lengths = (5, 3, 2)
    case = Pass.random("pre", tied=False, source=lengths, target=lengths)
    try:
        found = case.ask(mine)
    except kit.Mistake:
        return
    kit.recognise([found], kit.slips(SLIPS, kit.all_of([case]), built))
    raise kit.Mistake(
        "only-equal-lengths",
        "It runs where source and target are equally long and stops elsewhere: "
        f"{stopped.message} Output rows follow the queries; who may be seen follows "
        "the keys.",
    )


def _training_probe(mine: kit.Function) -> None:
    """Gradients flow, and dropout acts on both sums."""
    case = Pass.random("pre", tied=True, seed=2)
    model, source_ids, target_ids = case.inputs.values()
    dropped: list[Tensor] = []
    handle = model.dropout.register_forward_hook(
        lambda module, inputs, output: dropped.append(inputs[0])
    )
    try:
        case.ask(mine)
    finally:
        handle.remove()
    kit.probe_gradients(
        mine,
        lambda: case.ask(mine),
        lambda: case.of(_right),
        dict(model.named_parameters()),
    )
    for side, ids, table in (
        ("source", source_ids, model.source_embedding),
        ("target", target_ids, model.target_embedding),
    ):
        total = model.positions(table(ids))
        if any(kit.matches(given, total) for given in dropped):
            continue
        if any(given.shape == total.shape for given in dropped):
            raise kit.Mistake(
                "dropout-misplaced",
                f"Right as long as dropout is off, but on the {side} side it stands in "
                "the wrong place: the paper drops out the sum of embedding and "
                "position (section 5.4), so the positions come first: "
                "model.dropout(model.positions(…)).",
            )
        raise kit.Mistake(
            "dropout-forgotten",
            f"Right as long as dropout is off, but in training the {side} would "
            "get none: the paper drops out the sum of embedding and position "
            "(section 5.4). Send it through model.dropout.",
        )


@kit.grader(_pass_probe, _padding_probe, _training_probe, _mode_probe)
def forward(mine: kit.Function) -> str:
    """Grade ``mine(model, source_ids, target_ids)``, the whole forward pass.

    ``mine`` puts the pass together from the parts of a `tformer.Transformer` and
    returns the logits (B, T, V).
    """
    return (
        "It agrees with the model, number for number: pre- and post-norm, tied and "
        "not, with padding on both sides; gradients flow, and dropout stands in both "
        "places."
    )
