"""The grader for `path_length` of chapter *Transduction*, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from torch import Tensor

from tformer.analysis import paths
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    call,
)

KINDS = ("recurrent", "convolution", "dilated convolution", "self-attention")
DISTANCES = (0, 1, 2, 3, 7, 8, 9, 26, 27, 100, 124, 242)
KERNELS = (3, 2, 5)
Rule = Callable[[int, int], float]


def _up_to(base: int, distance: int) -> int:
    layers = 1
    while base**layers <= distance:
        layers += 1
    return layers


WRONG_PATHS: tuple[tuple[str, str, str, Rule], ...] = (
    (
        "recurrent",
        "counts-places",
        "You count the places between the tokens. The first step is the one from the "
        "token into its own state: distance + 1.",
        lambda distance, k: max(1, distance),
    ),
    (
        "convolution",
        "kernel-as-reach",
        "A kernel that sees k tokens sees its own and k − 1 others, so one layer moves "
        "a signal by k − 1 places, not by k.",
        lambda distance, k: max(1, math.ceil(distance / k)),
    ),
    (
        "convolution",
        "rounded-down",
        "You round down. A layer that is needed for the last place is needed whole: "
        "round up.",
        lambda distance, k: max(1, distance // (k - 1)),
    ),
    (
        "convolution",
        "looks-both-ways",
        "You let the kernel look to both sides, so that it reaches (k − 1)/2. That is "
        "a fair other design, but here kernels look to the left only: k − 1.",
        lambda distance, k: max(1, math.ceil(2 * distance / (k - 1))),
    ),
    (
        "dilated convolution",
        "dilation-ignored",
        "Your dilated convolution is as slow as a plain one. Its gaps grow: layer l "
        "moves by multiples of k to the power l, so L layers reach k^L − 1 places.",
        lambda distance, k: max(1, math.ceil(distance / (k - 1))),
    ),
    (
        "dilated convolution",
        "always-doubles",
        "You let the gaps double whatever the kernel. They grow by k: L layers reach "
        "k^L − 1 places.",
        lambda distance, k: _up_to(2, distance),
    ),
    (
        "dilated convolution",
        "log-of-the-distance",
        "You take the logarithm of the distance and round up. Just at k, k², … that is "
        "one layer short: L layers reach k^L − 1 places, so k^L must be above the "
        "distance.",
        lambda distance, k: _up_to(k, distance - 1),
    ),
    (
        "self-attention",
        "attention-grows",
        "In your self-attention the path grows with the distance. Every output sees "
        "every token of the layer below: 1 step, always.",
        lambda distance, k: distance + 1,
    ),
    (
        "self-attention",
        "attention-grows",
        "In your self-attention the path grows with the distance. Every output sees "
        "every token of the layer below: 1 step, always.",
        lambda distance, k: max(1, distance),
    ),
)


def _probe_paths(mine: Function) -> None:
    cases = [(distance, kernel) for kernel in KERNELS for distance in DISTANCES]
    for kind in KINDS:
        found = []
        for distance, kernel in cases:
            given = {"kind": kind, "distance": distance, "kernel": kernel}
            steps = call(mine, given)
            if (
                isinstance(steps, Tensor | np.generic | np.ndarray)
                and math.prod(steps.shape) == 1
            ):
                steps = steps.item()
            if isinstance(steps, bool) or not isinstance(steps, (int, float)):
                raise Mistake(
                    "not-a-number",
                    f"Your function returns a {type(steps).__name__}; I need a whole "
                    "number of steps.",
                )
            found.append(steps)
        wanted = [paths.path_length(kind, *case) for case in cases]
        if found == wanted:
            continue
        if any(steps != int(steps) for steps in found if math.isfinite(steps)):
            raise Mistake(
                "not-whole",
                f"For a {kind} you return {next(s for s in found if s != int(s)):.2f}. "
                "There is no part of a step: round up.",
            )
        for place, name, message, rule in WRONG_PATHS:
            if place == kind and found == [rule(*case) for case in cases]:
                raise Mistake(name, message)
        off = [i for i in range(len(cases)) if found[i] != wanted[i]]
        wrong, powers = {cases[i] for i in off}, {(124, 5), (242, 3)}
        if wrong & powers and wrong <= powers | {(0, 2), (0, 3), (0, 5)}:
            distance, kernel = cases[off[-1]]
            raise Mistake(
                "logarithm-rounds",
                f"Right nearly everywhere, but for distance {distance} and kernel "
                f"{kernel} you say {found[off[-1]]}, not {wanted[off[-1]]}: do you "
                "take a logarithm? At whole powers of the kernel it is a rounding "
                "error above or below the whole number. Count with whole numbers: "
                "multiply by k until it exceeds the distance. (And even distance 0 is "
                "one step.)",
            )
        zero = [i for i, (distance, _) in enumerate(cases) if distance == 0]
        if all(found[i] == 0 for i in zero) and all(
            found[i] == wanted[i] for i in range(len(cases)) if i not in zero
        ):
            raise Mistake(
                "nothing-for-itself",
                f"For distance 0 your {kind} says 0. Even to reach its own output a "
                "token passes through the layer once.",
            )
        i = next(i for i, steps in enumerate(found) if steps != wanted[i])
        distance, kernel = cases[i]
        raise Mistake(
            "wrong-numbers",
            f"{kind}, distance {distance}, kernel {kernel}: you say {found[i]}, I "
            f"count {wanted[i]}. Draw it on paper, or in the figure.",
        )


def path_length(mine: Function) -> Result:
    """Grade a reader's count of the steps between two tokens.

    Args:
        mine: a function ``mine(kind, distance, kernel)`` that returns a whole number,
            as `tformer.analysis.paths.path_length` does.

    Returns:
        The verdict; the message is printed.
    """
    praise = "All four kinds of layers, near and far, for three sizes of kernels."
    return grade("path_length", mine, [_probe_paths], praise)
