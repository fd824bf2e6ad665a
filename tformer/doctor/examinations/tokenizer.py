"""The tokenizer gives back the text that it was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

CHAPTER = "Tokenization"
ARGUMENT = "tokenizer"
USUAL = (
    "A man is riding a horse.",
    "Two dogs play in the snow, and a child watches them!",
    "Zwei Männer fahren über die Brücke.",
)
OFTEN = 0.15  # more unknown words than any vocabulary should leave


class Undecodable(Exception):
    """Ids that were encoded, or read in training, can't be decoded."""


def examine(patient: Patient) -> Iterator[Finding]:
    """Encode and decode sentences, compare them, and look at the ids."""
    if patient.tokenizer is None:
        raise Skip("tokenizer=… was not given")
    lost, too_large, marked, n = [], [], [], 0
    try:
        trips = list(_trips(patient))
    except Undecodable as problem:
        yield Finding(
            code="tokenizer-loses-text",
            title="decoding stops with an error",
            tried="decoded ids that the tokenizer, or a batch, gave.",
            seen=str(problem),
            means="what the model writes can't be read.",
            look="the table from ids to pieces: is it the inverse of the other one, or "
            "shifted by a place, and are the special ids in it?",
        )
        return
    lost_on = [0, 0]
    for side, ids, before, back in trips:
        n += 1
        if _letters(before) not in _letters(back):
            lost.append((before, back))
            lost_on[side] += 1
        marked += [(i, before) for i in _marks(patient, ids)]
        too_large += [i for i in ids if not 0 <= i < max(patient.sizes)]
    _check_knows_both(patient, trips, lost_on)
    unknown, share = _unknown(patient, [ids for _, ids, _, _ in trips])
    if lost:
        text, back = min(lost, key=lambda each: len(each[0]))
        yield Finding(
            code="tokenizer-loses-text",
            title="decoding doesn't give back what was encoded",
            tried=f"encoded and decoded {n} sentences (case and spaces may differ).",
            seen=f"{len(lost)} come back changed: “{text}” as “{back}”."
            + (
                f" {share:.0%} of the words in your batches are {unknown}, too."
                if share > OFTEN
                else ""
            ),
            means="what is lost here can never be translated or scored.",
            look="unknown pieces, ids that are shifted by the special ones, stripped "
            "accents, decode of one language with the table of the other.",
            design="That is right for a closed alphabet that has all letters of your "
            "texts: those of the batches come back as they were (pairs=… shows your "
            "own)."
            if not patient.pairs and share <= OFTEN and _comes_back(patient)
            else "",
        )
    if marked:
        sign, text = marked[0]
        yield Finding(
            code="word-has-special-id",
            title="a word has the id of a special sign",
            tried=f"encoded {n} sentences, and looked for special ids among words.",
            seen=f"{patient.named(sign)} stands in the middle of “{text}”.",
            means="the word is read as that sign: sentences end, or have holes, there.",
            look="the id at which the words begin: it comes after all special ids.",
        )
    if too_large:
        yield Finding(
            code="ids-out-of-range",
            title="the tokenizer has more ids than the model",
            tried=f"encoded {n} sentences.",
            seen=f"id {max(too_large)} is beyond the model's {max(patient.sizes)}.",
            means="the look-up will fail, on a GPU without a clear message.",
            look="vocab_size, with the special ids counted.",
        )


Trip = tuple[int, list[int], str, str]


def _check_knows_both(patient: Patient, trips: list[Trip], lost_on: list[int]) -> None:
    """Raise if a tokenizer is that of one of two vocabularies, and so no fault."""
    is_one = patient.tokenizers[0] is patient.tokenizers[1]
    if not is_one or patient.sizes[0] == patient.sizes[1] or min(lost_on):
        return
    other = int(lost_on[1] > 0)
    said = [i for side, ids, _, _ in trips if side == other for i in ids]
    if max(lost_on) and said.count(max(set(said), key=said.count)) > len(said) / 2:
        raise Skip(
            "of your two vocabularies it is the tokenizer of one: give both, "
            "tokenizer=(the source's, the target's)"
        )


def _trips(patient: Patient) -> Iterator[Trip]:
    """Side, ids, what they should say, and what comes back, for a few sentences.

    A tokenizer of letters has no id for what its text doesn't contain; then the ids of
    the batches are decoded, and encoded again.
    """

    def decode(ids: list[int], side: int) -> str:
        try:
            return str(patient.tokenizers[side].decode(ids))
        except (KeyError, IndexError) as problem:
            reason = f"{type(problem).__name__}: {problem}"
            raise Undecodable(f"of {ids[:8]}: {reason}.") from None

    texts = [*enumerate(text for pair in (patient.pairs or ())[:50] for text in pair)]
    if not texts or not isinstance(texts[0][1], str):
        texts = [(1, text) for text in USUAL]
    encode = [each.encode for each in patient.tokenizers]
    try:
        encoded = [_ids(encode[k % 2](text)) for k, text in texts]
    except (KeyError, ValueError, IndexError):
        if patient.batches is None:
            raise
        for row in patient.batches[0][-2].tolist():
            ids = [i for i in row if i not in patient.special]
            again = _ids(encode[1](decode(ids, 1)))
            yield 1, ids, " ".join(map(str, ids)), " ".join(map(str, again))
        return
    for ids, (k, text) in zip(encoded, texts, strict=True):
        yield k % 2, ids, text, decode(ids, k % 2)


def _unknown(patient: Patient, encoded: list[list[int]]) -> tuple[int, float]:
    """The id that most of some texts get, and its share of the words in the batches."""
    said = [i for ids in encoded for i in ids if i not in patient.special]
    if not said or patient.pairs:
        return -1, 0.0
    most = max(set(said), key=said.count)
    rows = [row for batch in patient.batches or () for row in batch[-2].tolist()]
    words = [i for row in rows for i in row if i not in patient.special]
    if said.count(most) < len(said) / 2 or not words:
        return most, 0.0
    return most, words.count(most) / len(words)


def _comes_back(patient: Patient) -> bool:
    """Whether the rows of the batches say what they said, decoded and encoded again."""
    sides = [each for batch in patient.batches or () for each in batch[-2:]]
    rows = [row for side in sides for row in side.tolist()]
    rows = [[i for i in row if i >= 0 and i not in patient.special] for row in rows]
    own = patient.tokenizers[1]
    try:
        again = [_ids(own.encode(str(own.decode(row)))) for row in rows]
    except (KeyError, IndexError, ValueError):
        return False
    words = [[i for i in row if i not in patient.special] for row in again]
    return any(rows) and words == rows


def _marks(patient: Patient, ids: list[int]) -> list[int]:
    """Special ids, if they are known, that have words on both sides."""
    words = [k for k, i in enumerate(ids) if i not in patient.special]
    if len(words) < 3:
        return []  # after the last but one comes, at most, a sign of the language
    return [i for i in ids[words[0] : words[-2]] if i in patient.signs]


def _ids(encoded: Any) -> list[int]:
    encoded = getattr(encoded, "ids", encoded)
    return [
        int(i) for i in (encoded.tolist() if hasattr(encoded, "tolist") else encoded)
    ]


def _letters(text: str) -> str:
    return "".join(text.casefold().split())
