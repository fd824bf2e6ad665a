"""The grader for attention one key at a time, of chapter *Attention*."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tformer.attention import attention
from tformer_book.check import kit

HINTS = (
    "You have added up powers relative to the largest score so far. A larger one "
    "comes: by what must the old sums be multiplied?",
    "Keep three things: the largest score, the sum of the powers, the sum of the "
    "values times their powers. When the largest score grows from m to m′, both sums "
    "shrink by e^(m − m′); then the new key joins in.",
    "score = float(query @ key) / math.sqrt(len(query))",
)


@dataclass(frozen=True)
class OneQuery:
    """One query, keys and values."""

    query: Tensor
    keys: Tensor
    values: Tensor

    @classmethod
    def random(cls, length: int, width: int, out: int, seed: int) -> OneQuery:
        """Draw a case whose sizes all differ."""
        query, keys = (
            kit.draw(width, seed=seed),
            kit.draw(length, width, seed=seed + 10),
        )
        return cls(2 * query, keys, kit.draw(length, out, seed=seed + 20))

    def right(self) -> Tensor:
        """The output of the package's attention for this query."""
        return attention(self.query[None], self.keys, self.values)[0][0]

    def run(self, mine: kit.Function) -> Tensor:
        """The reader's output, a tensor of the right shape."""
        inputs = {"query": self.query, "keys": self.keys, "values": self.values}
        wanted = "the output, one vector as wide as a value"
        found = kit.as_tensor(kit.call(mine, inputs), wanted)
        if found.shape != self.values[0].shape:
            raise kit.Mistake(
                "shape",
                f"For values {tuple(self.values.shape)} the output must have shape "
                f"{tuple(self.values[0].shape)}: one query, as wide as a value. Yours "
                f"has {tuple(found.shape)}.",
            )
        return found.detach()


def _streamed(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    root: bool = True,
    total_too: bool = True,
    mix_too: bool = True,
    upside_down: bool = False,
    shifted: bool = True,
    rounded: bool = False,
    divided: bool = True,
) -> Tensor:
    """The output, key by key, with steps left out or turned round."""
    largest, total, mix = -math.inf, 0.0, torch.zeros_like(values[0])
    for key, value in zip(keys, values, strict=True):
        width = math.sqrt(len(key)) if root else 1.0
        score = float(query @ key) / (int(width) if rounded else width)
        new = max(largest, score)
        rescale = 1.0 if largest == -math.inf else math.exp(largest - new)
        rescale = 1 / rescale if upside_down else rescale
        power = math.exp(score - new if shifted else score)
        total = total * (rescale if total_too else 1) + power
        mix = mix * (rescale if mix_too else 1) + power * value
        largest = new
    return mix / total if divided else mix


SLIPS: kit.Table = {
    "not-rescaled": (
        partial(_streamed, total_too=False, mix_too=False),
        "When a new largest score arrives, what you have summed so far was measured "
        "against the old one. Multiply both, the total and the mix, by "
        "exp(largest − new) before you add.",
    ),
    "total-not-rescaled": (
        partial(_streamed, total_too=False),
        "You rescale the mix, but not the total. Both were summed against the old "
        "largest score, so both are multiplied by exp(largest − new).",
    ),
    "mix-not-rescaled": (
        partial(_streamed, mix_too=False),
        "You rescale the total, but not the mix. Both were summed against the old "
        "largest score, so both are multiplied by exp(largest − new).",
    ),
    "rescaled-the-wrong-way": (
        partial(_streamed, upside_down=True),
        "You rescale by exp(new − largest), which is above 1. The old sums must "
        "shrink when a larger score arrives: exp(largest − new).",
    ),
    "power-not-shifted": (
        partial(_streamed, shifted=False),
        "You rescale what is old, but add exp(score) as it is. The new power is "
        "measured against the largest score, too: exp(score − new).",
    ),
    "not-scaled": (
        partial(_streamed, root=False),
        "The scores are not scaled: divide each dot product by the square root of the "
        "query's width.",
    ),
    "scale-rounded": (
        partial(_streamed, rounded=True),
        "You divide by a whole number, but the root of the query's width is one only "
        "by chance: math.sqrt(len(query)).",
    ),
    "not-divided": (
        partial(_streamed, divided=False),
        "You return the mix of the powers. Divide by their sum at the end, so that "
        "the weights add up to 1: mix / total.",
    ),
    "largest-not-kept": (
        lambda query, keys, values: values[-1],
        "Your output is the last value alone: after each key all that came before is "
        "forgotten. Keep the largest score for the next round: largest = new.",
    ),
    "values-forgotten": (
        lambda query, keys, values: torch.ones_like(values[-1]),
        "Your output is nothing but ones: the mix adds up the powers without the "
        "values. Add power * value.",
    ),
}


def _small(mine: kit.Function) -> None:
    for case in (OneQuery.random(7, 6, 3, seed=1), OneQuery.random(1, 2, 5, seed=2)):
        found = case.run(mine)
        if kit.matches(found, case.right()):
            continue
        given = kit.Case(vars(case))
        kit.recognise(found, kit.slips(SLIPS, given.of))
        if not found.isfinite().all():
            raise kit.Mistake(
                "nan",
                "There is nan or infinity in your output. With the first key the "
                "largest score so far is −∞: exp(−∞ − new) is 0, which is right, but "
                "exp(new − (−∞)) is infinite, and 0 times that is nan.",
            )
        raise kit.Mistake(
            "wrong-numbers",
            f"For {len(case.keys)} keys the output should begin with "
            f"{case.right()[0]:.4f}; yours begins with {found[0]:.4f}. I do not know "
            "this mistake. Try two keys with a pencil, the second one better.",
        )


def _large(mine: kit.Function) -> None:
    case = OneQuery.random(6, 4, 3, seed=3)
    case = OneQuery(1000 * case.query, case.keys, case.values)
    about = (
        "Right for small scores, but for scores near 1000 a power overflows. Subtract "
        "the largest score so far before you raise e to the power."
    )
    try:
        found = case.run(mine)
    except kit.Stopped as stopped:
        if isinstance(stopped.problem, OverflowError):
            raise kit.Mistake("overflow", about) from None
        raise
    if not kit.matches(found, case.right()):
        raise kit.Mistake("overflow", about)


COPIES = {"clone", "equal", "contiguous", "detach", "to", "float", "double"}


class _Reading(TorchFunctionMode):
    """Follows how a function reads keys and values."""

    def __init__(self, case: OneQuery) -> None:
        super().__init__()
        self.keys, self.values = case.keys.shape, case.values.shape
        self.at_once = False
        self.compared = 0
        self.compared_before_values: int | None = None
        self.passes = 0

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        returned = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name in COPIES or name == "__get__":
            return returned
        given = args[0].shape if args and isinstance(args[0], Tensor) else None
        if given == self.keys and name in ("__iter__", "unbind"):
            self.passes += 1
        if given == self.values and self.compared_before_values is None:
            self.compared_before_values = self.compared
        if isinstance(returned, Tensor) and len(self.keys) > 1:
            self.at_once |= self.keys[0] in returned.shape
            self.compared += any(
                isinstance(each, Tensor) and each.shape[-1:] == self.keys[1:]
                for each in args
            )
        return returned


def _reads_in_turn(mine: kit.Function) -> None:
    case = OneQuery.random(11, 4, 3, seed=5)
    with _Reading(case) as reading:
        case.run(mine)
    before = reading.compared_before_values or 0
    if reading.at_once or before >= len(case.keys):
        raise kit.Mistake(
            "all-at-once",
            "The output is right, but you hold the scores of all keys at once, which "
            "is what was to be avoided. Read one key and its value, one after the "
            "other, and carry three things along: the largest score so far, the total "
            "of the powers and the mix.",
        )
    if reading.passes > 1:
        raise kit.Mistake(
            "two-passes",
            "The output is right, but you read all keys twice, the first time to find "
            "the largest score. Do it in one pass: when a larger score arrives, "
            "rescale what you have summed so far.",
        )


@kit.grader(_small, _large, _reads_in_turn)
def one_at_a_time(mine: kit.Function) -> str:
    """Grade one query's attention that reads keys and values one at a time.

    ``mine`` is a function ``mine(query, keys, values)``: query (Dh,), keys (Tk, Dh),
    values (Tk, Dv) to the output (Dv,), as `tformer.attention.attention`.
    """
    return (
        "The same output as with all keys at once, whatever their order, and scores "
        "near 1000 do not break it."
    )
