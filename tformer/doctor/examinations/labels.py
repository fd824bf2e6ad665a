"""Each position is asked for the next word."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional as F

from tformer.doctor._labels import asked, asks_masked, ignored, same, shift, writes
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding, Remark

CHAPTER = "Data"
MANY_WORDS = 200  # enough to say how often each comes
WHERE = {
    -1: "one place earlier",
    0: "at the same place",
    1: "one place later",
    2: "two places later",
}

SHIFTED_INSIDE = (
    "That is right if the model or its loss shifts the labels itself, as those of "
    "Hugging Face do (give loss=…, which the doctor then looks into)."
)


def examine(patient: Patient) -> Iterator[Finding | Remark]:
    """Compare what the decoder reads with the labels, and look for the end."""
    if patient.batches is None:
        raise Skip("batches=… was not given")
    outside = list(_outside(patient))
    yield from outside
    if outside:
        return
    n = sum(batch[-1].numel() for batch in patient.batches)
    if not any(bool(asked(patient, batch[-1]).any()) for batch in patient.batches):
        yield Finding(
            code="labels-ask-nothing",
            title="the labels ask for nothing",
            tried=f"looked at the {n} labels of your first batches.",
            seen=f"each is {ignored(patient)}, which the loss leaves out, or below 0.",
            means="there is nothing to learn; the loss is NaN or 0.",
            look="where the labels of a prompt or of padding are hidden: is the answer "
            "hidden with them?",
        )
        return
    yield from _counted(patient)
    yield from _ended(patient)
    yield from _begun(patient)
    yield from _signs_twice(patient)
    yield from _wrapped(patient)
    if writes(patient) is not False:
        yield from _shifted(patient)


def _outside(patient: Patient) -> Iterator[Finding]:
    """Is there an id among what is read that no table has a row for?"""
    assert patient.batches is not None
    tables = [each.num_embeddings for each in patient.model.modules()
              if isinstance(each, nn.Embedding)]  # fmt: skip
    size = max(*patient.sizes, *tables)
    for batch in patient.batches:
        for side, ids in zip(
            ("source", "decoder")[-len(batch) + 1 :], batch, strict=False
        ):
            wrong = ids[(ids < 0) | (ids >= size)]
            if len(wrong):
                yield Finding(
                    code="ids-out-of-range",
                    title=f"what the {side} reads has ids that are no words",
                    tried="looked for the smallest and the largest id of each batch.",
                    seen=f"{int(wrong[0])} is among them, {len(wrong)} times.",
                    means="the look-up fails, on a GPU without a clear message.",
                    look="read.masked_fill(read == -100, pad_id): -100 is for labels.",
                )
                return


def _counted(patient: Patient) -> Iterator[Finding]:
    """Are labels padded with an id that isn't the one which the loss leaves out?"""
    assert patient.batches is not None
    pad, nothing = patient.pads[1], ignored(patient)
    if pad is None or nothing in (None, pad) or not patient.knows_pad:
        return
    rows = [row for batch in patient.batches for row in batch[-1]]
    padded = [row for row in rows if len(row) > 1 and bool((row[-2:] == pad).all())]
    if padded:
        yield Finding(
            code="loss-over-padding",
            title="the labels are padded with an id that the loss counts",
            tried="looked at the ends of the labels.",
            seen=f"{len(padded)} of {len(rows)} rows end in {patient.named(pad)}, and "
            f"what the loss leaves out is {nothing}.",
            means="padding is easy to predict, so the loss looks better than it is.",
            look=f"labels.masked_fill(labels == {pad}, {nothing}), or "
            f"ignore_index={pad} in the loss and here.",
            because=("labels-not-hidden", "signs-are-hidden"),
        )


def _wrapped(patient: Patient) -> Iterator[Finding]:
    """Is the last label of each row its first word?"""
    assert patient.batches is not None
    pairs = [
        (int(read[0]), int(label[-1]))
        for batch in patient.batches
        for read, label in zip(batch[-2].cpu(), batch[-1].cpu(), strict=True)
        if bool((label[:-1] == read[1:]).all())
    ]
    if len({first for first, _ in pairs}) > 2 and all(a == b for a, b in pairs):
        yield Finding(
            code="labels-wrap-around",
            title="the last label is the first word",
            tried="compared each row's last label with its first word.",
            seen=f"they are the same in {len(pairs)} of {len(pairs)} rows.",
            means="at the end of each row the model is asked for a word that has "
            "nothing to do with what comes next.",
            look="torch.roll, which moves the first id to the end. Read one id more "
            "and cut: ids[:-1] and ids[1:].",
        )


def _ended(patient: Patient) -> Iterator[Finding | Remark]:
    """A translation ends; a language model may read an endless text.

    It does so unless its rows are padded, and so end before the batch does.
    """
    assert patient.batches is not None
    if patient.eos_id is None:
        return
    is_end = [(e[-1] == patient.eos_id, asked(patient, e[-1])) for e in patient.batches]
    rows = torch.cat([(end & real).any(dim=1) for end, real in is_end])
    n_hidden = sum(int((end & ~real).any(dim=1).sum()) for end, real in is_end)
    if n_hidden == len(rows) and "eos_id" in patient.knows and not bool(rows.any()):
        yield _end_ignored(patient, n_hidden, len(rows))
        return
    if patient.decoder_only:
        short = any(
            bool((~asked(patient, e[-1])[:, -1]).any()) for e in patient.batches
        )
        if writes(patient) is False or "eos_id" not in patient.knows or not short:
            return
        begins = {int(i) for batch in patient.batches for i in batch[0][:, 0]}
        if patient.bos_id not in {None, *begins} and "bos_id" in patient.knows:
            yield Remark(
                f"no row of your batches begins with bos_id, {patient.bos_id}: if a "
                "text is begun with it when the model writes, training needs it, too"
            )
    if not bool(rows.any()):
        if n := _ends_hidden(patient):
            yield _end_ignored(patient, n, len(rows))
            return
        yield Finding(
            code="labels-without-end",
            title="no label is the end sign",
            tried="looked for eos_id in the labels of each sentence.",
            seen=f"{patient.eos_id} is in none of {len(rows)}.",
            means="the model never learns to stop: it writes until the limit.",
            look="append eos_id to each target before it is cut into input and labels. "
            + (
                "(If your end sign has another id, give eos_id=….)"
                if patient.eos_id != patient.pad_id
                else "And since it is pad_id, too, hide labels by length alone."
            ),
            because=("labels-not-shifted", "labels-shifted-wrongly"),
        )


def _ends_hidden(patient: Patient) -> int:
    """In how many rows the end sign is read right after the last word asked for.

    0 unless that shows that a label of it was hidden: where rows are padded with the
    end sign, too, only those that end before their batch does, and none may be asked
    up to its last place.
    """
    n = 0
    for *_, read, labels in patient.batches or ():
        real = asked(patient, labels)
        lengths = (real * torch.arange(1, real.size(1) + 1).to(real.device)).amax(dim=1)
        next_ = lengths + 1 - (shift(patient) if patient.decoder_only else 0)
        if patient.eos_id == patient.pad_id and bool(real[:, -1].any()):
            return 0
        for row, at, length in zip(read.tolist(), next_.tolist(), lengths, strict=True):
            n += bool(length) and at < len(row) and row[at] == patient.eos_id
    return n


def _end_ignored(patient: Patient, n: int, of: int) -> Finding:
    nothing = ignored(patient)
    reads = [row for *_, read, _ in patient.batches or () for row in read]
    same = any(bool((row[-2:] == patient.eos_id).all()) for row in reads)
    same |= patient.pad_id == patient.eos_id
    return Finding(
        code="labels-without-end",
        title="the end sign is what the loss leaves out",
        tried="looked for eos_id in the labels of each sentence, and in what is read.",
        seen=f"{n} of {of} rows have it, {patient.eos_id}, and the loss leaves out "
        + ("that" if nothing == patient.eos_id else f"its label, {nothing}")
        + (", since it is padding, too." if same else "."),
        means="the model never learns to stop: it writes until the limit.",
        look="pad_id = eos_id hides both: labels get -100 at padding alone (by length, "
        "or by an attention mask), or padding an id of its own."
        if same
        else "what hides labels: labels == pad_id, with the id of padding and not that "
        "of the end; a length that is one too short.",
    )


def _begun(patient: Patient) -> Iterator[Finding]:
    """Is the first word of an answer hidden with the prompt before it?

    Then it is what is read where the asking begins, and differs from row to row, and
    the sign that ends the prompt stands before it, the same in each.
    """
    if not patient.decoder_only or writes(patient) is False:
        return
    ends: list[tuple[int, int, int]] = []  # the place, what is read there, and before
    for *_, read, labels in patient.batches or ():
        for row, real in zip(read.tolist(), asked(patient, labels), strict=True):
            first = int(real.int().argmax()) - shift(patient)
            if not bool(real.any()) or first < 2:
                return
            ends.append((first, row[first], row[first - 1]))
    places, words, before = (set(each) for each in zip(*ends, strict=True))
    if len(ends) < 8 or len(places) < 2 or len(words) < 4 or len(before) > 1:
        return
    (sign,) = before
    yield Finding(
        code="answer-begins-hidden",
        title="the first word of each answer seems to be hidden with its prompt",
        tried="looked at what is read where the labels begin to ask.",
        seen=f"in {len(ends)} of {len(ends)} rows that is one of {len(words)} ids, and "
        f"{patient.named(sign)} stands before it: no label asks what follows {sign}.",
        means="the model is never taught to write the first word of an answer, and "
        "the others build on it.",
        look="labels that are shifted already: the prompt's n ids hide n − 1 of them, "
        "labels[:n - 1] = -100.",
        design="That is right if each prompt ends in that id and one more word.",
    )


def _signs_twice(patient: Patient) -> Iterator[Finding]:
    """Does the tokenizer add a sign, and the batch once more?"""
    assert patient.batches is not None
    signs = (("start", "bos_id", patient.bos_id), ("end", "eos_id", patient.eos_id))
    for sign, name, i in signs:
        if i is None or i == patient.pad_id:
            continue
        at = -2 if sign == "start" else -1  # in what is read, in the labels
        rows = [row for batch in patient.batches for row in batch[at].cpu()]
        twice = sum(bool(((row[1:] == i) & (row[:-1] == i)).any()) for row in rows)
        if twice > 0.9 * len(rows):
            yield Finding(
                code="sign-twice",
                title=f"the {sign} sign is there twice",
                tried="looked for two of them side by side in each row.",
                seen=f"{name}, {i}, follows itself in {twice} of {len(rows)} rows.",
                means="the model learns to expect both, and the decoding loop gives it "
                "one, or stops at the first.",
                look="a tokenizer that adds the signs by itself, and a batch that adds "
                "them once more.",
            )


def _shifted(patient: Patient) -> Iterator[Finding]:
    """Compare at several distances."""
    assert patient.batches is not None
    if asks_masked(patient):
        return
    shares = {distance: same(patient, distance) for distance in WHERE}
    best = max(shares, key=lambda d: shares[d])
    if shares[best] < 0.9:
        if max(same(patient, d, turned=True) for d in WHERE) > 0.9:
            yield _reversed()
            return
        if patient.decoder_only and _alike(patient) > 0.9 and shares[best] < 0.5:
            yield _elsewhere(shares[1])
            return
        raise Skip("the labels are not the decoder's input, shifted by a place")
    if shares[1] > 0.9:
        best = 1
    ahead = best + shift(patient)
    if ahead == 1:
        return
    sure = patient.loss is not None or ahead != 0
    yield Finding(
        design="" if sure or not patient.decoder_only else SHIFTED_INSIDE,
        code="labels-not-shifted" if ahead == 0 else "labels-shifted-wrongly",
        title="the label of each position is the word that it reads"
        if ahead == 0
        else "the labels are shifted by the wrong distance",
        tried="compared labels and decoder inputs at several distances.",
        seen=f"{shares[best]:.0%} of the labels equal the input {WHERE[best]}, "
        + (
            f"{shares[1]:.0%} the input {WHERE[1]}."
            if best != 1
            else "and the loss shifts them by one more place."
        ),
        means="the model learns to copy its input: the loss falls to 0, and nothing "
        "can be written with it."
        if ahead == 0
        else "the model learns to predict a word that isn't the next one, and its "
        "decoding loop asks for the next.",
        look="inputs ids[:, :-1], labels ids[:, 1:], shifted once, in one place.",
        because=("loss-below-zero", "loss-wrong-axis"),
    )


def _alike(patient: Patient) -> float:
    """The correlation of how often each word is read, and asked for."""
    batches = patient.batches or ()
    read = torch.cat([each[-2].flatten() for each in batches])
    wanted = torch.cat([each[-1][asked(patient, each[-1])] for each in batches])
    if min(len(read), len(wanted)) < MANY_WORDS:
        return 0.0
    counts = [
        ids[ids >= 0].bincount(minlength=max(patient.sizes)) for ids in (read, wanted)
    ]
    n = max(map(len, counts))
    both = torch.stack([F.pad(each, (0, n - len(each))) for each in counts]).double()
    return float(torch.corrcoef(both)[0, 1].nan_to_num())


def _elsewhere(share: float) -> Finding:
    return Finding(
        code="labels-from-elsewhere",
        title="the labels are cut from another place than what is read",
        tried="compared labels and inputs at several distances, and how often each "
        "word is in them.",
        seen=f"only {share:.0%} of the labels are the word that is read next, yet both "
        "have the same words as often.",
        means="the model is asked for words that have nothing to do with what it read, "
        "and learns how frequent each is.",
        look="two random numbers where one is meant: draw the start once, then "
        "data[i : i + n] and data[i + 1 : i + n + 1].",
    )


def _reversed() -> Finding:
    return Finding(
        code="labels-in-reverse",
        title="labels and the decoder's input run in opposite directions",
        tried="compared labels and decoder inputs, and then with one of them reversed.",
        seen="they agree only when one of them is reversed.",
        means="no position is asked for the word that follows it.",
        look="flip, [::-1] or reversed: turn the whole sequence round before it is cut "
        "into input and labels, or not at all.",
    )
