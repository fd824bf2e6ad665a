"""Six words in four kinds of model: who sees whom, and what each must name.

Chapter *What came after* shows it. ``who_sees_whom.js`` draws it;
`tformer.masks.causal_mask` checks it.
"""

from __future__ import annotations

import torch
import traitlets
from torch import Tensor

from tformer.masks import causal_mask
from tformer_book.widgets._figure import PageFigure

KINDS = ("encoder-only", "decoder-only", "prefix", "encoder-decoder")
N_SOURCE, N_WORDS = 3, 6


class WhoSeesWhom(PageFigure):
    """Four mask pictures to choose from.

    Args:
        kind: "encoder-only", "decoder-only", "prefix" or "encoder-decoder".

    Raises:
        ValueError: another kind.
    """

    kind = traitlets.Int(0).tag(sync=True)

    def __init__(self, kind: str = "encoder-only") -> None:
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} is none of {', '.join(KINDS)}")
        super().__init__(kind=KINDS.index(kind))

    @property
    def mask(self) -> Tensor:
        """(6, 6) bool, True = may see: the picture on the screen."""
        everything = torch.ones(N_WORDS, N_WORDS, dtype=torch.bool)
        if KINDS[self.kind] == "encoder-only":
            return everything
        mask = causal_mask(N_WORDS)
        if KINDS[self.kind] != "decoder-only":
            mask[:, :N_SOURCE] = True  # the source is seen whole, from everywhere
        return mask

    def __repr__(self) -> str:
        seen = int(self.mask.sum())
        return f"{KINDS[self.kind]}: {seen} of {N_WORDS**2} pairs may be seen."
