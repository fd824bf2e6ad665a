"""The grader for `multi_head_attention` of chapter *Multi-head attention*."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from tformer.attention import MultiHeadAttention
from tformer_book.check import kit
from tformer_book.check.problems._heads import (
    BACK,
    TRANSPOSE,
    interleaved_split,
    one_tensor,
    right_merge,
    right_split,
)

HINTS = (
    "Which of the layer's four matrices act before the heads are cut, and which one "
    "after they are joined?",
    "Project all three, cut each of them into heads, attend with the mask, join the "
    "heads, and end with `layer.to_output`. Keys and values come from their own "
    "inputs, not from the query's.",
    "q = my_split_heads(layer.to_query(query), layer.n_heads)",
)

Map = Callable[[Any, Tensor], Tensor]
Two = Callable[[Tensor, Tensor], Tensor]


def built(
    layer: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    project: Map = lambda linear, x: linear(x),
    split: Callable[[Tensor, int], Tensor] = right_split,
    root: Callable[[int, int, int], float] = lambda each, d_model, n: math.sqrt(each),
    softmax: Callable[[Tensor], Tensor] = lambda s: s.softmax(-1),
    hide: Two = lambda s, m: s.masked_fill(~m, -math.inf),
    late: Two = lambda w, m: w,
    merge: Callable[[Tensor], Tensor] = right_merge,
    finish: Map = lambda linear, x: linear(x),
    sources: tuple[str, str, str] = ("query", "key", "value"),
    projected: tuple[bool, bool, bool] = (True, True, True),
) -> Tensor:
    """The layer with steps exchanged for wrong ones."""
    given = {"query": query, "key": key, "value": value}
    maps = layer.to_query, layer.to_key, layer.to_value
    q, k, v = (
        split(project(linear, given[name]) if use else given[name], layer.n_heads)
        for linear, name, use in zip(maps, sources, projected, strict=True)
    )
    scores = q @ k.mT / root(q.size(-1), query.size(-1), layer.n_heads)
    if mask is not None:
        scores = hide(scores, mask)
    weights = softmax(scores)
    if mask is not None:
        weights = late(weights, mask)
    return finish(layer.to_output, merge(weights @ v))


def _view(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


def _flat(x: Tensor) -> Tensor:
    return x.reshape(x.size(0), x.size(2), -1)


def _only_first_head(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = scores.masked_fill(~mask, -math.inf)
    return torch.cat([hidden[:, :1], scores[:, 1:]], dim=1)


def _tiled(scores: Tensor, mask: Tensor) -> Tensor:
    if mask.dim() != 4:
        return scores.masked_fill(~mask, -math.inf)
    flat = mask[:, :1].expand(-1, 1, *scores.shape[-2:])[:, 0]
    other = flat.repeat(scores.size(1), 1, 1).view(scores.shape)
    return scores.masked_fill(~other, -math.inf)


def _said(of: Callable[[int, int, int], str]) -> kit.Function:
    """What to say from the width of the model, the number of heads and their width."""

    def says(layer: Any, query: Tensor, *_: Tensor, **__: Tensor) -> str:
        width = query.size(-1)
        return of(width, layer.n_heads, width // layer.n_heads)

    return says


VIEW = (
    "It works for one head, and mixes heads for two: {where} Cut the width, then "
    "bring the heads forward, " + TRANSPOSE + "; and back, " + BACK + "."
)

FILL = "scores.masked_fill(~mask, float('-inf')), before softmax."
SLIPS: kit.Table = {
    "view-at-both-ends": (
        {"split": _view, "merge": _flat},
        VIEW.format(where="view without transpose, at the split and at the merge?"),
    ),
    "view-without-transpose": (
        {"split": _view},
        VIEW.format(where="view without transpose, at the split?"),
    ),
    "not-transposed-back": (
        {"merge": _flat},
        VIEW.format(where="a reshape without transpose, at the merge?"),
    ),
    "attends-among-heads": (
        {
            "split": lambda x, n: x.unflatten(-1, (n, -1)),
            "merge": lambda x: x.flatten(-2),
        },
        "Each word attends to its own heads: the heads come after the words, "
        "(B, T, H, Dh), so the last two axes are heads and numbers. Bring the "
        f"heads forward before attention: {TRANSPOSE}.",
    ),
    "one-wide-head": (
        {"split": lambda x, n: x[:, None]},
        "There is one head, as wide as the model: the width is never cut, so "
        "every word has one set of weights.",
    ),
    "interleaved": (
        {
            "split": interleaved_split,
            "merge": lambda x: x.permute(0, 2, 3, 1).flatten(-2),
        },
        _said(
            lambda width, heads, each: (
                f"Your heads take every {heads}th number. Head 0 must have the first "
                f"{each} of them, head 1 the next: cut into (H, Dh), not (Dh, H)."
            )
        ),
    ),
    "concatenated-in-the-wrong-order": (
        {"merge": lambda x: x.permute(0, 2, 3, 1).flatten(-2)},
        "The heads are concatenated in the wrong order: their numbers alternate. "
        "All Dh numbers of head 0 come first, as W_O expects them.",
    ),
    "concatenated-in-the-wrong-order:2": (
        {"merge": lambda x: right_merge(x.flip(1))},
        "The heads are concatenated in the wrong order: the last one comes first. "
        "W_O expects head 0 in its first rows.",
    ),
    "scaled-by-d-model": (
        {"root": lambda each, d_model, n: math.sqrt(d_model)},
        _said(
            lambda width, heads, each: (
                f"You divide by √{width}, the root of d_model. A dot product in a "
                f"head has only d_model / n_heads = {each} terms: divide by √{each}. "
                "(Take the width from the query after the split: query.size(-1).)"
            )
        ),
    ),
    "not-scaled": (
        {"root": lambda each, d_model, n: 1.0},
        _said(
            lambda width, heads, each: (
                f"The scores are not scaled: divide them by √{each}, the root of the "
                "head's width, before softmax."
            )
        ),
    ),
    "scaled-without-root": (
        {"root": lambda each, d_model, n: d_model // n},
        _said(
            lambda width, heads, each: (
                f"You divide by the head's width {each}; it should be its root."
            )
        ),
    ),
    "scale-rounded": (
        [
            {"root": lambda each, d_model, n: float(int(math.sqrt(each)))},
            {"root": lambda each, d_model, n: float(math.ceil(math.sqrt(each)))},
        ],
        _said(
            lambda width, heads, each: (
                f"You divide by a whole number. The root of a head's width, √{each}, "
                "is one only by chance: math.sqrt(query.size(-1)), after the split."
            )
        ),
    ),
    "scaled-by-head-count": (
        {"root": lambda each, d_model, n: math.sqrt(n)},
        _said(
            lambda width, heads, each: (
                "You divide by the root of the number of heads. What counts is the "
                f"number of terms in a dot product, the head's width: √{each}."
            )
        ),
    ),
    "softmax-over-heads": (
        {"softmax": lambda s: s.softmax(1)},
        "Softmax runs over the axis of heads, so the heads compete for each pair "
        "of words. Every head has a budget of its own, for each query: "
        "softmax(dim=-1), over the keys.",
    ),
    "softmax-over-queries": (
        {"softmax": lambda s: s.softmax(-2)},
        "Softmax runs over the queries. Each query shares out its own budget among "
        "the keys: softmax(dim=-1).",
    ),
    "softmax-over-the-batch": (
        {"softmax": lambda s: s.softmax(0)},
        "Softmax runs over the batch: sentences compete. It belongs to the keys: "
        "softmax(dim=-1).",
    ),
    "no-output-projection": (
        {"finish": lambda linear, x: x},
        "W_O is missing: you return the heads side by side. Let layer.to_output "
        "mix them; otherwise each number of the output comes from one head alone.",
    ),
    "weight-not-transposed": (
        {
            "project": lambda linear, x: x @ linear.weight + linear.bias,
            "finish": lambda linear, x: x @ linear.weight + linear.bias,
        },
        "nn.Linear computes x @ weight.T + bias; somewhere you multiply with "
        "weight as it is. Call the layer's map itself: layer.to_query(query).",
    ),
    "bias-forgotten": (
        {
            "project": lambda linear, x: x @ linear.weight.T,
            "finish": lambda linear, x: x @ linear.weight.T,
        },
        "The biases are missing: nn.Linear computes x @ weight.T + bias. Call the "
        "layer's map itself: layer.to_query(query).",
    ),
    "values-not-projected": (
        {"projected": (True, True, False)},
        "The values go in as they are. They need their map, too: "
        "layer.to_value(value).",
    ),
    "nothing-projected": (
        {"projected": (False, False, False)},
        "You cut the inputs themselves into heads. Project first, "
        "layer.to_query(query) and so on: without its own maps a head sees only "
        "its part of every vector.",
    ),
    "values-from-the-keys": (
        {"sources": ("query", "key", "key")},
        "Your values are made from key. They must be made from value.",
    ),
    "keys-and-values-swapped": (
        {"sources": ("query", "value", "key")},
        "Key and value have changed places.",
    ),
    "keys-from-the-query": (
        {"sources": ("query", "query", "query")},
        "Keys and values are made from query: this is always self-attention. Here "
        "the queries come from one sentence, keys and values from another.",
    ),
    "residual-inside": (
        lambda layer, query, *given, **named: (
            query + built(layer, query, *given, **named)
        ),
        "You add the query at the end. That is the residual connection's work, outside "
        "this layer; inside, it would be counted twice.",
    ),
    "averaged": (
        {"merge": lambda x: right_merge(x.mean(1, keepdim=True).expand_as(x))},
        "You merge the heads by adding or averaging them. They are concatenated, "
        "side by side.",
    ),
    "mask-ignored": (
        {"hide": lambda s, m: s},
        f"The mask changes nothing. Fill forbidden scores: {FILL}",
    ),
    "mask-flipped": (
        {"hide": lambda s, m: s.masked_fill(m, -math.inf)},
        "The mask is the wrong way round: True means may attend, and you hide "
        "exactly those. (nn.MultiheadAttention has it the other way.)",
    ),
    "mask-after-softmax": (
        {"hide": lambda s, m: s, "late": lambda w, m: w * m},
        "You apply the mask after softmax, so rows no longer sum to 1. Fill the "
        f"scores instead: {FILL}",
    ),
    "mask-multiplied": (
        {"hide": lambda s, m: s * m},
        "You multiply the scores by the mask, which makes them 0, and e⁰ = 1. "
        f"Fill them with −∞: {FILL}",
    ),
    "mask-on-one-head": (
        {"hide": _only_first_head},
        "Only the first head is masked. Let the mask broadcast over the heads: it "
        "has an axis of size 1 for them.",
    ),
    "mask-meets-the-wrong-sentence": (
        {"hide": _tiled},
        "Some sentences get the mask of another: you put batch and heads into "
        "one axis and repeat the mask, but sentence by sentence is "
        "repeat_interleave, not repeat. Better: keep the axes apart and let "
        "(B, 1, 1, Tk) broadcast.",
    ),
}


def _case(
    *,
    batch: int = 2,
    tq: int = 3,
    tk: int = 5,
    n_heads: int = 2,
    mask: Tensor | None = None,
    seed: int = 0,
) -> kit.Case:
    """Four maps, a number of heads, and inputs."""
    d_model = 12
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    with torch.random.fork_rng(devices=[]):
        layer = MultiHeadAttention(d_model, n_heads)
    for parameter in layer.parameters():
        parameter.data = normal(*parameter.shape) / math.sqrt(d_model) * 1.7
    key, value = normal(batch, tk, d_model), normal(batch, tk, d_model)
    names = ("to_query", "to_key", "to_value", "to_output", "n_heads")
    given = SimpleNamespace(**{name: getattr(layer, name) for name in names})
    query = normal(batch, tq, d_model)
    inputs = {"layer": given, "query": query, "key": key, "value": value}
    return kit.Case(inputs, {} if mask is None else {"mask": mask})


def _output(returned: object) -> Tensor:
    if isinstance(returned, tuple):
        raise kit.Mistake(
            "returns-several",
            f"Your function returns {len(returned)} things; I need the output "
            "alone, (B, Tq, D).",
        )
    return one_tensor(returned)


def _compare(case: kit.Case, found: Tensor) -> None:
    with torch.no_grad():
        right = case.of(built)
    if kit.matches(found, right):
        return
    kit.recognise(found, kit.slips(SLIPS, case.of, built))
    if found.isnan().any():
        raise kit.Mistake(
            "nan",
            "There is nan (not a number) in your output. With a mask, the usual cause "
            "is 0 × −∞: fill with −∞ instead of multiplying.",
        )
    hint = (
        "Check each step against the package: project, check.split_heads, "
        "check.attention, check.merge_heads, to_output."
    )
    if found.dim() == 4:
        hint = "Merge the heads again, and let layer.to_output mix them."
    elif found.shape == case["key"].shape != right.shape:
        hint = "It has a row for each key; the rows must follow the queries."
    said = f"for query {case.shape('query')} and key {case.shape('key')}"
    kit.compare(found, right, said=said, hint=hint)


def _works(mine: kit.Function, case: kit.Case) -> bool:
    try:
        case.ask(mine, _output)
    except kit.Mistake:
        return False
    return True


def _probe_layer(mine: kit.Function) -> None:
    case = _case()
    try:
        found = case.ask(mine, _output)
    except kit.Stopped as stopped:
        _explain_stop(mine, stopped)
        raise
    _compare(case, found)
    for case in (
        _case(n_heads=1, seed=1),
        _case(batch=1, n_heads=4, tq=4, tk=4, seed=1),
    ):
        _compare(case, case.ask(mine, _output))


def _explain_stop(mine: kit.Function, stopped: kit.Stopped) -> None:
    """Name the reason why two heads on two lengths stopped, if it is a known one."""
    alone = _case(n_heads=1)
    if _works(mine, alone) and kit.matches(alone.ask(mine, _output), alone.of(built)):
        raise kit.Mistake(
            "only-one-head", f"It works for one head and stops for 2: {stopped.message}"
        )
    same = _case(tq=4, tk=4)
    if _works(mine, same):
        _compare(same, same.ask(mine, _output))
        raise kit.Mistake(
            "only-self-attention",
            "It works where there are as many queries as keys, and stops for 3 queries "
            "and 5 keys. Take the length of each from its own tensor. "
            f"{stopped.message}",
        )


def _probe_masked(mine: kit.Function) -> None:
    full = torch.ones(2, 1, 3, 5, dtype=torch.bool)
    full[1, :, :, 3:] = False
    full[:, :, 0, 2] = False
    padding = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    padding[1, ..., 3:] = False
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    whole = full.expand(-1, 4, -1, -1)  # a copy for every head
    for mask, tq, name in (
        (whole, 3, "(B, H, Tq, Tk)"),
        (full, 3, "(B, 1, Tq, Tk)"),
        (padding, 3, "(B, 1, 1, Tk)"),
        (causal, 5, "(T, T)"),
    ):
        case = _case(seed=2, tq=tq, n_heads=4, mask=mask)
        try:
            found = case.ask(mine, _output)
        except kit.Stopped as stopped:
            if "cannot be multiplied" in stopped.message or mask is whole:
                raise kit.Mistake(
                    "mask-adds-an-axis",
                    f"With a mask of shape {tuple(mask.shape)} it stops, without one "
                    "it works. Do you unsqueeze the mask? Then the scores, too, get an "
                    f"axis more. It broadcasts as it comes. {stopped.message}",
                ) from None
            as_many = _case(seed=2, tq=tq, n_heads=2, mask=mask)
            if mask.dim() == 4 and _works(mine, as_many):
                raise kit.Mistake(
                    "mask-meets-the-heads",
                    f"With a mask of shape {name} it works only if there are as many "
                    "heads as sentences, and then wrongly: you drop the mask's axis of "
                    "size 1, and its batch meets the heads. Give masked_fill the mask "
                    "as it is.",
                ) from None
            raise kit.Mistake(
                "mask-does-not-broadcast",
                f"It stops with a mask of shape {name} = {tuple(mask.shape)}: the mask "
                "must broadcast over the heads (and the rest). Give masked_fill the "
                f"mask as it is. {stopped.message}",
            ) from None
        _compare(case, found)


def _probe_layer_gradients(mine: kit.Function) -> None:
    case = _case(seed=3)
    maps = {
        f"layer.{name}.{kind}": weights
        for name in ("to_query", "to_key", "to_value", "to_output")
        for kind, weights in getattr(case["layer"], name).named_parameters()
    }
    inputs = {name: case[name] for name in ("query", "key", "value")}
    kit.probe_gradients(
        mine,
        lambda: case.ask(mine, _output),
        lambda: case.of(built),
        {**inputs, **maps},
    )


@kit.grader(_probe_layer, _probe_masked, _probe_layer_gradients)
def multi_head_attention(mine: kit.Function) -> str:
    """Grade your own ``multi_head_attention(layer, query, key, value, *, mask=None)``.

    ``mine`` takes a layer with ``to_query``, ``to_key``, ``to_value``,
    ``to_output`` (each an `nn.Linear` from D to D) and ``n_heads``; query (B, Tq,
    D), key and value (B, Tk, D); and a bool mask that broadcasts to (B, H, Tq, Tk),
    True = may attend. Returns (B, Tq, D).
    """
    return (
        "It agrees with tformer's layer for one head and for several, for self- and "
        "cross-attention, with every form of mask; and the gradient reaches all four "
        "maps."
    )
