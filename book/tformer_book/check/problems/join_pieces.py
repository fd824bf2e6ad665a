"""The grader for `join_pieces` of chapter *Tokenization*, and known mistakes."""

from __future__ import annotations

from tformer.tokenization.byte_pairs import END_OF_WORD
from tformer_book.check._compare import (
    Known,
    Slip,
    recognise,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import call

PIECES = [
    ["low", "est" + END_OF_WORD],
    ["the" + END_OF_WORD, "d", "og" + END_OF_WORD, ".", END_OF_WORD],
    ["a" + END_OF_WORD, "do", "g"],  # cut off within a word
    ["now" + END_OF_WORD, "w", "</" + END_OF_WORD],
    [],
]


def _wrong_texts(pieces: list[str]) -> Known:
    joined = "".join(pieces)
    yield Slip(
        "marks-left",
        "The marks </w> are still in the text. They stand for a blank.",
        joined,
    )
    yield Slip(
        "no-blanks",
        "You drop the marks </w>, and the words run together. A mark says that a word "
        "ends: a blank belongs there.",
        joined.replace(END_OF_WORD, ""),
    )
    yield Slip(
        "blank-after-each-piece",
        "You put a blank after every piece. Blanks stand only where a piece ends with "
        "</w>; other pieces go on in the same word.",
        " ".join(pieces).replace(END_OF_WORD, "").strip(),
    )
    yield Slip(
        "blank-after-each-piece",
        "You put a blank after every piece. Blanks stand only where a piece ends with "
        "</w>; other pieces go on in the same word.",
        " ".join(piece.removesuffix(END_OF_WORD) for piece in pieces),
    )
    words = "".join(
        piece.rstrip(END_OF_WORD) + (" " if piece.endswith(END_OF_WORD) else "")
        for piece in pieces
    )
    for stripped in (words, words.rstrip(), words.strip()):
        yield Slip(
            "rstrip",
            "rstrip(“</w>”) takes away any of the characters <, /, w and > from the "
            "end, so “now” loses its w. removesuffix(“</w>”) removes just the mark.",
            stripped,
        )
    yield Slip(
        "trailing-blank",
        "Your text ends with a blank. A blank stands between words, not after the "
        "last.",
        joined.replace(END_OF_WORD, " "),
    )
    yield Slip(
        "last-word-lost",
        "A last word without its mark is lost. A model may stop in the middle of a "
        "word: keep what is there.",
        " ".join(joined.split(END_OF_WORD)[:-1]),
    )
    yield Slip(
        "last-letter-cut",
        "You always cut the last character off. It is a blank only if the last word "
        "ended; here it was a letter. Use rstrip(), or strip the mark from the piece.",
        joined.replace(END_OF_WORD, " ")[:-1],
    )


def _probe_join(mine: Function) -> None:
    for pieces in PIECES:
        found = call(mine, {"pieces": pieces})
        if not isinstance(found, str):
            raise Mistake(
                "not-a-text",
                f"Your function returns a {type(found).__name__}; I need the text, a "
                "str.",
            )
        wanted = "".join(pieces).replace(END_OF_WORD, " ").rstrip(" ")
        if found == wanted:
            continue
        recognise(found, _wrong_texts(pieces))
        raise Mistake(
            "wrong-text", f"From {pieces} you make {found!r}; it must be {wanted!r}."
        )


def join_pieces(mine: Function) -> Result:
    """Grade a reader's way from pieces back to text.

    Args:
        mine: a function ``mine(pieces)``: pieces, of which some end with ``</w>``, to
            the text with a blank between words.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Blanks stand between words and nowhere else, no mark is left, and a word "
        "that was cut off is kept."
    )
    return grade("join_pieces", mine, [_probe_join], praise)
