"""The tokenizer gives back the text that it was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

ARGUMENT = "tokenizer"
USUAL = (
    "A man is riding a horse.",
    "Two dogs play in the snow, and a child watches them!",
    "Zwei Männer fahren über die Brücke.",
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Encode and decode sentences, compare them, and look at the ids."""
    if patient.tokenizer is None:
        raise Skip("tokenizer=… was not given")
    texts = [text for pair in (patient.pairs or ())[:50] for text in pair] or USUAL
    lost, too_large = [], []
    for text in texts:
        ids = _ids(patient.tokenizer.encode(text))
        back = str(patient.tokenizer.decode(ids))
        if _letters(text) not in _letters(back):
            lost.append((text, back))
        too_large += [i for i in ids if not 0 <= i < max(patient.sizes)]
    if lost:
        text, back = min(lost, key=lambda each: len(each[0]))
        yield Finding(
            code="tokenizer-loses-text",
            title="decoding doesn't give back what was encoded",
            tried=f"encoded and decoded {len(texts)} sentences (case and spaces may "
            "differ).",
            seen=f"{len(lost)} come back changed: “{text}” as “{back}”.",
            means="what is lost here can never be translated or scored.",
            look="unknown pieces, ids that are shifted by the special ones, stripped "
            "accents, decode of one language with the table of the other.",
            chapter="Tokenization",
        )
    if too_large:
        yield Finding(
            code="ids-out-of-range",
            title="the tokenizer has more ids than the model",
            tried=f"encoded {len(texts)} sentences.",
            seen=f"id {max(too_large)} is beyond the model's {max(patient.sizes)}.",
            means="the look-up will fail, on a GPU without a clear message.",
            look="vocab_size, with the special ids counted.",
            chapter="Tokenization",
        )


def _ids(encoded: Any) -> list[int]:
    encoded = getattr(encoded, "ids", encoded)
    return [
        int(i) for i in (encoded.tolist() if hasattr(encoded, "tolist") else encoded)
    ]


def _letters(text: str) -> str:
    return "".join(text.casefold().split())
