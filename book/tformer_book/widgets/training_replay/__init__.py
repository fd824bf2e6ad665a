"""A recorded training run to scrub through: loss, translations, attention as it forms.

Chapter *Training* shows it. The record is that of `tformer.pretrained.load_history`;
nothing is trained or translated in the page.
"""

from __future__ import annotations

import json
from typing import Any

import torch
import traitlets
from torch import Tensor

from tformer.pretrained import RELEASED, load_history
from tformer_book.widgets._figure import PageFigure


class TrainingReplay(PageFigure):
    """Checkpoints of a recorded run, one after the other.

    At each: where the loss is, how some fixed sentences were translated, and what the
    last decoder layer attended to while it read their correct translations.

    Args:
        history: with ``replay``, ``curve`` and ``evaluations``, as `load_history`
            returns it; that of the released model if omitted.
        card: of the same model, for where and when it was trained.
        frame: the checkpoint shown first, from 0.
        sentence: the sentence shown first, from 0.

    Raises:
        ValueError: the history has no replay, or there is no such frame or sentence.
    """

    frames = traitlets.List().tag(sync=True)
    sentences = traitlets.List().tag(sync=True)
    curve = traitlets.List().tag(sync=True)  # [step, training loss, learning rate]
    evaluations = traitlets.List().tag(sync=True)  # [step, validation loss]
    recorded = traitlets.Unicode().tag(sync=True)
    frame = traitlets.Int().tag(sync=True)
    sentence = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        history: dict[str, list[dict[str, Any]]] | None = None,
        card: dict[str, Any] | None = None,
        *,
        frame: int = 0,
        sentence: int = 0,
    ) -> None:
        if history is None:
            history = load_history()
        if card is None:
            card = json.loads((RELEASED / "card.json").read_text("utf-8"))
        replay = history.get("replay", [])
        if not replay:
            raise ValueError(
                "the history has no replay: record the run with "
                "python -m studies.recorded_run, which keeps one"
            )
        references = {
            each["source"]: each["reference"]
            for each in history["evaluations"][0]["samples"]
        }
        rates = {each["step"]: each["learning_rate"] for each in history["evaluations"]}
        sentences = [
            {
                "source": each["source"],
                "reference": references[each["source"]],
                "source_pieces": each["source_pieces"],
                "target_pieces": each["predicted_pieces"],
            }
            for each in replay[0]["sentences"]
        ]
        for name, value, end in (
            ("frame", frame, len(replay)),
            ("sentence", sentence, len(sentences)),
        ):
            if not 0 <= value < end:
                raise ValueError(f"{name}={value} must be from 0 to {end - 1}")
        super().__init__(
            sentences=sentences,
            frames=[
                {
                    "step": each["step"],
                    "valid_loss": each["valid_loss"],
                    "learning_rate": rates[each["step"]],
                    "translations": [s["translation"] for s in each["sentences"]],
                    "attention": [s["cross_attention"] for s in each["sentences"]],
                }
                for each in replay
            ],
            curve=[
                [each["step"], each["loss"], each["learning_rate"]]
                for each in history["curve"]
            ],
            evaluations=[
                [each["step"], each["valid_loss"]] for each in history["evaluations"]
            ],
            recorded=(
                f"Recorded, not computed here: {card['device']}, {card['date']}, "
                f"{card['steps']:,} steps on {card['corpus']}, PyTorch {card['torch']}."
            ),
            frame=frame,
            sentence=sentence,
        )

    @property
    def translation(self) -> str:
        """What the model said at the checkpoint on screen."""
        return self.frames[self.frame]["translations"][self.sentence]

    @property
    def attention(self) -> Tensor:
        """(T, S): cross-attention of the last layer, mean of its heads.

        Rows are queries, each about to predict a German piece; columns are keys.
        """
        return torch.tensor(self.frames[self.frame]["attention"][self.sentence])

    def __repr__(self) -> str:
        shown = self.frames[self.frame]
        return (
            f"Step {shown['step']:,}, validation loss {shown['valid_loss']:.2f}: "
            f"“{self.sentences[self.sentence]['source']}” → “{self.translation}”"
        )
