"""The grader for `multi_head_attention` of chapter *Multi-head attention*."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from tformer.attention import MultiHeadAttention
from tformer_book.check._compare import (
    Known,
    compare,
    matches,
    recognise,
    slips,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    call,
    probe_gradients,
)
from tformer_book.check.problems._heads import (
    BACK,
    TRANSPOSE,
    interleaved_split,
    one_tensor,
    right_merge,
    right_split,
)


@dataclass(frozen=True)
class Case:
    """A layer's four maps and the inputs of one hidden run."""

    layer: MultiHeadAttention
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None = None

    @classmethod
    def random(
        cls,
        *,
        batch: int = 2,
        tq: int = 3,
        tk: int = 5,
        n_heads: int = 2,
        d_model: int = 12,
        mask: Tensor | None = None,
        seed: int = 0,
    ) -> Case:
        """Draw a layer and inputs, without touching the reader's random numbers."""
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator)

        with torch.random.fork_rng(devices=[]):
            layer = MultiHeadAttention(d_model, n_heads)
        for parameter in layer.parameters():
            parameter.data = draw(*parameter.shape) / math.sqrt(d_model) * 1.7
        key, value = draw(batch, tk, d_model), draw(batch, tk, d_model)
        return cls(layer, draw(batch, tq, d_model), key, value, mask)

    def given(self) -> SimpleNamespace:
        """What the reader gets: the four maps and the number of heads."""
        names = ("to_query", "to_key", "to_value", "to_output", "n_heads")
        return SimpleNamespace(**{name: getattr(self.layer, name) for name in names})

    def run(self, mine: Function) -> Tensor:
        """The reader's output, of the right form."""
        inputs = {
            "layer": self.given(),
            "query": self.query,
            "key": self.key,
            "value": self.value,
        }
        returned = call(mine, inputs, {} if self.mask is None else {"mask": self.mask})
        if isinstance(returned, tuple):
            raise Mistake(
                "returns-several",
                f"Your function returns {len(returned)} things; I need the output "
                "alone, (B, Tq, D).",
            )
        return one_tensor(returned)

    def right(self) -> Tensor:
        """What should come out."""
        with torch.no_grad():
            found: Tensor = self.layer(self.query, self.key, self.value, mask=self.mask)
        return found

    def built(
        self,
        *,
        project: Callable[[nn.Linear, Tensor], Tensor] = lambda linear, x: linear(x),
        split: Callable[[Tensor, int], Tensor] = right_split,
        root: float | None = None,
        softmax: Callable[[Tensor], Tensor] = lambda s: s.softmax(-1),
        hide: Callable[[Tensor, Tensor], Tensor] = (
            lambda s, m: s.masked_fill(~m, -math.inf)
        ),
        late: Callable[[Tensor, Tensor], Tensor] = lambda w, m: w,
        merge: Callable[[Tensor], Tensor] = right_merge,
        finish: Callable[[nn.Linear, Tensor], Tensor] = lambda linear, x: linear(x),
        sources: tuple[str, str, str] = ("query", "key", "value"),
        projected: tuple[bool, bool, bool] = (True, True, True),
    ) -> Tensor:
        """The layer with steps exchanged for wrong ones."""
        layer, heads = self.layer, self.layer.n_heads
        maps = (layer.to_query, layer.to_key, layer.to_value)
        with torch.no_grad():
            query, key, value = (
                split(project(linear, x) if use else x, heads)
                for linear, x, use in zip(
                    maps,
                    (getattr(self, name) for name in sources),
                    projected,
                    strict=True,
                )
            )
            divisor = math.sqrt(query.size(-1)) if root is None else root
            scores = query @ key.mT / divisor
            if self.mask is not None:
                scores = hide(scores, self.mask)
            weights = softmax(scores)
            if self.mask is not None:
                weights = late(weights, self.mask)
            return finish(layer.to_output, merge(weights @ value))


def _view(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


def _flat(x: Tensor) -> Tensor:
    return x.reshape(x.size(0), x.size(2), -1)


VIEW = (
    "It works for one head, and mixes heads for two: {where} Cut the width, then "
    "bring the heads forward, " + TRANSPOSE + "; and back, " + BACK + "."
)


def wrong_layers(case: Case) -> Known:
    """What comes out of the layer when it was built with a slip."""
    width = case.query.size(-1)
    heads = case.layer.n_heads
    each = width // heads
    table: list[tuple[str, str, dict[str, Any]]] = [
        (
            "view-at-both-ends",
            VIEW.format(where="view without transpose, at the split and at the merge?"),
            dict(split=_view, merge=_flat),
        ),
        (
            "view-without-transpose",
            VIEW.format(where="view without transpose, at the split?"),
            dict(split=_view),
        ),
        (
            "not-transposed-back",
            VIEW.format(where="a reshape without transpose, at the merge?"),
            dict(merge=_flat),
        ),
        (
            "attends-among-heads",
            "Each word attends to its own heads: the heads come after the words, "
            "(B, T, H, Dh), so the last two axes are heads and numbers. Bring the "
            f"heads forward before attention: {TRANSPOSE}.",
            dict(
                split=lambda x, n: x.unflatten(-1, (n, -1)),
                merge=lambda x: x.flatten(-2),
            ),
        ),
        (
            "one-wide-head",
            "There is one head, as wide as the model: the width is never cut, so "
            "every word has one set of weights.",
            dict(split=lambda x, n: x[:, None]),
        ),
        (
            "interleaved",
            f"Your heads take every {heads}th number. Head 0 must have the first "
            f"{each} of them, head 1 the next: cut into (H, Dh), not (Dh, H).",
            dict(
                split=interleaved_split,
                merge=lambda x: x.permute(0, 2, 3, 1).flatten(-2),
            ),
        ),
        (
            "concatenated-in-the-wrong-order",
            "The heads are concatenated in the wrong order: their numbers alternate. "
            "All Dh numbers of head 0 come first, as W_O expects them.",
            dict(merge=lambda x: x.permute(0, 2, 3, 1).flatten(-2)),
        ),
        (
            "concatenated-in-the-wrong-order",
            "The heads are concatenated in the wrong order: the last one comes first. "
            "W_O expects head 0 in its first rows.",
            dict(merge=lambda x: right_merge(x.flip(1))),
        ),
        (
            "scaled-by-d-model",
            f"You divide by √{width}, the root of d_model. A dot product in a head has "
            f"only d_model / n_heads = {each} terms: divide by √{each}. (Take the "
            "width from the query after the split: query.size(-1).)",
            dict(root=math.sqrt(width)),
        ),
        (
            "not-scaled",
            f"The scores are not scaled: divide them by √{each}, the root of the "
            "head's width, before softmax.",
            dict(root=1.0),
        ),
        (
            "scaled-without-root",
            f"You divide by the head's width {each}; it should be its root.",
            dict(root=float(each)),
        ),
        (
            "scaled-by-head-count",
            "You divide by the root of the number of heads. What counts is the number "
            f"of terms in a dot product, the head's width: √{each}.",
            dict(root=math.sqrt(heads)),
        ),
        (
            "softmax-over-heads",
            "Softmax runs over the axis of heads, so the heads compete for each pair "
            "of words. Every head has a budget of its own, for each query: "
            "softmax(dim=-1), over the keys.",
            dict(softmax=lambda s: s.softmax(1)),
        ),
        (
            "softmax-over-queries",
            "Softmax runs over the queries. Each query shares out its own budget among "
            "the keys: softmax(dim=-1).",
            dict(softmax=lambda s: s.softmax(-2)),
        ),
        (
            "softmax-over-the-batch",
            "Softmax runs over the batch: sentences compete. It belongs to the keys: "
            "softmax(dim=-1).",
            dict(softmax=lambda s: s.softmax(0)),
        ),
        (
            "no-output-projection",
            "W_O is missing: you return the heads side by side. Let layer.to_output "
            "mix them; otherwise each number of the output comes from one head alone.",
            dict(finish=lambda linear, x: x),
        ),
        (
            "weight-not-transposed",
            "nn.Linear computes x @ weight.T + bias; somewhere you multiply with "
            "weight as it is. Call the layer's map itself: layer.to_query(query).",
            dict(
                project=lambda linear, x: x @ linear.weight + linear.bias,
                finish=lambda linear, x: x @ linear.weight + linear.bias,
            ),
        ),
        (
            "bias-forgotten",
            "The biases are missing: nn.Linear computes x @ weight.T + bias. Call the "
            "layer's map itself: layer.to_query(query).",
            dict(
                project=lambda linear, x: x @ linear.weight.T,
                finish=lambda linear, x: x @ linear.weight.T,
            ),
        ),
        (
            "values-not-projected",
            "The values go in as they are. They need their map, too: "
            "layer.to_value(value).",
            dict(projected=(True, True, False)),
        ),
        (
            "nothing-projected",
            "You cut the inputs themselves into heads. Project first, "
            "layer.to_query(query) and so on: without its own maps a head sees only "
            "its part of every vector.",
            dict(projected=(False, False, False)),
        ),
        (
            "values-from-the-keys",
            "Your values are made from key. They must be made from value.",
            dict(sources=("query", "key", "key")),
        ),
        (
            "keys-and-values-swapped",
            "Key and value have changed places.",
            dict(sources=("query", "value", "key")),
        ),
        (
            "keys-from-the-query",
            "Keys and values are made from query: this is always self-attention. Here "
            "the queries come from one sentence, keys and values from another.",
            dict(sources=("query", "query", "query")),
        ),
        (
            "averaged",
            "You merge the heads by adding or averaging them. They are concatenated, "
            "side by side.",
            dict(merge=lambda x: right_merge(x.mean(1, keepdim=True).expand_as(x))),
        ),
    ]
    if case.mask is not None:
        table += _mask_slips(case.mask)
    named: dict[str, tuple[list[dict[str, Any]], str]] = {}
    for name, says, settings in table:
        named.setdefault(name, ([], says))[0].append(settings)
    return slips(case.built, named)


def _mask_slips(mask: Tensor) -> list[tuple[str, str, dict[str, Any]]]:
    """Right without a mask, wrong with one."""
    fill = "scores.masked_fill(~mask, float('-inf')), before softmax."

    def only_first_head(scores: Tensor, mask: Tensor) -> Tensor:
        hidden = scores.masked_fill(~mask, -math.inf)
        return torch.cat([hidden[:, :1], scores[:, 1:]], dim=1)

    def tiled(scores: Tensor, mask: Tensor) -> Tensor:
        flat = mask[:, :1].expand(-1, 1, *scores.shape[-2:])[:, 0]
        other = flat.repeat(scores.size(1), 1, 1).view(scores.shape)
        return scores.masked_fill(~other, -math.inf)

    table: list[tuple[str, str, dict[str, Any]]] = [
        (
            "mask-ignored",
            f"The mask changes nothing. Fill forbidden scores: {fill}",
            dict(hide=lambda s, m: s),
        ),
        (
            "mask-flipped",
            "The mask is the wrong way round: True means may attend, and you hide "
            "exactly those. (nn.MultiheadAttention has it the other way.)",
            dict(hide=lambda s, m: s.masked_fill(m, -math.inf)),
        ),
        (
            "mask-after-softmax",
            "You apply the mask after softmax, so rows no longer sum to 1. Fill the "
            f"scores instead: {fill}",
            dict(hide=lambda s, m: s, late=lambda w, m: w * m),
        ),
        (
            "mask-multiplied",
            "You multiply the scores by the mask, which makes them 0, and e⁰ = 1. "
            f"Fill them with −∞: {fill}",
            dict(hide=lambda s, m: s * m),
        ),
        (
            "mask-on-one-head",
            "Only the first head is masked. Let the mask broadcast over the heads: it "
            "has an axis of size 1 for them.",
            dict(hide=only_first_head),
        ),
    ]
    if mask.dim() == 4:
        table.append(
            (
                "mask-meets-the-wrong-sentence",
                "Some sentences get the mask of another: you put batch and heads into "
                "one axis and repeat the mask, but sentence by sentence is "
                "repeat_interleave, not repeat. Better: keep the axes apart and let "
                "(B, 1, 1, Tk) broadcast.",
                dict(hide=tiled),
            )
        )
    return table


def _compare(case: Case, found: Tensor, known: Known) -> None:
    right = case.right()
    shapes = f"query {tuple(case.query.shape)} and key {tuple(case.key.shape)}"
    if matches(found, right):
        return
    recognise(found, known)
    if found.isnan().any():
        raise Mistake(
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
    elif found.shape == case.key.shape != right.shape:
        hint = "It has a row for each key; the rows must follow the queries."
    compare(found, right, known, said=f"for {shapes}", hint=hint)


def _works(mine: Function, case: Case) -> bool:
    try:
        case.run(mine)
    except Mistake:
        return False
    return True


def _probe_layer(mine: Function) -> None:
    case = Case.random()
    try:
        found = case.run(mine)
    except Stopped as stopped:
        _explain_stop(mine, stopped)
        raise
    _compare(case, found, wrong_layers(case))
    for case in (
        Case.random(n_heads=1, seed=1),
        Case.random(batch=1, n_heads=4, tq=4, tk=4, seed=1),
    ):
        _compare(case, case.run(mine), wrong_layers(case))


def _explain_stop(mine: Function, stopped: Stopped) -> None:
    """Name the reason why two heads on two lengths stopped, if it is a known one."""
    alone = Case.random(n_heads=1)
    if _works(mine, alone) and matches(alone.run(mine), alone.right()):
        raise Mistake(
            "only-one-head", f"It works for one head and stops for 2: {stopped.message}"
        )
    same = Case.random(tq=4, tk=4)
    if _works(mine, same):
        _compare(same, same.run(mine), wrong_layers(same))
        raise Mistake(
            "only-self-attention",
            "It works where there are as many queries as keys, and stops for 3 queries "
            "and 5 keys. Take the length of each from its own tensor. "
            f"{stopped.message}",
        )


def _probe_masked(mine: Function) -> None:
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
        case = Case.random(seed=2, tq=tq, n_heads=4, mask=mask)
        try:
            found = case.run(mine)
        except Stopped as stopped:
            if "cannot be multiplied" in stopped.message or mask is whole:
                raise Mistake(
                    "mask-adds-an-axis",
                    f"With a mask of shape {tuple(mask.shape)} it stops, without one "
                    "it works. Do you unsqueeze the mask? Then the scores, too, get an "
                    f"axis more. It broadcasts as it comes. {stopped.message}",
                ) from None
            as_many = Case.random(seed=2, tq=tq, n_heads=2, mask=mask)
            if mask.dim() == 4 and _works(mine, as_many):
                raise Mistake(
                    "mask-meets-the-heads",
                    f"With a mask of shape {name} it works only if there are as many "
                    "heads as sentences, and then wrongly: you drop the mask's axis of "
                    "size 1, and its batch meets the heads. Give masked_fill the mask "
                    "as it is.",
                ) from None
            raise Mistake(
                "mask-does-not-broadcast",
                f"It stops with a mask of shape {name} = {tuple(mask.shape)}: the mask "
                "must broadcast over the heads (and the rest). Give masked_fill the "
                f"mask as it is. {stopped.message}",
            ) from None
        _compare(case, found, wrong_layers(case))


def _probe_layer_gradients(mine: Function) -> None:
    case = Case.random(seed=3)
    inputs = {"query": case.query, "key": case.key, "value": case.value}
    maps = {f"layer.{name}": each for name, each in case.layer.named_parameters()}
    probe_gradients(
        mine,
        lambda: case.run(mine),
        lambda: case.layer(case.query, case.key, case.value),
        {**inputs, **maps},
    )


def multi_head_attention(mine: Callable[..., Tensor]) -> Result:
    """Grade your own ``multi_head_attention(layer, query, key, value, *, mask=None)``.

    Args:
        mine: takes a layer with ``to_query``, ``to_key``, ``to_value``, ``to_output``
            (each an `nn.Linear` from D to D) and ``n_heads``; query (B, Tq, D), key and
            value (B, Tk, D); and a bool mask that broadcasts to (B, H, Tq, Tk), True =
            may attend. Returns (B, Tq, D).

    Returns:
        The verdict; the message is printed.
    """
    return grade(
        "multi_head_attention",
        mine,
        (_probe_layer, _probe_masked, _probe_layer_gradients),
        """It agrees with tformer's layer for one head and for several, for self- and
        cross-attention, with every form of mask; and the gradient reaches all four
        maps.""",
    )
