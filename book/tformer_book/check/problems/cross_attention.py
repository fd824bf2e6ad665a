"""The grader for `cross_attention` of chapter *The decoder*, and known mistakes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer_book.check._compare import (
    Switches,
    compare,
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
            return torch.randn(*shape, generator=generator)

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
        turned: bool = False,
        mask: str = "given",
        root: str = "width",
        axis: int = -1,
        leave: str = "alone",
    ) -> Tensor:
        """What comes out; other words than the default ones make a known mistake."""

        def projected(what: str, by: str) -> Tensor:
            sources = {"both": torch.cat([self.memory, self.x], dim=1)}
            source: Tensor = sources.get(what, getattr(self, what, self.x))
            if not by:
                return source
            weight: Tensor = getattr(self, by)
            return source @ (weight.mT if turned else weight)

        asks = projected(query, to_query)
        scores = asks @ projected(key, to_key).mT
        scores = (
            scores
            / {
                "width": math.sqrt(asks.size(-1)),
                "none": 1.0,
                "no root": asks.size(-1),
                "d_model": math.sqrt(self.x.size(-1)),
                "length": math.sqrt(scores.size(-1)),
            }[root]
        )
        may = torch.ones_like(scores, dtype=torch.bool)
        if self.mask is not None and mask not in ("none", "times", "late"):
            mine = self.mask
            if key == "both":
                seen = torch.ones_like(self.x[:, None, :, 0], dtype=torch.bool)
                mine = torch.cat([mine, seen], dim=-1)
            may = may & {
                "flipped": ~mine,
                "flipped little": ~mine,
                "queries": mine.mT,
            }.get(mask, mine)
        if mask == "causal":
            may = may.tril()
        fill = -1e9 if mask == "flipped little" else -math.inf
        scores = scores.masked_fill(~may, fill)
        if mask == "times" and self.mask is not None:
            scores = scores * self.mask
        weights = scores.softmax(axis)
        if mask == "late" and self.mask is not None:
            weights = weights * self.mask
        output = weights @ projected(value, to_value)
        return self.x + output if leave == "residual" else output

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


CROSSINGS: Switches = {
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
        [{"mask": "flipped"}, {"mask": "flipped little"}],
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
        [{"root": "none"}],
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
    "scaled-by-d-model": (
        [{"root": "d_model"}],
        "You divide by √D, the root of the stream's width. The scores are sums over "
        "the width of a query, which w_query makes: query.size(-1). attention() takes "
        "care of it.",
    ),
    "scaled-without-root": (
        [{"root": "no root"}],
        "You divide by the width of a query; it should be its root.",
    ),
    "scaled-by-length": (
        [{"root": "length"}],
        "You divide by the root of the number of keys. What counts is the width of a "
        "query, query.size(-1).",
    ),
    "matrices-transposed": (
        [{"turned": True}],
        "You transpose the matrices. Here they are (D, Dh), as in the paper: "
        "x @ w_query. (nn.Linear and F.linear keep them the other way round.)",
    ),
    "mask-multiplied": (
        [{"mask": "times"}],
        "You multiply the scores by the mask, so padding gets the score 0. But e⁰ is "
        "1, and its weight is far from 0. Fill with −∞, or hand the mask to "
        "attention(…, mask=mask).",
    ),
    "mask-after-softmax": (
        [{"mask": "late"}],
        "You apply the mask after softmax, so the rows no longer sum to 1. Hand it to "
        "attention(…, mask=mask), which hides scores before softmax.",
    ),
    "residual-inside": (
        [{"leave": "residual"}],
        "You add x at the end. That is the residual connection's work, one level "
        "higher; inside, x would be counted twice.",
    ),
    "concatenated": (
        [{"key": "both", "value": "both"}],
        "Your keys and values come from memory and stream together. In the paper they "
        "come from the memory alone; the stream has attended to itself before.",
    ),
    "matrices-swapped": (
        [{"to_key": "w_value", "to_value": "w_key"}],
        "w_key and w_value have changed places.",
    ),
}


def _judge(found: Tensor, case: Across) -> None:
    if matches(found, case.mixed()):
        return
    recognise(found, slips(case.mixed, CROSSINGS))
    if found.isnan().any():
        raise Mistake(
            "nan",
            "There is nan in your output: some query sees nothing. Is the mask the "
            "wrong way round, or on the wrong axis? It hides keys, never queries.",
        )
    compare(
        found,
        case.mixed(),
        said=f"for x {tuple(case.x.shape)} and memory {tuple(case.memory.shape)}",
        hint="Three products, then attention(query, key, value, mask=mask): which of "
        "the three is made of x?",
    )


def _probe_cross(mine: Function) -> None:
    """Where all sizes agree, every mix-up gives numbers, and numbers tell."""
    case = Across.random(4, 4, 4, 4, 4)
    _judge(case.run(mine), case)


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
        try:
            _judge(found, case)
        except Mistake as mistake:
            if mistake.diagnosis not in ("wrong-numbers", "shape"):
                raise
            raise Mistake(
                "only-equal-lengths",
                f"Right where all sizes agree. {mistake.message}",
            ) from None


def _probe_gradients(mine: Function) -> None:
    case = Across.random(3, 5, 6, 4, 2)
    names = ("x", "memory", "w_query", "w_key", "w_value")
    leaves = {name: getattr(case, name) for name in names}
    probe_gradients(mine, lambda: case.run(mine), case.mixed, leaves)


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
    probes = [_probe_cross, _probe_uneven, _probe_gradients]
    return grade("cross_attention", mine, probes, praise)
