"""The grader for `decoder_layer` of chapter *The decoder*, and known mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tformer import masks
from tformer.decoder import DecoderLayer
from tformer.residual import Residual
from tformer_book.check import kit

HINTS = (
    "What does a residual want: a result, or a function of what it will hand over?",
    "Write two small functions, one that looks back with `target_mask` and one that "
    "looks across at `memory` with `source_mask`. Hand them to the two residuals in "
    "this order, then the network to the third.",
    "x = layer.self_attention_residual(x, look_back)",
)

NAMES = ("self", "cross", "ffn")
Sublayer = Callable[[Tensor], Tensor]


def built(
    layer: DecoderLayer,
    x: Tensor,
    memory: Tensor,
    target_mask: Tensor,
    source_mask: Tensor,
    *,
    order: tuple[str, ...] = NAMES,
    back_sees: str = "target",
    across_sees: str = "source",
    answers_back: str = "stream",  # who answers self-attention
    answers_across: str = "memory",
    asks_across: str = "stream",
    across_by: str = "cross",  # whose matrices
    starts_over: str = "",  # the sub-layer that begins with the layer's input again
    residuals: str = "own",
    around: tuple[str, ...] = ("right",) * 3,  # of self, cross, ffn
    reads: tuple[str, ...] = ("h",) * 3,  # or "x", the stream outside
) -> Tensor:
    """A decoder layer put together from its parts; other settings make it wrong."""
    given = x
    known = {"target": target_mask, "source": source_mask, "none": None}
    known |= {"target flipped": ~target_mask, "source flipped": ~source_mask}
    if across_sees == "causal":
        known["causal"] = source_mask & masks.causal_mask(x.size(1))
    attentions = {"self": layer.self_attention, "cross": layer.cross_attention}

    def look_back(h: Tensor) -> Tensor:
        answers = memory if answers_back == "memory" else h
        return layer.self_attention(h, answers, mask=known[back_sees])

    def look_across(h: Tensor) -> Tensor:
        answers = h if answers_across == "stream" else memory
        asks = memory if asks_across == "memory" else h
        return attentions[across_by](asks, answers, mask=known[across_sees])

    beside = {
        "self": layer.self_attention_residual,
        "cross": layer.cross_attention_residual,
        "ffn": layer.feed_forward_residual,
    }
    sublayers: dict[str, Sublayer]
    sublayers = {"self": look_back, "cross": look_across, "ffn": layer.feed_forward}
    for name in order:
        residual = beside["self" if residuals == "first" else name]
        stream, sublayer = given if name == starts_over else x, sublayers[name]
        if reads[NAMES.index(name)] == "x":
            sublayer = _always(sublayer(stream))
        x = _beside(residual, stream, sublayer, around[NAMES.index(name)])
    return x


def _always(result: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda h: result


def _beside(
    residual: Residual, x: Tensor, sublayer: Callable[[Tensor], Tensor], how: str
) -> Tensor:
    """One sub-layer beside the stream, or wrongly so."""
    if how == "right":
        return residual(x, sublayer)
    if how == "bare":
        return sublayer(x)
    if how == "no-norm":
        return x + sublayer(x)
    if residual.is_pre:  # "no-shortcut"
        return sublayer(residual.norm(x))
    return residual.norm(sublayer(x))


def _only(place: int, how: str) -> tuple[str, ...]:
    return tuple(how if i == place else "right" for i in range(3))


SLIPS: dict[str, Any] = {
    **{
        f"x-instead-of-h:{where}": (
            [{"reads": reads}],
            f"In {where} the function that you hand to the residual ignores its "
            "argument and reads x from outside. With pre-norm the two differ: the "
            "residual normalises x and gives your function the result. Use the "
            "argument: lambda h: layer.feed_forward(h), and so on.",
        )
        for where, reads in {
            "all three sub-layers": ("x", "x", "x"),
            "both attentions": ("x", "x", "h"),
            "self-attention": ("x", "h", "h"),
            "cross-attention": ("h", "x", "h"),
            "the feed-forward network": ("h", "h", "x"),
        }.items()
    },
    "mask-flipped": (
        [
            {"across_sees": "source flipped"},
            {"back_sees": "target flipped"},
            {"across_sees": "source flipped", "back_sees": "target flipped"},
        ],
        "A mask is the wrong way round: True means may attend, in both attentions. "
        "Pass the masks as they are, without ~.",
    ),
    "target-mask-forgotten": (
        [{"back_sees": "none"}],
        "The target mask is not used: each position sees the pieces that it must "
        "predict. Training would look wonderful and the translations be rubbish. "
        "Self-attention takes mask=target_mask.",
    ),
    "source-mask-forgotten": (
        [{"across_sees": "none"}],
        "The source mask is not used: cross-attention reads padding, and a translation "
        "depends on its neighbours in the batch. It takes mask=source_mask.",
    ),
    "no-masks": (
        [{"back_sees": "none", "across_sees": "none"}],
        "No mask is used: self-attention sees the future, cross-attention the padding.",
    ),
    "masks-swapped": (
        [{"back_sees": "source", "across_sees": "target"}],
        "The masks are swapped: target_mask belongs to self-attention, source_mask to "
        "cross-attention.",
    ),
    "source-mask-everywhere": (
        [{"back_sees": "source"}],
        "Self-attention gets the source's mask. It hides the wrong pieces and opens "
        "the future; the shapes fit only where both sides are padded to one length. "
        "Give it target_mask.",
    ),
    "target-mask-everywhere": (
        [{"across_sees": "target"}, {"across_sees": "causal"}],
        "Cross-attention gets a causal mask. The source may be read in full: give it "
        "source_mask alone.",
    ),
    "memory-not-used": (
        [
            {"answers_across": "stream", "across_sees": mask}
            for mask in ("source", "target", "none")
        ],
        "The memory is not used: your cross-attention asks the decoder's own stream. "
        "Every source would get the same translation. Call layer.cross_attention(h, "
        "memory, mask=source_mask).",
    ),
    "queries-from-the-memory": (
        [
            {"asks_across": "memory", "answers_across": "stream", "across_sees": mask}
            for mask in ("source", "target", "none")
        ],
        "In cross-attention the roles are exchanged: the first argument asks, the "
        "second answers. The decoder's stream asks: layer.cross_attention(h, memory).",
    ),
    "self-attention-asks-the-memory": (
        [
            {"answers_back": "memory", "back_sees": mask}
            for mask in ("target", "source")
        ],
        "Self-attention gets the memory for keys and values. Queries, keys and values "
        "all come from the target there: layer.self_attention(h, mask=target_mask).",
    ),
    "cross-attention-first": (
        [{"order": ("cross", "self", "ffn")}],
        "Cross-attention comes before self-attention. The paper's order is: look back "
        "at the target, look across to the source, then the feed-forward network.",
    ),
    "feed-forward-too-early": (
        [{"order": ("self", "ffn", "cross")}, {"order": ("ffn", "self", "cross")}],
        "The feed-forward network must come last: first gather (back, then across), "
        "then think about what was gathered.",
    ),
    "self-attention-lost": (
        [{"order": ("cross", "ffn")}],
        "Self-attention is missing, or what it found is lost because cross-attention "
        "starts from the layer's input x again. Hand on what the first residual "
        "returned.",
    ),
    "both-attentions-lost": (
        [{"starts_over": "ffn"}],
        "The feed-forward network starts from the layer's input x again, so what both "
        "attentions found is lost. Hand on what the second residual returned.",
    ),
    "feed-forward-forgotten": (
        [{"order": ("self", "cross")}],
        "The feed-forward network is missing: layer.feed_forward_residual(x, "
        "layer.feed_forward).",
    ),
    "cross-attention-forgotten": (
        [{"order": ("self", "ffn")}],
        "Cross-attention is missing: this is an encoder's layer with another mask, and "
        "the source never gets in.",
    ),
    "residuals-forgotten": (
        [{"around": ("bare",) * 3}, {"around": ("no-shortcut",) * 3}],
        "The residual connections are missing: each sub-layer replaces the stream "
        "instead of adding to it, and what was there is gone. Call them through "
        "layer.self_attention_residual(x, sublayer) and its sisters.",
    ),
    "norms-forgotten": (
        [{"around": ("no-norm",) * 3}],
        "You add, but nothing is normalised. layer.self_attention_residual(x, "
        "sublayer) does both, before or after, as the layer was made.",
    ),
    "one-residual-for-all": (
        [{"residuals": "first"}],
        "You use self_attention_residual for all three. Each sub-layer has its own, "
        "with a norm of its own: cross_attention_residual, feed_forward_residual.",
    ),
    "one-attention-for-both": (
        [{"across_by": "self"}],
        "You use layer.self_attention twice. Cross-attention has matrices of its own: "
        "layer.cross_attention.",
    ),
}


PARTS = {
    "self-attention": "self_attention_residual",
    "cross-attention": "cross_attention_residual",
    "feed-forward": "feed_forward_residual",
}
SLIPS |= {
    f"residual-of-{name}-forgotten": (
        [{"around": _only(i, how)} for how in ("bare", "no-shortcut", "no-norm")],
        "Two sub-layers run beside the stream, and one does not: the addition or the "
        f"norm around it is missing. Call it through layer.{part}(x, sublayer).",
    )
    for i, (name, part) in enumerate(PARTS.items())
}


class LayerCase(kit.Case):
    """A decoder layer with random numbers everywhere, and something to run it on."""

    @classmethod
    def random(cls, norm: str, t: int, s: int) -> LayerCase:
        """Draw a case; no gain is 1, no bias 0; row 1 is padded on both sides."""
        generator = torch.Generator().manual_seed(10 * t + s)
        layer = DecoderLayer(8, 2, 12, norm=norm).eval()
        with torch.no_grad():
            for parameter in layer.parameters():
                noise = torch.randn(parameter.shape, generator=generator)
                size = 0.4 if parameter.dim() == 1 else parameter.size(-1) ** -0.5
                parameter.copy_(size * noise + (parameter == 1))

        def ids(length: int, real: int) -> Tensor:
            drawn = torch.ones(2, length, dtype=torch.int64)
            drawn[1, real:] = 0
            return drawn

        return cls(
            {
                "layer": layer,
                "x": torch.randn(2, t, 8, generator=generator),
                "memory": torch.randn(2, s, 8, generator=generator),
                "target_mask": masks.target_mask(ids(t, t - 1), 0),
                "source_mask": masks.source_mask(ids(s, s - 2), 0),
            }
        )

    def ask(self, mine: kit.Function, take: kit.Function = kit.as_tensor) -> Tensor:
        """The reader's output, a tensor of the right shape."""

        def stop(*_: object, **__: object) -> None:
            raise kit.Mistake(
                "calls-the-layer",
                "You call layer(…), which is the answer. Put it together from "
                "layer.self_attention, .cross_attention and .feed_forward, each inside "
                "its residual.",
            )

        self["layer"].forward = stop
        try:
            found: Tensor = super().ask(
                mine, lambda out: take(out, "one tensor, the stream")
            )
        except kit.Stopped as stopped:
            if "'Tensor' object is not callable" in stopped.message:
                raise kit.Mistake(
                    "result-instead-of-function",
                    "You hand a residual the result of a sub-layer. It wants the "
                    "sub-layer itself, a function, since it decides what that reads: "
                    "with pre-norm the normalised stream. Wrap the call: lambda h: "
                    f"layer.self_attention(h, mask=target_mask). {stopped.message}",
                ) from None
            raise
        finally:
            del self["layer"].forward
        if found.shape != self["x"].shape:
            raise kit.Mistake(
                "shape",
                f"For x {self.shape('x')} and memory {self.shape('memory')} "
                f"you return {tuple(found.shape)}. A layer returns the stream in the "
                "shape in which it came: a row for each target position.",
            )
        return found


def _probe_layer(mine: kit.Function) -> None:
    """Source and target equally long: there every mix-up runs, and numbers tell."""
    both = [LayerCase.random(norm, 4, 4) for norm in ("pre", "post")]
    found = [case.ask(mine) for case in both]
    wanted = [case.of(built) for case in both]
    if kit.matches(found, wanted):
        return
    kit.recognise(found, kit.slips(SLIPS, kit.all_of(both), built))
    for mine_, right, kind in zip(found, wanted, ("pre", "post"), strict=True):
        if kit.matches(mine_, right):
            other = {"pre": "the paper's post-norm", "post": "pre-norm"}[kind]
            raise kit.Mistake(
                f"{kind}-norm-only",
                f"Right for {kind}-norm, wrong for {other}. Let the residual decide "
                "where the norm goes: layer.self_attention_residual(x, sublayer).",
            )
    raise kit.Mistake(
        "wrong-numbers",
        "The shape is right but the numbers are not, and I don't know this mistake. "
        "Go through the three sub-layers: who asks, who answers, which mask, and is "
        "each inside its residual?",
    )


def _probe_lengths(mine: kit.Function) -> None:
    case = LayerCase.random("pre", 3, 5)
    with kit.if_it_stops(
        "only-equal-lengths",
        "Right where source and target are equally long, but for 3 target and 5 "
        "source positions:",
    ):
        found = case.ask(mine)
    if not kit.matches(found, case.of(built)):
        raise kit.Mistake(
            "only-equal-lengths",
            "Right where source and target are equally long, wrong for 3 target and 5 "
            "source positions.",
        )


def _probe_gradients(mine: kit.Function) -> None:
    LayerCase.random("pre", 3, 5).learn(mine, built, "x", "memory")


@kit.grader(_probe_layer, _probe_lengths, _probe_gradients)
def decoder_layer(mine: kit.Function) -> str:
    """Grade ``mine(layer, x, memory, target_mask, source_mask)``, one decoder layer.

    ``mine`` puts a `DecoderLayer` together from its parts and returns the stream.
    """
    return (
        "Look back, look across, think; each beside the stream, with its own mask; "
        "pre- and post-norm, for sources longer and shorter than the target."
    )
