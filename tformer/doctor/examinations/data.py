"""Train and test share nothing, and source and target are on their sides."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from tformer.doctor._labels import asked, shift, writes
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

CHAPTER = "Data"
LONG = 12  # words in a row that are no chance
ALL = 0.9  # of the rows
MANY_ROWS = 16  # enough for a correlation to say something
UNLIKE = 0.35  # a correlation of lengths that no translation has
FEW_PAIRS = 100  # that may well be learned by heart
MANY = 300  # batches of training in which rows of the test are looked up


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare the sentences of the sets, and the words of their sides."""
    if patient.batches is None and not (patient.pairs and patient.test_pairs):
        raise Skip("neither batches=… nor pairs=… and test_pairs=… were given")
    shared: list[Finding] = []
    if patient.pairs and patient.test_pairs:
        shared += _overlap(
            {_key(source) for source, _ in patient.pairs},
            [source for source, _ in patient.test_pairs],
        )
        if isinstance(patient.pairs[0][0], str):
            yield from _sides(patient.pairs, patient.test_pairs)
    if patient.test_batches is not None and patient.batches is not None:
        known = list(_rows(patient, patient.all_batches))
        test = list(_rows(patient, patient.test_batches))
        shared += _overlap({*known}, test, is_text=patient.decoder_only, is_all=False)
        k = 3 * max(map(len, test), default=0) // 4
        if patient.decoder_only and k >= LONG and not shared:
            shared += _windows(known[:MANY], test, k)
    yield from shared[:1]
    yield from _alike(patient)
    yield from _few_pairs(patient)
    yield from _filled(patient)
    yield from _amid(patient)
    if patient.batches is not None and not patient.decoder_only:
        yield from _batches(patient)
        torn = list(_torn(patient))
        yield from torn
        if not any(each.code == "pairs-torn-apart" for each in torn):
            yield from _lengths(patient)
        yield from _answered(patient)


def _alike(patient: Patient) -> Iterator[Finding]:
    """Is one batch given over and over?"""
    first, *more = patient.batches or [()]
    if more and all(
        len(e) == len(first) and all(map(torch.equal, e, first)) for e in more
    ):
        yield Finding(
            code="batches-all-equal",
            title="all batches are the same",
            tried=f"compared the first {len(more) + 1} batches.",
            seen="they have the same ids, in the same order.",
            means="the model sees a single batch, however long it is trained.",
            look="a random seed that is set for each batch, or an index that stays 0.",
            because=("pairs-repeat",),
            design="That is right where one batch is to be learned by heart "
            '(accept=["batches-all-equal"]).',
        )


def _few_pairs(patient: Patient) -> Iterator[Finding]:
    """Are the pairs a few, many times over?"""
    pairs = [tuple(map(_key, pair)) for pair in patient.pairs or ()]
    n = len({*pairs})
    if len(pairs) > FEW_PAIRS and n < len(pairs) / 10:
        yield Finding(
            code="pairs-repeat",
            title="the training set is a few pairs, many times over",
            tried=f"counted the different ones among {len(pairs)} pairs.",
            seen=f"there are {n}.",
            means="the model learns them by heart, and nothing else.",
            look="what multiplies or samples the pairs: an index that stays small, a "
            "list times a number.",
        )


def _filled(patient: Patient) -> Iterator[Finding]:
    """Are rows filled up behind their end, and not with padding?"""
    end = patient.eos_id
    if not patient.knows_pad or "eos_id" not in patient.knows or end is None:
        return
    for at in range(-len((patient.batches or [()])[0]), 0):
        pad = patient.pads[at >= -2]
        rows = [row for batch in patient.batches or () for row in batch[at].tolist()]
        behind = [row[len(row) - row[::-1].index(end) :] for row in rows if end in row]
        behind = [each for each in behind if each]
        fillers = {i for each in behind for i in each} - {patient.ignore_index}
        if len(fillers) == 1 < max(map(len, behind)) and pad is not None:
            (filler,) = fillers
            if filler >= 0 and filler != pad:
                yield Finding(
                    code="filled-without-padding",
                    title="rows are filled up with another id than that of padding",
                    tried="looked at what follows eos_id in the batches.",
                    seen=f"in {len(behind)} rows it is {filler}, again and again, and "
                    f"pad_id is {pad}.",
                    means="no mask hides it, and the loss counts it: the model learns "
                    "to write it.",
                    look="padding_value=pad_id in pad_sequence, whose default is 0.",
                )
                return


def _amid(patient: Patient) -> Iterator[Finding]:
    """Does padding stand between words, here and there, as a word would?"""
    if not patient.knows_pad:
        return
    batches = patient.batches or [()]
    for at in range(-len(batches[0]), -1):
        pad = patient.pads[at == -2]
        if pad is None or pad in (patient.eos_id, patient.bos_id):
            continue
        rows = [
            set() if at == -2 and any(map(answers.__getitem__, places)) else places
            for batch in batches
            for row, answers in zip(
                batch[at].tolist(), _answers(patient, batch[-1]), strict=True
            )
            for places in [_singles(row, pad)]
        ]
        n = sum(len(places) > 1 for places in rows)
        if n > max(4, 0.05 * len(rows)):
            yield Finding(
                code="word-has-special-id",
                title="a word seems to have the id of padding",
                tried="looked for padding with words on both sides of it.",
                seen=f"in {n} of {len(rows)} rows {patient.named(pad)} stands by "
                "itself between words, and more than once"
                + (", and no label asks for a word there." if at == -2 else "."),
                means="masks hide that word, the loss leaves it out, and decoding "
                "drops it.",
                look="the id at which the words begin: it comes after all special ids.",
                design=""
                if at == -2
                else "That is right where words of the source are dropped on purpose.",
            )
            return


def _answers(patient: Patient, labels: Tensor) -> list[list[bool]]:
    """For each word that the decoder reads, whether a label says what it is."""
    real = asked(patient, labels)
    if patient.pads[1] is not None:
        real &= labels != patient.pads[1]
    by = 0 if writes(patient) is False else 1 - shift(patient)
    if by:
        real = torch.cat([torch.zeros_like(real[:, :1]), real[:, :-1]], dim=1)
    return real.tolist()


def _singles(row: list[int], pad: int) -> set[int]:
    """Where a row has padding amid its words, if no two stand side by side."""
    real = [k for k, i in enumerate(row) if i != pad]
    holes = [(a, b) for a, b in itertools.pairwise(real) if b - a > 1]
    return {b - 1 for a, b in holes} if all(b - a == 2 for a, b in holes) else set()


def _key(sentence: Any) -> Any:
    """What two sentences have in common that are one, as text or as ids."""
    if isinstance(sentence, str):
        return sentence.strip()
    return tuple(sentence.tolist() if isinstance(sentence, Tensor) else sentence)


def _rows(patient: Patient, batches: Iterable[Any]) -> Iterator[tuple[int, ...]]:
    """What the first side of each row says, without the signs at its ends."""
    for batch in itertools.islice(batches, MANY):
        read = batch[0]
        if patient.decoder_only and writes(patient) is False:
            words = (read != patient.pad_id).sum(dim=1)
            read = read[asked(patient, batch[-1]).sum(dim=1) < words / 2]
        for row in read.tolist():
            at = [k for k, i in enumerate(row) if i not in patient.special]
            yield tuple(row[at[0] : at[-1] + 1]) if at else ()


def _runs(row: tuple[int, ...], k: int) -> set[tuple[int, ...]]:
    """Every k ids in a row that stand side by side."""
    return {row[i : i + k] for i in range(len(row) - k + 1)}


def _overlap(
    known: set[Any],
    test: Sequence[Any],
    *,
    is_text: bool = False,
    is_all: bool = True,
) -> Iterator[Finding]:
    """Are whole sentences of the test, or rows of a text, among those of training?"""
    shared = [each for each in test if _key(each) in known]
    if shared:
        example = shared[0]
        shown = f"“{example}”" if isinstance(example, str) else list(example)[:8]
        kind = "row" if is_text else "sentence"
        yield Finding(
            code="train-test-overlap",
            title=f"{kind}s of the test set are in the training set",
            tried=f"looked up each of {len(test)} test {kind}s among {len(known)}.",
            seen=f"{len(shared)} ({len(shared) / len(test):.0%}) are there, such as "
            f"{shown}."
            + ("" if is_all else " With more of your batches, there may be more."),
            means="the score measures memory as well as skill.",
            look="remove duplicates, then split, before anything is sampled or "
            "repeated" + ("." if is_text else "; split by sentence, not by pair."),
            because=()
            if isinstance(example, str)
            else ("tokenizer-loses-text", "word-has-special-id"),
        )


def _windows(
    known: Sequence[tuple[int, ...]], test: Sequence[tuple[int, ...]], k: int
) -> Iterator[Finding]:
    """Do windows of the test lie over windows of training, though none is the same?"""
    runs = {run for row in known for run in _runs(row, k)}
    shared = [row for row in test if _runs(row, k) & runs]
    if shared:
        yield Finding(
            code="train-test-overlap",
            title="long parts of the test set are in the training set",
            tried=f"looked for {k} ids in a row of each of {len(test)} test rows among "
            f"{len(known)} rows of training.",
            seen=f"{len(shared)} ({len(shared) / len(test):.0%}) have such a part in "
            "common with one.",
            means="the score measures memory as well as skill.",
            look="the order: the text is cut in two, and then windows are drawn from "
            "each part.",
            design=""
            if len(shared) > len(test) / 2
            else "That is right where the text was cut in two before windows were "
            'drawn, and repeats itself (accept=["train-test-overlap"]).',
        )


def _torn(patient: Patient) -> Iterator[Finding]:
    """Do the batches put sentences together that no pair has together?"""
    if not patient.pairs:
        return
    is_text = isinstance(patient.pairs[0][0], str)
    if is_text and patient.tokenizer is None:
        return

    def said(ids: Any, side: int) -> Any:
        ids = [int(i) for i in ids if int(i) not in patient.special and int(i) >= 0]
        return _text(patient, ids, side) if is_text else tuple(ids)

    def of_pair(sentence: Any, side: int) -> Any:
        return _plain(sentence) if is_text else said(_key(sentence), side)

    pairs = {(of_pair(one, 0), of_pair(other, 1)) for one, other in patient.pairs}
    sides = [{pair[side] for pair in pairs} for side in (0, 1)]
    rows = [
        (said(source, 0), said(labels, 1))
        for batch in patient.batches or ()
        for source, labels in zip(batch[0], batch[-1], strict=True)
    ]
    turned = [
        [said(row.flip(0), -at) for batch in patient.batches or () for row in batch[at]]
        for at in (0, -1)
    ]
    for side, code in enumerate(("source-in-reverse", "target-in-reverse")):
        both = list(zip(rows, turned[side], strict=True))
        n = sum(b in sides[side] and a[side] not in sides[side] for a, b in both)
        if n > len(rows) / 2:
            yield _in_reverse(code, n, len(rows))
    yield from _copied([row for row in rows if row[0] in sides[0]], pairs)
    yield from _cut(rows, sides)
    known = [row for row in rows if row[0] in sides[0] and row[1] in sides[1]]
    torn = [row for row in known if row not in pairs]
    if len(torn) > len(known) / 2 and len(torn) > 1:
        yield Finding(
            code="pairs-torn-apart",
            title="sources stand beside the translations of others",
            tried=f"looked up the rows of the batches among {len(pairs)} pairs.",
            seen=f"of {len(known)} rows whose two sides are both known, {len(torn)} "
            "are no pair.",
            means="nothing can be learned from the source, and the model becomes one "
            "of the target alone.",
            look="what shuffles or sorts: one order for both sides.",
        )


def _copied(rows: Sequence[Any], pairs: set[Any]) -> Iterator[Finding]:
    """Are the labels of most rows their source, though the pairs say otherwise?"""
    same = [row for row in rows if row[0] == row[1] and row not in pairs]
    if len(same) > len(rows) / 2:
        yield Finding(
            code="target-is-source",
            title="the labels are the source once more",
            tried=f"compared both sides of {len(rows)} rows with the pairs.",
            seen=f"in {len(same)} the labels say what the source says.",
            means="the model learns to copy.",
            look="the side of the pair that the target is made of.",
        )


def _cut(rows: Sequence[Any], sides: Sequence[set[Any]]) -> Iterator[Finding]:
    """Are most rows only the beginning of what the pairs have?"""
    for side, name in enumerate(("source", "target")):
        whole = sorted(sides[side])
        n = 0
        for each in (row[side] for row in rows):
            at = bisect.bisect(whole, each)
            begins = at < len(whole) and whole[at][: len(each)] == each
            n += bool(each) and begins and each not in sides[side]
        if n > len(rows) / 2:
            yield Finding(
                code="rows-cut-short",
                title=f"most {name}s are cut short",
                tried=f"looked up each {name} of the batches among the pairs.",
                seen=f"{n} of {len(rows)} are only the beginning of one.",
                means="what is cut off is never read or never learned.",
                look="the length at which rows are cut, and its unit: letters, words "
                "or pieces.",
            )


def _in_reverse(code: str, n: int, of: int) -> Finding:
    side = code.partition("-")[0]
    return Finding(
        code=code,
        title=f"the words of each {side} stand in reverse",
        tried=f"looked up the {side} of each row among the pairs, and once more "
        "reversed.",
        seen=f"{n} of {of} are there only when they are reversed.",
        means="what the model reads or says runs backwards.",
        look="flip, [::-1] or reversed where the batches are made.",
        design="That is right where it is meant, as in the first sequence-to-sequence "
        f'models (accept=["{code}"]).',
    )


def _words(patient: Patient) -> list[list[tuple[list[int], list[int]]]]:
    """The words of each row's source and labels, batch by batch."""
    return [
        [
            tuple([i for i in row.tolist() if i >= 0 and i not in patient.special]
                  for row in pair)  # type: ignore[misc]
            for pair in zip(batch[0], batch[-1], strict=True)
        ]
        for batch in patient.batches or ()
    ]  # fmt: skip


def _lengths(patient: Patient) -> Iterator[Finding]:
    """Do long sources have long targets, as those of a translation have?"""
    sizes = [torch.tensor([[len(a), len(b)] for a, b in rows]).double()
             for rows in _words(patient)]  # fmt: skip
    whole = torch.cat(sizes)
    if len(whole) < MANY_ROWS or float(whole.std(dim=0).min()) < 1:
        return

    def alike(by: int) -> float:
        turned = [torch.stack([e[:, 0].roll(by), e[:, 1]]) for e in sizes]
        return float(torch.corrcoef(torch.cat(turned, dim=1))[0, 1])

    own, others = alike(0), {by: alike(by) for by in (1, -1)}
    if own > UNLIKE:
        return
    by = max(others, key=lambda each: others[each])
    is_shifted = others[by] > 0.8
    of_pairs = torch.tensor([[*map(len, pair)] for pair in patient.pairs or ()])
    agree = len(of_pairs) >= MANY_ROWS and float(
        torch.corrcoef(of_pairs.double().T)[0, 1].nan_to_num()
    )
    yield Finding(
        code="pairs-torn-apart",
        title="sources stand beside the translations of others",
        tried=f"compared the lengths of sources and labels in {len(whole)} rows.",
        seen=f"their correlation is {own:.2f}"
        + (f"; with the next row's it is {others[by]:.2f}" if is_shifted else "")
        + (f"; in the pairs it is {agree:.2f}." if agree else "."),
        means="nothing can be learned from the source.",
        look="what shuffles or sorts: one order for both sides.",
        design=""
        if is_shifted or agree > 0.8
        else "That is right where the length of a target has nothing to do with its "
        'source\'s, as in summaries (accept=["pairs-torn-apart"]).',
    )


def _answered(patient: Patient) -> Iterator[Finding]:
    """Does the source have the whole target, before or after words of its own?"""
    rows = [row for batch in _words(patient) for row in batch if len(row[1]) > 1]
    answered = [(a, b) for a, b in rows if len(a) > len(b) + 1
                and b in (a[-len(b) :], a[: len(b)])]  # fmt: skip
    if len(answered) > ALL * len(rows) and len(answered) > 3:
        source, target = answered[0]
        yield Finding(
            code="target-in-source",
            title="the source has its target in it",
            tried=f"looked for the labels of {len(rows)} rows in their sources.",
            seen=f"{len(answered)} sources begin or end with all of them, such as "
            f"{target[:6]} in {source[:12]}.",
            means="the model learns to copy; without the answer it can't translate.",
            look="what is joined before a source is encoded.",
            design="That is right where the task is to pick out a part of the source "
            '(accept=["target-in-source"]).',
        )


def _sides(
    train: Sequence[tuple[str, str]], test: Sequence[tuple[str, str]]
) -> Iterator[Finding]:
    words = [
        {w for pair in train[:5000] for w in pair[side].split()} for side in (0, 1)
    ]
    mine = [w for source, _ in test for w in source.split()]
    own = sum(w in words[0] for w in mine)
    other = sum(w in words[1] for w in mine)
    if other > 2 * own and other > len(mine) / 2:
        yield _swapped(
            f"{other / len(mine):.0%} of the test sources' words are on the target "
            f"side of training, {own / len(mine):.0%} on the source side."
        )


def _batches(patient: Patient) -> Iterator[Finding]:
    assert patient.batches is not None
    sources = [row for batch in patient.batches for row in batch[0].tolist()]
    reads = [row for batch in patient.batches for row in batch[1].tolist()]
    own = other = 0
    if patient.tokenizer is not None and patient.pairs:
        sides = [{_plain(pair[side]) for pair in patient.pairs} for side in (0, 1)]
        texts = [_text(patient, row, 0) for row in sources]
        own = sum(text in sides[0] for text in texts)
        other = sum(text in sides[1] for text in texts)
    if patient.bos_id is not None:
        begins = [sum(row[0] == patient.bos_id for row in rows) / len(rows)
                  for rows in (sources, reads)]  # fmt: skip
        if begins[0] > 0.9 and begins[1] < 0.1 and own > other:
            yield Finding(
                code="target-without-start",
                title="what the decoder reads does not begin with the start sign",
                tried="looked at the first id of each row.",
                seen=f"none is bos_id, {patient.bos_id}, and the sources begin with "
                "it.",
                means="nobody asks for the first word in training, and the decoding "
                "loop begins with a sign that the decoder doesn't know.",
                look="ids = [bos, …words, eos] for each target; then inputs ids[:-1], "
                "labels ids[1:].",
            )
            return
        if begins[0] > 0.9 and begins[1] < 0.1:
            yield _swapped(
                f"{begins[0]:.0%} of the sources begin with bos_id, and "
                f"{begins[1]:.0%} of what the decoder reads."
            )
            return
    if other > own and other > len(sources) / 2:
        yield _swapped(
            f"{other} of {len(sources)} source rows, decoded, are target sentences."
        )


def _plain(text: str) -> str:
    return "".join(text.casefold().split())


def _text(patient: Patient, row: list[int], side: int) -> str:
    words = [i for i in row if i not in patient.special]
    return _plain(str(patient.tokenizers[side].decode(words)))


def _swapped(seen: str) -> Finding:
    return Finding(
        code="source-and-target-swapped",
        title="source and target have changed places",
        tried="compared the two sides of the data.",
        seen=seen,
        means="the model learns to translate the other way round, or reads what it "
        "should write.",
        look="the order of the columns, and of what a batch returns.",
    )
