"""What a run reports: one type of dictionary per event, told apart by its "kind".

A listener is called with each event; if it returns True, the run stops. Chapter
*Training*.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypedDict

from tformer.translator import Translator


class Look(TypedDict):
    """The mean of the last few steps: a point on the run's curve."""

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float | None  # None: the loss scaler skipped every one of them


class Sample(TypedDict):
    """A sentence that is translated at every evaluation."""

    source: str
    reference: str
    translation: str


class Record(TypedDict):
    """One evaluation, as the history keeps it; losses are in nats per piece."""

    step: int
    epoch: int
    train_loss: float  # smoothed; mean over the steps since the last evaluation
    valid_loss: float  # not smoothed
    learning_rate: float
    gradient_norm: float | None
    tokens_per_second: float
    seconds: float
    samples: list[Sample]


class Start(TypedDict):
    """A run starts, or resumes from its checkpoint."""

    kind: Literal["start"]
    step: int
    steps: int | None
    minutes: float | None
    seconds: float
    folder: Path
    device: str
    precision: str
    n_parameters: int
    corpus: str
    is_synthetic: bool
    history: list[Record]
    curve: list[Look]


class Step(Look):
    """The loss, every few steps."""

    kind: Literal["step"]
    tokens_per_second: float
    seconds: float


class Evaluation(Record):
    """An evaluation; the translator is the model as it is now."""

    kind: Literal["evaluate"]
    translator: Translator


class Stop(TypedDict):
    """The end: "steps", "minutes", "patience" or "requested" is the reason."""

    kind: Literal["stop"]
    step: int
    reason: str
    seconds: float


Event = Start | Step | Evaluation | Stop
Listener = Callable[[Event], bool | None]
