"""The grader for `attention` of chapter *Attention*, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tformer.attention import attention as reference
from tformer_book.check import kit

HINTS = (
    "In which order do they come: compare, scale, hide, share out, mix? Along which "
    "axis must each row of weights sum to 1?",
    "Scores are `query @ key.transpose(-2, -1)`, divided by the root of the last "
    "axis. Where the mask is False they become −∞ before softmax, never after. Return"
    " the mix and the weights.",
    "scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))",
)

Pair = tuple[Tensor, Tensor]
Shares = Callable[[Tensor], Tensor]
Divisor = Callable[[Tensor, Tensor, Tensor], float]
Two = Callable[[Tensor, Tensor], Tensor]


class Attend(kit.Case):
    """Inputs of one hidden run."""

    @classmethod
    def random(
        cls,
        *batch: int,
        tq: int = 3,
        tk: int = 4,
        width: int = 30,  # its root, rounded down or up, is none of the other sizes
        out: int = 7,
        seed: int = 0,
        mask: Tensor | None = None,
    ) -> Attend:
        """Draw a case whose sizes all differ, so that no axis can be mixed up."""
        generator = torch.Generator().manual_seed(seed)
        inputs = {
            name: torch.randn(*batch, *shape, generator=generator)
            for name, shape in (
                ("query", (tq, width)),
                ("key", (tk, width)),
                ("value", (tk, out)),
            )
        }
        return cls(inputs).masked(mask)

    def masked(self, mask: Tensor | None) -> Attend:
        """The same case with a mask."""
        return Attend(self.inputs, {} if mask is None else {"mask": mask})

    @property
    def mask(self) -> Tensor | None:
        """The mask, if there is one."""
        return self.keywords.get("mask")

    def ask(self, mine: kit.Function, take: kit.Function = kit.as_tensor) -> Pair:
        """The reader's output and weights, both tensors of the right shape."""
        return self.checked(super().ask(mine, lambda returned: returned))

    def right(self) -> Pair:
        """What should come out."""
        output, weights = self.of(reference)
        return output, weights

    def checked(self, returned: object) -> Pair:
        """Take apart what the function returned, or say what is wrong with its form."""
        output, weights = self.right()
        if isinstance(returned, Tensor):
            what = "weights" if returned.shape == weights.shape else "output"
            raise kit.Mistake(
                "returns-only-one",
                f"Your function returns one tensor (it looks like the {what}); I need "
                "two: return output, weights. The weights are what we draw.",
            )
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            size = f" of {len(returned)}" if isinstance(returned, (tuple, list)) else ""
            raise kit.Mistake(
                "returns-something-else",
                f"Your function returns a {type(returned).__name__}{size}; I need two "
                "tensors: return output, weights.",
            )
        mine_output, mine_weights = returned
        for name, part in (("output", mine_output), ("weights", mine_weights)):
            kit.as_tensor(part, f"your {name} as a torch tensor")
        swapped = (
            mine_output.shape == weights.shape and mine_weights.shape == output.shape
        )
        if swapped and output.shape != weights.shape:
            raise kit.Mistake(
                "returns-in-the-wrong-order",
                "You return the weights first. The order is: return output, weights.",
            )
        self._check_shapes(mine_output, mine_weights)
        return mine_output, mine_weights

    def _check_shapes(self, mine_output: Tensor, mine_weights: Tensor) -> None:
        output, weights = self.right()
        squeezed = mine_weights.dim() < weights.dim()
        if squeezed and mine_weights.squeeze().shape == weights.squeeze().shape:
            raise kit.Mistake(
                "axes-squeezed",
                f"For query {self.shape('query')} your weights have shape "
                f"{tuple(mine_weights.shape)}: axes of size 1 are gone. squeeze() "
                "without a number removes them all, and a batch of one sentence, or a "
                "single query, has such an axis. Leave them.",
            )
        shapes = (
            f"For query {self.shape('query')}, key {self.shape('key')} and "
            "value "
            f"{self.shape('value')}"
        )
        if mine_weights.shape == weights.mT.shape != weights.shape:
            raise kit.Mistake(
                "weights-transposed",
                f"{shapes} your weights have shape {tuple(mine_weights.shape)}: one "
                "row "
                "per key. Each row belongs to a query and holds one weight per key, so "
                "start from query @ key.transpose(-2, -1), in this order.",
            )
        if mine_weights.dim() > weights.dim() and self.mask is not None:
            raise kit.Mistake(
                "mask-adds-an-axis",
                f"With a mask of shape {tuple(self.mask.shape)} your weights have "
                f"shape {tuple(mine_weights.shape)}: an axis too many. Do you "
                "unsqueeze the mask? It broadcasts to the scores as it comes.",
            )
        if mine_weights.shape != weights.shape:
            raise kit.Mistake(
                "weights-shape",
                f"{shapes} the weights must have shape {tuple(weights.shape)}: one row "
                "per query, one column per key. Yours have "
                f"{tuple(mine_weights.shape)}.",
            )
        width = (*output.shape[:-1], self["key"].shape[-1])
        if mine_output.shape == width and mine_output.shape != output.shape:
            raise kit.Mistake(
                "mixes-the-keys",
                f"{shapes} your output has the width of the keys. The keys only decide "
                "the weights; what is mixed with them are the values: weights @ value.",
            )
        if mine_output.shape != output.shape:
            raise kit.Mistake(
                "output-shape",
                f"{shapes} the output must have shape {tuple(output.shape)}: as many "
                f"rows as queries, as wide as the values. Yours has "
                f"{tuple(mine_output.shape)}.",
            )


def _width(query: Tensor, key: Tensor, value: Tensor) -> int:
    return query.size(-1)


def _root(query: Tensor, key: Tensor, value: Tensor) -> float:
    return math.sqrt(query.size(-1))


def _one(query: Tensor, key: Tensor, value: Tensor) -> float:
    return 1.0


def _hidden(scores: Tensor, may: Tensor) -> Tensor:
    return scores.masked_fill(~may, -math.inf)


def built(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    product: Two = lambda query, key: query @ key.mT,
    divisor: Divisor = _root,
    hide: Two = _hidden,
    shares: Shares = lambda scores: scores.softmax(-1),
    late: Two = lambda weights, may: weights,
    late_divisor: Divisor = _one,
) -> Pair:
    """Attention in steps, each of which can be exchanged for a wrong one."""
    scores = product(query, key) / divisor(query, key, value)
    if mask is not None:
        scores = hide(scores, mask)
    weights = shares(scores)
    if mask is not None:
        weights = late(weights, mask)
    weights = weights / late_divisor(query, key, value)
    return weights @ value, weights


def _from_front(axis: int) -> tuple[kit.Function, kit.Function]:
    """Right for one matrix; a batch is normalised, or measured, along another axis."""

    def shared(query: Tensor, *rest: Tensor, mask: Tensor | None = None) -> Pair:
        place = axis if query.dim() > 2 else -1
        return built(query, *rest, mask=mask, shares=lambda s: s.softmax(place))

    def scaled(query: Tensor, *rest: Tensor, mask: Tensor | None = None) -> Pair:
        size = query.size(axis if query.dim() > 2 else -1)
        return built(query, *rest, mask=mask, divisor=lambda *_: math.sqrt(size))

    return shared, scaled


def _unit(x: Tensor) -> Tensor:
    return torch.nn.functional.normalize(x, dim=-1)


FILL = (
    "Fill forbidden scores with −∞ before softmax: masked_fill(~mask, float('-inf'))."
)

ONE_BUDGET = "Each query has a budget of its own: scores.softmax(dim=-1)."

TERMS = (
    "What makes the scores large is the number of terms in a dot product, the width of "
    "a query: divide by math.sqrt(query.size(-1))."
)

SLIPS: kit.Table = {
    "softmax-over-queries": (
        {"shares": lambda s: s.softmax(-2)},
        "Softmax is on the wrong axis: in your weights every column sums to 1, that "
        "is, the queries compete for a key. A row belongs to one query and must sum to "
        "1 over the keys: scores.softmax(dim=-1).",
    ),
    "softmax-over-everything": (
        {"shares": lambda s: s.flatten().softmax(0).view_as(s)},
        "Softmax runs over all numbers at once, so the whole matrix sums to 1. "
        + ONE_BUDGET,
    ),
    "no-softmax": (
        {"shares": lambda s: s / s.sum(-1, keepdim=True)},
        "You divide the scores by their sum. Scores may be negative, so these are no "
        "shares. Softmax takes the exponential first: scores.softmax(dim=-1).",
    ),
    "sigmoid": (
        {"shares": lambda s: s.sigmoid()},
        "You squash every score by itself (sigmoid), so a row need not sum to 1. Keys "
        "must compete for one budget: scores.softmax(dim=-1).",
    ),
    "log-softmax": (
        {"shares": lambda s: s.log_softmax(-1)},
        "Your weights are logarithms: log_softmax where softmax belongs.",
    ),
    "not-normalised": (
        [
            {"shares": lambda s: s.exp()},
            {"shares": lambda s: (s - s.amax(-1, keepdim=True)).exp()},
        ],
        "You take the exponential of the scores and stop there. Divide by the sum of "
        "each row, so that it becomes 1.",
    ),
    "not-scaled": (
        {"divisor": _one},
        "The scores are not scaled: divide them by the square root of the width of a "
        "query, math.sqrt(query.size(-1)), before softmax. For wide vectors, softmax "
        "would otherwise give nearly everything to one key.",
    ),
    "scaled-by-width": (
        {"divisor": _width},
        "You divide by the width d of a query. The paper divides by its square root: "
        "the scores' variance is d, so their typical size is √d.",
    ),
    "scaled-by-value-width": (
        [
            {"divisor": lambda q, k, v: math.sqrt(v.size(-1))},
            {"divisor": lambda q, k, v: v.size(-1)},
        ],
        "You divide by the root of the values' width. The scores are dot products of "
        "queries and keys. " + TERMS,
    ),
    "scaled-by-key-count": (
        [
            {"divisor": lambda q, k, v: math.sqrt(k.size(-2))},
            {"divisor": lambda q, k, v: k.size(-2)},
        ],
        "You divide by the number of keys, or its root. " + TERMS,
    ),
    "scaled-by-query-count": (
        [
            {"divisor": lambda q, k, v: math.sqrt(q.size(-2))},
            {"divisor": lambda q, k, v: q.size(-2)},
        ],
        "You divide by the number of queries, or its root. " + TERMS,
    ),
    "scale-rounded": (
        [
            {"divisor": lambda *given: float(int(_root(*given)))},
            {"divisor": lambda *given: float(math.ceil(_root(*given)))},
            {"divisor": lambda *given: float(_width(*given) // 2)},
        ],
        "You divide by a whole number. The root of the width is one only by chance: "
        "math.sqrt(query.size(-1)), or query.size(-1) ** 0.5.",
    ),
    "fourth-root": (
        {"divisor": lambda *given: _root(*given) ** 0.5},
        "You divide by the fourth root of the width. If query and key are divided "
        "before their product, then both: together that makes √d.",
    ),
    "multiplied-by-root": (
        {"divisor": lambda *given: 1 / _root(*given)},
        "You multiply by √d. The scores are too large already: divide by it.",
    ),
    "scaled-after-softmax": (
        {
            "divisor": _one,
            "late_divisor": _root,
        },
        "You divide by √d after softmax, so the rows no longer sum to 1. The scale "
        "belongs to the scores: divide first, then softmax.",
    ),
    "scaled-twice": (
        {"divisor": lambda *given: _root(*given) ** 3},
        "You divide by √d and by d: once is enough.",
    ),
    "cosine": (
        [
            {"product": lambda q, k: _unit(q) @ _unit(k).mT, "divisor": divisor}
            for divisor in (_one, _root)
        ],
        "You compare directions only: query and key are brought to length 1 first. In "
        "the paper's score the length counts, too: a plain dot product, divided by √d.",
    ),
    "distance": (
        [{"product": torch.cdist}, {"product": lambda q, k: -torch.cdist(q, k)}],
        "You compare by distance. The paper's score is the dot product, query @ "
        "key.transpose(-2, -1).",
    ),
    "sign": (
        {"product": lambda q, k: -q @ k.mT},
        "The best match gets the least weight: there is a minus too many.",
    ),
    "key-transposed-by-reshape": (
        {"product": lambda q, k: q @ k.reshape(*k.shape[:-2], k.size(-1), k.size(-2))},
        "The key has the right shape but its numbers stand in the wrong places: "
        "reshape and view deal them out anew in the order of memory. Turn the last two "
        "axes round instead: key.transpose(-2, -1).",
    ),
    "mask-flipped": (
        [
            {"hide": lambda s, m: s.masked_fill(m, -math.inf)},
            {"hide": lambda s, m: s.masked_fill(m, -1e9)},
            {"late": lambda w, m: w * ~m},
        ],
        "The mask is the wrong way round: here True means may attend, and you hide "
        "exactly those. (nn.MultiheadAttention has it the other way.) Fill where the "
        "mask is False: scores.masked_fill(~mask, float('-inf')).",
    ),
    "mask-ignored": (
        {"hide": lambda s, m: s},
        "Your function takes a mask but the weights come out as if there were none. "
        + FILL,
    ),
    "mask-added-as-number": (
        [
            {"hide": lambda s, m: s + m.to(s.dtype)},
            {"hide": lambda s, m: s - (~m).to(s.dtype)},
        ],
        "You add the mask to the scores as 0 and 1. That only nudges them: a "
        f"forbidden key must get weight 0 exactly, so its score must be −∞. {FILL}",
    ),
    "mask-multiplied": (
        {"hide": lambda s, m: s * m},
        "You multiply the scores by the mask (or fill with 0), so a forbidden key gets "
        f"the score 0. But e⁰ is 1, and its weight is far from 0. {FILL}",
    ),
    "mask-after-softmax": (
        {"hide": lambda s, m: s, "late": lambda w, m: w * m},
        "You apply the mask after softmax. The forbidden weights are 0, but the "
        "forbidden keys have already taken their share, so the rows sum to less than "
        f"1. {FILL}",
    ),
    "infinite-weights": (
        {"hide": lambda s, m: s, "late": _hidden},
        "You fill with −∞ after softmax, so weights are −∞ and the output is, too. "
        + FILL,
    ),
    "fill-too-large": (
        {"hide": lambda s, m: s.masked_fill(~m, math.inf)},
        "You fill forbidden scores with +∞; e to the power of that is no number. Fill "
        "with −∞.",
    ),
}


for _axis in (0, 1):
    _shared, _scaled = _from_front(_axis)
    SLIPS[f"softmax-axis-counted-from-the-front:{_axis}"] = (
        _shared,
        "Right for two axes, wrong for (batch, head, length, width): you "
        f"normalise over axis {_axis}, counted from the front. Count from the back: "
        "dim=-1.",
    )
    SLIPS[f"scale-axis-counted-from-the-front:{_axis}"] = (
        _scaled,
        "Right for two axes, wrong for (batch, head, length, width): you take the "
        f"width from axis {_axis} of the query, counted from the front. Count from "
        "the back: query.size(-1).",
    )


def _compare(case: Attend, found: Pair) -> None:
    """Raise the known mistake that gives these numbers, else the symptom they show."""
    if not kit.matches(found, case.right()):
        kit.recognise(found, kit.slips(SLIPS, case.of, built))
        name_symptom(case, found)


def name_symptom(case: Attend, found: Pair) -> None:
    """Say what is wrong with numbers that no known mistake gives."""
    _, weights = case.right()
    mine_output, mine_weights = found
    if mine_weights.isnan().any() or mine_output.isnan().any():
        cause = (
            "With a mask, the usual causes are 0 × −∞ (do not multiply by −∞, fill "
            "with it) and −∞ − (−∞), where a row's mean is subtracted: the mean of a "
            "row that holds −∞ is −∞. Subtract its largest number."
            if case.mask is not None
            else "The usual causes are ∞ − ∞ and 0 ÷ 0."
        )
        raise kit.Mistake(
            "nan", f"There is nan (not a number) in what you return. {cause}"
        )
    raw = case["query"] @ case["key"].mT
    scores = raw / math.sqrt(case["query"].size(-1))
    if kit.matches(mine_weights, raw) or kit.matches(mine_weights, scores):
        raise kit.Mistake(
            "returns-scores",
            "The second thing you return is the scores, from before softmax. Return "
            "the weights, which softmax makes from them.",
        )
    if kit.matches(mine_weights, weights):
        raise kit.Mistake(
            "output-is-not-the-mix",
            "Your weights are right, but the output is not their mix of the values. It "
            "should be weights @ value, with exactly the weights that you return.",
        )
    sums = mine_weights.sum(-1)
    if not torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
        raise kit.Mistake(
            "rows-do-not-sum-to-1",
            f"A row of weights must sum to 1; yours sum to {sums.min():.3g} up to "
            f"{sums.max():.3g}. Is softmax the last thing that you do to the weights, "
            "and over the keys (dim=-1)?",
        )
    if case.mask is not None:
        leak = mine_weights.masked_fill(case.mask.expand_as(mine_weights), 0)
        if 0 < leak.abs().max() < 0.05:
            raise kit.Mistake(
                "mask-leaks",
                f"A forbidden key still gets a weight (up to {leak.max():.2g}): you "
                "fill its score with a number that is too small to hide it. Only −∞ "
                "is always enough: masked_fill(~mask, float('-inf')).",
            )
        if leak.abs().max() > 0:
            raise kit.Mistake(
                "mask-leaks",
                "A forbidden key still gets a weight (up to "
                f"{leak.max():.2g}). Its score must be −∞, and the mask must come "
                "before softmax: masked_fill(~mask, float('-inf')).",
            )
    i = int((mine_weights - weights).abs().amax(-1).flatten().argmax())
    row, want = mine_weights.flatten(0, -2)[i], weights.flatten(0, -2)[i]
    raise kit.Mistake(
        "wrong-numbers",
        "The form is right but the numbers are not, and I don't know this mistake. "
        f"For example, row {i} of the weights should be "
        f"[{', '.join(f'{x:.3f}' for x in want)}] and is "
        f"[{', '.join(f'{x:.3f}' for x in row)}]. Go through softmax(QKᵀ/√d) step by "
        "step for one query, as in the section “By hand”.",
    )


# --- the probes, in the order in which they are asked -----------------------------


def one_sentence(mine: kit.Function) -> None:
    """Two axes, no mask, all sizes different."""
    case = Attend.random()
    try:
        found = case.ask(mine)
    except kit.Stopped as stopped:
        _explain_stop(mine, case, stopped)
        raise
    _compare(case, found)


def _explain_stop(mine: kit.Function, case: Attend, stopped: kit.Stopped) -> None:
    """Name the reason why a plain run stopped, if it is one that people know."""
    if stopped.diagnosis != "stops-with-an-error":
        raise stopped
    everything = torch.ones(3, 4, dtype=torch.bool)
    try:
        case.masked(everything).ask(mine)
    except kit.Mistake:
        pass
    else:
        raise kit.Mistake(
            "mask-not-optional",
            "Your function works with a mask and stops without one. The mask is "
            "optional: guard that line with “if mask is not None:”.",
        )
    square = Attend.random(tq=4, tk=4, width=4, out=4)
    try:
        weights = square.ask(mine)[1]
    except kit.Mistake:
        return
    for scale in (1.0, 2.0):
        if kit.matches(weights, (square["query"] @ square["key"] / scale).softmax(-1)):
            raise kit.Mistake(
                "key-not-transposed",
                "It runs only where everything is square, because the key is not "
                "transposed: query @ key multiplies rows by columns that belong to "
                "nobody. Use query @ key.transpose(-2, -1).",
            )
        if kit.matches(
            weights, (square["key"] @ square["query"].mT / scale).softmax(-1)
        ):
            raise kit.Mistake(
                "query-and-key-swapped",
                "Query and key have changed places: key @ queryᵀ has one row per key. "
                "Use query @ key.transpose(-2, -1): one row per query.",
            )
    raise kit.Mistake(
        "only-square",
        "It runs where there are as many keys as queries and as many as a vector has "
        f"numbers, and stops elsewhere: {stopped.message} Write the shape of every "
        "line "
        "beside it, for 3 queries, 4 keys, width 30 and values of width 7.",
    )


def masked(mine: kit.Function) -> None:
    """A mask hides some keys from some queries."""
    mask = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]], dtype=torch.bool)
    case = Attend.random(seed=1, mask=mask)
    _compare(case, case.ask(mine))


def batched(mine: kit.Function) -> None:
    """Batch and head axes, without and with a mask that broadcasts."""
    plain = Attend.random(2, 3, tq=4, tk=5, width=6, out=7, seed=2)
    shapes = "query (2, 3, 4, 6), key (2, 3, 5, 6), value (2, 3, 5, 7)"
    padding = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    padding[1, ..., 3:] = False
    for mask in (None, padding):
        case = plain.masked(mask)
        try:
            found = case.ask(mine)
        except kit.Stopped as stopped:
            if mask is not None:
                raise kit.Mistake(
                    "mask-does-not-broadcast",
                    "It works with a mask of the scores' own shape, and stops with "
                    "one of "
                    "shape (2, 1, 1, 5), which hides the same keys from all heads and "
                    f"queries. Let torch broadcast it. {stopped.message}",
                ) from None
            raise kit.Mistake(
                "only-two-axes",
                "Right for one sentence, but it stops on a batch with heads "
                f"({shapes}). "
                "key.T and key.t() turn all axes round; swap only the last two: "
                f"key.transpose(-2, -1). {stopped.message}",
            ) from None
        known = kit.slips(SLIPS, case.of, built)
        if not any(kit.matches(found, slip.gives) for slip in known):
            _mixing(mine, case, found)
        _compare(case, found)


def _mixing(mine: kit.Function, case: Attend, found: Pair) -> None:
    """No example, and no head, may look into another."""
    for axis, what in ((0, "example"), (1, "head")):
        key, value = case["key"].clone(), case["value"].clone()
        key.select(axis, -1).mul_(-3)
        value.select(axis, -1).add_(5)
        other = Attend({**case.inputs, "key": key, "value": value}, case.keywords)
        output, _ = other.ask(mine)
        if not kit.matches(output.select(axis, 0), found[0].select(axis, 0)):
            raise kit.Mistake(
                f"mixes-{what}s",
                f"Changing the keys and values of the last {what} changes what the "
                "first "
                f"{what} gets: they are mixed. Leave all axes but the last two alone: "
                "no reshape or view, and transpose(-2, -1), not .T.",
            )


def single(mine: kit.Function) -> None:
    """One sentence, one head, one query: axes of size 1 stay."""
    case = Attend.random(1, 1, tq=1, tk=4, seed=4)
    _compare(case, case.ask(mine))


def well_behaved(mine: kit.Function) -> None:
    """Large scores, gradients and single precision."""
    plain = Attend.random(seed=3)
    large = Attend({**plain.inputs, "query": plain["query"] * 1000})
    output, _ = large.ask(mine)
    if not kit.matches(output, large.right()[0]):
        raise kit.Mistake(
            "overflow",
            "With large scores your exponentials overflow (∞ ÷ ∞ is nan). torch's "
            "softmax subtracts the row's maximum first, which changes nothing else: "
            "use scores.softmax(dim=-1).",
        )

    def weighed(pair: Pair) -> Tensor:
        """One number in which the output and the weights both have a part."""
        return pair[0].square().sum() + 3 * pair[1].square().sum()

    leaves = dict(plain.inputs)
    kit.probe_gradients(
        mine, lambda: weighed(plain.ask(mine)), lambda: weighed(plain.right()), leaves
    )
    for kind in (torch.float32, torch.float64):
        same = Attend({name: x.detach().to(kind) for name, x in leaves.items()})
        found = same.ask(mine)[0].dtype
        if found != kind:
            raise kit.Mistake(
                "dtype",
                f"For {kind} inputs the output is {found}. Keep the inputs' own type.",
            )


@kit.grader(one_sentence, masked, batched, single, well_behaved)
def attention(mine: kit.Function) -> str:
    """Grade your own ``attention(query, key, value, *, mask=None)``.

    ``mine`` takes query (..., Tq, Dh), key (..., Tk, Dh), value (..., Tk, Dv) and a
    bool mask, True = may attend; it returns output (..., Tq, Dv) and weights (...,
    Tq, Tk).
    """
    return (
        "It agrees with tformer.attention for one sentence and for batches with "
        "heads, with masks and without, for large scores too; and gradients flow "
        "through it."
    )
