"""The grader for `two_sided_path` of chapter *Transduction*, and the slips it knows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from tformer.analysis import paths
from tformer_book.check._compare import Slip, matches, recognise
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_whole, call

KINDS = ("recurrent", "convolution", "dilated convolution", "self-attention")
CASES = [
    (distance, kernel)
    for kernel in (3, 5, 7)
    for distance in (0, 1, 2, 3, 4, 5, 12, 13, 14, 24, 25, 40, 41, 62, 63, 100, 121)
]
Rule = Callable[[int, int], float]


def _layers(reach: Callable[[int], float], distance: int) -> int:
    """The fewest layers, at least one, whose reach is at least the distance."""
    layers = 1
    while reach(layers) < distance:
        layers += 1
    return layers


RIGHT: dict[str, Rule] = {
    "recurrent": lambda d, k: d + 1,
    "convolution": lambda d, k: _layers(lambda n: n * (k - 1) / 2, d),
    "dilated convolution": lambda d, k: _layers(lambda n: (k**n - 1) / 2, d),
    "self-attention": lambda d, k: 1,
}
ONE_SIDED = (
    "In your {kind} the kernel looks to one side, with all of its k − 1 neighbours. "
    "Here it looks to both, so it reaches (k − 1)/2 places to each."
)


def _wrong(kind: str) -> Iterator[tuple[str, str, Rule]]:
    yield (
        "one-sided",
        ONE_SIDED.format(kind=kind),
        lambda d, k: paths.path_length(kind, d, k),
    )
    if kind == "recurrent":
        yield (
            "counts-places",
            "You count the places between the tokens. The first step is the one from "
            "the token into its own state: distance + 1.",
            lambda d, k: max(1, d),
        )
        yield (
            "halved",
            "You halve the recurrent path. A second direction lets signals travel to "
            "the left as well; it makes none of the ways shorter.",
            lambda d, k: math.ceil((d + 1) / 2),
        )
    if kind == "convolution":
        yield (
            "rounded-down",
            "You round down. A layer that is needed for the last place is needed "
            "whole: round up.",
            lambda d, k: max(1, d // ((k - 1) // 2)),
        )
        yield (
            "kernel-halved",
            "You divide by k / 2 or by k // 2 + 1. Of the k places of a kernel one is "
            "the token's own; the other k − 1 lie half on each side.",
            lambda d, k: max(1, math.ceil(d / (k // 2 + 1))),
        )
    if kind == "dilated convolution":
        yield (
            "dilation-ignored",
            "Your dilated convolution is as slow as a plain one. Its gaps grow: layer "
            "l moves a signal by up to (k − 1)/2 · k^l places.",
            lambda d, k: _layers(lambda n: n * (k - 1) / 2, d),
        )
        yield (
            "distance-halved",
            "You halve the distance, and that rounds. L layers reach (k^L − 1)/2 "
            "places to each side: compare that with the distance.",
            lambda d, k: paths.path_length(kind, d // 2, k),
        )
        yield (
            "width-of-one-side",
            "You compare the distance with k^L / 2. The token's own place is one of "
            "the k^L: (k^L − 1)/2 lie on each side.",
            lambda d, k: _layers(lambda n: k**n / 2, d),
        )
    if kind == "self-attention":
        yield (
            "attention-grows",
            "In your self-attention the path grows with the distance. Every output "
            "sees every token of the layer below: 1 step, always.",
            lambda d, k: d + 1,
        )
    yield (
        "nothing-for-itself",
        f"For distance 0 your {kind} says 0. Even to reach its own output a token "
        "passes through the layer once.",
        lambda d, k: RIGHT[kind](d, k) if d else 0,
    )


def _probe(mine: Function) -> None:
    for kind in KINDS:
        found = [
            as_whole(
                call(mine, {"kind": kind, "distance": d, "kernel": k}),
                "a whole number of steps",
            )
            for d, k in CASES
        ]
        wanted = [RIGHT[kind](*case) for case in CASES]
        if matches(found, wanted):
            continue
        recognise(
            found,
            (
                Slip(name, says, [rule(*case) for case in CASES])
                for name, says, rule in _wrong(kind)
            ),
        )
        off = [i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b]
        distance, kernel = CASES[off[0]]
        few = (
            " Only a few distances are off: does a logarithm round the wrong way? "
            "Count in whole numbers."
            if len(off) < 5
            else ""
        )
        raise Mistake(
            "wrong-numbers",
            f"{kind}, distance {distance}, kernel {kernel}: you say {found[off[0]]}, I "
            f"count {wanted[off[0]]:g}. Draw it on paper.{few}",
        )


def two_sided_path(mine: Function) -> Result:
    """Grade a reader's count of the steps between two tokens, in an encoder.

    Args:
        mine: a function ``mine(kind, distance, kernel)`` like
            `tformer.analysis.paths.path_length`, but everything looks to both sides:
            there is a recurrent network in each direction, and a kernel (odd) has (k −
            1)/2 neighbours on each side.

    Returns:
        The verdict; the message is printed.
    """
    praise = "All four kinds of layers, near and far, for three sizes of kernels."
    return grade("two_sided_path", mine, [_probe], praise)
