"""Sentence pairs packed into batches: what padding costs, by order and method.

Chapter *Data* shows it. ``maths.js`` does the arithmetic; tests hold it to
`tformer.data.cut` and `tformer.data.batches`.
"""

from __future__ import annotations

from collections.abc import Sequence

import traitlets

from tformer import data
from tformer_book.widgets._figure import PageFigure

ORDERS = ("as they come", "sorted by length")
CUTS = ("by pairs", "by tokens")
MOST_PAIRS, MOST_SENTENCES, MOST_TOKENS = 200, 24, 640

# 16 pairs of Multi30k and 32 of Tatoeba, drawn at random; pieces of the released model,
# with eos or bos. From data.load("multi30k") and data.load("tatoeba").
LENGTHS = (
    *((13, 13), (8, 12), (9, 10), (14, 11), (7, 8), (10, 12), (9, 11), (12, 17)),
    *((13, 11), (21, 21), (9, 8), (10, 8), (13, 17), (6, 9), (16, 15), (10, 11)),
    *((8, 8), (18, 21), (5, 7), (14, 15), (12, 13), (8, 8), (19, 35), (6, 10)),
    *((12, 11), (17, 19), (11, 13), (14, 12), (6, 5), (13, 17), (13, 13), (12, 15)),
    *((6, 8), (16, 16), (12, 9), (13, 17), (18, 27), (23, 20), (9, 12), (9, 9)),
    *((22, 23), (23, 27), (14, 12), (12, 9), (17, 20), (12, 12), (13, 9), (6, 5)),
)


class BatchPacker(PageFigure):
    """Pairs as bars, in batches: choose order, cut and size, and watch the padding.

    Args:
        lengths: for each pair its source and target tokens, including eos and bos; 1 to
            200 pairs, in corpus order.
        order: "as they come" or "sorted by length".
        cut: "by pairs" (always the same number) or "by tokens" (as many as the budget
            allows, including padding).
        sentences: pairs in a batch, 1 to 24.
        tokens: the budget, up to 640; at least the longest pair.

    Raises:
        ValueError: an unknown order or cut, or a number out of its range.

    Source: section 5.1.
    """

    lengths = traitlets.List().tag(sync=True)
    order = traitlets.Enum(ORDERS, ORDERS[0]).tag(sync=True)
    cut = traitlets.Enum(CUTS, CUTS[0]).tag(sync=True)
    sentences = traitlets.Int(8).tag(sync=True)
    tokens = traitlets.Int(256).tag(sync=True)

    def __init__(
        self,
        lengths: Sequence[tuple[int, int]] = LENGTHS,
        *,
        order: str = ORDERS[0],
        cut: str = CUTS[0],
        sentences: int = 8,
        tokens: int = 256,
    ) -> None:
        sizes = [[int(source), int(target)] for source, target in lengths]
        if not 1 <= len(sizes) <= MOST_PAIRS:
            raise ValueError(f"{len(sizes)} pairs; give 1 to {MOST_PAIRS}")
        if min(map(min, sizes)) < 1:
            raise ValueError("a length is below 1: eos and bos count as well")
        longest = max(map(sum, sizes))
        if longest > MOST_TOKENS:
            raise ValueError(f"a pair of {longest} tokens; at most {MOST_TOKENS} fit")
        for name, value, names in (("order", order, ORDERS), ("cut", cut, CUTS)):
            if value not in names:
                raise ValueError(f"{name}={value!r} is none of {', '.join(names)}")
        for name, number, low, high in (
            ("sentences", sentences, 1, MOST_SENTENCES),
            ("tokens", tokens, longest, MOST_TOKENS),
        ):
            if not low <= number <= high:
                raise ValueError(f"{name}={number} must be {low} to {high}")
        super().__init__(
            lengths=sizes, order=order, cut=cut, sentences=sentences, tokens=tokens
        )

    @property
    def batches(self) -> list[list[int]]:
        """The pairs of each batch on the screen, as indices into ``lengths``."""
        rows = list(range(len(self.lengths)))
        if self.order == ORDERS[1]:
            rows.sort(key=lambda row: self.lengths[row][::-1])
        if self.cut == CUTS[1]:
            return data.cut(rows, self.lengths, self.tokens)
        n = self.sentences
        return [rows[i : i + n] for i in range(0, len(rows), n)]

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """B, S and T of each batch."""
        return [
            (len(rows), *(max(self.lengths[r][side] for r in rows) for side in (0, 1)))
            for rows in self.batches
        ]

    @property
    def waste(self) -> float:
        """The share of padding among all tokens that are processed."""
        padded = sum(b * (s + t) for b, s, t in self.shapes)
        return 1 - sum(map(sum, self.lengths)) / padded

    def __repr__(self) -> str:
        n = len(self.shapes)
        return (
            f"{len(self.lengths)} pairs, {self.order}, {self.cut}: {n} "
            f"batch{'es' if n != 1 else ''}, {100 * self.waste:.1f} % padding."
        )
