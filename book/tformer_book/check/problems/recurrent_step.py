"""The grader for `recurrent_step` of chapter *Transduction*, and known mistakes."""

from typing import Any

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "What are the two things that a new state is made of, and what keeps it between "
    "−1 and 1?",
    "Both products go from the right, with the matrix transposed, because PyTorch "
    "stores one row for each output. Add the bias once, then bend the sum.",
    "return torch.tanh(x @ input_weights.T + …)",
)

NAMES = "x state input_weights state_weights bias"


@kit.of_terms
def _of(
    x: Tensor, state: Tensor, w_x: Tensor, w_s: Tensor, b: Tensor
) -> dict[str, Any]:
    from_input, from_state = x @ w_x.T, state @ w_s.T
    total = from_input + from_state + b
    return locals()


SLIPS: kit.Table = {
    "no-tanh": (
        _of(lambda t: t.total),
        "Everything is added, but nothing bends: tanh is missing. Without it the state "
        "can grow without limit, and many steps are worth no more than one matrix.",
    ),
    "sigmoid": (
        _of(lambda t: t.total.sigmoid()),
        "You squash with the sigmoid, which only gives 0 to 1. The plain recurrent "
        "step uses tanh, −1 to 1. (Sigmoids are for the gates of a GRU or LSTM.)",
    ),
    "relu": (
        _of(lambda t: t.total.relu()),
        "You bend with ReLU, which lets the state grow without limit. The plain "
        "recurrent step uses tanh, −1 to 1.",
    ),
    "state-forgotten": (
        _of(lambda t: (t.from_input + t.b).tanh()),
        "The old state plays no part: your step remembers nothing. Add the state times "
        "its own weights.",
    ),
    "input-forgotten": (
        _of(lambda t: (t.from_state + t.b).tanh()),
        "The input plays no part: your step never reads. Add x times its weights.",
    ),
    "bias-forgotten": (
        _of(lambda t: (t.from_input + t.from_state).tanh()),
        "The bias is missing.",
    ),
    "not-transposed": (
        _of(lambda t: (t.from_input + t.state @ t.w_s + t.b).tanh()),
        "The state is multiplied by state_weights where it should be by the transposed "
        "matrix: weights are stored as (out, in), a row for each output. The matrix is "
        "square, so no shape complains. Write state @ state_weights.T.",
    ),
    "tanh-too-early": (
        [
            _of(lambda t: t.from_input.tanh() + t.from_state.tanh() + t.b),
            _of(lambda t: (t.from_input + t.b).tanh() + t.from_state.tanh()),
            _of(lambda t: t.from_input.tanh() + (t.from_state + t.b).tanh()),
        ],
        "You bend input and state one by one and then add. Add first, then take "
        "one tanh of the sum; else the state can leave the range −1 to 1.",
    ),
    "bias-outside-tanh": (
        _of(lambda t: (t.from_input + t.from_state).tanh() + t.b),
        "The bias is added after tanh, so the state can leave the range −1 to 1. It "
        "belongs in the sum, inside the brackets of tanh.",
    ),
    "bias-twice": (
        _of(lambda t: (t.total + t.b).tanh()),
        "The bias is added twice. (torch.nn.RNNCell has two, one for each product; "
        "here there is one.)",
    ),
    "old-state-kept": (
        _of(lambda t: t.state + t.total.tanh()),
        "You add the old state to the new one. That is a residual connection, a good "
        "idea that came later; the plain step replaces the state.",
    ),
}


def _right(x: Tensor, state: Tensor, w_x: Tensor, w_s: Tensor, b: Tensor) -> Tensor:
    cell = torch.nn.RNNCell(*w_x.T.shape)
    weights = {"weight_ih": w_x, "weight_hh": w_s, "bias_ih": b, "bias_hh": 0 * b}
    new: Tensor = torch.func.functional_call(cell, weights, (x, state))
    return new


def _case(batch: int, d_in: int, d_state: int, *seeds: int) -> kit.Case:
    shapes = (batch, d_in), (batch, d_state), (d_state, d_in), (d_state, d_state)
    given = [
        kit.draw(*shape, seed=seed)
        for shape, seed in zip((*shapes, (d_state,)), seeds, strict=True)
    ]
    return kit.cases(NAMES, given)[0]


def _probe_step(mine: kit.Function) -> None:
    for batch, d_in, d_state, seed in ((2, 3, 4, 0), (1, 4, 4, 1)):
        case = _case(batch, d_in, d_state, *range(seed, seed + 45, 9))
        try:
            case.compare(
                case.ask(mine),
                _right,
                SLIPS,
                said=f"for x ({batch}, {d_in}) and a state ({batch}, {d_state})",
                hint="Work one entry out by hand.",
            )
        except kit.Stopped as stopped:
            if "cannot be multiplied" in stopped.message:
                raise kit.Mistake(
                    "weights-from-the-left",
                    "The shapes do not fit. Rows of x are examples, so the weights "
                    "stand on the right, transposed: x @ input_weights.T, and the same "
                    f"for the state. (W x is how books write it, for one column.) "
                    f"{stopped.message}",
                ) from None
            raise


def _probe_learnable(mine: kit.Function) -> None:
    """Gradients get back through the state too, or nothing is learned over time."""
    _case(2, 3, 4, *range(5)).learn(mine, _of(lambda t: t.total.tanh()))


@kit.grader(_probe_step, _probe_learnable)
def recurrent_step(mine: kit.Function) -> str:
    """Grade a reader's step of a plain recurrent network, against `torch.nn.RNNCell`.

    ``mine`` is a function ``mine(x, state, input_weights, state_weights, bias)`` with x
    (B, Dx), state (B, Dh), weights (Dh, Dx) and (Dh, Dh), bias (Dh,) that returns the
    new state (B, Dh).
    """
    return "It reads, remembers and bends as torch.nn.RNNCell does."
