"""The grader for `cross_attention` of chapter *The decoder*, and known mistakes."""

import math

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "Which of the three is made from the German, and which two from the English?",
    "Queries come from `x`, keys and values from `memory`. The rest is `attention`, "
    "with the mask as it is.",
    "query, key, value = x @ w_query, memory @ w_key, memory @ w_value",
)

NAMES = ("x", "memory", "w_query", "w_key", "w_value")


def built(
    x: Tensor,
    memory: Tensor,
    w_query: Tensor,
    w_key: Tensor,
    w_value: Tensor,
    *,
    mask: Tensor | None = None,
    query: str = "x",
    key: str = "memory",
    value: str = "memory",
    to_query: str = "w_query",
    to_key: str = "w_key",
    to_value: str = "w_value",
    turned: bool = False,
    hides: str = "given",
    root: str = "width",
    axis: int = -1,
    leave: str = "alone",
) -> Tensor:
    """What comes out; other words than the default ones make a known mistake."""
    sources = {"x": x, "memory": memory, "both": torch.cat([memory, x], dim=1)}
    weights = {"w_query": w_query, "w_key": w_key, "w_value": w_value}

    def projected(what: str, by: str) -> Tensor:
        if not by:
            return sources[what]
        return sources[what] @ (weights[by].mT if turned else weights[by])

    asks = projected(query, to_query)
    scores = asks @ projected(key, to_key).mT
    scores = (
        scores
        / {
            "width": math.sqrt(asks.size(-1)),
            "none": 1.0,
            "rounded": float(int(math.sqrt(asks.size(-1)))),
            "no root": asks.size(-1),
            "d_model": math.sqrt(x.size(-1)),
            "length": math.sqrt(scores.size(-1)),
        }[root]
    )
    may = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None and hides not in ("none", "times", "late"):
        if key == "both":
            seen = torch.ones_like(x[:, None, :, 0], dtype=torch.bool)
            mask = torch.cat([mask, seen], dim=-1)
        other = {"flipped": ~mask, "flipped little": ~mask, "queries": mask.mT}
        may = may & other.get(hides, mask)
    if hides == "causal":
        may = may.tril()
    scores = scores.masked_fill(~may, -1e9 if hides == "flipped little" else -math.inf)
    if hides == "times" and mask is not None:
        scores = scores * mask
    shares = scores.softmax(axis)
    if hides == "late" and mask is not None:
        shares = shares * mask
    output = shares @ projected(value, to_value)
    return x + output if leave == "residual" else output


SLIPS: kit.Table = {
    "queries-from-the-memory": (
        [
            {"query": "memory", "key": "x", "value": "x", "hides": hides}
            for hides in ("none", "given", "queries")
        ],
        "The roles are exchanged: your queries come from the memory, your keys and "
        "values from the decoder. So the English asks the German. The decoder asks: "
        "x @ w_query. The memory answers: memory @ w_key, memory @ w_value.",
    ),
    "memory-not-used": (
        [
            {"key": "x", "value": "x", "hides": hides}
            for hides in ("none", "given", "causal")
        ],
        "Queries, keys and values all come from the decoder: this is self-attention, "
        "and the source never gets in. Every sentence would have the same translation. "
        "Keys and values come from the memory.",
    ),
    "keys-from-the-decoder": (
        [{"key": "x", "hides": hides} for hides in ("given", "none")],
        "Your keys come from the decoder, your values from the memory. Key and value "
        "of one position belong together: both from the memory.",
    ),
    "values-from-the-decoder": (
        [{"value": "x", "hides": hides} for hides in ("given", "none")],
        "Your keys come from the memory, your values from the decoder: it looks at the "
        "English and takes German home. Both come from the memory.",
    ),
    "all-from-the-memory": (
        [{"query": "memory", "hides": hides} for hides in ("given", "none")],
        "Your queries come from the memory, too: this is the encoder's self-attention "
        "once more, and the decoder has no say. Queries: x @ w_query.",
    ),
    "causal": (
        [{"hides": "causal"}],
        "You apply a causal mask as well. Cross-attention needs none: the source is "
        "there in full, so the first German piece may look at the last English one.",
    ),
    "mask-ignored": (
        [{"hides": "none"}],
        "Your function takes a mask and does not use it, so the decoder reads the "
        "padding of the source, and a translation depends on its neighbours in the "
        "batch. Hand it to attention(…, mask=mask).",
    ),
    "mask-flipped": (
        [{"hides": "flipped"}, {"hides": "flipped little"}],
        "The mask is the wrong way round: here True means may attend. attention() "
        "takes it as it is, without ~.",
    ),
    "mask-on-queries": (
        [{"hides": "queries"}],
        "You turned the mask: it now hides target positions (rows). It says which "
        "SOURCE positions are real, and those are the keys, the columns. It "
        "broadcasts over the queries as it is: (B, 1, S).",
    ),
    "not-scaled": (
        [{"root": "none"}],
        "The scores are not divided by the root of the width of a query. attention() "
        "does it for you.",
    ),
    "scale-rounded": (
        [{"root": "rounded"}],
        "You divide by a whole number, but the root of the width of a query is one "
        "only by chance. attention() does it for you.",
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
        [{"hides": "times"}],
        "You multiply the scores by the mask, so padding gets the score 0. But e⁰ is "
        "1, and its weight is far from 0. Fill with −∞, or hand the mask to "
        "attention(…, mask=mask).",
    ),
    "mask-after-softmax": (
        [{"hides": "late"}],
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


def _case(
    t: int, s: int, d: int, width: int, out: int, *, masked: bool = True
) -> kit.Case:
    """Two sentences; the first one's source is padded."""
    generator = torch.Generator().manual_seed(100 * t + s)
    shapes = (2, t, d), (2, s, d), (d, width), (d, width), (d, out)
    inputs = {
        name: torch.randn(*shape, generator=generator)
        for name, shape in zip(NAMES, shapes, strict=True)
    }
    mask = torch.ones(2, 1, s, dtype=torch.bool)
    mask[0, 0, s - 2 :] = False
    return kit.Case(inputs, {"mask": mask} if masked else {})


def _output(found: object) -> Tensor:
    if isinstance(found, tuple | list) and len(found) == 2:
        raise kit.Mistake(
            "returns-weights-too",
            "You return two things. attention() gives output and weights; return "
            "the output alone.",
        )
    return kit.as_tensor(found, "the output, with a row for each target position")


def _judge(found: Tensor, case: kit.Case) -> None:
    wanted = case.of(built)
    if kit.matches(found, wanted):
        return
    kit.recognise(found, kit.slips(SLIPS, case.of, built))
    if found.isnan().any():
        raise kit.Mistake(
            "nan",
            "There is nan in your output: some query sees nothing. Is the mask the "
            "wrong way round, or on the wrong axis? It hides keys, never queries.",
        )
    kit.compare(
        found,
        wanted,
        said=f"for x {case.shape('x')} and memory {case.shape('memory')}",
        hint="Three products, then attention(query, key, value, mask=mask): which of "
        "the three is made of x?",
    )


def _probe_cross(mine: kit.Function) -> None:
    """Where all sizes agree, every mix-up gives numbers, and numbers tell."""
    case = _case(4, 4, 4, 4, 4)
    _judge(case.ask(mine, _output), case)


def _probe_uneven(mine: kit.Function) -> None:
    """Three target positions, five source positions, all widths different."""
    for masked in (True, False):
        case = _case(3, 5, 6, 7, 2, masked=masked)
        try:
            found = case.ask(mine, _output)
        except kit.Stopped as stopped:
            if masked:
                raise kit.Mistake(
                    "only-equal-lengths",
                    "Right where source and target are equally long, but for 3 target "
                    f"and 5 source positions: {stopped.message} Nothing may depend on "
                    "T = S: output rows follow the queries.",
                ) from None
            raise kit.Mistake(
                "mask-not-optional",
                "Your function works with a mask and stops without one. Hand it on as "
                "it is; attention() takes mask=None.",
            ) from None
        try:
            _judge(found, case)
        except kit.Mistake as mistake:
            if mistake.diagnosis not in ("wrong-numbers", "shape"):
                raise
            raise kit.Mistake(
                "only-equal-lengths",
                f"Right where all sizes agree. {mistake.message}",
            ) from None


def _probe_gradients(mine: kit.Function) -> None:
    _case(3, 5, 6, 4, 2).learn(mine, built, take=_output)


@kit.grader(_probe_cross, _probe_uneven, _probe_gradients)
def cross_attention(mine: kit.Function) -> str:
    """Grade ``mine(x, memory, w_query, w_key, w_value, *, mask=None)``, with one head.

    ``mine`` gets the decoder's stream x (B, T, D), the memory (B, S, D), matrices
    (D, Dh), (D, Dh), (D, Dv) and a bool mask (B, 1, S), True = may attend; returns
    (B, T, Dv).
    """
    return (
        "The decoder asks, the memory answers; padding of the source is hidden, and "
        "there are as many rows as queries, whatever the length of the source."
    )
