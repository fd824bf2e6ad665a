"""Teacher forcing next to decoding: what the decoder reads in training, and in use.

Chapter *The decoder* shows it. The page's engine computes it; what it shows first was
recorded from PyTorch, and the tests hold both to `tformer.decode`.
"""

from __future__ import annotations

from typing import Any

import torch
import traitlets

from tformer import decode
from tformer.common.search import SearchSettings
from tformer.translator import ScoredTranslation, Translator
from tformer_book.widgets._model import RUNNING, ModelFigure
from tformer_book.widgets._searching import score_positions, search_steps

GIVEN = "Der Hund überquerte die Straße nicht, weil er müde war."
GREEDY = SearchSettings(search="greedy")
CHANGED = "Der Hund überquerte die Straße nicht, weil es müde war."


class TeacherForcing(ModelFigure):
    """A given translation scored in one pass; the model's own, one piece at a time.

    Position by position: what the decoder reads, the probability of the piece that the
    teacher gives, and the piece that greedy search takes. A reader who changes a word
    of the German sees which distributions move. `scored` and `decoded` give what is on
    screen.

    Args:
        text: the English sentence that it shows first.
        translation: the German that the teacher gives.
        other: a German sentence to give instead, at the press of a button, before the
            model is loaded; None for none.
        translator: whose model; the released one if omitted.
        step: the position shown, counted from 0; -1 is where the two diverge.

    Raises:
        TypeError, ValueError: as `Translator.score`.

    Source: section 3.1; Williams and Zipser 1989.
    """

    translation = traitlets.Unicode(GIVEN).tag(sync=True)
    step = traitlets.Int(-1, min=-1).tag(sync=True)

    def __init__(
        self,
        text: str = RUNNING,
        translation: str = GIVEN,
        *,
        other: str | None = CHANGED,
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        self._given, self._other = translation, other
        super().__init__(text, translator=translator, translation=translation, **state)

    def record(self, text: str) -> dict[str, Any]:
        """Both translations scored, and the steps of greedy search."""
        example: dict[str, Any] = {
            "translation": self._given,
            "scored": score_positions(self.translator, text, self._given),
            "steps": search_steps(self.translator, text, GREEDY),
        }
        if self._other is not None:
            scored = score_positions(self.translator, text, self._other)
            example["other"] = {"translation": self._other, "scored": scored}
        return example

    @property
    def scored(self) -> ScoredTranslation:
        """The German on the screen, piece by piece."""
        return self.translator.score(self.text, self.translation)

    @property
    def decoded(self) -> str:
        """What the model writes by itself, greedily."""
        translator = self.translator
        source_ids = torch.tensor(
            [translator.encode(self.text)], device=translator.device
        )
        (found,) = decode.greedy(translator.model, source_ids)
        return translator.tokenizer.decode(found)

    def __repr__(self) -> str:
        return (
            f"Teacher forcing of “{self.translation}” (log p "
            f"{self.scored.log_probability:.2f}) beside decoding: “{self.decoded}”."
        )
