"""The grader for `pruned` of chapter *Multi-head attention*, and the slips it knows."""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tformer.attention import MultiHeadAttention
from tformer_book.check import kit

HINTS = (
    "Which rows of the three projections make head i, and which columns of "
    "`to_output` read it?",
    "Collect the rows of all kept heads: for head i they are i × width to (i + 1) × "
    "width. Take these rows of the weights and biases of queries, keys and values, "
    "and these columns of `to_output.weight`; its bias belongs to the output and "
    "stays.",
    "width = layer.to_query.weight.size(0) // layer.n_heads",
)


def _layer(d_model: int, n_heads: int, seed: int) -> MultiHeadAttention:
    with torch.random.fork_rng(devices=[]):
        layer = MultiHeadAttention(d_model, n_heads)
    for i, parameter in enumerate(layer.parameters()):
        parameter.data = kit.draw(*parameter.shape, seed=seed + i) / d_model**0.5
    return layer


def built(
    layer: MultiHeadAttention,
    x: Tensor,
    keep: list[int],
    *,
    heads: str = "kept",
    input_bias: bool = True,
    output_bias: bool = True,
    columns: str = "kept",
    scale: str = "head",
) -> Tensor:
    """The output with some heads only; other settings make a known mistake."""
    n, width = layer.n_heads, layer.to_query.weight.size(0) // layer.n_heads
    chosen = {
        "kept": keep,
        "others": [i for i in range(n) if i not in keep],
        "first": list(range(len(keep))),
    }
    rows = torch.cat([torch.arange(i * width, (i + 1) * width) for i in chosen[heads]])
    outs = torch.cat(
        [torch.arange(i * width, (i + 1) * width) for i in chosen[columns]]
    )

    def split(linear: torch.nn.Linear) -> Tensor:
        bias = linear.bias[rows] if input_bias else 0.0
        parts: Tensor = x @ linear.weight[rows].T + bias
        return parts.unflatten(-1, (-1, width)).transpose(1, 2)

    query, key, value = map(split, (layer.to_query, layer.to_key, layer.to_value))
    size = {
        "head": width,
        "rounded": int(width**0.5) ** 2,
        "kept": len(keep) * width,
        "model": n * width,
    }[scale]
    mixed = (query @ key.mT / size**0.5).softmax(-1) @ value
    merged = mixed.transpose(1, 2).flatten(-2)
    output = merged @ layer.to_output.weight[:, outs].T
    return output + layer.to_output.bias if output_bias else output


SLIPS: kit.Table = {
    "other-heads": (
        {"heads": "others", "columns": "others"},
        "You keep the heads that should go, and drop those in `keep`.",
    ),
    "first-heads": (
        [{"heads": "first", "columns": "first"}],
        "You keep as many heads as `keep` has, but always the first ones. Head i owns "
        "the rows from i · Dh on.",
    ),
    "output-columns": (
        [{"columns": "first"}, {"columns": "others"}],
        "The output projection has the wrong columns. Head i's numbers enter to_output "
        "by columns i · Dh to (i + 1) · Dh: weight[:, mine], the same indices.",
    ),
    "input-biases": (
        {"input_bias": False},
        "The biases of queries, keys and values are missing. A kept head keeps its "
        "part of them: linear.bias[mine].",
    ),
    "output-bias": (
        {"output_bias": False},
        "to_output's bias is missing. It belongs to the output, not to a head, and "
        "stays whichever heads go.",
    ),
    "scale-rounded": (
        {"scale": "rounded"},
        "You divide the scores by a whole number, but the root of a head's width is "
        "one only by chance: math.sqrt(width).",
    ),
    "scaled-by-what-is-left": (
        [{"scale": "kept"}, {"scale": "model"}],
        "You scale by the root of the wrong width. A head's dot product has Dh terms, "
        "however many heads there are.",
    ),
}


def _probe(mine: kit.Function) -> None:
    for i, (d_model, n_heads, keep) in enumerate(
        ((30, 6, [0, 2, 5]), (12, 3, [1]), (8, 2, [0, 1]))
    ):
        layer, x = (
            _layer(d_model, n_heads, seed=10 * i),
            kit.draw(2, 5, d_model, seed=i),
        )
        case = kit.Case({"layer": layer, "x": x, "keep": keep})
        with torch.no_grad():
            case.compare(
                case.ask(mine),
                built,
                SLIPS,
                built,
                said=f"for {n_heads} heads, of which {keep} stay,",
                hint="Which rows of to_query belong to head i, and which columns of "
                "to_output?",
            )


def _operations(function: kit.Function, *given: Any) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        function(*given)
    return counter.get_total_flops()


def _leaves_them_out(mine: kit.Function) -> None:
    """With two heads of six, a third of the operations is enough."""
    case = kit.Case({"layer": _layer(24, 6, 70), "x": kit.draw(2, 5, 24, seed=71)})
    least = _operations(case.of, partial(built, keep=[1, 4]))
    most = _operations(case.of, partial(built, keep=[*range(6)]))
    keeping = kit.Case({**case.inputs, "keep": [1, 4]})
    if _operations(keeping.ask, mine) > (least + most) / 2:
        raise kit.Mistake(
            "computes-all-heads",
            "The numbers are right, but you compute all heads and drop some afterwards "
            "(or multiply them by 0), so no time is saved. Cut the matrices first: "
            "only rows of kept heads in to_query, to_key and to_value, only their "
            "columns in to_output.",
        )


@kit.grader(_probe, _leaves_them_out)
def pruned(mine: kit.Function) -> str:
    """Grade a reader's multi-head self-attention with some heads cut off.

    ``mine`` is a function ``mine(layer, x, keep)``: a `MultiHeadAttention`, x (B, T, D)
    and the list of heads that stay. Returns (B, T, D), from the smaller matrices alone.
    """
    return (
        "The same output as with the other heads times 0, without computing them: "
        "each head took its rows, its columns and its biases with it; the output's "
        "stays."
    )
