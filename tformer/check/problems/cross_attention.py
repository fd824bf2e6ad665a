"""The grader for chapter 09's `cross_attention`, and the mistakes that it knows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer.check._compare import (
    matches,
    recognise,
    slips,
)
from tformer.check._grade import Function, Mistake, Result, grade
from tformer.check._run import (
    Stopped,
    as_tensor,
    call,
)


@dataclass(frozen=True)
class Across:
    """A stream, a memory, three matrices and a mask on the memory."""

    x: Tensor
    memory: Tensor
    w_query: Tensor
    w_key: Tensor
    w_value: Tensor
    mask: Tensor | None

    @classmethod
    def random(
        cls, t: int, s: int, d: int, width: int, out: int, *, masked: bool = True
    ) -> Across:
        """Draw a case of two sentences; the first one's source is padded."""
        generator = torch.Generator().manual_seed(100 * t + s)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        mask = torch.ones(2, 1, s, dtype=torch.bool)
        mask[0, 0, s - 2 :] = False
        return cls(
            *(draw(2, t, d), draw(2, s, d)),
            *(draw(d, width), draw(d, width), draw(d, out)),
            mask if masked else None,
        )

    def mixed(
        self,
        *,
        query: str = "x",
        key: str = "memory",
        value: str = "memory",
        to_query: str = "w_query",
        to_key: str = "w_key",
        to_value: str = "w_value",
        mask: str = "given",
        scaled: bool = True,
        axis: int = -1,
    ) -> Tensor:
        """What comes out; other words than the default ones make a known mistake."""

        def projected(what: str, by: str) -> Tensor:
            source: Tensor = getattr(self, what)
            return source @ getattr(self, by) if by else source

        asks = projected(query, to_query)
        scores = asks @ projected(key, to_key).mT
        if scaled:
            scores = scores / math.sqrt(asks.size(-1))
        may = torch.ones_like(scores, dtype=torch.bool)
        if self.mask is not None and mask != "none":
            given = {"flipped": ~self.mask, "queries": self.mask.mT}
            may = may & given.get(mask, self.mask)
        if mask == "causal":
            may = may.tril()
        weights = scores.masked_fill(~may, -math.inf).softmax(axis)
        return weights @ projected(value, to_value)

    def run(self, mine: Function) -> Tensor:
        """The reader's output, a tensor."""
        inputs = {
            name: getattr(self, name)
            for name in ("x", "memory", "w_query", "w_key", "w_value")
        }
        found = call(mine, inputs, {"mask": self.mask} if self.mask is not None else {})
        if isinstance(found, tuple | list) and len(found) == 2:
            raise Mistake(
                "returns-weights-too",
                "You return two things. attention() gives output and weights; return "
                "the output alone.",
            )
        return as_tensor(found, "the output, with a row for each target position")


CROSSINGS: dict[str, tuple[list[dict[str, object]], str]] = {
    "queries-from-the-memory": (
        [
            {"query": "memory", "key": "x", "value": "x", "mask": mask}
            for mask in ("none", "given", "queries")
        ],
        "The roles are exchanged: your queries come from the memory, your keys and "
        "values from the decoder. So the English asks the German. The decoder asks: "
        "x @ w_query. The memory answers: memory @ w_key, memory @ w_value.",
    ),
    "memory-not-used": (
        [
            {"key": "x", "value": "x", "mask": mask}
            for mask in ("none", "given", "causal")
        ],
        "Queries, keys and values all come from the decoder: this is self-attention, "
        "and the source never gets in. Every sentence would have the same translation. "
        "Keys and values come from the memory.",
    ),
    "keys-from-the-decoder": (
        [{"key": "x", "mask": mask} for mask in ("given", "none")],
        "Your keys come from the decoder, your values from the memory. Key and value "
        "of one position belong together: both from the memory.",
    ),
    "values-from-the-decoder": (
        [{"value": "x", "mask": mask} for mask in ("given", "none")],
        "Your keys come from the memory, your values from the decoder: it looks at the "
        "English and takes German home. Both come from the memory.",
    ),
    "all-from-the-memory": (
        [{"query": "memory", "mask": mask} for mask in ("given", "none")],
        "Your queries come from the memory, too: this is the encoder's self-attention "
        "once more, and the decoder has no say. Queries: x @ w_query.",
    ),
    "causal": (
        [{"mask": "causal"}],
        "You apply a causal mask as well. Cross-attention needs none: the source is "
        "there in full, so the first German piece may look at the last English one.",
    ),
    "mask-ignored": (
        [{"mask": "none"}],
        "Your function takes a mask and does not use it, so the decoder reads the "
        "padding of the source, and a translation depends on its neighbours in the "
        "batch. Hand it to attention(…, mask=mask).",
    ),
    "mask-flipped": (
        [{"mask": "flipped"}],
        "The mask is the wrong way round: here True means may attend. attention() "
        "takes it as it is, without ~.",
    ),
    "mask-on-queries": (
        [{"mask": "queries"}],
        "You turned the mask: it now hides target positions (rows). It says which "
        "SOURCE positions are real, and those are the keys, the columns. It "
        "broadcasts over the queries as it is: (B, 1, S).",
    ),
    "not-scaled": (
        [{"scaled": False}],
        "The scores are not divided by the root of the width of a query. attention() "
        "does it for you.",
    ),
    "softmax-over-queries": (
        [{"axis": -2}],
        "Softmax runs over the queries: each English piece shares itself out among the "
        "German ones. Each query has one budget: dim=-1.",
    ),
    "keys-not-projected": (
        [{"to_key": ""}],
        "Your keys are the memory itself. Each layer makes its own keys of it: "
        "memory @ w_key.",
    ),
    "values-not-projected": (
        [{"to_value": ""}],
        "You mix the memory itself. Each layer makes its own values of it: memory @ "
        "w_value.",
    ),
    "keys-and-values-not-projected": (
        [{"to_key": "", "to_value": ""}],
        "Keys and values are the memory itself. The encoder hands over one thing, and "
        "each layer makes its own keys and values of it: memory @ w_key, memory @ "
        "w_value.",
    ),
    "one-matrix-for-keys-and-values": (
        [{"to_value": "w_key"}, {"to_key": "w_value"}],
        "Keys and values are made by the same matrix. There is one for each: w_key "
        "says what a piece can be found by, w_value what it hands over.",
    ),
    "matrices-swapped": (
        [{"to_key": "w_value", "to_value": "w_key"}],
        "w_key and w_value have changed places.",
    ),
}


def _probe_cross(mine: Function) -> None:
    """Where all sizes agree, every mix-up gives numbers, and numbers tell."""
    case = Across.random(4, 4, 4, 4, 4)
    found = case.run(mine)
    if matches(found, case.mixed()):
        return
    recognise(found, slips(case.mixed, CROSSINGS))
    if found.isnan().any():
        raise Mistake(
            "nan",
            "There is nan in your output: some query sees nothing. Is the mask the "
            "wrong way round, or on the wrong axis? It hides keys, never queries.",
        )
    wanted = case.mixed()
    if found.shape != wanted.shape:
        raise Mistake(
            "shape",
            f"For x {tuple(case.x.shape)} and memory {tuple(case.memory.shape)} your "
            f"output is {tuple(found.shape)}; it must be {tuple(wanted.shape)}.",
        )
    raise Mistake(
        "wrong-numbers",
        "The shape is right but the numbers are not, and I do not know this mistake. "
        "Three products, then attention(query, key, value, mask=mask): which of the "
        "three is made of x?",
    )


def _probe_uneven(mine: Function) -> None:
    """Three target positions, five source positions, all widths different."""
    for masked in (True, False):
        case = Across.random(3, 5, 6, 4, 2, masked=masked)
        try:
            found = case.run(mine)
        except Stopped as stopped:
            if masked:
                raise Mistake(
                    "only-equal-lengths",
                    "Right where source and target are equally long, but for 3 target "
                    f"and 5 source positions: {stopped.message} Nothing may depend on "
                    "T = S: output rows follow the queries.",
                ) from None
            raise Mistake(
                "mask-not-optional",
                "Your function works with a mask and stops without one. Hand it on as "
                "it is; attention() takes mask=None.",
            ) from None
        if not matches(found, case.mixed()):
            raise Mistake(
                "only-equal-lengths",
                "Right where all sizes agree, but not for 3 target and 5 source "
                f"positions: your output is {tuple(found.shape)} and should be "
                f"{tuple(case.mixed().shape)}, a row for each query.",
            )


def cross_attention(mine: Function) -> Result:
    """Grade ``mine(x, memory, w_query, w_key, w_value, *, mask=None)``, with one head.

    Args:
        mine: gets the decoder's stream x (B, T, D), the memory (B, S, D), matrices
            (D, Dh), (D, Dh), (D, Dv) and a bool mask (B, 1, S), True = may attend;
            returns (B, T, Dv).

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "The decoder asks, the memory answers; padding of the source is hidden, and "
        "there are as many rows as queries, whatever the length of the source."
    )
    return grade("cross_attention", mine, [_probe_cross, _probe_uneven], praise)
