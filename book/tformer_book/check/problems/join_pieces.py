"""The grader for `join_pieces` of chapter *Tokenization*, and known mistakes."""

from typing import Any

from tformer.tokenization.byte_pairs import END_OF_WORD
from tformer_book.check import kit

HINTS = (
    "Which sign in the pieces says where a space belongs?",
    "Join everything without spaces first, and only then turn each mark into a space."
    " The last one, at the end of the text, has to go.",
    'return "".join(pieces)…',
)

CASES = [
    kit.Case({"pieces": pieces})
    for pieces in (
        ["low", "est" + END_OF_WORD],
        ["the" + END_OF_WORD, "d", "og" + END_OF_WORD, ".", END_OF_WORD],
        ["a" + END_OF_WORD, "do", "g"],  # cut off within a word
        ["now" + END_OF_WORD, "w", "</" + END_OF_WORD],
        [],
    )
]


def _rstripped(pieces: list[str]) -> str:
    return "".join(
        piece.rstrip(END_OF_WORD) + (" " if piece.endswith(END_OF_WORD) else "")
        for piece in pieces
    )


def _with_blanks(pieces: list[str]) -> str:
    return "".join(pieces).replace(END_OF_WORD, " ")


SLIPS: kit.Table = {
    "marks-left": (
        lambda pieces: "".join(pieces),
        "The marks </w> are still in the text. They stand for a blank.",
    ),
    "no-blanks": (
        lambda pieces: "".join(pieces).replace(END_OF_WORD, ""),
        "You drop the marks </w>, and the words run together. A mark says that a word "
        "ends: a blank belongs there.",
    ),
    "blank-after-each-piece": (
        [
            lambda pieces: " ".join(pieces).replace(END_OF_WORD, "").strip(),
            lambda pieces: " ".join(
                piece.removesuffix(END_OF_WORD) for piece in pieces
            ),
        ],
        "You put a blank after every piece. Blanks stand only where a piece ends with "
        "</w>; other pieces go on in the same word.",
    ),
    "rstrip": (
        [
            _rstripped,
            lambda pieces: _rstripped(pieces).rstrip(),
            lambda pieces: _rstripped(pieces).strip(),
        ],
        "rstrip(“</w>”) takes away any of the characters <, /, w and > from the "
        "end, so “now” loses its w. removesuffix(“</w>”) removes just the mark.",
    ),
    "trailing-blank": (
        _with_blanks,
        "Your text ends with a blank. A blank stands between words, not after the "
        "last.",
    ),
    "last-word-lost": (
        lambda pieces: " ".join("".join(pieces).split(END_OF_WORD)[:-1]),
        "A last word without its mark is lost. A model may stop in the middle of a "
        "word: keep what is there.",
    ),
    "last-letter-cut": (
        lambda pieces: _with_blanks(pieces)[:-1],
        "You always cut the last character off. It is a blank only if the last word "
        "ended; here it was a letter. Use rstrip(), or strip the mark from the piece.",
    ),
}


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise kit.Mistake(
            "not-a-text",
            f"Your function returns a {type(found).__name__}; I need the text, a str.",
        )
    return found


def _right(pieces: list[str]) -> str:
    return _with_blanks(pieces).rstrip(" ")


def _unknown(found: str, wanted: str, pieces: list[str]) -> kit.Mistake:
    return kit.Mistake(
        "wrong-text", f"From {pieces} you make {found!r}; it must be {wanted!r}."
    )


def _probe_join(mine: kit.Function) -> None:
    for case in CASES:
        kit.judge(mine, [case], _right, SLIPS, take=_text, otherwise=_unknown)


@kit.grader(_probe_join)
def join_pieces(mine: kit.Function) -> str:
    """Grade a reader's way from pieces back to text.

    ``mine`` is a function ``mine(pieces)``: pieces, of which some end with ``</w>``, to
    the text with a blank between words.
    """
    return (
        "Blanks stand between words and nowhere else, no mark is left, and a word that "
        "was cut off is kept."
    )
