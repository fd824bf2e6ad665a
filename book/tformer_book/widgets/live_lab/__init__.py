"""The live lab: type an English sentence, see it translated, explore alternatives.

The German appears piece by piece; each piece shows what else the model considered
there, and the model continues from what the reader chooses. The sentence and the search
settings are in the page's address. A reader can also open a model of their own, from
two files (`tformer.interop.lab`). Page: `book/lab.ipynb`.
"""

from __future__ import annotations

import math
from typing import Any

import traitlets

from tformer.common.search import USUAL, SearchSettings
from tformer.translator import Translator
from tformer_book.widgets._model import RUNNING, ModelFigure, recorded_attention
from tformer_book.widgets._searching import (
    SearchTraits,
    score_positions,
    search_steps,
)
from tformer_book.widgets.heads import recorded_damage

# By the marks of a person (results/typed-sentences.json) and, for the running pair, by
# its German in the book. A test holds them to what the released model says.
RIGHT = (
    "My parents want to sell their house.",
    "If I had more money, I would buy a bicycle.",
    "This is the best cake I have ever eaten.",
    "The letter was written by my grandmother.",
    "An old man is reading a newspaper on a park bench.",
)
WRONG = {
    RUNNING: "“it” becomes the wrong pronoun",
    "What time is it?": "asks when it is, not what time",
    "The neighbours are very friendly.": "neubig is no German word",
    "The children were not allowed to play in the garden.": "playing is lost",
    "The patient was given antibiotics to treat the infection.": "nonsense",
}

# How each is mended: in which way, what to say instead, and the German that comes of
# it, which a person has read and found right.
MENDED = {
    RUNNING: (
        "Leave out the pronoun",
        "The dog was too tired to cross the street.",
        "Der Hund war zu müde, um die Straße zu überqueren.",
    ),
    "What time is it?": (
        "Ask it differently",
        "Do you know what time it is?",
        "Weißt du, wie spät es ist?",
    ),
    "The neighbours are very friendly.": (
        "Spell it as it has read it, the American way",
        "The neighbors are very friendly.",
        "Die Nachbarn sind sehr freundlich.",
    ),
    "The children were not allowed to play in the garden.": (
        "Put it in the present",
        "The children are not allowed to play in the garden.",
        "Die Kinder dürfen im Garten nicht spielen.",
    ),
    "The patient was given antibiotics to treat the infection.": (
        "Use everyday words, and say who does it",
        "The doctor gave the sick man some medicine.",
        "Der Arzt gab dem kranken Mann ein Medikament.",
    ),
}
# Below this log p a piece, in nats, the lab warns: LEVEL % of the captions that the
# model was validated on fall below it (results/lab-doubt.json, studies/lab_doubt.py).
LEVEL = 5
DOUBT = -0.6404


class LiveLab(SearchTraits, ModelFigure):
    """Translate a sentence of your own with the trained model, on your own machine.

    Args:
        text: the sentence that it shows first.
        translator: whose model, as in `ModelFigure`.
        state: further traits, such as ``search="sample"``.

    Attributes:
        search, and the settings of a search: `SearchTraits`.
        prefix: pieces with which the translation must begin.
        view: the tab that is open.
        knocked_out: heads as [site, layer, head], under *Heads*.
        doubt: below how many nats a piece it warns (``below``), and what share of the
            validation captions, in percent, do worse (``level``).
    """

    prefix = traitlets.List(traitlets.Unicode()).tag(sync=True)
    view = traitlets.Unicode("alternatives").tag(sync=True)
    knocked_out = traitlets.List().tag(sync=True)
    examples = traitlets.List().tag(sync=True)
    doubt = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        text: str = RIGHT[0],
        *,
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        super().__init__(text, translator=translator, **state)
        if self.model_key:  # nobody has judged another model's translations
            right = [{"text": each, "remark": ""} for each in RIGHT]
            wrong = []
            for each, why in WRONG.items():
                how, instead, _ = MENDED[each]
                mend = {"how": how, "text": instead}
                wrong.append({"text": each, "remark": why, "mend": mend})
            self.doubt = {"below": DOUBT, "level": LEVEL}
            self.examples = [
                {"title": "that come out right", "items": right},
                {"title": "that go wrong, and can be mended", "items": wrong},
            ]

    def record(self, text: str) -> dict[str, Any]:
        """What every view shows of the translation, as the page's engine reports it."""
        steps = search_steps(self.translator, text, USUAL)
        greedy = SearchSettings(search="greedy")
        german = steps[-1]["finished"][0]["text"]
        attention = recorded_attention(self.translator.attention(text))
        attention["damage"] = recorded_damage(self.translator, text, german)
        return {
            "text": text,
            "steps": steps,
            "attention": attention,
            "scored": score_positions(self.translator, text, german),
            "greedy": search_steps(self.translator, text, greedy),
        }

    def __repr__(self) -> str:
        text, scored = self.example["text"], self.example["scored"]
        german = self.example["steps"][-1]["finished"][0]["text"]
        least = min(scored["positions"], key=lambda each: each["logProbability"])
        name = least["piece"].replace("▁", "")
        share = math.exp(least["logProbability"])
        return (
            f"“{text}” becomes “{german}” The model was least sure of “{name}”, to "
            f"which it gave {share:.0%}."
        )
