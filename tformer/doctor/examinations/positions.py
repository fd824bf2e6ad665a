"""The model knows the order of the words, once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._patient import FAR, Patient, Skip
from tformer.doctor._watch import FACTORS, PRODUCTS, Input, Op, storage
from tformer.doctor.report import INITIAL, Finding

CHAPTER = "Positions"
SIDES = ("source", "target")
WORDS = 12  # whose queries show how a rotation turns
FASTEST = 1.2  # angle from one place to the next; a sound one's is 1
SAME = 1e-6  # of a query's length: rounding stays below
STILL = 1e-3  # such an angle is none
FAST = 0.85  # of the columns of a table of waves; half of a sound one's are slow


def examine(patient: Patient) -> Iterator[Finding]:
    """Feed one word over and over, then see whether attention can tell places apart."""
    patient.has_numbers()
    if patient.lengths_must_agree:
        raise Skip("source and target must have one length: fix that first")
    found = _of_one_word(patient, 41)
    if not found:
        raise Skip("no softmax between two matrix products was seen")
    bare: list[int] = []
    for side, n in enumerate((patient.n_source, patient.n_target)):
        layers = [each for each in found if each.shape == (n, n)]
        if layers and (finding := _one_sided(layers[0], SIDES[side])):
            yield finding
        elif layers and all(_anatomy.uniform(each.weights) for each in layers):
            if all(_anatomy.uniform(e.weights) for e in patient.self_attention(side)):
                yield _all_equal(SIDES[side], len(layers))
                continue
            bare.append(side)
            is_causal = not any(bool(each.weights.triu(1).any()) for each in layers)
            unused = _unused_table(patient, n)
            yield Finding(
                code="no-positions",
                title=f"the {SIDES[side]} has no positions",
                tried="fed one word over and over, and looked at the self-attention.",
                seen=f"in {len(layers)} of {len(layers)} layers every place that may "
                f"be seen gets exactly the same weight.{unused}",
                means="the model sees a bag of words: “dog bites man” and “man bites "
                "dog” are the same sentence to it."
                if not is_causal
                else "nothing but the causal mask tells words that came earlier apart.",
                look="whether the positions are added to the embeddings, and on both "
                "sides; x + pe(x) has to be kept, since + makes a new tensor.",
                because=BARE,
                design=NOPE
                if is_causal
                and not (unused or _has_places(patient))
                and (patient.decoder_only or 0 in bare)
                else "",
            )
        elif layers:
            yield from _biased(layers[0], SIDES[side])
            yield from _turned_values(layers[0], SIDES[side])
            yield from _turned(patient, layers[0], side)
    yield from _places_as_words(patient)
    yield from _added(patient)
    yield from _again(patient)


BARE = (  # what leaves positions, or scores, without any effect
    "positions-along-batch", "norm-eps-too-large", "norm-not-normalising",
    "mask-inverted", *INITIAL,
)  # fmt: skip


def _all_equal(side: str, n: int) -> Finding:
    return Finding(
        code="scores-all-equal",
        title=f"attention in the {side} gives every word the same weight",
        tried="fed one word over and over, and different ones.",
        seen=f"in {n} of {n} layers every place that may be seen gets exactly the same "
        "weight, whatever stands there.",
        means="nothing is chosen: each word gets the average of all.",
        look="what the scores are multiplied by: a mask of 0 and −inf is added, not "
        "multiplied; queries or keys that are all zeros, or next to it.",
        chapter="Attention",
        because=BARE,
    )


def _biased(first: _anatomy.Attention, side: str) -> Iterator[Finding]:
    """What does distance do to the weights, if keys and queries know no places?"""
    n = first.shape[0]
    if not _is_one_vector(first.into_key, n):
        return
    logs = first.weights.double().log()
    steps, middle = logs[:, -1].diff(dim=-1), n // 2
    mean = steps.mean(dim=-1, keepdim=True)
    tried = "fed one word over and over, and compared its weights."
    if bool((mean < -1e-3).all() and ((steps - mean).abs() < 1e-2 * -mean).all()):
        yield Finding(
            code="distance-favoured",
            title=f"in the {side} words attend the more, the further away a word is",
            tried=tried,
            seen="in every head a word one place further back has "
            f"{float((-mean).exp().min()):.3g} to {float((-mean).exp().max()):.3g} "
            "times the weight.",
            means="the nearest words, which tell most, count least.",
            look="the sign of ALiBi's bias: −slope · distance, so slope · (j − i) for "
            "query i and an earlier key j.",
        )
    sides = (logs[:, middle, :middle], logs[:, middle, middle + 1 :])
    if not all(bool(each.isfinite().all()) for each in sides):
        return  # a causal mask
    even = [float((each.amax(-1) - each.amin(-1)).max()) < 1e-5 for each in sides]
    if sum(even) == 1:
        where = "left" if even[0] else "right"
        yield Finding(
            code="positions-one-sided",
            title=f"the {side} can't tell places to the {where} of a word apart",
            tried=tried,
            seen=f"all places to its {where} have exactly the same, and the others "
            "don't.",
            means="what stands next to a word and what stands far away look the same.",
            look="the distance that is looked up: clamp(-reach, reach) + reach, not "
            "clamp(0, reach), abs() on one side, or a negative index.",
            because=("future-leak", "mask-fills-weakly"),
        )


def _of_one_word(
    patient: Patient, seed: int, n: int | None = None
) -> list[_anatomy.Attention]:
    """The attentions where each side is one word over and over, n times if given."""
    word_s = None if patient.decoder_only else patient.words(1, seed=seed, side=0)
    word_t = patient.words(1, seed=seed + 1)
    source = None if word_s is None else word_s.expand(1, n or patient.n_source).clone()
    return patient.watch(source, word_t.expand(1, n or patient.n_target).clone())[1]


def _again(patient: Patient) -> Iterator[Finding]:
    """Does a place further on look like an earlier one, with others in between?"""
    n = min(patient.longest or FAR, FAR)
    try:
        found = _of_one_word(patient, 51, n)
    except Skip:
        raise
    except Exception:  # sources have a limit of their own
        return
    for each in found:
        if each.shape != (n, n):
            continue
        rows = each.query.transpose(0, 1).flatten(1).double()  # (T, H Dh)
        same = torch.cdist(rows, rows) < SAME * float(rows.norm(dim=-1).max())
        for first in range(n):
            other = (~same[first, first:]).nonzero().flatten()
            again = same[first, first + int(other[0]) :] if len(other) else other
            if bool(again.any()):
                place = first + int(other[0]) + int(again.int().argmax())
                yield Finding(
                    code="places-repeat",
                    title="two places have the same position",
                    tried=f"fed one word {n} times, and compared its queries.",
                    seen=f"place {place} looks like place {first}, and those in "
                    "between don't.",
                    means="the model can't tell such places apart, nor how far away "
                    "they are.",
                    look="a remainder (%), or a counter that is reset, where positions "
                    "are numbered; a table that is too short for the text.",
                    because=(*BARE, "positions-repeat", "positions-too-fast"),
                )
                return


def _places_as_words(patient: Patient) -> Iterator[Finding]:
    """Are places looked up in the table of words?"""
    ops, _ = patient.watch(patient.source(), patient.target())
    tables = {storage(each.op.inputs[0].tensor) for each in patient.lookups()}
    for op in ops:
        if op.name != "embedding" or storage(op.inputs[0].tensor) not in tables:
            continue
        places = op.inputs[1].tensor.flatten().tolist()
        if len(places) > 2 and places == [*range(places[0], places[0] + len(places))]:
            yield Finding(
                code="positions-are-words",
                title="positions are looked up in the table of words",
                tried="looked at every look-up of a pass.",
                seen=f"one of {places[:4]}, … is in the words' own table.",
                means="the vector of place 5 is that of word 5.",
                look="the table of positions, in the line that adds them.",
            )
            return


NOPE = (
    "That is right for a causal stack without positions (NoPE): how many words each "
    'position sees tells them apart (accept=["no-positions"]).'
)


def _has_places(patient: Patient) -> bool:
    """Whether places are looked up, or vectors multiplied by a table, as if rotated."""
    ops, _ = patient.watch(patient.source(), patient.target())
    words = {id(each.op) for each in patient.lookups()}
    return any(
        (
            op.name == "embedding"
            and id(op) not in words
            and len(op.inputs[1].tensor.unique()) > 1
        )
        or (
            op.name in FACTORS
            and not op.of_weights
            and any(_is_table(each) for each in op.inputs)
        )
        for op in ops
    )


def _is_table(start: Input) -> bool:
    """Whether a tensor is numbers that come from no weight and from no word."""
    line = set() if start.made_by is None else _anatomy.current_line(start.made_by)
    read = [start, *(each for op in line for each in op.inputs if not each.made_by)]
    is_number = start.tensor.is_floating_point() and start.tensor.numel() > 1
    return is_number and all(
        not each.is_parameter and (each.tensor.is_floating_point() or not line)
        for each in read
    )


def _unused_table(patient: Patient, n: int) -> str:
    """Names a table with a row for each place that counts for nothing, if any does."""
    ops, _ = patient.watch(patient.source(), patient.target())
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    line = [] if last is None else _anatomy.current_line(last)
    used = {storage(each.tensor) for op in line for each in op.inputs}
    used |= {storage(each.tensor) for op in ops if op.name in PRODUCTS
             for each in op.inputs}  # fmt: skip
    widths = {op.output.size(-1) for op in ops if op.name == "embedding"}
    for name, each in [*patient.model.named_parameters(), *_buffers(patient)]:
        rows = each.squeeze()
        if not each.is_floating_point() or rows.dim() != 2 or len(rows) < n:
            continue
        if rows.size(-1) not in widths:
            continue
        if storage(each) not in used:
            return f" {name} has the shape of a table of positions, and isn't used."
        if not bool(each.any()) and not each.requires_grad:
            return f" {name} is all zeros, and nothing trains it."
        if told := _misread(patient, ops, each, n):
            return f" {name} has the shape of a table of positions, and {told}."
    return ""


def _misread(patient: Patient, ops: list[Op], table: Tensor, n: int) -> str:
    """How a second table is looked up that is read at one row, or at the words."""
    first: Tensor | None = None
    for op in ops:
        if op.name == "embedding" and op.inputs[1].tensor.numel() == n:
            rows, read = op.inputs[1].tensor, op.inputs[0].tensor
            if first is None:
                first = read
            elif storage(read) == storage(table) != storage(first):
                if len(rows.unique()) == 1:
                    return f"row {int(rows.flatten()[0])} of it is read at every place"
                if any(sorted(rows.flatten().tolist()) == sorted(ids.flatten().tolist())
                       for ids in (patient.source(), patient.target())
                       if ids is not None):  # fmt: skip
                    return "it is looked up with the ids of the words"
    return ""


def _buffers(patient: Patient) -> list[tuple[str, Tensor]]:
    """Buffers, and tensors that are plain attributes of modules."""
    loose = [
        (f"{name}.{key}", each)
        for name, module in patient.model.named_modules()
        for key, each in vars(module).items()
        if isinstance(each, Tensor)
    ]
    return [*patient.model.named_buffers(), *loose]


def _one_sided(first: _anatomy.Attention, side: str) -> Finding | None:
    """Are queries of one word turned from place to place, and its keys are not?

    A query that is longer further on, and points the same way, is sound. So is one that
    is hardly made of what it reads, where places differ in all that is read.
    """
    reads = (first.into_query, first.into_key)
    n = first.shape[0]
    if all(e is not None and not _is_one_vector(e, n) for e in reads):
        return None
    turns = [1 - torch.cosine_similarity(e[:, :1], e, dim=-1).min()
             for e in (first.query, first.key)]  # fmt: skip
    if not (min(turns) < 1e-5 and max(turns) > 1e-2):
        return None
    turned, still = ("queries", "keys") if turns[0] > turns[1] else ("keys", "queries")
    return _rotary(
        f"positions turn the {turned} of the {side}, and not its {still}",
        f"its {turned} differ from place to place, and its {still} don't.",
        f"the same rotation for both: apply it to the {still}, too.",
    )


def _is_one_vector(read: Input | None, n: int) -> bool:
    """Whether what a projection read is one vector at each of n places."""
    if read is None:
        return False
    rows = read.numbers.reshape(-1, read.numbers.size(-1))
    apart, size = (rows - rows[:1]).abs().max(), rows.abs().max()
    return len(rows) == n and bool(apart <= 1e-5 * size)


def _turned_values(first: _anatomy.Attention, side: str) -> Iterator[Finding]:
    """Are values of one word unlike each other, though what they are made of isn't?

    Some designs turn what is mixed back again, before the output projection.
    """
    read, n = first.into_value, first.shape[0]
    if not _is_one_vector(read, n) or first.merged is None:
        return
    turns = 1 - torch.cosine_similarity(first.value[:, :1], first.value, dim=-1).min()
    if float(turns) > 1e-2:
        yield Finding(
            code="rotary-on-values",
            title=f"positions turn the values of the {side}",
            tried="fed one word over and over, and compared its values.",
            seen="they differ from place to place, though they are made of one vector.",
            means="what a word hands on depends on its place, and not only how much of "
            "it is taken.",
            look="the rotation: for queries and keys alone.",
            because=("heads-split-wrongly", "batch-leak"),
        )


def _rotary(title: str, seen: str, look: str) -> Finding:
    return Finding(
        code="rotary-not-relative",
        title=title,
        tried="fed one word over and over, and compared queries and keys, and the "
        "scores of places that are equally far apart.",
        seen=seen,
        means="how much one word attends to another doesn't depend on how far apart "
        "the two are.",
        look=look,
        because=("heads-split-wrongly",),
    )


def _turned(
    patient: Patient, first: _anatomy.Attention, side: int
) -> Iterator[Finding]:
    """Does turning queries and keys make the scores of one word a matter of distance?

    Only where places differ in the queries or keys and in nothing that these were made
    from: positions that were added before the first layer are absolute.
    """
    read, n = first.into_query, first.shape[0]
    if not _is_one_vector(read, n) or first.query.shape != first.key.shape:
        return
    scores = first.query @ first.key.transpose(-1, -2)  # (H, T, T)
    spread = float(scores.max() - scores.min())
    steps = [scores.diagonal(offset, -2, -1) for offset in range(1 - n, n)]
    apart = max(float((e.amax(-1) - e.amin(-1)).max()) for e in steps)
    lengths = first.query.norm(dim=-1)
    keeps = float(lengths.std(dim=-1).max()) < 1e-2 * float(lengths.mean())
    least = 1e-5 * float(lengths.max() * first.key.norm(dim=-1).max())
    if apart > max(1e-2, 30 * patient.epsilon) * spread > max(1e-6, least) / 100:
        yield _rotary(
            f"the rotary positions of the {SIDES[side]} don't measure distance",
            f"these differ by up to {apart:.2g}; all scores span {spread:.2g}."
            + ("" if keeps else " Nor do the queries keep their length."),
            "the same rotation for both: the same angles, the signs "
            "(a cos − b sin, a sin + b cos), and the same pairs of features "
            "(neighbours, or halves)."
            if keeps
            else "the rotation: cos and sin both there, with their signs. The tables "
            "have to fit the pairs: cat([angles, angles]) where halves are turned, "
            "repeat_interleave(2) where neighbours are. Complex numbers lose their "
            "imaginary part in .to(torch.float32).",
        )
    elif keeps and (angles := _angles(patient, side, n)) is not None:
        yield from _rates(angles, SIDES[side])


def _angles(patient: Patient, side: int, n: int) -> Tensor | None:
    """By what angles the features of a query turn from one place to the next.

    One for each pair, in falling order; None if that is no rotation, or can't be told.
    """
    here, there = [], []
    for seed in range(WORDS):
        found = [e for e in _of_one_word(patient, 300 + 2 * seed) if e.shape == (n, n)]
        here.append(found[0].query[:, :-1].flatten(0, 1).double())
        there.append(found[0].query[:, 1:].flatten(0, 1).double())
    one, other = torch.cat(here), torch.cat(there)
    if torch.linalg.matrix_rank(one, rtol=1e-4) < one.size(1):
        return None
    turn = torch.linalg.lstsq(one, other).solution
    if float((one @ turn - other).norm()) > 1e-2 * float(other.norm()):
        return None
    return torch.linalg.eigvals(turn).angle().abs().sort(descending=True).values[::2]


def _rates(angles: Tensor, side: str) -> Iterator[Finding]:
    """Do the pairs of features turn at rates that fall from 1 to next to nothing?"""
    n, moving = len(angles), int((angles > STILL).sum())
    fastest, slowest = float(angles[0]), float(angles[-1])
    code = ""
    if fastest > FASTEST:
        code = "positions-too-fast"
    elif moving == 1 < n / 2:
        code = "positions-too-slow"
    elif n > 2 and fastest - slowest < 1e-2 * fastest:
        code = "positions-repeat"
    if code:
        yield _waves(
            code,
            f"{side}'s rotary position",
            "fed one word over and over, and compared neighbouring queries.",
            f"{moving} of {n} pairs of features turn, by {slowest:.2g} to "
            f"{fastest:.2g} from one place to the next.",
            "the rates: 1 / theta ** (2i / Dh), which fall from 1 to 1/10000.",
        )


WAVES = {  # what the waves do, and what that means
    "positions-too-slow": (
        "hardly one of the {} waves moves",
        "the others are nearly the same everywhere, so these few have to tell all "
        "places apart.",
    ),
    "positions-repeat": (
        "half of the {} waves or more repeat others",
        "the model has fewer numbers to tell places apart; without a cosine beside "
        "each sine, no rotation leads from one place to another.",
    ),
    "positions-missing": (
        "a part of the {} waves is missing",
        "the model has fewer numbers to tell places apart; without a cosine beside "
        "each sine, no rotation leads from one place to another.",
    ),
    "positions-too-fast": (
        "hardly one of the {} waves is slow",
        "neighbours are as unlike as places far apart, so the positions say next to "
        "nothing about distance.",
    ),
}


def _waves(code: str, which: str, tried: str, seen: str, look: str) -> Finding:
    title, means = WAVES[code]
    return Finding(code, title.format(which), tried, seen, means, look)


def _added(patient: Patient) -> Iterator[Finding]:
    """What is added to the embeddings: one table of positions, and a sound one."""
    for side in (0, 1):
        for lookup in patient.lookups(side):
            if lookup.multiplied is not None:
                yield _multiplied(lookup, SIDES[side])
                return
            tables = [table for each in lookup.added if (table := _table(each, lookup))]
            found = [*_doubled(lookup, tables, SIDES[side])]
            for table in tables[:1]:
                found += _badly_made(table, SIDES[side])
            yield from found
            if found:
                return


@dataclass(frozen=True)
class Table:
    """Vectors of the places, (T, D), each unlike the others.

    Attributes:
        rows: the vectors.
        is_learned: whether they are weights.
    """

    rows: Tensor
    is_learned: bool


def _table(added: Input, lookup: _anatomy.Lookup) -> Table | None:
    """What is added, if it is a vector for each place and not the same for all."""
    rows = added.tensor.squeeze()
    n = lookup.op.inputs[1].tensor.numel()
    if rows.dim() != 2 or len(rows) != n or not rows.is_floating_point():
        return None
    if torch.allclose(rows, rows[:1].expand_as(rows)):
        return None  # such as a vector that says which language it is
    origin = added.made_by
    looked_up = origin is not None and any(
        op.name == "embedding" and op.inputs[0].is_parameter
        for op in _anatomy.current_line(origin)
    )
    return Table(rows.float(), added.is_parameter or looked_up)


def _doubled(
    lookup: _anatomy.Lookup, tables: list[Table], side: str
) -> Iterator[Finding]:
    if len(tables) < 2:
        return
    pairs = [
        torch.allclose(one.rows, other.rows)
        for i, one in enumerate(tables)
        for other in tables[:i]
    ]
    is_same = any(pairs)
    which = "the same table" if is_same else "two different tables"
    yield Finding(
        code="doubled-positions",
        title=f"positions are added twice to the {side}",
        tried="followed the embeddings to the first layer.",
        seen=f"{which} of positions, of size {_anatomy.spread(tables[0].rows):.2g}"
        + ("" if is_same else f" and {_anatomy.spread(tables[1].rows):.2g}")
        + f", {'is' if is_same else 'are'} added to vectors of size "
        f"{_anatomy.spread(lookup.vectors):.2g}"
        + (f", {sum(pairs) + 1} times." if is_same else "."),
        means="the positions count for twice as much beside the words."
        if is_same
        else "one of them is enough; together they count for more beside the words.",
        look="positions in the embedding layer and again in the encoder or the model "
        "around it.",
        because=("norm-drops-input",),
    )


def _multiplied(lookup: _anatomy.Lookup, side: str) -> Finding:
    assert lookup.multiplied is not None
    smallest = float(lookup.multiplied.tensor.abs().min())
    return Finding(
        code="positions-multiplied",
        title=f"the words of the {side} are multiplied by their positions",
        tried="followed the embeddings to the first layer.",
        seen="each vector is multiplied, number by number, with one that depends on "
        f"the place alone; the smallest factor is {smallest:.2g}.",
        means="where a position is near 0 nothing of the word is left, and the same "
        "word at two places may point in opposite directions.",
        look="x + pe, not x * pe: positions are added.",
    )


def _badly_made(table: Table, side: str) -> Iterator[Finding]:
    """Is each wave of a fixed table there once, and are most of them slow?"""
    rows = table.rows
    largest = float(rows.abs().max())
    if table.is_learned or rows.size(1) < 8 or not 0.5 < largest < 1 + 1e-4:
        return  # no waves
    span = rows.amax(0) - rows.amin(0)
    moving = rows[:, span > 0.1]
    code, empty = "", int((rows == 0).all(dim=0).sum())
    if 4 * empty >= span.numel() and moving.size(1) > 2:
        code = "positions-missing"
        seen = f"{empty} of {span.numel()} columns are all zeros."
    elif moving.size(1) <= 2 and span.numel() >= 16:
        code = "positions-too-slow"
        seen = f"{moving.size(1)} of {span.numel()} columns move by more than 0.1."
    elif (twins := _twins(moving)) >= moving.size(1) / 2 and twins > 1:
        code = "positions-repeat"
        seen = f"of {moving.size(1)} columns that move, {twins} equal another one."
    elif float((fast := span > 0.5).float().mean()) > FAST:
        code = "positions-too-fast"
        seen = f"{int(fast.sum())} of {span.numel()} columns move by more than 0.5."
    if code:
        yield _waves(
            code,
            f"{side}'s position",
            "compared the columns of the table that is added to the embeddings.",
            f"over {len(rows)} places {seen}",
            "the exponent: the rates fall evenly from 1 to 1/10000. sin and cos of "
            "place / 10000^(2i/D), in turn: 0::2 and 1::2.",
        )


def _twins(columns: Tensor) -> int:
    """How many columns are equal to another."""
    apart = torch.cdist(columns.T, columns.T, p=float("inf"))
    apart.fill_diagonal_(1)
    return int((apart.amin(0) < 1e-5).sum())
