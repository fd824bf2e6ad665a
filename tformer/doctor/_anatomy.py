"""Find the parts of a Transformer in the operations of one forward pass.

Whatever the classes are called: attention is a product of two computed matrices, a
softmax, and a second product; its way out is the next product with a weight; the
residual connection is the sum that follows. Everything here is read from one pass with
a single sequence, so that the shapes of the weights, (heads, queries, keys), tell
which attention it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer.doctor._watch import (
    DROPS,
    FACTORS,
    FILLS,
    MOMENTS,
    NORMS,
    PRODUCTS,
    SOFTMAXES,
    SUMS,
    VIEWS,
    Input,
    Op,
)
from tformer.doctor.report import listed

DEEP = 60  # more steps than lie between any two parts


@dataclass(frozen=True)
class Attention:
    """One attention, as it was computed for one sequence.

    Attributes:
        query, key, value: (H, Tq, Dh) and (H, Tk, Dh), as they were multiplied.
        factor: what the products were multiplied by altogether, before the softmax;
            None if that was no single number.
        d_head: the size Dh over which query and key are multiplied.
        softmax: the operation that made the weights.
        weights: (H, Tq, Tk), as they multiplied the values.
        context: (H, Tq, Dv), what came out.
        merged: (Tq, H Dv), what went into the output projection; None if not found.
        out: the output projection; None if not found.
        into_query, into_key, into_value: what the projections read that made query,
            key and value, or None.
    """

    query: Tensor
    key: Tensor
    factor: float | None
    d_head: int
    softmax: Op
    weights: Tensor
    context: Tensor
    merged: Tensor | None
    out: Op | None
    into_query: Input | None
    into_key: Input | None
    value: Tensor
    into_value: Input | None

    @property
    def shape(self) -> tuple[int, int]:
        """(Tq, Tk): the number of queries and of keys."""
        return self.weights.size(-2), self.weights.size(-1)


@dataclass(frozen=True)
class Lookup:
    """Token ids looked up in a table, and what happens to the vectors.

    Attributes:
        op: the look-up.
        factor: what the vectors are multiplied by.
        vectors: (…, D), after that.
        added: what is added to them before the first layer, in order.
        multiplied: what they are multiplied by instead, if each place has a vector of
            its own; else None.
    """

    op: Op
    factor: float
    vectors: Tensor
    added: tuple[Input, ...]
    multiplied: Input | None = None


def attentions(ops: list[Op]) -> list[Attention]:
    """Every attention of the pass, in order."""
    mixes: dict[int, tuple[Op, int]] = {}
    for op in ops:
        if op.name == "bmm":
            for side, operand in enumerate(_factors(op)):
                origin = _softmax_behind(operand)
                if origin is not None:
                    mixes.setdefault(origin.index, (op, side))
    found: list[Attention] = []
    for op in ops:
        if op.name in SOFTMAXES and op.index in mixes:
            scores = _scores(op.inputs[0])
            if scores is not None:
                mix, side = mixes[op.index]
                found.append(_attention(op, scores, mix, side, ops))
    return found


def _softmax_behind(start: Input) -> Op | None:
    """The softmax that weights come from, whatever is done or added to them."""
    stack = [start]
    for _ in range(DEEP):
        op = stack.pop().made_by if stack else None
        if op is not None and op.name in SOFTMAXES:
            return op
        before = [] if op is None else [e for e in op.inputs if not e.is_parameter]
        if op is not None and op.name in SUMS:
            stack += before
        elif op is not None and before and op.name in VIEWS | DROPS | FACTORS | FILLS:
            stack.append(_main(before, op))
    return None


def summed_up(ops: list[Op]) -> list[Op]:
    """Softmaxes of scores whose weights are added up, and used in no other way."""
    found = []
    for op in ops:
        if op.name in SOFTMAXES and _scores(op.inputs[0]) is not None:
            ends: list[Op] = []
            stack = [op]
            while stack:
                for each in stack.pop().used_by:
                    (stack if each.name in VIEWS | DROPS else ends).append(each)
            if ends and all(each.name == "sum" for each in ends):
                found.append(op)
    return found


def unnormalised(ops: list[Op], lengths: set[int]) -> list[Tensor]:
    """What multiplies the values where it comes from scores, but from no softmax.

    Args:
        ops: of one pass.
        lengths: those of its sequences; scores have two of them as their last axes.
    """
    through = VIEWS | DROPS | FACTORS | FILLS | SUMS | {"sigmoid", "exp", "relu"}
    made = []
    for op in ops:
        if op.name == "bmm":
            for each in _factors(op):
                origin = _origin(each, through)
                is_scores = origin is not None and origin.name in ("bmm", "baddbmm")
                if is_scores and set(each.numbers.shape[-2:]) <= lengths:
                    made.append(each.numbers)
    return made


def by_sigmoid(ops: list[Op], lengths: set[int]) -> bool:
    """Whether scores of such lengths go through a sigmoid."""
    return any(
        op.name == "sigmoid" and set(op.output.shape[-2:]) <= lengths
        for op in ops
        if op.output.dim() > 1
    )


def _factors(op: Op) -> tuple[Input, Input]:
    """The two matrices of a product."""
    return op.inputs[-2], op.inputs[-1]


def _origin(start: Input, through: frozenset[str] | set[str]) -> Op | None:
    """The operation behind a tensor that is not one of those to look through."""
    op = start.made_by
    for _ in range(DEEP):
        if op is None or op.name not in through:
            return op
        before = [each for each in op.inputs if not each.is_parameter]
        op = _main(before, op).made_by if before else None
    return None


def _main(inputs: list[Input], op: Op) -> Input:
    """The input that has the shape of the result: the one that is masked or scaled."""
    inputs = [each for each in inputs if not _is_noise(each)] or inputs
    full = [each for each in inputs if each.tensor.numel() == op.output.numel()]
    made = [each for each in full if each.made_by is not None]
    chosen = made or full or inputs
    return max(chosen, key=lambda each: each.made_by.index if each.made_by else -1)


def _is_noise(start: Input) -> Op | None:
    """What drew a mask of dropout, if a tensor is one, scaled or not."""
    op = start.made_by
    while op is not None and op.name in VIEWS | FACTORS and op.inputs:
        op = op.inputs[0].made_by
    return op if op is not None and op.name == "bernoulli_" else None


def places(ops: Iterable[Op]) -> str:
    """The modules in which operations took place, for a sentence."""
    return listed(op.place or "the model itself" for op in ops)


def _scores(start: Input) -> tuple[Op, float | None] | None:
    """The product of queries and keys behind a softmax, and the factors on the way."""
    best: tuple[Op, float | None] | None = None
    stack: list[tuple[Input, float | None, int]] = [(start, 1.0, 0)]
    while stack:
        each, factor, depth = stack.pop()
        op = each.made_by
        if op is None or depth > DEEP:
            continue
        if op.name in ("bmm", "baddbmm"):
            if not any(_from_parameter(factor_) for factor_ in _factors(op)):
                best = (op, None if factor is None else factor * _alpha(op))
                break
        elif op.name in VIEWS | FILLS | SUMS | FACTORS | DROPS | {
            "rsub",
            "neg",
            "tanh",
        }:
            scaled = _times(factor, op)
            wide = [e for e in op.inputs if e.tensor.numel() > 1]
            stack += [(e, scaled, depth + 1) for e in wide]
    return best


def _times(factor: float | None, op: Op) -> float | None:
    """A factor, after an operation that may multiply by a number."""
    if op.name not in FACTORS or factor is None:
        return factor
    number = _number(op)
    if number is None:
        return None
    return factor / number if op.name.startswith("div") else factor * number


def _alpha(product: Op) -> float:
    """What ``baddbmm`` multiplies its product by."""
    return float(product.keywords.get("alpha", 1.0))


def _number(op: Op) -> float | None:
    """The number that an operation multiplies or divides by; None if it is none."""
    for other in op.arguments[1::-1]:
        if isinstance(other, int | float):
            return float(other)
    for each in op.inputs[::-1]:
        if each.tensor.numel() == 1 and not each.is_parameter:
            return float(each.tensor)
    return None


def _from_parameter(start: Input) -> bool:
    """Whether a matrix is a weight of the model, perhaps seen from another side."""
    each: Input | None = start
    for _ in range(DEEP):
        if each is None or each.is_parameter:
            return each is not None
        op = each.made_by
        if op is not None and op.of_weights:
            return True
        if op is None or op.name not in VIEWS or len(op.inputs) != 1:
            return False
        each = op.inputs[0]
    return False


def _attention(
    softmax: Op, scores: tuple[Op, float | None], mix: Op, side: int, ops: list[Op]
) -> Attention:
    product, factor = scores
    first, second = _factors(product)
    query, key = first.numbers, second.numbers.transpose(-1, -2)
    weights, mixed = _factors(mix)[side].numbers, _factors(mix)[1 - side]
    context = mix.result
    if side == 1:  # written the other way round: values times weights
        weights, context = weights.transpose(-1, -2), context.transpose(-1, -2)
    for each in (first, second):
        factor = _through_projection(each, factor)
    out, merged = _output(mix, ops)
    value = mixed.numbers.transpose(-1, -2) if side == 1 else mixed.numbers
    made = softmax.result
    rows = max(query.size(-2), weights.size(-2))
    if made.numel() == weights.numel() and made.size(-2) < rows:
        # heads that share keys, laid below one another by einsum: one by one again
        query, weights, context = (
            each.reshape(-1, made.size(-2), each.size(-1))
            for each in (query, weights, context)
        )
        key, value = (
            each.repeat_interleave(len(query) // len(each), dim=0)
            for each in (key, value)
        )
    return Attention(
        query=query,
        key=key,
        factor=factor,
        d_head=query.size(-1),
        softmax=softmax,
        weights=weights,
        context=context,
        merged=merged,
        out=out,
        into_query=_projected(first),
        into_key=_projected(second),
        value=value,
        into_value=_projected(mixed),
    )


def _through_projection(start: Input, factor: float | None) -> float | None:
    """The factor, with what query or key was multiplied by after its projection."""
    op = start.made_by
    for _ in range(DEEP):
        if op is None or op.name in PRODUCTS:
            return factor
        if op.name in FACTORS:
            if _number(op) is None and any(
                e.is_parameter or _is_length(e) for e in op.inputs
            ):
                return None  # a gain or a length: query and key are normalised
            if _number(op) is None:
                return factor  # rotary positions, which keep the length
            factor = _times(factor, op)
        elif op.name not in VIEWS | SUMS | {"neg"}:
            return (
                None if op.name in NORMS | {"rsqrt", "linalg_vector_norm"} else factor
            )
        before = [e for e in op.inputs if not e.is_parameter]
        op = _main(before, op).made_by if before else None
    return factor


def _is_length(start: Input) -> bool:
    """Whether it is the length of vectors, perhaps clamped and seen from elsewhere."""
    op = start.made_by
    while op is not None and op.name in VIEWS | {"clamp_min", "clamp", "maximum"}:
        op = op.inputs[0].made_by
    return op is not None and op.name in {"rsqrt", "linalg_vector_norm"}


def _projected(start: Input) -> Input | None:
    """What the projection read that made a query or a key."""
    op = _origin(start, VIEWS | FACTORS | SUMS | {"neg"})
    if op is None or op.name not in PRODUCTS:
        return None
    first, second = _factors(op)
    return second if _from_parameter(first) else first


def _output(mix: Op, ops: list[Op]) -> tuple[Op | None, Tensor | None]:
    """The output projection of an attention, and what went in, (Tq, H Dv)."""
    for op in ops[mix.index + 1 :]:
        if op.name in PRODUCTS:
            first, second = _factors(op)
            if _from_parameter(second) and _origin(first, VIEWS | DROPS) is mix:
                return op, first.numbers.reshape(-1, first.numbers.size(-1))
    return None, None


def unembedding(ops: list[Op], n_logits: int) -> Op | None:
    """The last product with a weight: the one that makes the logits."""
    for op in reversed(ops):
        if op.name in PRODUCTS and op.output.size(-1) == n_logits:
            return op
    return None


def lookups(ops: list[Op], ids: Tensor) -> list[Lookup]:
    """Where these token ids are looked up, and what is added to their vectors."""
    found = []
    wanted = sorted(ids.flatten().tolist())
    for op in ops:
        if op.name == "embedding":
            indices = op.inputs[1].tensor
            if sorted(indices.flatten().tolist()) == wanted:
                found.append(_followed(op))
    return found


def _followed(op: Op) -> Lookup:
    factor, vectors, current = 1.0, op.result, op
    added: list[Input] = []
    for _ in range(DEEP):
        if any(e.name in PRODUCTS | NORMS | MOMENTS for e in current.used_by):
            break  # from here on it is read: what is added later is a residual
        nexts = [e for e in current.used_by if e.output.numel() >= op.output.numel()]
        following = next(
            (e for e in nexts if e.name in VIEWS | FACTORS | SUMS | DROPS), None
        )
        if following is None:
            break
        if following.name in FACTORS:
            number = _number(following)
            if number is None and not added:
                wanted = following.output.squeeze().shape
                others = [e for e in following.inputs if e.made_by is not current]
                by_place = [e for e in others if e.tensor.squeeze().shape == wanted]
                if len(by_place) == 1 and not _comes_from(by_place[0], op):
                    return Lookup(op, factor, vectors, (), by_place[0])
            if number is None or added:  # what was added is multiplied, too
                break
            by = 1 / number if following.name.startswith("div") else number
            factor, vectors = factor * by, vectors * by
        elif following.name in SUMS:
            others = [e for e in following.inputs if e.made_by is not current]
            if len(others) != 1 or others[0].tensor.numel() == 1:
                break
            if _origin(others[0], VIEWS | DROPS | FACTORS) in current_line(current):
                break  # a residual sum of the first layer
            added.append(others[0])
        current = following
    return Lookup(op, factor, vectors, tuple(added))


def _comes_from(start: Input, op: Op) -> bool:
    """Whether a tensor was made from an operation's result."""
    return start.made_by is not None and op in current_line(start.made_by)


@dataclass(frozen=True)
class FeedForward:
    """Two products with weights, one after the other, as wide as the stream.

    Attributes:
        first, second: the products.
        bends: whether anything between them is not linear.
    """

    first: Op
    second: Op
    bends: bool


def feed_forwards(ops: list[Op], found: list[Attention]) -> list[FeedForward]:
    """Every feed-forward network behind the first attention."""
    outs = [each.out for each in found if each.out is not None]
    if not outs:
        return []
    width, begin = outs[0].output.size(-1), found[0].softmax.index
    n_rows = {each.context.size(-2) for each in found}
    pairs = []
    for op in ops[begin:]:
        if op.name not in PRODUCTS or op in outs or op.output.size(-1) != width:
            continue
        if op.output.numel() // width not in n_rows or _feeds_attention(op):
            continue
        first, bends = _product_before(op)
        if first is None or first.index < begin or first in outs:
            continue
        read = states(first)
        if read is not None and read.tensor.size(-1) == width:
            pairs.append(FeedForward(first, op, bends))
    return pairs


def states(product: Op) -> Input | None:
    """The factor of a product that is no weight, if the other one is."""
    sides = _factors(product)
    real = [each for each in sides if not _from_parameter(each)]
    return real[0] if len(real) == 1 else None


def _product_before(product: Op) -> tuple[Op | None, bool]:
    """The product with a weight that this one reads, and if there is a bend between."""
    start, bends = states(product), False
    op = None if start is None else start.made_by
    for _ in range(DEEP):
        if op is None or op.name in NORMS | MOMENTS | SOFTMAXES | {"embedding"}:
            return None, bends
        if op.name in PRODUCTS:
            return (op if states(op) is not None else None), bends
        before = [each for each in op.inputs if not each.is_parameter]
        full = [each for each in before if each.tensor.numel() == op.output.numel()]
        if op.name in SUMS and len(full) > 1:
            parts = {_origin(each, VIEWS | DROPS) for each in full}
            if len(parts) > 1 and (bends or not _read_one(parts)):
                return None, bends  # else all are parts of one product, as in a GLU
        linear = VIEWS | DROPS | SUMS
        if op.name not in linear and not (op.name in FACTORS and len(full) == 1):
            bends = True
        op = _main(before, op).made_by if before else None
    return None, bends


def _read_one(parts: set[Op | None]) -> bool:
    """Whether all are products with weights of one and the same tensor."""
    reads = [
        states(each) if each is not None and each.name in PRODUCTS else None
        for each in parts
    ]
    first = {None if each is None else _origin(each, VIEWS) for each in reads}
    return None not in first and len(first) == 1


BENDS = frozenset({"silu", "gelu", "relu", "sigmoid"})


def bends_product(network: FeedForward) -> bool:
    """Whether the bend comes after two projections have been multiplied."""
    read = states(network.second)
    bend = None if read is None else _origin(read, VIEWS | DROPS)
    if bend is None or bend.name not in BENDS:
        return False
    product = _origin(bend.inputs[0], VIEWS)
    if product is None or product.name not in FACTORS:
        return False
    origins = {_origin(each, VIEWS | SUMS) for each in product.inputs}
    return len(origins) == 2 and all(o and o.name in PRODUCTS for o in origins)


def _feeds_attention(op: Op) -> bool:
    """Whether a product makes queries, keys or values."""
    stack = [op]
    for _ in range(DEEP):
        if not stack:
            break
        each = stack.pop()
        for following in each.used_by:
            if following.name == "bmm" and states(following) is None:
                return True
            if following.name in VIEWS | FACTORS | DROPS | SUMS | {"neg"}:
                stack.append(following)
    return False


@dataclass(frozen=True)
class Residual:
    """A sum of the stream.

    Attributes:
        total: the sum.
        skip: what was there before the sublayer.
        branch: what the sublayer adds.
    """

    total: Op
    skip: Input
    branch: Input


def residuals(ops: list[Op], width: int) -> list[Residual]:
    """Every sum of two tensors of the stream's width, the earlier one the skip."""
    found = []
    for op in ops:
        if op.name in SUMS and op.output.dim() >= 2 and op.output.size(-1) == width:
            full = [
                each
                for each in op.inputs
                if each.tensor.shape == op.output.shape
                and each.made_by is not None
                and not each.is_parameter
            ]
            if len(full) == 2:
                skip, branch = sorted(full, key=lambda e: e.made_by.index)  # type: ignore[union-attr]
                found.append(Residual(op, skip, branch))
    return found


def multiplied(ops: list[Op], width: int) -> list[tuple[Residual, float]]:
    """Residual sums whose skip is the stream times a number above 1.

    A factor of what a norm reads next, as in DeepNorm, is sound, and so is one of
    embeddings.
    """
    sums = residuals(ops, width)
    skips = {_origin(each.skip, VIEWS | DROPS | FACTORS) for each in sums}
    made = {each.total for each in sums if comes_from_product(each.branch)}
    found = []
    for each in sums:
        factor, scaled, twice = 1.0, each.skip.made_by, False
        op = scaled
        while op is not None and op.name in VIEWS | DROPS | FACTORS | SUMS:
            full = [e for e in op.inputs if e.tensor.shape == op.output.shape]
            if op.name in SUMS:
                if len(full) != 2 or full[0].made_by is not full[1].made_by:
                    break
                factor, twice = 2 * factor, True
            elif op.name in FACTORS:
                if (number := _number(op)) is None:
                    break
                factor *= 1 / number if op.name.startswith("div") else number
            op = _main(op.inputs, op).made_by
        if factor < 1.01 or op is None or op is scaled or each.branch.made_by is None:
            continue
        if op.name in PRODUCTS and each.skip.made_by is not None:
            continue  # a sublayer's result, which another finding misses x beside
        past = scaled not in current_line(each.branch.made_by)
        stays = each.total in skips and (past or op in made)
        if twice or (stays and op.name != "embedding"):
            found.append((each, factor))
    return [e for e in found if e[0].skip.made_by is not e[0].branch.made_by]


def comes_from_product(branch: Input) -> bool:
    """Whether what is added was made by a product with a weight: a sublayer did it."""
    op = _origin(branch, VIEWS | DROPS | FACTORS | SUMS)
    return op is not None and op.name in PRODUCTS


def bent_branches(ops: list[Op], width: int) -> list[Residual]:
    """Residual sums to which a product with a weight is added through a bend."""
    found = []
    for each in residuals(ops, width):
        bend = _unscaled(each.branch)
        if bend is not None and bend.name in BENDS:
            product = _origin(bend.inputs[0], VIEWS | SUMS)
            if product is not None and product.name in PRODUCTS:
                found.append(each)
    return found


def from_norm(ops: list[Op], width: int) -> list[Residual]:
    """Residual connections that add to a norm's output what should go to the stream.

    Such a sum goes on as a pre-norm stream: it is normalised for the next sublayer,
    and passes that by as it is. After a norm, a post-norm model's sum does only the
    former.
    """
    sums = residuals(ops, width)
    wrong = []
    for each in sums:
        origin = _origin(each.skip, VIEWS)
        if norm_behind(each.skip) is None or not _reads(each.branch, origin):
            continue
        beyond = [r for r in sums if _origin(r.skip, VIEWS) is each.total]
        if any(not _reads(r.branch, each.total) for r in beyond):
            wrong.append(each)
    return wrong


def norm_added(ops: list[Op], width: int) -> list[Residual]:
    """Sums of a norm and what was made of it, that are added to the norm's input."""
    sums = residuals(ops, width)
    outer = {_origin(e.branch, VIEWS | DROPS | FACTORS): _origin(e.skip, OF_SQUARES)
             for e in sums}  # fmt: skip
    return [
        each
        for each in sums
        if comes_from_product(each.branch)
        and (norm := _given_to_norm(each.skip)) is not None
        and outer.get(each.total) is norm
    ]


def bent_streams(ops: list[Op], width: int) -> list[Residual]:
    """Sums that go through a bend before something is added to them."""
    sums = residuals(ops, width)
    skips = [_origin(each.skip, VIEWS | DROPS) for each in sums]
    bent = [_origin(e.inputs[0], VIEWS) for e in skips if e and e.name in BENDS]
    return [e for e in sums if e.total in bent and comes_from_product(e.branch)]


def stale(ops: list[Op], width: int) -> tuple[list[Residual], list[Residual]]:
    """Sums that the next sublayer reads, and that its result is not added to.

    Returns:
        Those that the stream goes on without, and those that are added once more to
        what they began with.
    """
    sums = residuals(ops, width)
    passed: list[Residual] = []
    twice: list[Residual] = []
    for each in sums:
        assert each.branch.made_by is not None and each.skip.made_by is not None
        line, kept = current_line(each.branch.made_by), current_line(each.skip.made_by)
        newer = [e for e in sums if e.total in line - kept and e.skip.made_by in kept
                 and comes_from_product(e.branch)]  # fmt: skip
        same = [e for e in newer if e.skip.made_by is each.skip.made_by]
        made = _origin(each.branch, VIEWS | DROPS | FACTORS)
        if _starts_at(each.skip.made_by, _origin(each.branch, VIEWS | DROPS), sums):
            twice += same
        elif made is None or made.name not in PRODUCTS or _feeds_attention(each.total):
            passed += same
        else:
            passed += [e for e in newer if not _reads_later(each, line, e.total.index)]
    return passed, twice


def _starts_at(start: Op, total: Op | None, sums: list[Residual]) -> bool:
    """Whether a sum of the stream goes back, from skip to skip, to an operation."""
    inner = {each.total: each.skip.made_by for each in sums}
    while total in inner:
        total = inner[total]
        if total is start:
            return True
    return False


def _reads_later(each: Residual, line: set[Op], index: int) -> bool:
    """Whether a product after an index reads the skip, or its norm."""
    skip = _origin(each.skip, VIEWS)
    return any(
        skip in (_origin(read, VIEWS), _given_to_norm(read))
        for op in line
        if op.index > index and op.name in PRODUCTS
        for read in op.inputs
    )


OF_SQUARES = VIEWS | {"pow", "square"}


def _given_to_norm(read: Input | None) -> Op | None:
    """What made the numbers from which a norm made these."""
    norm = norm_behind(read)
    return None if norm is None else _origin(norm.inputs[0], OF_SQUARES)


def half_normed(each: Attention) -> bool:
    """Whether its queries, keys and values read a norm's input and its output."""
    reads = (each.into_query, each.into_key, each.into_value)
    origins = {_origin(e, OF_SQUARES) for e in reads if e is not None} - {None}
    return any(_given_to_norm(e) in origins for e in reads)


def normed_branches(ops: list[Op], width: int) -> list[Residual]:
    """Residual sums x + norm(sublayer(x)): nothing has normalised what is read."""
    return [
        each
        for each in residuals(ops, width)
        if norm_behind(each.branch) is not None
        and _reads(each.branch, _origin(each.skip, VIEWS))
    ]


def _reads(branch: Input, origin: Op | None) -> bool:
    """Whether a sublayer's first product reads this very tensor."""
    if branch.made_by is None or origin is None:
        return False
    for op in current_line(branch.made_by):
        if (
            op.index > origin.index
            and op.name in PRODUCTS
            and any(_is_same(_origin(each, VIEWS), origin) for each in op.inputs)
        ):
            return True
    return False


def _is_same(one: Op | None, other: Op) -> bool:
    """Whether two operations are one, or one that was computed twice."""
    if one is None or one is other:
        return one is other
    return one.name == other.name and torch.equal(one.result, other.result)


HIDDEN = -1e3  # a score below that was filled in, or had that much added
WEAK = -50.0  # a score that is filled with more than this keeps some weight


def _line_of_scores(each: Attention) -> Iterator[tuple[Op, list[Tensor]]]:
    """From the softmax back to the product: each step, and what else it reads."""
    op = each.softmax.inputs[0].made_by
    for _ in range(DEEP):
        if op is None:
            return
        yield op, [e.tensor for e in op.inputs if _scores(e) is None]
        lines = [e for e in op.inputs if _scores(e) is not None]
        op = lines[0].made_by if lines and op.name not in PRODUCTS else None


def blind(each: Attention) -> Tensor:
    """Which queries may see no key at all, (Tq,)."""
    scores = each.softmax.inputs[0].numbers
    return scores.reshape(-1, each.shape[0], scores.size(-1)).amax((0, 2)) < HIDDEN


def wrong_axis(each: Attention) -> int | None:
    """The axis of its softmax, if that isn't the last."""
    axis = int(each.softmax.arguments[1])
    return None if axis in (-1, each.softmax.output.dim() - 1) else axis


def softmax_twice(ops: list[Op]) -> list[Op]:
    """The softmaxes that are given what another softmax made."""
    through = VIEWS | DROPS | FACTORS | FILLS
    return [op for op in ops if op.name in SOFTMAXES and op.output.dim() > 2
            and (before := _origin(op.inputs[0], through)) is not None
            and before.name in SOFTMAXES]  # fmt: skip


def weak_fill(each: Attention) -> float | None:
    """What the scores that a mask hides become, or get added, if that is too little.

    It is 1 if a mask of 0 and 1 is added. A soft cap after the mask brings back what
    the mask hides.
    """
    capped = WEAK
    for op, others in _line_of_scores(each):
        if op.name == "tanh":
            capped = float(each.softmax.inputs[0].numbers.min())
        masks = [e.tensor for e in op.inputs if e.tensor.dtype == torch.bool]
        if op.name in ("masked_fill", "masked_fill_", "where") and masks:
            numbers = [a for a in op.arguments if isinstance(a, int | float)]
            numbers += [float(e.tensor) for e in op.inputs if e.tensor.numel() == 1
                        and e.tensor.is_floating_point()]  # fmt: skip
            if any(number > WEAK for number in numbers) and masks[0].numel() > 1:
                return max(numbers)
            if numbers and capped > WEAK:
                return capped
        elif op.name in SUMS | {"baddbmm"}:
            for other in others:
                values = other.unique().tolist() if other.numel() > 1 else []
                is_mask = len(values) == 2 and 0 in values
                if is_mask and WEAK < sum(values) <= 1:
                    return float(sum(values))
                if is_mask and sum(values) < WEAK < capped:
                    return capped
    return None


def has_bias(each: Attention) -> bool:
    """Whether anything but a mask is added to the scores."""
    return any(
        len(other.unique()) > 2
        for op, others in _line_of_scores(each)
        if op.name in SUMS
        for other in others
    )


def dropped_afterwards(ops: list[Op], product: Op) -> Op | None:
    """The operation that strikes out part of a product's result, or None."""
    stack, seen = [product], {product}
    while stack:
        op = stack.pop()
        for following in op.used_by:
            if strikes_out(following):
                return following
            if following.name in VIEWS | FACTORS | SUMS and following not in seen:
                seen.add(following)
                stack.append(following)
    return None


def strikes_out(op: Op) -> bool:
    """Whether an operation is dropout, in one piece or as a product with its mask."""
    if op.name in ("native_dropout", "bernoulli_"):
        return True
    return op.name in FACTORS and _dropout_mask(op) is not None


def _dropout_mask(op: Op) -> Op | None:
    """What drew the mask that a product multiplies by, or None."""
    return next(filter(None, map(_is_noise, op.inputs)), None)


def dropout_rate(op: Op) -> float | None:
    """With which probability dropout strikes a number out; None if it isn't known."""
    if op.name == "native_dropout":
        return float(op.arguments[1])
    if op.name not in FACTORS or len(op.inputs) < 2:
        return None
    mask = _dropout_mask(op)
    kept = None if mask is None or len(mask.arguments) < 2 else mask.arguments[1]
    return 1 - kept if isinstance(kept, float) else None


def struck_before(ops: list[Op]) -> tuple[list[Op], int]:
    """The softmaxes whose scores go through dropout first, and how many there are."""
    struck, n = [], 0
    for op in ops:
        if op.name in SOFTMAXES and _scores(op.inputs[0]) is not None:
            n += 1
            if _meets_dropout(op.inputs[0]):
                struck.append(op)
    return struck, n


def _meets_dropout(start: Input) -> bool:
    """Whether dropout stands between a product of queries and keys and what follows."""
    stack = [(start, False, 0)]
    while stack:
        each, struck, depth = stack.pop()
        op = each.made_by
        if op is None or depth > DEEP:
            continue
        if op.name in ("bmm", "baddbmm") and not any(
            map(_from_parameter, _factors(op))
        ):
            return struck
        if op.name in VIEWS | FILLS | SUMS | FACTORS | DROPS:
            here = struck or strikes_out(op)
            stack += [(e, here, depth + 1) for e in op.inputs if e.tensor.numel() > 1]
    return False


def current_line(op: Op) -> set[Op]:
    """An operation and everything that led to it."""
    seen: set[Op] = set()
    stack = [op]
    while stack:
        each = stack.pop()
        if each not in seen:
            seen.add(each)
            stack += [e.made_by for e in each.inputs if e.made_by is not None]
    return seen


# --- norms and the residual stream ---------------------------------------------------


def norm_behind(start: Input | None) -> Op | None:
    """The norm that a tensor comes from, or None if it is a sum of the stream."""
    if start is None or start.made_by is None:
        return None
    stack = [(start.made_by, 0)]
    while stack:
        op, depth = stack.pop()
        if op.name in NORMS or op.name in MOMENTS:
            return op
        if depth > DEEP or op.name not in _OF_A_NORM:
            continue
        inputs = [e for e in op.inputs if e.made_by is not None and not e.is_parameter]
        if op.name in SUMS:
            sizes = {e.tensor.numel() for e in inputs if e.tensor.numel() > 1}
            if len(inputs) > 1 and len(sizes) == 1:
                continue  # two full tensors: the residual sum
        for each in inputs:
            if each.made_by is not None:
                stack.append((each.made_by, depth + 1))
    return None


_OF_A_NORM = VIEWS | SUMS | FACTORS | DROPS | {"rsqrt", "sqrt", "pow", "square"}


def after(op: Op) -> str:
    """What follows a sublayer's last projection.

    Returns:
        ``"sum"`` (a residual connection), ``"norm and sum"``, or ``""`` for neither.
    """
    current = op
    for _ in range(DEEP):
        for following in current.used_by:
            if following.name in SUMS and _joins_earlier(following, op):
                norms = [norm_behind(each) for each in following.inputs]
                between = any(n is not None and n.index > op.index for n in norms)
                return "norm and sum" if between else "sum"
        if not current.used_by or current.used_by[-1].name in PRODUCTS:
            return ""
        current = current.used_by[-1]
    return ""


def joins_later(op: Op) -> bool:
    """Whether a sublayer's result is added to something that was computed after it."""
    current = op
    for _ in range(DEEP):
        for following in current.used_by:
            full = [e for e in following.inputs if not e.is_parameter
                    and e.tensor.numel() == following.output.numel()]  # fmt: skip
            if following.name in SUMS and len({e.made_by for e in full}) > 1:
                return True
        names = {following.name for following in current.used_by}
        if not names or names & (PRODUCTS | NORMS | MOMENTS):
            break
        current = current.used_by[-1]
    return False


def _joins_earlier(total: Op, op: Op) -> bool:
    """Whether a sum adds something of full size that was there before an operation."""
    full = [e for e in total.inputs if e.tensor.numel() == total.output.numel()]
    origins = [_unscaled(e) for e in full if not e.is_parameter]
    return any(e is None or e.index < op.index for e in origins)


def _unscaled(start: Input) -> Op | None:
    """What made a tensor, but for a factor that is a number or a weight."""
    op = start.made_by
    while op is not None and op.name in VIEWS | FACTORS:
        wide = [e for e in op.inputs if not e.is_parameter and e.tensor.numel() > 1]
        if len(wide) != 1:
            break
        op = wide[0].made_by
    return op


def norms(ops: list[Op]) -> Iterator[tuple[Op, tuple[int, ...], Tensor]]:
    """Each norm, the axes that it averages over (from the end), and its input."""
    for op in ops:
        taken = op.inputs[0].tensor if op.inputs else None
        if taken is None or taken.dim() < 2:
            continue
        if op.name == "native_layer_norm":
            n = len(op.arguments[1])
            yield op, tuple(range(-n, 0)), taken
        elif op.name in ("native_group_norm", "native_batch_norm", "cudnn_batch_norm"):
            yield op, (-2,), taken
        elif op.name in ("var", "std", "var_mean", "std_mean") or (
            op.name == "mean" and (_is_a_moment(op) or not op.output.dim())
        ):
            axes = op.arguments[1] if len(op.arguments) > 1 else None
            n_axes = taken.dim()
            if not op.output.dim() and _scales(op, taken):
                yield op, tuple(range(-n_axes, 0)), taken
            elif isinstance(axes, list | tuple):
                yield op, tuple(a - n_axes if a >= 0 else a for a in axes), taken


def gains(ops: list[Op]) -> Iterator[tuple[Op, Tensor]]:
    """Each norm with the vector, made of weights alone, that it multiplies by."""
    for op in ops:
        if op.name in NORMS:
            wide = [e.tensor for e in op.inputs[1:2] if e.tensor.numel() > 1]
            yield from ((op, each) for each in wide)
        elif op.name in ("mul", "mul_"):
            vectors = [e for e in op.inputs if _from_parameter(e)]
            rest = [e for e in op.inputs if e.tensor.shape == op.output.shape]
            if len(vectors) == len(rest) == 1 and norm_behind(rest[0]) is not None:
                vector = vectors[0].tensor
                if 1 < vector.numel() == op.output.size(-1):
                    yield op, vector


def norm_eps(ops: list[Op]) -> Iterator[tuple[Op, float, float]]:
    """Each norm with its eps, and the mean square (or variance) that it is added to."""
    for op, axes, taken in norms(ops):
        x = taken.float()
        if op.name == "native_layer_norm":
            yield op, float(op.arguments[4]), float(x.var(-1, correction=0).mean())
        elif axes == (-1,):
            followers = [op, *op.used_by]
            for each in (f for e in followers for f in e.used_by):
                numbers = [a for a in each.arguments if isinstance(a, float)]
                if each.name in SUMS and numbers and each.output.size(-1) == 1:
                    base = each.inputs[0].tensor.float().abs().mean()
                    yield op, numbers[0], float(base)


def _scales(op: Op, taken: Tensor) -> bool:
    """Whether a single number becomes a factor of something as large as its input."""
    stack, seen = [op], 0
    while stack and seen < DEEP:
        seen += 1
        for following in stack.pop().used_by:
            if following.output.numel() == taken.numel():
                return following.name in FACTORS
            stack.append(following)
    return False


def _is_a_moment(op: Op) -> bool:
    """Whether a mean keeps its axis: it is going to be subtracted or divided by."""
    return op.output.dim() == op.inputs[0].tensor.dim()


def uniform(weights: Tensor) -> bool:
    """Whether each row spreads its weight evenly over whatever it sees."""
    rows = [row[row > 0] for row in weights.reshape(-1, weights.size(-1))]
    for seen in rows:
        if len(seen) and (seen.max() - seen.min()) > 1e-5 * seen.max():
            return False
    return any(len(seen) > 1 for seen in rows)


def expected_factor(d_head: int) -> float:
    """1/√Dh, the paper's."""
    return 1 / math.sqrt(d_head)


def spread(tensor: Tensor) -> float:
    """The root of the mean square of all entries."""
    return float(torch.sqrt((tensor.float() ** 2).mean()))
