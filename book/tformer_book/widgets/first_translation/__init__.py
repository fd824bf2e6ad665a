"""A translation that appears word by word, with lines to the words that it came from.

The book's first page shows it. ``words.js`` makes words of pieces; the lines are what
`Translator.attention` gives for the cross-attention of the last layer, the mean over
its heads. Where another word came close, the reader may have the model write that.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import traitlets

from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer_book.widgets._model import ModelFigure
from tformer_book.widgets.live_lab import DOUBT, LEVEL

# The released model translates them in another order of words, and one of them wrongly.
# Beside each: what the words of its German mean there, and of what it nearly wrote.
SENTENCES = {
    "Why did you not call me yesterday?": {
        "Warum": "why", "hast": "have", "haben": "have (polite)",
        "habt": "have (plural)", "du": "you", "Sie": "you (polite)",
        "ihr": "you (plural)", "mich": "me", "gestern": "yesterday", "nicht": "not",
        "angerufen": "called",
    },
    "The cat is sleeping because it is tired.": {
        "Die": "the", "Katze": "cat", "schläft": "sleeps", "weil": "because",
        "da": "since", "es": "it", "sie": "it (the cat)", "müde": "tired", "ist": "is",
    },
    "My brother has bought a new car.": {
        "Mein": "my", "Bruder": "brother", "hat": "has", "sich": "himself", "mir": "me",
        "ein": "a", "neues": "new", "Auto": "car", "gekauft": "bought",
    },
}  # fmt: skip
# What is worth knowing of words that stand in one of those translations together.
NOTES = {
    "Why did you not call me yesterday?": [
        (
            ["hast", "angerufen"],
            "For “did\u00a0… call”, German says “have called”:"
            " “hast\u00a0…\u00a0angerufen”",
        ),
        (["haben", "Sie"], "“haben” goes with “Sie”, the polite “you”"),
        (
            ["habt", "ihr"],
            "“habt” goes with “ihr”, the informal “you” for several people",
        ),
    ],
    "The cat is sleeping because it is tired.": [
        (["es"], "“es” is wrong: “Katze” is feminine, so it takes “sie”"),
        (["sie"], "“sie” is right: it stands for “die Katze”"),
    ],
    "My brother has bought a new car.": [
        (["sich", "gekauft"], "“sich … gekauft” means “bought for himself”"),
        (["mir", "gekauft"], "“mir … gekauft” means “bought for me”"),
        (
            ["hat", "gekauft"],
            "German splits the verb: “has bought” becomes “hat … gekauft”",
        ),
    ],
}
# The German word that an example ends with: what it looked at needs no German.
LOOK = {"Why did you not call me yesterday?": "angerufen"}
# What frequent German words usually mean: for sentences of the reader's own.
USUAL = tomllib.loads((Path(__file__).parent / "meanings.toml").read_text("utf-8"))
CLOSE = 0.05  # probability of a next piece from which it "came close"
MOST = 3  # next pieces that are recorded: the one that was written, and two others


class FirstTranslation(ModelFigure):
    """A sentence above its translation, with lines to the words the model looked at.

    Args:
        sentences: English sentences to choose from, which are translated and recorded
            when the cell runs; the first one is shown. The reader may type others. A
            mapping has for each what German words mean in its translations, which is
            shown below them where every word of a translation has its meaning; else
            what they usually mean.
        translator: whose model; the released one if omitted.

    Raises:
        ValueError: no sentence.
        TypeError, ValueError: as `ModelFigure` and `Translator.attention`.
    """

    doubt = traitlets.Dict().tag(sync=True)  # when to warn, as in the lab

    def __init__(
        self,
        sentences: Sequence[str] | Mapping[str, Mapping[str, str]] = SENTENCES,
        *,
        translator: Translator | None = None,
    ) -> None:
        if not sentences:
            raise ValueError("sentences is empty: give at least one English sentence")
        if not isinstance(sentences, Mapping):
            sentences = {each: {} for each in sentences}
        self._sentences = {each: dict(words) for each, words in sentences.items()}
        super().__init__(next(iter(sentences)), translator=translator)
        if self.model_key:
            self.doubt = {"below": DOUBT, "level": LEVEL}

    def record(self, text: str) -> dict[str, Any]:
        """What the engine would give of every sentence, and of what it nearly was."""
        return {
            "close": CLOSE,
            "usual": USUAL,
            "sentences": [
                {
                    "text": each,
                    "meanings": words,
                    "notes": NOTES.get(each, []),
                    "look": LOOK.get(each),
                    "ways": self._ways(each),
                }
                for each, words in self._sentences.items()
            ],
        }

    def _ways(self, text: str) -> list[dict[str, Any]]:
        """The translation, then those that part from it at a word that came close."""
        own = self._recorded(text, None)
        written = own["predictedPieces"]
        return [own] + [
            self._recorded(text, self._continued(text, [*written[:t], piece]))
            for t, options in enumerate(own["next"])
            for piece, probability in options
            if probability >= CLOSE
            and piece != written[t]
            and all(each.startswith("▁") for each in (piece, written[t]))
        ]

    def _recorded(self, text: str, translation: str | None) -> dict[str, Any]:
        maps = self.translator.attention(text, translation)
        ids = self._tokenizer.encode(maps.translation)
        next_ = self._next(text, ids)
        best = next_.topk(MOST)
        written = torch.tensor([*ids, self.translator.model.config.eos_id])
        chances = next_.gather(-1, written[:, None])
        return {
            "sourcePieces": maps.source_pieces,
            "predictedPieces": maps.predicted_pieces,
            "weights": _rounded(maps.cross[-1].mean(0)),
            "chances": [each for [each] in _rounded(chances)],
            "next": [
                [
                    [self._tokenizer.id_to_piece(id_), probability]
                    for id_, probability in zip(ids, row, strict=True)
                ]
                for ids, row in zip(
                    best.indices.tolist(), _rounded(best.values), strict=True
                )
            ],
        }

    def _continued(self, text: str, pieces: list[str]) -> str:
        """The translation that begins with some pieces, then takes the best ones."""
        ids = self._tokenizer.encode("".join(pieces).replace("▁", " "))
        config = self.translator.model.config
        while len(ids) < config.max_len - 1:
            best = int(self._next(text, ids)[-1].argmax())
            if best == config.eos_id:
                break
            ids.append(best)
        return self._tokenizer.decode(ids)

    @torch.no_grad()
    def _next(self, text: str, ids: list[int]) -> torch.Tensor:
        """Probabilities of what follows <bos> and each of some pieces: (T + 1, V)."""
        model = self.translator.model
        source = torch.tensor([self.translator.encode(text)])
        target = torch.tensor([[model.config.bos_id, *ids]])
        return model(source, target)[0].softmax(-1)

    @property
    def _tokenizer(self) -> Tokenizer:
        return self.translator.tokenizer.target


def _rounded(numbers: torch.Tensor) -> list[list[float]]:
    return [[round(each, 3) for each in row] for row in numbers.tolist()]
