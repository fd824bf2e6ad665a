"""A translation that appears word by word, with lines to the words that it came from.

The book's first page shows it. ``words.js`` makes words of pieces; the lines are what
`Translator.attention` gives for the cross-attention of the last layer, the mean over
its heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets

from tformer.translator import Translator
from tformer_book.widgets._model import ModelFigure
from tformer_book.widgets.live_lab import DOUBT, LEVEL

SENTENCES = (  # the released model translates them well, in another order of words
    "Why did you not call me yesterday?",
    "A woman in a red dress is reading a book.",
    "My brother has bought a new car.",
)


class FirstTranslation(ModelFigure):
    """A sentence above its translation, joined by what the model looked at.

    Args:
        sentences: English sentences to choose from, which are translated and recorded
            when the cell runs; the first one is shown. The reader may type others.
        translator: whose model; the released one if omitted.

    Raises:
        ValueError: no sentence.
        TypeError, ValueError: as `ModelFigure` and `Translator.attention`.
    """

    doubt = traitlets.Dict().tag(sync=True)  # when to warn, as in the lab

    def __init__(
        self,
        sentences: Sequence[str] = SENTENCES,
        *,
        translator: Translator | None = None,
    ) -> None:
        if not sentences:
            raise ValueError("sentences is empty: give at least one English sentence")
        self._sentences = tuple(sentences)
        super().__init__(sentences[0], translator=translator)
        if self.model_key:
            self.doubt = {"below": DOUBT, "level": LEVEL}

    def record(self, text: str) -> dict[str, Any]:
        """Pieces and weights of every sentence, as the engine would give them."""
        return {"sentences": [self._recorded(each) for each in self._sentences]}

    def _recorded(self, text: str) -> dict[str, Any]:
        maps = self.translator.attention(text)
        weights = maps.cross[-1].mean(0)
        return {
            "text": text,
            "sourcePieces": maps.source_pieces,
            "predictedPieces": maps.predicted_pieces,
            "weights": [[round(w, 3) for w in row] for row in weights.tolist()],
        }
