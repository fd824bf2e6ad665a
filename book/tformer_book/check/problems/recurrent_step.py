"""The grader for `recurrent_step` of chapter *Transduction*, and known mistakes."""

from __future__ import annotations

import torch
from torch import Tensor

from tformer_book.check._compare import (
    Known,
    Slip,
    compare,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    as_tensor,
    call,
    draw,
    probe_gradients,
)


def _wrong_steps(
    x: Tensor, state: Tensor, w_x: Tensor, w_s: Tensor, b: Tensor
) -> Known:
    from_input, from_state = x @ w_x.T, state @ w_s.T
    total = from_input + from_state + b
    yield Slip(
        "no-tanh",
        "Everything is added, but nothing bends: tanh is missing. Without it the state "
        "can grow without limit, and many steps are worth no more than one matrix.",
        total,
    )
    yield Slip(
        "sigmoid",
        "You squash with the sigmoid, which only gives 0 to 1. The plain recurrent "
        "step uses tanh, −1 to 1. (Sigmoids are for the gates of a GRU or LSTM.)",
        total.sigmoid(),
    )
    yield Slip(
        "state-forgotten",
        "The old state plays no part: your step remembers nothing. Add the state times "
        "its own weights.",
        (from_input + b).tanh(),
    )
    yield Slip(
        "input-forgotten",
        "The input plays no part: your step never reads. Add x times its weights.",
        (from_state + b).tanh(),
    )
    yield Slip(
        "bias-forgotten", "The bias is missing.", (from_input + from_state).tanh()
    )
    yield Slip(
        "not-transposed",
        "The state is multiplied by state_weights where it should be by the transposed "
        "matrix: weights are stored as (out, in), a row for each output. The matrix is "
        "square, so no shape complains. Write state @ state_weights.T.",
        (from_input + state @ w_s + b).tanh(),
    )
    for early in (from_input.tanh() + from_state.tanh() + b,
                  (from_input + b).tanh() + from_state.tanh(),
                  from_input.tanh() + (from_state + b).tanh()):  # fmt: skip
        yield Slip(
            "tanh-too-early",
            "You bend input and state one by one and then add. Add first, then take "
            "one tanh of the sum; else the state can leave the range −1 to 1.",
            early,
        )
    yield Slip(
        "bias-outside-tanh",
        "The bias is added after tanh, so the state can leave the range −1 to 1. It "
        "belongs in the sum, inside the brackets of tanh.",
        (from_input + from_state).tanh() + b,
    )
    yield Slip(
        "bias-twice",
        "The bias is added twice. (torch.nn.RNNCell has two, one for each product; "
        "here there is one.)",
        (total + b).tanh(),
    )
    yield Slip(
        "old-state-kept",
        "You add the old state to the new one. That is a residual connection, a good "
        "idea that came later; the plain step replaces the state.",
        state + total.tanh(),
    )


def _probe_step(mine: Function) -> None:
    for batch, d_in, d_state, seed in ((2, 3, 4, 0), (1, 4, 4, 1)):
        shapes = (batch, d_in), (batch, d_state), (d_state, d_in), (d_state, d_state)
        x, state, w_x, w_s, b = (
            draw(*shape, seed=seed + 9 * i)
            for i, shape in enumerate((*shapes, (d_state,)))
        )
        names = ("x", "state", "input_weights", "state_weights", "bias")
        given = (x, state, w_x, w_s, b)
        try:
            found = as_tensor(call(mine, dict(zip(names, given, strict=True))))
        except Stopped as stopped:
            if "cannot be multiplied" in stopped.message:
                raise Mistake(
                    "weights-from-the-left",
                    "The shapes do not fit. Rows of x are examples, so the weights "
                    "stand on the right, transposed: x @ input_weights.T, and the same "
                    f"for the state. (W x is how books write it, for one column.) "
                    f"{stopped.message}",
                ) from None
            raise
        cell = torch.nn.RNNCell(d_in, d_state)
        with torch.no_grad():
            for own, value in (
                (cell.weight_ih, w_x),
                (cell.weight_hh, w_s),
                (cell.bias_ih, b),
                (cell.bias_hh, torch.zeros_like(b)),
            ):
                own.copy_(value)
            wanted = cell(x, state)
        compare(
            found,
            wanted,
            _wrong_steps(*given),
            said=f"for x ({batch}, {d_in}) and a state ({batch}, {d_state})",
            hint="Work one entry out by hand.",
        )


def _probe_learnable(mine: Function) -> None:
    """Gradients get back through the state too, or nothing is learned over time."""
    shapes = {
        "x": (2, 3),
        "state": (2, 4),
        "input_weights": (4, 3),
        "state_weights": (4, 4),
        "bias": (4,),
    }
    given = {
        name: draw(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())
    }
    x, state, w_x, w_s, b = given.values()
    probe_gradients(
        mine,
        lambda: as_tensor(call(mine, given)),
        lambda: (x @ w_x.T + state @ w_s.T + b).tanh(),
        given,
    )


def recurrent_step(mine: Function) -> Result:
    """Grade a reader's step of a plain recurrent network, against `torch.nn.RNNCell`.

    Args:
        mine: a function ``mine(x, state, input_weights, state_weights, bias)`` with
            x (B, Dx), state (B, Dh), weights (Dh, Dx) and (Dh, Dh), bias (Dh,) that
            returns the new state (B, Dh).

    Returns:
        The verdict; the message is printed.
    """
    praise = "It reads, remembers and bends as torch.nn.RNNCell does."
    return grade("recurrent_step", mine, [_probe_step, _probe_learnable], praise)
