"""Where hidden words are guessed, some are hidden, others each time, and no signs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from tformer.doctor._labels import FEW, asked, same, writes
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

CHAPTER = "Data"
MOST, LEAST = 0.7, 0.03  # of the words; BERT hides 0.15
ENOUGH = 8  # labels that say something


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare what is asked with what is read, and batches with each other."""
    if patient.batches is None:
        raise Skip("batches=… was not given")
    if writes(patient) is not False:
        raise Skip("the model doesn't guess hidden words")
    read, labels, real = _flat(patient, patient.batches)
    wanted = labels[real]
    if len(wanted) < 3:
        return  # another examination says that hardly anything is asked
    sign = wanted.mode().values
    n = int((wanted == sign).sum())
    if (
        bool((read[real] == wanted).all())
        and n > len(wanted) / 2
        and (n == len(wanted) or not bool((read[~real] == sign).any()))
    ):  # some of those that are chosen may be other words, or stay
        yield _overwritten(patient, int(sign), n, len(wanted))
        return
    if same(patient, 0) > FEW:
        yield _seen(patient, read, labels, real)
        return
    yield from _signs(patient, read, labels, real)
    words = ~torch.isin(torch.where(real, labels, read), torch.tensor([*patient.signs]))
    yield from _share(int((real & words).sum()), int(words.sum()))
    yield from _fixed(patient)
    yield from _test(patient)


def _flat(
    patient: Patient, batches: Iterable[tuple[Tensor, ...]]
) -> tuple[Tensor, Tensor, Tensor]:
    """What is read, the labels, and where these ask for something, of all batches."""
    read, labels, real = zip(
        *((e[-2].flatten(), e[-1].flatten(), asked(patient, e[-1]).flatten())
          for e in batches), strict=True
    )  # fmt: skip
    return torch.cat(read).cpu(), torch.cat(labels).cpu(), torch.cat(real).cpu()


def _overwritten(patient: Patient, sign: int, n: int, of: int) -> Finding:
    return Finding(
        code="labels-overwritten",
        title="the labels ask for the sign that hides a word",
        tried="compared what is asked with what is read at the same place.",
        seen=f"{n} of {of} labels are {patient.named(sign)}, and each is what is read "
        "there.",
        means="the words that were hidden are in neither of the two.",
        look="labels = ids is the same tensor, and not a copy: labels = ids.clone(), "
        "before any word is hidden.",
    )


def _seen(patient: Patient, read: Tensor, labels: Tensor, real: Tensor) -> Finding:
    """Is a model that guesses hidden words asked for those that it can read?"""
    pad = -1 if patient.pad_id is None else patient.pad_id
    is_whole = int(real.sum()) > 0.9 * int((read != pad).sum())
    share = same(patient, 0)
    at_padding = patient.knows_pad and bool((labels[real] == pad).any())
    return Finding(
        code="labels-not-hidden",
        title="the words that are asked for stand in the input",
        tried="compared what is asked with what is read at the same place.",
        seen=f"{share:.0%} of {int(real.sum())} labels equal the word that is read "
        "there.",
        means="the model learns to copy, and little about words that it can't see.",
        look="where a word was chosen, ids get mask_id; elsewhere labels ignore_index.",
        design="That is right where the whole text has to be repeated, as in "
        'denoising (accept=["labels-not-hidden"]).'
        if is_whole and share < 1 and not at_padding
        else "",
    )


def _signs(
    patient: Patient, read: Tensor, labels: Tensor, real: Tensor
) -> Iterator[Finding]:
    """Are signs hidden and asked for, or words hidden behind one of them?"""
    known = torch.tensor([*patient.signs])
    hidden = real & (read != labels)
    n = int((hidden & torch.isin(labels, known)).sum())
    if n:
        which = int(labels[hidden & torch.isin(labels, known)][0])
        yield Finding(
            code="signs-are-hidden",
            title="signs are hidden and asked for, as if they were words",
            tried="compared what is asked with what is read at the same place.",
            seen=f"{n} of {int(real.sum())} labels are signs, such as "
            f"{patient.named(which)}.",
            means="the model learns where sentences end, and of padding nothing can "
            "be learned.",
            look="where words are chosen to be hidden: ids > last_sign, or a mask of "
            "the special ids.",
        )
    if not bool(hidden.any()):
        return
    behind = read[hidden].mode().values
    n_behind = int((read[hidden] == behind).sum())
    if n_behind >= 0.7 * int(hidden.sum()) and int(behind) in patient.signs:
        yield Finding(
            code="hidden-behind-sign",
            title="hidden words look like another sign",
            tried="looked at what is read where a word is asked for.",
            seen=f"it is {patient.named(int(behind))} at {n_behind} of "
            f"{int(hidden.sum())} places.",
            means="the masks hide padding, and so these places; any other sign means "
            "something else.",
            look="ids[chosen] = mask_id, an id that nothing else has.",
        )


def _share(n_hidden: int, n: int) -> Iterator[Finding]:
    if LEAST * n <= n_hidden <= MOST * n:
        return
    is_most = n_hidden > MOST * n
    yield Finding(
        code="hides-too-much" if is_most else "hides-too-little",
        title="most words are hidden" if is_most else "hardly any word is hidden",
        tried="counted the words of your first batches, and those asked for.",
        seen=f"{n_hidden} of {n} words ({n_hidden / n:.0%}) are; 15% is usual.",
        means="hardly a word is left from which the others could be guessed."
        if is_most
        else "nearly all of each pass teaches nothing.",
        look="the share, and the comparison with it: torch.rand(…) < 0.15, not >.",
    )


def _fixed(patient: Patient) -> Iterator[Finding]:
    """Are the same places hidden in each batch?"""
    first, *more = patient.batches or [()]

    def alike(other: tuple[Tensor, ...], *, by_row: bool) -> bool:
        """Whether two batches ask at the same places, where both have words."""
        sides = []
        for read, labels in (first, other):
            real = asked(patient, labels)
            words = real | ~torch.isin(read, torch.tensor([*patient.signs]))
            sides.append((real, words))
        if by_row:
            size = [
                min(a, b) for a, b in zip(first[0].shape, other[0].shape, strict=True)
            ]
            cut = [[e[: size[0], : size[1]] for e in side] for side in sides]
        else:
            n = min(first[0].numel(), other[0].numel())
            cut = [[e.flatten()[:n] for e in side] for side in sides]
        (one, there), (two, here) = cut
        both = there & here
        n_asked = int(one[both].sum())
        return n_asked >= ENOUGH and torch.equal(one[both], two[both])

    is_one = all(torch.equal(first[0], each[0]) for each in more)
    ways = [all(alike(each, by_row=way) for each in more) for way in (True, False)]
    if any(ways) and not is_one:
        yield Finding(
            code="hidden-places-repeat",
            title="the same places are hidden in every batch",
            tried=f"compared the places that {len(more) + 1} batches ask for.",
            seen="they are the same wherever both have a word.",
            means="words at all other places are never guessed, and each text is "
            "always hidden in the same way.",
            look="a random seed that is set for each batch, before the places are "
            "drawn.",
        )


def _test(patient: Patient) -> Iterator[Finding]:
    """Are the words that the test asks for hidden, too?"""
    if not isinstance(patient.test_batches, list | tuple) or not patient.test_batches:
        return
    read, labels, real = _flat(patient, patient.test_batches)
    share = float((read == labels)[real].double().mean()) if bool(real.any()) else 0.0
    if share > FEW:
        yield Finding(
            code="test-shows-answers",
            title="the words that the test asks for stand in its input",
            tried="compared what the test batches ask with what is read there.",
            seen=f"{share:.0%} of {int(real.sum())} labels equal what is read.",
            means="the score says how well the model copies.",
            look="what the test batches give as input: the text with words hidden.",
        )
