"""The live lab: type an English sentence, see it translated, explore alternatives.

The German appears piece by piece; each piece shows what else the model considered
there, and the model continues from what the reader chooses. The sentence and the search
settings are in the page's address. A reader can also open a model of their own, from
two files (`tformer.interop.lab`). Page: `book/lab.ipynb`.
"""

from __future__ import annotations

from typing import Any

import traitlets

from tformer.search import SEARCHES, USUAL, SearchSettings
from tformer.translator import Translator
from tformer.widgets._model import RUNNING, ModelFigure, recorded_attention
from tformer.widgets._searching import number, score_positions, search_steps

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
    "We need eggs, butter and flour.": "Floß is a raft",
    "The children were not allowed to play in the garden.": (
        "did not want to, instead of were not allowed to"
    ),
    "The patient was given antibiotics to treat the infection.": "nonsense",
}


class LiveLab(ModelFigure):
    """Translate a sentence of your own with the trained model, on your own machine.

    Args:
        text: the sentence that it shows first.
        translator: whose model, as in `ModelFigure`.
        state: further traits, such as ``search="sample"``.

    Attributes:
        search: "beam", "greedy" or "sample".
        beam_size, length_penalty: of beam search.
        temperature, top_k, top_p, seed: of sampling; top_k 0 and top_p 1 keep all.
        prefix: pieces with which the translation must begin.
        view: the tab that is open.
    """

    search = traitlets.Enum(SEARCHES, USUAL.search).tag(sync=True)
    beam_size = number("beam_size", USUAL.beam_size)
    length_penalty = number("length_penalty", USUAL.length_penalty)
    temperature = number("temperature", USUAL.temperature)
    top_k = number("top_k", 0)
    top_p = number("top_p", 1.0)
    seed = number("seed", USUAL.seed)
    prefix = traitlets.List(traitlets.Unicode()).tag(sync=True)
    view = traitlets.Unicode("alternatives").tag(sync=True)
    examples = traitlets.List().tag(sync=True)
    page_height = traitlets.Int(854).tag(sync=True)
    page_height_narrow = traitlets.Int(1022).tag(sync=True)

    def __init__(
        self,
        text: str = RUNNING,
        *,
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        super().__init__(text, translator=translator, **state)
        if self.model_key:  # nobody has judged another model's translations
            right = [{"text": each, "remark": ""} for each in RIGHT]
            wrong = [{"text": each, "remark": why} for each, why in WRONG.items()]
            self.examples = [
                {"title": "that come out right", "items": right},
                {"title": "that go wrong", "items": wrong},
            ]

    def record(self, text: str) -> dict[str, Any]:
        """What every view shows of the translation, as the page's engine reports it."""
        steps = search_steps(self.translator, text, USUAL)
        greedy = SearchSettings(search="greedy")
        german = steps[-1]["finished"][0]["text"]
        return {
            "text": text,
            "steps": steps,
            "attention": recorded_attention(self.translator.attention(text)),
            "scored": score_positions(self.translator, text, german),
            "greedy": search_steps(self.translator, text, greedy),
        }
