"""The learning rate and the smoothed target, as curves and bars to drag.

Chapter *Training* shows one half where it teaches the target, the other where it
teaches the schedule. ``maths.js`` does the maths; `tformer.schedule`
and `tformer.loss` check it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import traitlets
from torch import Tensor

from tformer.schedule import inverse_square_root
from tformer_book.widgets._figure import PageFigure

N_NAMED = 5  # pieces with a logit of their own; one more is shared by all others
SPREADS = ("over all V", "over the V − 1 others")
BY_HAND = (2.0, 1.0, 0.0, -1.0, 0.5, -8.0)
PARTS = ("both", "schedule", "smoothing")


@dataclass(frozen=True)
class Losses:
    """What a prediction costs against a smoothed target, in nats.

    Attributes:
        cross_entropy: what training minimises.
        entropy: of the target: the floor that no training can lower.
        divergence: the Kullback–Leibler divergence, which is the rest.
    """

    cross_entropy: float
    entropy: float
    divergence: float


class ScheduleAndSmoothing(PageFigure):
    """A learning-rate curve and a smoothed target.

    `rate`, `target`, `prediction` and `losses` give what is on screen.

    Args:
        part: ``"schedule"``, ``"smoothing"``, or ``"both"``.
        d_model: width of the model.
        warmup_steps: length of the warm-up.
        scale: a factor on the whole curve.
        total_steps: where the run ends, at least 2.
        step: the selected step, 1 to ``total_steps``; the peak if omitted.
        epsilon: probability mass taken from the label, 0 to 0.5.
        vocab_size: V, at least 5.
        spread: over which pieces that mass goes, one of `SPREADS`: all of them, as in
            PyTorch and here (the paper doesn't say), or all but the label.
        logits: six of them: of five pieces, the right one first, and of each other one.

    Raises:
        ValueError: a value out of range.

    Source: sections 5.3 and 5.4.
    """

    part = traitlets.Enum(PARTS, "both").tag(sync=True)
    d_model = traitlets.Int().tag(sync=True)
    warmup_steps = traitlets.Int().tag(sync=True)
    scale = traitlets.Float().tag(sync=True)
    total_steps = traitlets.Int().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    log_steps = traitlets.Bool(False).tag(sync=True)
    epsilon = traitlets.Float().tag(sync=True)
    vocab_size = traitlets.Int().tag(sync=True)
    spread = traitlets.Enum(list(SPREADS), SPREADS[0]).tag(sync=True)
    logits = traitlets.List(traitlets.Float()).tag(sync=True)
    log_bars = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        part: str = "both",
        *,
        d_model: int = 512,
        warmup_steps: int = 4000,
        scale: float = 1.0,
        total_steps: int = 100_000,
        step: int | None = None,
        epsilon: float = 0.1,
        vocab_size: int = 5,
        spread: str = SPREADS[0],
        logits: Sequence[float] = BY_HAND,
    ) -> None:
        if part not in PARTS:
            raise ValueError(f"part={part!r} must be one of {', '.join(PARTS)}")
        for name, value, least in (
            ("d_model", d_model, 1),
            ("warmup_steps", warmup_steps, 1),
            ("total_steps", total_steps, 2),
            ("vocab_size", vocab_size, N_NAMED),
        ):
            if value < least:
                raise ValueError(f"{name}={value} must be at least {least}")
        if not scale > 0:
            raise ValueError(f"scale={scale} must be greater than 0")
        step = min(warmup_steps, total_steps) if step is None else step
        if not 1 <= step <= total_steps:
            raise ValueError(f"step={step} must be from 1 to total_steps={total_steps}")
        if not 0 <= epsilon <= 0.5:
            raise ValueError(f"epsilon={epsilon} must be from 0 to 0.5")
        if spread not in SPREADS:
            known = ", ".join(map(repr, SPREADS))
            raise ValueError(f"spread={spread!r} must be one of {known}")
        if len(logits) != N_NAMED + 1 or not all(math.isfinite(z) for z in logits):
            raise ValueError(
                f"logits={list(logits)} must be {N_NAMED + 1} finite numbers: of five "
                "pieces, the right one first, and of each other one"
            )
        super().__init__(
            part=part,
            d_model=d_model,
            warmup_steps=warmup_steps,
            scale=scale,
            total_steps=total_steps,
            step=step,
            epsilon=epsilon,
            vocab_size=vocab_size,
            spread=spread,
            logits=[float(z) for z in logits],
        )

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, on the curve on screen."""
        return inverse_square_root(
            step,
            d_model=self.d_model,
            warmup_steps=self.warmup_steps,
            scale=self.scale,
        )

    @property
    def rate(self) -> float:
        """The learning rate of the selected step."""
        return self.rate_at(self.step)

    @property
    def target(self) -> Tensor:
        """(V,) float64: the target distribution; the right piece is the first."""
        others = self.vocab_size - (self.spread == SPREADS[1])
        q = torch.full((self.vocab_size,), self.epsilon / others, dtype=torch.float64)
        q[0] = 1 - self.epsilon + (self.spread == SPREADS[0]) * self.epsilon / others
        return q

    @property
    def all_logits(self) -> Tensor:
        """(V,) float64: the five logits, and the sixth for each other piece."""
        z = torch.full((self.vocab_size,), self.logits[-1], dtype=torch.float64)
        z[:N_NAMED] = torch.tensor(self.logits[:N_NAMED], dtype=torch.float64)
        return z

    @property
    def prediction(self) -> Tensor:
        """(V,) float64: what the model predicts."""
        return self.all_logits.softmax(-1)

    @property
    def losses(self) -> Losses:
        """Cross-entropy, entropy of the target and KL divergence, in nats."""
        q, log_p = self.target, self.all_logits.log_softmax(-1)
        q_log_q = torch.special.xlogy(q, q)  # with 0 ln 0 = 0
        return Losses(
            cross_entropy=float(-(q * log_p).sum()),
            entropy=float(-q_log_q.sum()),
            divergence=float((q_log_q - q * log_p).sum()),
        )

    def __repr__(self) -> str:
        said = []
        if self.part != "smoothing":
            said.append(
                f"d_model {self.d_model}, warm-up {self.warmup_steps}, factor "
                f"{self.scale:g}: rate {self.rate:.3g} at step {self.step}."
            )
        if self.part != "schedule":
            found = self.losses
            said.append(
                f"ε = {self.epsilon:g} {self.spread}, V = {self.vocab_size}: "
                f"cross-entropy {found.cross_entropy:.3f} = entropy "
                f"{found.entropy:.3f} + KL {found.divergence:.3f}."
            )
        return " ".join(said)
