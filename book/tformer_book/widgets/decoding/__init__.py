"""One sentence decoded step by step: greedy, by sampling, or by beam search.

The lab shows it. The page's engine runs the searches; what it shows first
was recorded from PyTorch, and the tests hold both to `tformer.decode`.
"""

from __future__ import annotations

from typing import Any

import traitlets

from tformer.common.search import SEARCHES, SearchSettings
from tformer.decode import Hypothesis, length_penalty_of
from tformer.translator import Translator
from tformer_book.widgets._model import RUNNING, ModelFigure, page_settings
from tformer_book.widgets._searching import SLIDERS, SearchTraits, search_steps

OWN = {"top_k": 10, "top_p": 0.9, "seed": 1}  # where this figure begins
NAMES = {"greedy": "greedy search", "sample": "sampling", "beam": "beam search"}


class Decoding(SearchTraits, ModelFigure):
    """The tree of a beam, or the one line of greedy search and of a sample.

    At every step it shows the probabilities of the next piece and, for a sample, the
    distribution it was drawn from. `hypotheses` and `translation` give what is on
    screen.

    Args:
        text: the English sentence that it shows first.
        translator: whose model; the released one if omitted.
        search: "greedy", "sample" or "beam", with the traits that belong to it
            (`SearchTraits`).
        step: counted from 0, where it begins; -1 is the end.

    Raises:
        TypeError, ValueError: as `Translator.translate` and `tformer.decode.sample`;
            a `traitlets.TraitError` for a value that the figure cannot show.

    Source: section 6.1; Wu et al. 2016, equation 14; Holtzman et al. 2020.
    """

    step = traitlets.Int(0, min=-1).tag(sync=True)
    found = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        text: str = RUNNING,
        *,
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        state = self._wanted = {**OWN, **state}
        super().__init__(text, translator=translator, **state)
        runs = self.example["runs"]
        shown = next(run for run in runs if run["search"] == self.search)
        self.found = _ended(text, shown["steps"])

    def record(self, text: str) -> dict[str, Any]:
        """The steps of all three searches, with the requested settings."""
        defaults = self.trait_defaults()
        wanted = {name: self._wanted.get(name, defaults[name]) for name in SLIDERS}
        for name, each in SLIDERS.items():
            if wanted[name] == each.everything:
                wanted[name] = None
        runs = [SearchSettings(search=each, **wanted) for each in SEARCHES]
        return {
            "runs": [
                {
                    **page_settings(each),
                    "steps": search_steps(self.translator, text, each),
                }
                for each in runs
            ]
        }

    @property
    def hypotheses(self) -> list[Hypothesis]:
        """The finished ones on the screen, the best first, ranked by its penalty."""
        return self._ended_by(self.step if self.step >= 0 else self.found["steps"])

    def _ended_by(self, last: int) -> list[Hypothesis]:
        """Those that had ended at a step, the best first."""
        alpha = self.length_penalty if self.search == "beam" else 0.0
        found = [
            Hypothesis(
                each["ids"],
                each["logProbability"],
                each["logProbability"] / length_penalty_of(len(each["ids"]) + 1, alpha),
            )
            for each in self.found["finished"]
            if each["step"] <= last
        ]
        return sorted(found, key=lambda each: -each.score)

    @property
    def translation(self) -> str | None:
        """The best translation on the screen; None before one has ended."""
        best = self.hypotheses[:1]
        return self.translator.tokenizer.decode(best[0].ids) if best else None

    def __repr__(self) -> str:
        steps = self.found["steps"]
        best = self._ended_by(steps)[:1]
        german = self.translator.tokenizer.decode(best[0].ids) if best else "no end"
        how = f"{NAMES[self.search]}, in {steps} steps"
        return f"“{self.text}” becomes “{german}” by {how}."


def _ended(text: str, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """What `hypotheses` needs from a search: all that ended, and when."""
    ended: dict[tuple[int, ...], dict[str, Any]] = {}
    for at, step in enumerate(steps):
        for each in step["finished"]:
            kept = {name: each[name] for name in ("ids", "text", "logProbability")}
            ended.setdefault(tuple(each["ids"]), {**kept, "step": at})
    return {"text": text, "steps": len(steps), "finished": list(ended.values())}
