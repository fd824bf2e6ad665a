"""The grader for `training_bytes` of chapter *Scale*, and known mistakes."""

from tformer_book.check import kit

HINTS = (
    "How many numbers are kept for each parameter, and how many bytes does each take?",
    "The weight, its gradient, and one average for each that the optimizer remembers;"
    " in float32 each takes four bytes.",
    'averages = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]',
)

COPIES = {"sgd": 2, "momentum": 3, "adam": 4}  # weight, gradient, running averages
BYTES = {name: 4 * copies for name, copies in COPIES.items()}
CASES = kit.cases(
    "n_parameters optimizer",
    *((n, name) for name in COPIES for n in (1, 1000, 63_082_496)),
)


def built(n_parameters: int, optimizer: str, *, each: dict[str, int] = BYTES) -> int:
    """Bytes without activations; other settings make a known mistake."""
    return each[optimizer] * n_parameters


SLIPS: kit.Table = {
    "gradients-forgotten": (
        {"each": {"sgd": 4, "momentum": 8, "adam": 12}},
        "The gradients are missing (or the weights themselves, or you count both in "
        "half precision). Between the backward pass and the step, every weight has "
        "one, as large as itself.",
    ),
    "one-average-for-adam": (
        {"each": {"sgd": 8, "momentum": 12, "adam": 12}},
        "Adam keeps two averages for each weight, of its gradient and of the square; "
        "you count one.",
    ),
    "averages-forgotten": (
        {"each": {"sgd": 8, "momentum": 8, "adam": 8}},
        "You count weights and gradients only. Momentum keeps one running average for "
        "each weight, and Adam two.",
    ),
    "always-adam": (
        {"each": {"sgd": 16, "momentum": 16, "adam": 16}},
        "You count Adam's averages whatever the optimizer. Plain SGD keeps none, and "
        "momentum one.",
    ),
    "numbers-not-bytes": (
        {"each": COPIES},
        "You count numbers. In float32 each takes 4 bytes.",
    ),
    "half-precision": (
        {"each": {name: 2 * copies for name, copies in COPIES.items()}},
        "You count 2 bytes a number. That is half precision; asked for is float32, 4.",
    ),
}


def _unknown(found: int, wanted: int, n: int, optimizer: str) -> kit.Mistake:
    return kit.Mistake(
        "wrong-count",
        f"I don't know this mistake. {n:,} parameters with {optimizer} take "
        f"{wanted:,} bytes, you say {found:,}.",
    )


def _probe(mine: kit.Function) -> None:
    kit.judge(
        mine,
        CASES,
        built,
        SLIPS,
        built,
        take=lambda k: kit.as_whole(k, "a number of bytes"),
        otherwise=_unknown,
    )


@kit.grader(_probe)
def training_bytes(mine: kit.Function) -> str:
    """Grade ``mine(n_parameters, optimizer) -> int``, bytes without activations.

    ``mine`` takes a number of parameters and "sgd", "momentum" or "adam".
    """
    return "Weight, gradient, and what each optimizer remembers, in float32."
