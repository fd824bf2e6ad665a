"""A state of one sentence, put into another while the model translates it.

Chapter *Inside the trained model* shows it. The browser engine computes
(``engine/patching.js``); what it shows first was recorded from PyTorch by
`tformer.analysis.patching`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import traitlets
from torch import Tensor

from tformer import decode
from tformer.analysis import patching
from tformer.translator import Translator
from tformer_book.widgets._model import ModelFigure, plain


class Transplant(ModelFigure):
    """Where the encoder keeps what makes two sentences differ.

    Each cell of its map takes one state of the other sentence, at one depth and
    position, and puts it in at the same place while the model reads this one. The
    number says how far the model then goes over to the other translation.

    Args:
        text: the English sentence that is translated.
        donor: the one whose states are put in.
        depth: of the chosen state: how many layers it has passed.
        position: of the chosen state, from 0.
        translator: whose model; the released one if omitted.

    Raises:
        traitlets.TraitError: a depth or position below 0.
        TypeError, ValueError: as `ModelFigure` and `transplants`.

    Source: the method is known as “activation patching”.
    """

    donor = traitlets.Unicode().tag(sync=True)
    depth = traitlets.Int(3, min=0).tag(sync=True)
    position = traitlets.Int(3, min=0).tag(sync=True)

    def __init__(
        self,
        text: str = "A girl is riding a bike.",
        donor: str = "A girl is riding a horse.",
        *,
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        self._first_donor = donor
        super().__init__(text, translator=translator, donor=donor, **state)

    def record(self, text: str) -> dict[str, Any]:
        """The whole map, as the page's engine reports it."""
        return transplants(self.translator, text, self._first_donor)

    @property
    def moved(self) -> Tensor:
        """(L + 1, positions) for the sentences on screen, by PyTorch; NaN if none."""
        cells = transplants(self.translator, self.text, self.donor)["cells"]
        depths = cells[-1]["depth"] + 1
        numbers = [math.nan if x["moved"] is None else x["moved"] for x in cells]
        return torch.tensor(numbers).view(depths, -1)

    def __repr__(self) -> str:
        found = transplants(self.translator, self.text, self.donor)
        changed = [
            f"of “{plain(found['donorPieces'][each['position']])}” after "
            f"{each['depth']} layers: “{each['text']}”"
            for each in found["cells"]
            if each["depth"] and each["text"] not in (found["text"], found["other"])
        ]
        return (
            f"“{self.text}” becomes “{found['text']}” and “{self.donor}” "
            f"“{found['other']}”. With one state of the second put into the first, the "
            f"translation is neither {len(changed)} times; {'; '.join(changed[:4])}."
        )


def transplants(translator: Translator, text: str, donor: str) -> dict[str, Any]:
    """Every state of another sentence, put into a sentence in turn, each alone.

    With d = log p(own translation) - log p(the other's), both found by greedy search, a
    transplant has moved the model by ``(d of text - d) / (d of text - d of donor)``.

    Args:
        translator: whose model.
        text: the sentence that is translated.
        donor: the one whose states are put in, each at its own depth and position.

    Returns:
        As the engine's ``transplants``, with pieces and texts: ``moved`` is None where
        both sentences have the same translation.

    Raises:
        TypeError, ValueError: as `Translator.encode`.
    """
    model, tokenizer = translator.model, translator.tokenizer
    ids = [translator.encode(each) for each in (text, donor)]
    source, other = (torch.tensor([each], device=translator.device) for each in ids)
    german, others = (decode.greedy(model, each)[0] for each in (source, other))

    def odds(source_ids: Tensor) -> float:
        pair = (decode.score(model, source_ids, [y])[0] for y in (german, others))
        own, theirs = (each.log_probability for each in pair)
        return own - theirs

    before, after = odds(source), odds(other)
    states = patching.encoder_states(model, other)
    width = min(len(each) for each in ids)
    cells = []
    for depth, stream in enumerate(states):
        for position in range(width):
            with patching.patched(model, depth, position, stream[0, position]):
                moved = before - odds(source)
                written = decode.greedy(model, source)[0]
            share = None if german == others else round(moved / (before - after), 5)
            place = {"depth": depth, "position": position}
            cells.append({**place, "moved": share, "text": tokenizer.decode(written)})
    pieces = [[tokenizer.id_to_piece(i) for i in each] for each in ids]
    return {
        "sourcePieces": pieces[0],
        "donorPieces": pieces[1],
        "text": tokenizer.decode(german),
        "other": tokenizer.decode(others),
        "cells": cells,
        "of": len(cells),
    }
