"""The grader for `two_sided_path` of chapter *Transduction*, and the slips it knows."""

import math
from collections.abc import Callable

from tformer.analysis import paths
from tformer_book.check import kit

HINTS = (
    "How far to the left does one layer with kernel 3 see, if it looks to both sides?"
    " And two of them?",
    "A layer reaches (kernel − 1) / 2 places to each side. Plain layers add the same "
    "reach each time; in a dilated stack the steps of each layer are `kernel` times "
    "as long as in the one below. Count layers until the reach is enough.",
    'if kind == "recurrent": return distance + 1',
)

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


def _right(kind: str, distance: int, kernel: int) -> float:
    return RIGHT[kind](distance, kernel)


def _only(kind: str, rule: Rule) -> kit.Function:
    """The right function, but for one kind of layer."""
    return lambda kind_, d, k: rule(d, k) if kind_ == kind else RIGHT[kind_](d, k)


def _one_sided(kind: str) -> kit.Function:
    return _only(kind, lambda d, k: paths.path_length(kind, d, k))


def _nothing(kind: str) -> kit.Function:
    return _only(kind, lambda d, k: RIGHT[kind](d, k) if d else 0)


ONE_SIDED = (
    "In your {kind} the kernel looks to one side, with all of its k − 1 neighbours. "
    "Here it looks to both, so it reaches (k − 1)/2 places to each."
)
SLIPS: kit.Table = {
    **{
        f"one-sided:{kind}": (_one_sided(kind), ONE_SIDED.format(kind=kind))
        for kind in KINDS[1:3]
    },
    "counts-places": (
        _only("recurrent", lambda d, k: max(1, d)),
        "You count the places between the tokens. The first step is the one from "
        "the token into its own state: distance + 1.",
    ),
    "halved": (
        _only("recurrent", lambda d, k: math.ceil((d + 1) / 2)),
        "You halve the recurrent path. A second direction lets signals travel to "
        "the left as well; it makes none of the ways shorter.",
    ),
    "rounded-down": (
        _only("convolution", lambda d, k: max(1, d // ((k - 1) // 2))),
        "You round down. A layer that is needed for the last place is needed "
        "whole: round up.",
    ),
    "kernel-halved": (
        _only("convolution", lambda d, k: max(1, math.ceil(d / (k // 2 + 1)))),
        "You divide by k / 2 or by k // 2 + 1. Of the k places of a kernel one is "
        "the token's own; the other k − 1 lie half on each side.",
    ),
    "dilation-ignored": (
        _only("dilated convolution", RIGHT["convolution"]),
        "Your dilated convolution is as slow as a plain one. Its gaps grow: layer "
        "l moves a signal by up to (k − 1)/2 · k^l places.",
    ),
    "distance-halved": (
        _only(KINDS[2], lambda d, k: paths.path_length(KINDS[2], d // 2, k)),
        "You halve the distance, and that rounds. L layers reach (k^L − 1)/2 "
        "places to each side: compare that with the distance.",
    ),
    "attention-grows": (
        _only("self-attention", lambda d, k: d + 1),
        "In your self-attention the path grows with the distance. Every output "
        "sees every token of the layer below: 1 step, always.",
    ),
    **{
        f"nothing-for-itself:{kind}": (
            _nothing(kind),
            f"For distance 0 your {kind} says 0. Even to reach its own output a token "
            "passes through the layer once.",
        )
        for kind in KINDS
    },
}


def _probe(mine: kit.Function) -> None:
    for kind in KINDS:
        given = kit.cases("kind distance kernel", *((kind, *case) for case in CASES))
        found = [
            case.ask(mine, lambda k: kit.as_whole(k, "a whole number of steps"))
            for case in given
        ]
        wanted = [case.of(_right) for case in given]
        if kit.matches(found, wanted):
            continue
        kit.recognise(found, kit.slips(SLIPS, kit.all_of(given)))
        off = [i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b]
        distance, kernel = CASES[off[0]]
        few = (
            " Only a few distances are off: does a logarithm round the wrong way? "
            "Count in whole numbers."
            if len(off) < 5
            else ""
        )
        raise kit.Mistake(
            "wrong-numbers",
            f"{kind}, distance {distance}, kernel {kernel}: you say {found[off[0]]}, I "
            f"count {wanted[off[0]]:g}. Draw it on paper.{few}",
        )


@kit.grader(_probe)
def two_sided_path(mine: kit.Function) -> str:
    """Grade a reader's count of the steps between two tokens, in an encoder.

    ``mine`` is a function ``mine(kind, distance, kernel)`` like
    `tformer.analysis.paths.path_length`, but everything looks to both sides: there is a
    recurrent network in each direction, and a kernel (odd) has (k − 1)/2 neighbours on
    each side.
    """
    return "All four kinds of layers, near and far, for three sizes of kernels."
