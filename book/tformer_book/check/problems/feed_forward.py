"""The grader for `feed_forward` of chapter *The encoder*, and known mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tformer_book.check import kit

HINTS = (
    "Where does the only bend of the network stand?",
    "First product, bias, everything negative becomes 0, second product, bias. "
    "Nothing bends after the second product.",
    "hidden = (x @ w_1 + b_1).clamp(min=0)  # (B, T, F)",
)

Bend = Callable[[Tensor], Tensor]


def built(
    x: Tensor,
    w_1: Tensor,
    b_1: Tensor,
    w_2: Tensor,
    b_2: Tensor,
    *,
    enter: Bend = lambda x: x,
    bend_first: Bend = lambda hidden: hidden,
    with_b_1: float = 1.0,
    bend: Bend = torch.relu,
    with_b_2: float = 1.0,
    bend_last: Bend = lambda output: output,
    leave: Callable[[Tensor, Tensor], Tensor] = lambda x, output: output,
) -> Tensor:
    """The network in steps, each of which can be exchanged for a wrong one."""
    hidden = bend_first(enter(x) @ w_1) + with_b_1 * b_1
    return leave(x, bend_last(bend(hidden) @ w_2 + with_b_2 * b_2))


def _straight(hidden: Tensor) -> Tensor:
    return hidden


def _normal(x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:])


ACTIVATIONS: dict[str, Bend] = {
    "gelu": functional.gelu,
    "gelu, its approximation,": lambda z: functional.gelu(z, approximate="tanh"),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": functional.silu,
    "leaky_relu": functional.leaky_relu,
    "elu": functional.elu,
    "softplus": functional.softplus,
    "softmax": lambda z: z.softmax(-1),
    "relu6": functional.relu6,
    "the square of relu": lambda z: z.relu().square(),
}

SLIPS: kit.Table = {
    "relu-missing": (
        {"bend": _straight},
        "There is no ReLU between the two layers. Two linear maps in a row are one "
        "linear map: the wide middle would be for nothing. max(0, x W₁ + b₁) first.",
    ),
    "relu-after-the-second-layer": (
        {"bend": _straight, "bend_last": torch.relu},
        "Your ReLU stands after the second layer. It belongs between the two; after "
        "the second one it would let the network only ever add to the stream, never "
        "take away.",
    ),
    "relu-twice": (
        {"bend_last": torch.relu},
        "There is a ReLU after the second layer, too. What the network adds to the "
        "stream must be free to be negative: only one, in the middle.",
    ),
    "relu-before-the-bias": (
        {"bend_first": torch.relu, "bend": _straight},
        "You cut at 0 before adding b₁. The bias decides from where on a hidden number "
        "counts: add it first, max(0, x W₁ + b₁).",
    ),
    "relu-on-the-input": (
        {"enter": torch.relu, "bend": _straight},
        "You cut the input at 0. The ReLU acts on the wide middle: max(0, x W₁ + b₁).",
    ),
    **{
        f"other-activation:{name}": (
            {"bend": each},
            f"You use {name}. It may well work (GELU came later and is common), but "
            "the paper's network is max(0, …): ReLU.",
        )
        for name, each in ACTIVATIONS.items()
    },
    "absolute-value": (
        {"bend": torch.abs},
        "You take the absolute value. max(0, z) sets what is negative to 0.",
    ),
    "sign": (
        [
            {"bend": lambda z: z.clamp(max=0)},
            {"bend": lambda z: (-z).relu()},
        ],
        "You keep what is negative and cut off what is positive: max(0, z), not "
        "min(0, z).",
    ),
    "steps": (
        {"bend": lambda z: (z > 0).to(z.dtype)},
        "Your hidden numbers are 0 or 1. Where z is positive, z itself goes on.",
    ),
    "first-bias-missing": ({"with_b_1": 0.0}, "b₁ is missing."),
    "second-bias-missing": ({"with_b_2": 0.0}, "b₂ is missing."),
    "biases-missing": ({"with_b_1": 0.0, "with_b_2": 0.0}, "Both biases are missing."),
    "residual-inside": (
        {"leave": lambda x, output: x + output},
        "You add x at the end. That is the residual connection's work, one level "
        "higher; inside, x would be counted twice.",
    ),
    "norm-inside": (
        [
            {"leave": lambda x, output: _normal(output)},
            {"enter": lambda x: _normal(x)},
            {"leave": lambda x, output: _normal(x + output)},
        ],
        "There is a layer norm in it. The norm belongs to the residual connection, "
        "one level higher; the network itself is max(0, x W₁ + b₁) W₂ + b₂.",
    ),
}


def _case(d_model: int, d_ff: int, seed: int = 0) -> kit.Case:
    """Two layers of random weights, in the paper's orientation."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {
        "x": (2, 3, d_model),
        "w_1": (d_model, d_ff),
        "b_1": (d_ff,),
        "w_2": (d_ff, d_model),
        "b_2": (d_model,),
    }
    return kit.Case(
        {name: torch.randn(s, generator=generator) for name, s in shapes.items()}
    )


def _mixing(mine: kit.Function, case: kit.Case, found: Tensor) -> None:
    """No position may look at another, and no sentence either."""
    x = case["x"]
    for where, what in (((0, 1), "position"), ((1,), "sentence")):
        other = x.clone()
        other[where] += 1.0
        moved = kit.Case({**case.inputs, "x": other}).ask(mine)
        if moved.shape != x.shape or found.shape != x.shape:
            return
        keep = torch.ones(x.shape[:2], dtype=torch.bool)
        keep[where] = False
        if not kit.matches(moved[keep], found[keep]):
            raise kit.Mistake(
                "mixes-positions" if what == "position" else "mixes-sentences",
                f"Change one {what}, and others move, too. The feed-forward network "
                "sees each position alone; only attention mixes. Leave all axes but "
                "the last alone: no mean, no softmax over positions, no reshape.",
            )


def _compare(found: Tensor, case: kit.Case) -> None:
    case.compare(
        found,
        built,
        SLIPS,
        built,
        said=f"for x {case.shape('x')} and w_1 {case.shape('w_1')}",
        hint="Go through “By hand” step by step with one vector.",
    )


def _probe_feed_forward(mine: kit.Function) -> None:
    case = _case(4, 6)
    try:
        found = case.ask(mine)
    except kit.Stopped as stopped:
        _explain_stop(mine, stopped)
        raise
    if not any(
        kit.matches(found, each.gives) for each in kit.slips(SLIPS, case.of, built)
    ):
        _mixing(mine, case, found)
    _compare(found, case)


def _explain_stop(mine: kit.Function, stopped: kit.Stopped) -> None:
    """With square weights a transposed one goes through; then its numbers tell."""
    square = _case(4, 4, seed=1)
    try:
        found = square.ask(mine)
    except kit.Mistake:
        return
    x, w_1, b_1, w_2, b_2 = square.inputs.values()
    for one, two in ((w_1.T, w_2), (w_1, w_2.T), (w_1.T, w_2.T)):
        if kit.matches(found, built(x, one, b_1, two, b_2)):
            raise kit.Mistake(
                "weights-transposed",
                "It runs only where everything is square: a weight is transposed. Here "
                "W₁ is (D, F) and W₂ is (F, D), as in the paper, so x @ w_1 + b_1. "
                "(nn.Linear and F.linear keep weights the other way round.)",
            )


def _probe_feed_forward_gradient(mine: kit.Function) -> None:
    lone = _case(4, 6, seed=4)
    case = _case(6, 4, seed=3)  # narrower in the middle: no size may be assumed
    for each in (
        kit.Case({**lone.inputs, "x": lone["x"][:1, :1].clone()}),
        case,
        kit.Case({**case.inputs, "x": 5 * case["x"]}),  # for all that saturates
    ):
        _compare(each.ask(mine), each)
    case.learn(mine, built)


@kit.grader(_probe_feed_forward, _probe_feed_forward_gradient)
def feed_forward(mine: kit.Function) -> str:
    """Grade a reader's feed-forward network.

    ``mine`` is a function ``mine(x, w_1, b_1, w_2, b_2)`` with x (B, T, D), w_1 (D, F),
    b_1 (F,), w_2 (F, D), b_2 (D,), that returns (B, T, D); equation 2 of the paper.
    """
    return (
        "max(0, x W₁ + b₁) W₂ + b₂, at each position alone, for any widths; gradients "
        "reach every weight."
    )
