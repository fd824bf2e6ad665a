"""The grader for `path_length` of chapter *Transduction*, and known mistakes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from tformer.analysis import paths
from tformer_book.check import kit

KINDS = ("recurrent", "convolution", "dilated convolution", "self-attention")
DISTANCES = (0, 1, 2, 3, 7, 8, 9, 26, 27, 100, 124, 242)
CASES = [(distance, kernel) for kernel in (3, 2, 5) for distance in DISTANCES]
Rule = Callable[[int, int], float]


def _up_to(base: int, distance: int) -> int:
    layers = 1
    while base**layers <= distance:
        layers += 1
    return layers


def _only(kind: str, rule: Rule) -> kit.Function:
    """The right function, but for one kind of layer."""

    def mine(kind_: str, distance: int, kernel: int) -> float:
        if kind_ == kind:
            return rule(distance, kernel)
        return paths.path_length(kind_, distance, kernel)

    return mine


SLIPS: kit.Table = {
    "counts-places": (
        _only("recurrent", lambda distance, k: max(1, distance)),
        "You count the places between the tokens. The first step is the one from the "
        "token into its own state: distance + 1.",
    ),
    "kernel-as-reach": (
        _only("convolution", lambda distance, k: max(1, math.ceil(distance / k))),
        "A kernel that sees k tokens sees its own and k − 1 others, so one layer moves "
        "a signal by k − 1 places, not by k.",
    ),
    "rounded-down": (
        _only("convolution", lambda distance, k: max(1, distance // (k - 1))),
        "You round down. A layer that is needed for the last place is needed whole: "
        "round up.",
    ),
    "looks-both-ways": (
        _only(
            "convolution", lambda distance, k: max(1, math.ceil(2 * distance / (k - 1)))
        ),
        "You let the kernel look to both sides, so that it reaches (k − 1)/2. That is "
        "a fair other design, but here kernels look to the left only: k − 1.",
    ),
    "dilation-ignored": (
        _only(
            "dilated convolution",
            lambda distance, k: max(1, math.ceil(distance / (k - 1))),
        ),
        "Your dilated convolution is as slow as a plain one. Its gaps grow: layer l "
        "moves by multiples of k to the power l, so L layers reach k^L − 1 places.",
    ),
    "always-doubles": (
        _only("dilated convolution", lambda distance, k: _up_to(2, distance)),
        "You let the gaps double whatever the kernel. They grow by k: L layers reach "
        "k^L − 1 places.",
    ),
    "log-of-the-distance": (
        _only("dilated convolution", lambda distance, k: _up_to(k, distance - 1)),
        "You take the logarithm of the distance and round up. Just at k, k², … that is "
        "one layer short: L layers reach k^L − 1 places, so k^L must be above the "
        "distance.",
    ),
    "attention-grows": (
        [
            _only("self-attention", lambda distance, k: distance + 1),
            _only("self-attention", lambda distance, k: max(1, distance)),
        ],
        "In your self-attention the path grows with the distance. Every output sees "
        "every token of the layer below: 1 step, always.",
    ),
}


def _steps(steps: Any) -> float:
    if (
        isinstance(steps, Tensor | np.generic | np.ndarray)
        and math.prod(steps.shape) == 1
    ):
        steps = steps.item()
    if isinstance(steps, bool) or not isinstance(steps, int | float):
        raise kit.Mistake(
            "not-a-number",
            f"Your function returns a {type(steps).__name__}; I need a whole "
            "number of steps.",
        )
    return steps


def _probe_paths(mine: kit.Function) -> None:
    for kind in KINDS:
        given = kit.cases("kind distance kernel", *((kind, *case) for case in CASES))
        found = [case.ask(mine, _steps) for case in given]
        wanted = [case.of(paths.path_length) for case in given]
        if found == wanted:
            continue
        if any(steps != int(steps) for steps in found if math.isfinite(steps)):
            raise kit.Mistake(
                "not-whole",
                f"For a {kind} you return {next(s for s in found if s != int(s)):.2f}. "
                "There is no part of a step: round up.",
            )
        kit.recognise(found, kit.slips(SLIPS, kit.all_of(given)))
        _explain(kind, found, wanted)


def _explain(kind: str, found: list[float], wanted: list[float]) -> None:
    """Say what is wrong with numbers that no known mistake gives."""
    off = [i for i in range(len(CASES)) if found[i] != wanted[i]]
    wrong, powers = {CASES[i] for i in off}, {(124, 5), (242, 3)}
    if wrong & powers and wrong <= powers | {(0, 2), (0, 3), (0, 5)}:
        distance, kernel = CASES[off[-1]]
        raise kit.Mistake(
            "logarithm-rounds",
            f"Right nearly everywhere, but for distance {distance} and kernel "
            f"{kernel} you say {found[off[-1]]}, not {wanted[off[-1]]}: do you "
            "take a logarithm? At whole powers of the kernel it is a rounding "
            "error above or below the whole number. Count with whole numbers: "
            "multiply by k until it exceeds the distance. (And even distance 0 is "
            "one step.)",
        )
    if off == [i for i in range(len(CASES)) if not CASES[i][0]] and not any(
        found[i] for i in off
    ):
        raise kit.Mistake(
            "nothing-for-itself",
            f"For distance 0 your {kind} says 0. Even to reach its own output a "
            "token passes through the layer once.",
        )
    distance, kernel = CASES[off[0]]
    raise kit.Mistake(
        "wrong-numbers",
        f"{kind}, distance {distance}, kernel {kernel}: you say {found[off[0]]}, I "
        f"count {wanted[off[0]]}. Draw it on paper, or in the figure.",
    )


@kit.grader(_probe_paths)
def path_length(mine: kit.Function) -> str:
    """Grade a reader's count of the steps between two tokens.

    ``mine`` is a function ``mine(kind, distance, kernel)`` that returns a whole number,
    as `tformer.analysis.paths.path_length` does.
    """
    return "All four kinds of layers, near and far, for three sizes of kernels."
