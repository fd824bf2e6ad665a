"""The graders for chapter 01: recurrent step, additive scores, length of a path."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from tformer import paths
from tformer.additive import AdditiveAttention
from tformer.check._grade import (
    Function,
    Known,
    Mistake,
    Result,
    Stopped,
    as_tensor,
    call,
    grade,
    matches,
    recognise,
)


def _random(*sizes: tuple[int, ...], seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=generator) for size in sizes]


def _compare(found: Tensor, wanted: Tensor, mistakes: Known, what: str) -> None:
    """Raise the known mistake that gives these numbers, else say where they differ."""
    if matches(found, wanted, 1e-5):
        return
    recognise(found, mistakes, partial(matches, tolerance=1e-5))
    if found.shape != wanted.shape:
        raise Mistake(
            "shape",
            f"Your {what} has shape {tuple(found.shape)}; it must be "
            f"{tuple(wanted.shape)}.",
        )
    place = (found - wanted).abs().flatten().nan_to_num(math.inf).argmax()
    raise Mistake(
        "wrong-number",
        f"The shape is right, the numbers are not: one is "
        f"{found.flatten()[place].item():.3f} where I get "
        f"{wanted.flatten()[place].item():.3f}. Work one entry out by hand.",
    )


# --- a recurrent step -------------------------------------------------------------


def _wrong_steps(
    x: Tensor, state: Tensor, w_x: Tensor, w_s: Tensor, b: Tensor
) -> Known:
    from_input, from_state = x @ w_x.T, state @ w_s.T
    total = from_input + from_state + b
    yield (
        "no-tanh",
        "Everything is added, but nothing bends: tanh is missing. Without it the state "
        "can grow without limit, and many steps are worth no more than one matrix.",
        total,
    )
    yield (
        "sigmoid",
        "You squash with the sigmoid, which only gives 0 to 1. The plain recurrent "
        "step uses tanh, −1 to 1. (Sigmoids are for the gates of a GRU or LSTM.)",
        total.sigmoid(),
    )
    yield (
        "state-forgotten",
        "The old state plays no part: your step remembers nothing. Add the state times "
        "its own weights.",
        (from_input + b).tanh(),
    )
    yield (
        "input-forgotten",
        "The input plays no part: your step never reads. Add x times its weights.",
        (from_state + b).tanh(),
    )
    yield ("bias-forgotten", "The bias is missing.", (from_input + from_state).tanh())
    yield (
        "not-transposed",
        "The state is multiplied by state_weights where it should be by the transposed "
        "matrix: weights are stored as (out, in), a row for each output. The matrix is "
        "square, so no shape complains. Write state @ state_weights.T.",
        (from_input + state @ w_s + b).tanh(),
    )
    for early in (from_input.tanh() + from_state.tanh() + b,
                  (from_input + b).tanh() + from_state.tanh(),
                  from_input.tanh() + (from_state + b).tanh()):  # fmt: skip
        yield (
            "tanh-too-early",
            "You bend input and state one by one and then add. Add first, then take "
            "one tanh of the sum; else the state can leave the range −1 to 1.",
            early,
        )
    yield (
        "old-state-kept",
        "You add the old state to the new one. That is a residual connection, a good "
        "idea that came later; the plain step replaces the state.",
        state + total.tanh(),
    )


def _probe_step(mine: Function) -> None:
    for batch, d_in, d_state, seed in ((2, 3, 4, 0), (1, 4, 4, 1)):
        x, state, w_x, w_s, b = _random(
            (batch, d_in),
            (batch, d_state),
            (d_state, d_in),
            (d_state, d_state),
            (d_state,),
            seed=seed,
        )
        names = ("x", "state", "input_weights", "state_weights", "bias")
        given = (x, state, w_x, w_s, b)
        found = as_tensor(call(mine, dict(zip(names, given, strict=True)), {}))
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
        _compare(found, wanted, _wrong_steps(*given), "new state")


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
    return grade("recurrent_step", mine, [_probe_step], praise)


# --- additive scores --------------------------------------------------------------


def _wrong_scores(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Known:
    asks, answers = (q @ w_q.T).unsqueeze(-2), (k @ w_k.T).unsqueeze(-3)
    right = (asks + answers).tanh() @ v
    yield (
        "no-tanh",
        "tanh is missing. Then the score is a number of the query plus a number of the "
        "key; softmax cancels the first, and every query gets the same weights.",
        (asks + answers) @ v,
    )
    yield (
        "tanh-too-early",
        "You take tanh of query and key one by one. Then the score is again a sum of "
        "two numbers, and every query gets the same weights. Add first, then bend.",
        (asks.tanh() + answers.tanh()) @ v,
    )
    yield (
        "multiplied",
        "You multiply query and key. Here they are added: that is where the name "
        "comes from.",
        (asks * answers).tanh() @ v,
    )
    yield (
        "multiplied",
        "You multiply query and key, as dot-product attention does. Here they are "
        "added, bent by tanh and then compared with to_score.",
        (asks * answers) @ v,
    )
    yield (
        "no-score-vector",
        "The hidden layer is summed as it is. Each hidden unit must count with its own "
        "weight: multiply by to_score.",
        (asks + answers).tanh().sum(-1),
    )
    yield (
        "scaled",
        "You divide by the square root of the width. That belongs to dot products; "
        "tanh keeps these scores in bounds already.",
        right / math.sqrt(len(v)),
    )
    yield (
        "softmax-too",
        "These are weights already. Return the scores; softmax comes after, where the "
        "mask has had its say.",
        right.softmax(-1),
    )
    yield (
        "keys-in-rows",
        "Rows and columns are exchanged: a row for each query, a column for each key. "
        "The query needs its new axis at −2, the key at −3.",
        right.mT,
    )


def _pairs_missing(shape: str) -> Mistake:
    return Mistake(
        "pairs-missing",
        f"{shape} You add query 1 to key 1, query 2 to key 2, and so on. Every query "
        "must meet every key: give the query an axis for the keys (unsqueeze(-2)) and "
        "the key one for the queries (unsqueeze(-3)).",
    )


def _probe_scores(mine: Function) -> None:
    names = ("query", "key", "to_query", "to_key", "to_score")
    for tq, tk, seed in ((3, 3, 0), (2, 5, 1)):
        given = _random((2, tq, 3), (2, tk, 4), (6, 3), (6, 4), (6,), seed=seed)
        q, k, w_q, w_k, v = given
        try:
            returned = call(mine, dict(zip(names, given, strict=True)), {})
        except Stopped as stopped:
            if tq != tk and "must match" in str(stopped.problem):
                raise _pairs_missing(
                    "With 2 queries and 5 keys your function stops."
                ) from stopped
            raise
        found = as_tensor(returned)
        if tq == tk and found.shape == (2, tq):
            raise _pairs_missing(f"For {tq} queries and {tk} keys I get {tq} scores.")
        right = AdditiveAttention(3, 4, 6)
        with torch.no_grad():
            right.to_query.weight.copy_(w_q)
            right.to_key.weight.copy_(w_k)
            right.to_score.weight.copy_(v[None])
            inside = right.to_query(q)[:, :, None] + right.to_key(k)[:, None]
            wanted = right.to_score(inside.tanh())[..., 0]
        _compare(found, wanted, _wrong_scores(*given), "table of scores")


def additive_scores(mine: Function) -> Result:
    """Grade a reader's additive scores, before mask and softmax.

    Args:
        mine: a function ``mine(query, key, to_query, to_key, to_score)`` with query
            (B, Tq, Dq), key (B, Tk, Dk), matrices (Dh, Dq) and (Dh, Dk) and a vector
            (Dh,) that returns scores (B, Tq, Tk), as `tformer.additive` has them.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every query meets every key, added, bent and weighed; also where there are "
        "more keys than queries."
    )
    return grade("additive_scores", mine, [_probe_scores], praise)


# --- the length of a path ---------------------------------------------------------

KINDS = ("recurrent", "convolution", "dilated convolution", "self-attention")
DISTANCES = (0, 1, 2, 3, 7, 8, 9, 26, 27, 100)
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
            steps = call(mine, given, {})
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
            "wrong-number",
            f"{kind}, distance {distance}, kernel {kernel}: you say {found[i]}, I "
            f"count {wanted[i]}. Draw it on paper, or in the figure.",
        )


def path_length(mine: Function) -> Result:
    """Grade a reader's count of the steps between two tokens.

    Args:
        mine: a function ``mine(kind, distance, kernel)`` that returns a whole number,
            as `tformer.paths.path_length` does.

    Returns:
        The verdict; the message is printed.
    """
    praise = "All four kinds of layers, near and far, for three sizes of kernels."
    return grade("path_length", mine, [_probe_paths], praise)
