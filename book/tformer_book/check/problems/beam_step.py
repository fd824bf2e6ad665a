"""Grade one step of a beam search. Chapter *The decoder*."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "If n beginnings can each go on with V pieces, how many candidates compete, and "
    "with which sum?",
    "Add each beginning's sum to its row of `log_p`, flatten the table, and take its "
    "best. Number j of the flat table belongs to beginning j // V and ends in piece j"
    " % V.",
    "sums = log_p + torch.tensor([score for _, score in beams])[:, None]  # (n, V)",
)

Beam = tuple[list[int], float]
# Two beginnings. The better one has two good next pieces, the other a very good one:
# the best three come from both, and not in the order of their last step.
BEAMS: list[Beam] = [([1, 4], -0.5), ([1, 7], -2.0)]
NEXT = [[0.05, 0.45, 0.02, 0.4, 0.08], [0.02, 0.03, 0.04, 0.01, 0.9]]
SIZES = (3, 1, 4)


def built(
    beams: list[Beam],
    log_p: Tensor,
    *,
    beam_size: int,
    total: Callable[[float, float], float] = lambda score, new: score + new,
    rank: Callable[[float, float], float] = lambda total, new: total,
    parent: Callable[[int, int, int], int] = lambda i, v, n: i,
    extend: Callable[[list[int], int], list[int]] = lambda ids, v: [*ids, v],
) -> list[Beam]:
    """The step as it should be, or with one part exchanged."""
    found = []
    for i, (_, score) in enumerate(beams):
        for v, new in enumerate(log_p[i].tolist()):
            both = total(score, new)
            begun = beams[parent(i, v, len(beams))][0]
            found.append((rank(both, new), (extend(begun, v), both)))
    found.sort(key=lambda each: -each[0])
    return [beam for _, beam in found[:beam_size]]


def _one_each(beams: list[Beam], log_p: Tensor, *, beam_size: int) -> list[Beam]:
    best = [
        built([beam], row[None], beam_size=1)[0]
        for beam, row in zip(beams, log_p, strict=True)
    ]
    return sorted(best, key=lambda beam: -beam[1])[:beam_size]


def _swapped(beams: list[Beam], log_p: Tensor, *, beam_size: int) -> list[Beam]:
    sums = log_p + torch.tensor([score for _, score in beams])[:, None]
    best, n = sums.flatten().topk(beam_size), len(beams)
    places = zip(best.values.tolist(), best.indices.tolist(), strict=True)
    return [([*beams[j % n][0], j // n], score) for score, j in places]


def _by_length(beams: list[Beam], log_p: Tensor, *, beam_size: int) -> list[Beam]:
    length = len(beams[0][0]) + 1
    return built(
        beams, log_p, beam_size=beam_size, total=lambda old, new: (old + new) / length
    )


SLIPS: kit.Table = {
    "one-of-each-beam": (
        _one_each,
        "You keep the best continuation of each beginning. Then the beginnings never "
        "compete. Rank the continuations of all of them together: a good beginning may "
        "have two places in the beam, and a poor one none.",
    ),
    "score-not-carried": (
        partial(built, total=lambda score, new: new),
        "Your scores are those of the last piece alone. The score of a beginning is "
        "the sum over all of its pieces: add the new log-probability to the old score.",
    ),
    "ranked-by-last-piece": (
        partial(built, rank=lambda both, new: new),
        "Your scores are right, but you rank by the last piece's log-probability. Rank "
        "by the sum, the score of the whole beginning.",
    ),
    "logs-multiplied": (
        partial(built, total=lambda score, new: score * new),
        "You multiply. Probabilities multiply, their logarithms add: log(p q) = log p "
        "+ log q.",
    ),
    "probabilities-added": (
        partial(built, total=lambda score, new: score + float(torch.tensor(new).exp())),
        "You add a probability to a log-probability. Both must be logarithms: add "
        "log_p as it is, without exp.",
    ),
    "lowest": (
        partial(built, rank=lambda both, new: -both),
        "You keep the least probable continuations. Log-probabilities are negative; "
        "the largest is the one nearest to 0.",
    ),
    "wrong-beginning": (
        partial(built, parent=lambda i, v, n: v % n),
        "Pieces and scores are right, but they are appended to the wrong beginnings. "
        "In a flattened table of n rows and V columns, entry j is row j // V, column "
        "j % V.",
    ),
    "row-and-column-swapped": (
        _swapped,
        "Row and column have changed places: in a flattened table of n rows and V "
        "columns, entry j is row j // V, column j % V.",
    ),
    "only-the-new-piece": (
        partial(built, extend=lambda ids, v: [v]),
        "You return the new piece alone. A beam is a beginning: all pieces so far, and "
        "the new one after them.",
    ),
    "nothing-is-appended": (
        partial(built, extend=lambda ids, v: list(ids)),
        "The beginnings come back as they were. Append the new piece to each.",
    ),
    "divided-by-length": (
        _by_length,
        "You divide by the length. Beginnings in the beam are all equally long, and "
        "their scores go on being summed; a length penalty is for finished sentences.",
    ),
}


def _run(step: kit.Function) -> list[list[Beam]]:
    log_p = torch.tensor(NEXT, dtype=torch.float64).log()
    return [step(BEAMS, log_p, beam_size=size) for size in SIZES]


def _ask(mine: kit.Function, size: int) -> list[Beam]:
    beams = [(list(ids), score) for ids, score in BEAMS]
    log_p = torch.tensor(NEXT, dtype=torch.float64).log()
    found = kit.call(mine, {"beams": beams, "log_p": log_p}, {"beam_size": size})
    try:
        return [([int(x) for x in ids], float(score)) for ids, score in found]
    except (TypeError, ValueError):
        raise kit.Mistake(
            "not-beams",
            "I expect a list of pairs: a list of ids, and a score. I got "
            f"{str(found)[:80]}.",
        ) from None


def _probe(mine: kit.Function) -> None:
    wanted = _run(built)
    found = [_ask(mine, size) for size in SIZES]
    if kit.matches(found, wanted):
        return
    kit.recognise(found, kit.slips(SLIPS, _run))
    for each, right, size in zip(found, wanted, SIZES, strict=True):
        if len(each) != size:
            raise kit.Mistake(
                "beam-size",
                f"With beam_size={size} you return {len(each)} beginnings. There are "
                f"{len(BEAMS) * len(NEXT[0])} continuations; keep the best {size}.",
            )
        if not kit.matches(each, right) and kit.matches(sorted(each), sorted(right)):
            raise kit.Mistake(
                "not-sorted",
                "The right beginnings, in a different order. Return the best first.",
            )
    i = next(i for i in range(len(SIZES)) if not kit.matches(found[i], wanted[i]))
    raise kit.Mistake(
        "wrong-beams",
        f"I don't know this mistake. With beam_size={SIZES[i]} you keep "
        f"{[(ids, round(score, 2)) for ids, score in found[i]]} and should keep "
        f"{[(ids, round(score, 2)) for ids, score in wanted[i]]}.",
    )


@kit.grader(_probe)
def beam_step(mine: kit.Function) -> str:
    """Grade ``mine(beams, log_p, *, beam_size)``, one step of a beam search.

    ``beams`` are n pairs of a list of ids and its score, the sum of its
    log-probabilities; ``log_p`` (n, V) holds those of each next piece. `mine`
    returns the ``beam_size`` best continuations of all, the best first, as pairs of
    the same kind.
    """
    return (
        "All continuations compete by the sum of their log-probabilities, and the best "
        "of them stay, each after its own beginning."
    )
