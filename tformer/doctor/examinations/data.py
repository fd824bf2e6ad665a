"""Train and test share nothing, and source and target are on their sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare the sentences of the sets, and the words of their sides."""
    if patient.batches is None and not (patient.pairs and patient.test_pairs):
        raise Skip("neither batches=… nor pairs=… and test_pairs=… were given")
    if patient.pairs and patient.test_pairs:
        yield from _overlap(patient.pairs, patient.test_pairs)
        yield from _sides(patient.pairs, patient.test_pairs)
    if patient.batches is not None and not patient.decoder_only:
        yield from _batches(patient)


def _overlap(
    train: Sequence[tuple[str, str]], test: Sequence[tuple[str, str]]
) -> Iterator[Finding]:
    known = {source.strip() for source, _ in train}
    shared = [source for source, _ in test if source.strip() in known]
    if shared:
        yield Finding(
            code="train-test-overlap",
            title="sentences of the test set are in the training set",
            tried=f"looked up each of {len(test)} test sentences among {len(train)}.",
            seen=f"{len(shared)} ({len(shared) / len(test):.0%}) are there, such as "
            f"“{shared[0]}”.",
            means="the score measures memory as well as translation.",
            look="split by sentence, not by pair, before anything is sampled or "
            "repeated; remove duplicates first.",
            chapter="Data",
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
        texts = [_text(patient, row) for row in sources]
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
                chapter="Data",
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


def _text(patient: Patient, row: list[int]) -> str:
    return _plain(
        str(patient.tokenizer.decode([i for i in row if i not in patient.special]))
    )


def _swapped(seen: str) -> Finding:
    return Finding(
        code="source-and-target-swapped",
        title="source and target have changed places",
        tried="compared the two sides of the data.",
        seen=seen,
        means="the model learns to translate the other way round, or reads what it "
        "should write.",
        look="the order of the columns, and of what a batch returns.",
        chapter="Data",
    )
