"""The grader for `loss_scales` of chapter *Training*, and the slips it knows."""

from collections.abc import Sequence
from typing import Any

from tformer_book.check import kit

HINTS = (
    "Which two numbers must you remember from one step to the next?",
    "The scale, and how many good steps have followed one another. A bad step halves "
    "the scale and starts the count again; when the count reaches `patience`, the "
    "scale doubles and the count starts again, too.",
    "scale, good, scales = 2.0**16, 0, []",
)

CASES = kit.cases(
    "is_finite patience",
    ([False, False, True, True, True, True, False, True, True, True], 3),
    ([True] * 7, 2),
    ([True, True, False, True, True, False, True, True, True, True], 3),
    *(([True, False, True], 1), ([], 3)),
)


def built(
    is_finite: Sequence[bool],
    patience: int,
    *,
    start: float = 2.0**16,
    halved_resets: bool = True,
    late: int = 0,
    counts_all: bool = False,
    down: float = 0.5,
    up: float = 2.0,
    before: bool = False,
    only_last: bool = False,
    flipped: bool = False,
) -> list[float] | float:
    """The scale after each step; other settings make a known mistake."""
    scale, good, scales = start, 0, []
    for fine in is_finite:
        if before:
            scales.append(scale)
        if fine is flipped:
            scale, good = scale * down, 0 if halved_resets else good + counts_all
        else:
            good += 1
            if good >= patience + late:
                scale, good = scale * up, 0
        if not before:
            scales.append(scale)
    return scale if only_last else scales


def _count_not_reset(is_finite: Sequence[bool], patience: int) -> list[float]:
    """Doubling at every good step, once there were `patience` of them."""
    scale, good, scales = 2.0**16, 0, []
    for fine in is_finite:
        good = good + 1 if fine else 0
        scale = scale * 2 if good >= patience else scale if fine else scale / 2
        scales.append(scale)
    return scales


SLIPS: kit.Table = {
    "count-not-reset-by-doubling": (
        _count_not_reset,
        "After the first doubling your scale doubles with every good step. Begin "
        "to count again when it has doubled: good = 0.",
    ),
    "count-not-reset-by-a-bad-step": (
        {"halved_resets": False},
        "A bad step must end the series: the good steps in a row are counted from 0 "
        "again after it.",
    ),
    "bad-steps-counted": (
        {"counts_all": True, "halved_resets": False},
        "You count every step towards the doubling, bad ones too. Only good steps in a "
        "row count.",
    ),
    "one-too-patient": (
        {"late": 1},
        "You wait one step too long: after `patience` good steps the scale doubles, "
        "not with the step after them. >= patience, not > patience.",
    ),
    "one-too-hasty": (
        {"late": -1},
        "You double one step too early: count the good step first, then compare with "
        "patience.",
    ),
    "never-up": (
        {"up": 1.0},
        "Your scale never rises. After `patience` good steps in a row, double it.",
    ),
    "never-down": (
        {"down": 1.0},
        "Your scale never falls. If a gradient is not finite, halve it.",
    ),
    "flipped": (
        {"flipped": True},
        "The two cases have changed places: True means that the gradients were finite.",
    ),
    "other-start": (
        [{"start": 1.0}, {"start": 16.0}, {"start": 2.0**15}, {"start": 2.0**17}],
        "The scale starts at 2 to the power of 16, 65,536.",
    ),
    "other-factor": (
        [{"down": 0.25}, {"up": 4.0}, {"up": 1.5}],
        "Halve and double: the factors are 1/2 and 2.",
    ),
    "before-the-step": (
        {"before": True},
        "You note the scale before each step. I ask for the scale after it.",
    ),
    "last-only": (
        {"only_last": True},
        "You return the last scale. I ask for a list, the scale after each step.",
    ),
}


def _take(returned: Any) -> Any:
    return [*returned] if isinstance(returned, tuple) else returned


def _unknown(
    found: Any, wanted: Any, is_finite: list[bool], patience: int
) -> kit.Mistake:
    return kit.Mistake(
        "wrong-scales",
        f"For {is_finite} and patience {patience} the scales should be "
        f"{wanted}; yours are {found}. Go through it step by step: what is the "
        "scale, and how many good steps in a row were there?",
    )


def _probe(mine: kit.Function) -> None:
    kit.judge(mine, CASES, built, SLIPS, built, take=_take, otherwise=_unknown)


@kit.grader(_probe)
def loss_scales(mine: kit.Function) -> str:
    """Grade a reader's loss scaling of mixed precision.

    ``mine`` is a function ``mine(is_finite, patience)``: whether the gradients of each
    step were finite, and after how many good steps in a row the scale doubles. Returns
    the scale after each step; it starts at 2¹⁶.
    """
    return (
        "Down by half at once, up again after enough good steps in a row, and both "
        "begin the count anew: as torch.amp.GradScaler does."
    )
