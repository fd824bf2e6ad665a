"""The grader for `decoder_layer` of chapter *The decoder*, and known mistakes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tformer import masks
from tformer.decoder import DecoderLayer
from tformer.residual import Residual
from tformer_book.check._compare import (
    Slip,
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
class LayerPass:
    """A decoder layer put together from its parts; other fields make it wrong."""

    order: tuple[str, ...] = ("self", "cross", "ffn")
    target_mask: str = "target"
    source_mask: str = "source"
    answers_back: str = "stream"  # who answers self-attention
    answers_across: str = "memory"
    asks_across: str = "stream"
    across_by: str = "cross"  # whose matrices
    starts_over: str = ""  # the sub-layer that begins with the layer's input again
    residuals: str = "own"
    around: tuple[str, ...] = ("right", "right", "right")  # of self, cross, ffn
    reads: tuple[str, ...] = ("h", "h", "h")  # or "x", the stream outside

    def run(
        self,
        layer: DecoderLayer,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor,
        source_mask: Tensor,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        given = x
        known = {"target": target_mask, "source": source_mask, "none": None}
        known |= {"target flipped": ~target_mask, "source flipped": ~source_mask}
        if self.source_mask == "causal":
            known["causal"] = source_mask & masks.causal_mask(x.size(1))
        attentions = {"self": layer.self_attention, "cross": layer.cross_attention}

        def look_back(h: Tensor) -> Tensor:
            answers = memory if self.answers_back == "memory" else h
            return layer.self_attention(h, answers, mask=known[self.target_mask])

        def look_across(h: Tensor) -> Tensor:
            answers = h if self.answers_across == "stream" else memory
            asks = memory if self.asks_across == "memory" else h
            part = attentions[self.across_by]
            return part(asks, answers, mask=known[self.source_mask])

        residuals = {
            "self": layer.self_attention_residual,
            "cross": layer.cross_attention_residual,
            "ffn": layer.feed_forward_residual,
        }
        sublayers: dict[str, Callable[[Tensor], Tensor]]
        sublayers = {"self": look_back, "cross": look_across, "ffn": layer.feed_forward}
        ways = dict(zip(("self", "cross", "ffn"), self.around, strict=True))
        read = dict(zip(("self", "cross", "ffn"), self.reads, strict=True))
        for name in self.order:
            residual = residuals["self" if self.residuals == "first" else name]
            stream = given if name == self.starts_over else x
            sublayer = sublayers[name]
            if read[name] == "x":
                sublayer = _always(sublayer(stream))
            x = _beside(residual, stream, sublayer, ways[name])
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


LAYERS: dict[str, tuple[list[dict[str, Any]], str]] = {
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
            {"source_mask": "source flipped"},
            {"target_mask": "target flipped"},
            {"source_mask": "source flipped", "target_mask": "target flipped"},
        ],
        "A mask is the wrong way round: True means may attend, in both attentions. "
        "Pass the masks as they are, without ~.",
    ),
    "target-mask-forgotten": (
        [{"target_mask": "none"}],
        "The target mask is not used: each position sees the pieces that it must "
        "predict. Training would look wonderful and the translations be rubbish. "
        "Self-attention takes mask=target_mask.",
    ),
    "source-mask-forgotten": (
        [{"source_mask": "none"}],
        "The source mask is not used: cross-attention reads padding, and a translation "
        "depends on its neighbours in the batch. It takes mask=source_mask.",
    ),
    "no-masks": (
        [{"target_mask": "none", "source_mask": "none"}],
        "No mask is used: self-attention sees the future, cross-attention the padding.",
    ),
    "masks-swapped": (
        [{"target_mask": "source", "source_mask": "target"}],
        "The masks are swapped: target_mask belongs to self-attention, source_mask to "
        "cross-attention.",
    ),
    "source-mask-everywhere": (
        [{"target_mask": "source"}],
        "Self-attention gets the source's mask. It hides the wrong pieces and opens "
        "the future; the shapes fit only where both sides are padded to one length. "
        "Give it target_mask.",
    ),
    "target-mask-everywhere": (
        [{"source_mask": "target"}, {"source_mask": "causal"}],
        "Cross-attention gets a causal mask. The source may be read in full: give it "
        "source_mask alone.",
    ),
    "memory-not-used": (
        [
            {"answers_across": "stream", "source_mask": mask}
            for mask in ("source", "target", "none")
        ],
        "The memory is not used: your cross-attention asks the decoder's own stream. "
        "Every source would get the same translation. Call layer.cross_attention(h, "
        "memory, mask=source_mask).",
    ),
    "queries-from-the-memory": (
        [
            {"asks_across": "memory", "answers_across": "stream", "source_mask": mask}
            for mask in ("source", "target", "none")
        ],
        "In cross-attention the roles are exchanged: the first argument asks, the "
        "second answers. The decoder's stream asks: layer.cross_attention(h, memory).",
    ),
    "self-attention-asks-the-memory": (
        [
            {"answers_back": "memory", "target_mask": mask}
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
for _place, (_name, _part) in enumerate(
    (
        ("self-attention", "self_attention_residual"),
        ("cross-attention", "cross_attention_residual"),
        ("feed-forward", "feed_forward_residual"),
    )
):
    LAYERS[f"residual-of-{_name}-forgotten"] = (
        [{"around": _only(_place, how)} for how in ("bare", "no-shortcut", "no-norm")],
        "Two sub-layers run beside the stream, and one does not: the addition or the "
        f"norm around it is missing. Call it through layer.{_part}(x, sublayer).",
    )


@dataclass(frozen=True)
class LayerCase:
    """A decoder layer with random numbers everywhere, and something to run it on."""

    layer: DecoderLayer
    x: Tensor
    memory: Tensor
    target_mask: Tensor
    source_mask: Tensor

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

        def draw(length: int) -> Tensor:
            return torch.randn(2, length, 8, generator=generator)

        return cls(
            *(layer, draw(t), draw(s)),
            *(masks.target_mask(ids(t, t - 1), 0), masks.source_mask(ids(s, s - 2), 0)),
        )

    @property
    def parts(self) -> tuple[DecoderLayer, Tensor, Tensor, Tensor, Tensor]:
        """In the order in which a layer's function takes them."""
        return self.layer, self.x, self.memory, self.target_mask, self.source_mask

    def right(self) -> Tensor:
        """What the layer gives."""
        return self.known({})

    def known(self, changes: dict[str, Any]) -> Tensor:
        """What a known mistake gives."""
        wrong = dataclasses.replace(LayerPass(), **changes)
        with torch.no_grad():
            return wrong.run(*self.parts)

    def run(self, mine: Function) -> Tensor:
        """The reader's output, a tensor of the right shape."""
        names = ("layer", "x", "memory", "target_mask", "source_mask")

        def stop(*_: object, **__: object) -> None:
            raise Mistake(
                "calls-the-layer",
                "You call layer(…), which is the answer. Put it together from "
                "layer.self_attention, .cross_attention and .feed_forward, each inside "
                "its residual.",
            )

        self.layer.forward = stop  # type: ignore[method-assign, assignment]
        try:
            found = call(mine, dict(zip(names, self.parts, strict=True)))
        except Stopped as stopped:
            if "'Tensor' object is not callable" in stopped.message:
                raise Mistake(
                    "result-instead-of-function",
                    "You hand a residual the result of a sub-layer. It wants the "
                    "sub-layer itself, a function, since it decides what that reads: "
                    "with pre-norm the normalised stream. Wrap the call: lambda h: "
                    f"layer.self_attention(h, mask=target_mask). {stopped.message}",
                ) from None
            raise
        finally:
            del self.layer.forward
        found = as_tensor(found, "one tensor, the stream")
        if found.shape != self.x.shape:
            raise Mistake(
                "shape",
                f"For x {tuple(self.x.shape)} and memory {tuple(self.memory.shape)} "
                f"you return {tuple(found.shape)}. A layer returns the stream in the "
                "shape in which it came: a row for each target position.",
            )
        return found


def _probe_layer(mine: Function) -> None:
    """Source and target equally long: there every mix-up runs, and numbers tell."""
    cases = [LayerCase.random(norm, 4, 4) for norm in ("pre", "post")]
    found = [case.run(mine) for case in cases]
    if matches(found, [case.right() for case in cases]):
        return
    for name, says, gives in slips(
        lambda **changes: [case.known(changes) for case in cases], LAYERS
    ):
        recognise(found, [Slip(name.split(":")[0], says, gives)])
    for case, mine_, kind in zip(cases, found, ("pre", "post"), strict=True):
        if matches(mine_, case.right()):
            other = {"pre": "the paper's post-norm", "post": "pre-norm"}[kind]
            raise Mistake(
                f"{kind}-norm-only",
                f"Right for {kind}-norm, wrong for {other}. Let the residual decide "
                "where the norm goes: layer.self_attention_residual(x, sublayer).",
            )
    raise Mistake(
        "wrong-numbers",
        "The shape is right but the numbers are not, and I don't know this mistake. "
        "Go through the three sub-layers: who asks, who answers, which mask, and is "
        "each inside its residual?",
    )


def _probe_lengths(mine: Function) -> None:
    case = LayerCase.random("pre", 3, 5)
    try:
        found = case.run(mine)
    except Stopped as stopped:
        raise Mistake(
            "only-equal-lengths",
            "Right where source and target are equally long, but for 3 target and 5 "
            f"source positions: {stopped.message}",
        ) from None
    if not matches(found, case.right()):
        raise Mistake(
            "only-equal-lengths",
            "Right where source and target are equally long, wrong for 3 target and 5 "
            "source positions.",
        )


def _probe_gradients(mine: Function) -> None:
    case = LayerCase.random("pre", 3, 5)
    probe_gradients(
        mine,
        lambda: case.run(mine),
        lambda: LayerPass().run(*case.parts),
        {"x": case.x, "memory": case.memory},
    )


def decoder_layer(mine: Function) -> Result:
    """Grade ``mine(layer, x, memory, target_mask, source_mask)``, one decoder layer.

    Args:
        mine: puts a `DecoderLayer` together from its parts and returns the stream.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Look back, look across, think; each beside the stream, with its own mask; "
        "pre- and post-norm, for sources longer and shorter than the target."
    )
    probes = [_probe_layer, _probe_lengths, _probe_gradients]
    return grade("decoder_layer", mine, probes, praise)
