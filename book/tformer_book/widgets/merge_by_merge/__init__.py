"""Byte-pair encoding to step through, on the reader's own text.

Chapter *Tokenization* shows it.

``maths.js`` learns and replays merges by itself; tests hold it to
`tformer.tokenization.byte_pairs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import traitlets

from tformer.tokenization.byte_pairs import END_OF_WORD, BytePairEncoding
from tformer_book.widgets._figure import PageFigure

LONGEST = 500  # characters of text
MOST_MERGES = 5000  # they travel with the page
ENGLISH = "The dog did not cross the street because it was tired."
GERMAN = "Der Hund überquerte die Straße nicht, weil er müde war."
PAPER = " ".join(["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3)
NEW = "Skateboarderinnen unskateboardable snowboardschuhe 犬"


class MergeByMerge(PageFigure):
    """The pieces of a text after any number of merges, and what merges next.

    The merges are those of an encoding, or are learned from the text itself, live.
    `shown` is the encoding on screen, `pieces` what it makes of the text.

    Args:
        encoding: merges learned earlier; without them, only the text's own are used.
        corpus: what they were learned from, in a word or two.
        curves: name -> (numbers of merges, pieces per word), at most two, to compare
            the reader's text with.
        text: shown first, at most 500 characters.
        n_merges: how many merges are applied first.
        learned_here: learn from the text itself first.

    Raises:
        ValueError: the text is too long, the encoding has more than 5,000 merges, a
            curve's two lists differ in length, or there are more than two curves.

    Source: Sennrich et al. 2016, section 3.2.
    """

    text = traitlets.Unicode().tag(sync=True)
    n_merges = traitlets.Int(0, min=0).tag(sync=True)
    learned_here = traitlets.Bool(False).tag(sync=True)
    alphabet = traitlets.Unicode().tag(sync=True)
    merges = traitlets.List().tag(sync=True)
    counts = traitlets.List().tag(sync=True)
    corpus = traitlets.Unicode().tag(sync=True)
    curves = traitlets.List().tag(sync=True)
    examples = traitlets.List().tag(sync=True)

    def __init__(
        self,
        encoding: BytePairEncoding | None = None,
        *,
        corpus: str = "a corpus",
        curves: Mapping[str, tuple[Iterable[int], Iterable[float]]] | None = None,
        text: str = ENGLISH,
        n_merges: int = 0,
        learned_here: bool = False,
    ) -> None:
        if len(text) > LONGEST:
            raise ValueError(
                f"the text has {len(text)} characters; the figure takes {LONGEST}: "
                "give a shorter one"
            )
        merges = encoding.merges if encoding else []
        if len(merges) > MOST_MERGES:
            raise ValueError(
                f"{len(merges)} merges are too many to travel with a page: give an "
                f"encoding of at most {MOST_MERGES}"
            )
        drawn = []
        for name, (sizes, values) in (curves or {}).items():
            at, heights = [int(n) for n in sizes], [round(float(v), 3) for v in values]
            if len(at) != len(heights):
                raise ValueError(
                    f"the curve {name!r} has {len(at)} sizes and {len(heights)} values"
                )
            drawn.append({"name": str(name), "at": at, "values": heights})
        if len(drawn) > 2:
            raise ValueError(f"the figure draws at most 2 curves, got {len(drawn)}")
        characters = (
            [piece for piece in encoding.vocabulary[5:] if len(piece) == 1]
            if encoding
            else []
        )
        super().__init__(
            text=text,
            n_merges=n_merges,
            learned_here=learned_here or not merges,
            alphabet="".join(characters),
            merges=[f"{left} {right}" for left, right in merges],
            counts=encoding.counts if encoding else [],
            corpus=corpus if encoding else "",
            curves=drawn,
            examples=[
                ["English", ENGLISH, False],
                ["German", GERMAN, False],
                ["new words", NEW, False],
                ["the paper’s words", PAPER, True],
            ],
        )

    @property
    def shown(self) -> BytePairEncoding:
        """The encoding on the screen, with as many merges as are applied there."""
        if self.learned_here:
            return BytePairEncoding.train([self.text], self.n_merges)
        pairs = [each.split(" ") for each in self.merges[: self.n_merges]]
        return BytePairEncoding(self.alphabet, [(left, right) for left, right in pairs])

    @property
    def pieces(self) -> list[str]:
        """The pieces on the screen; none where there are no words."""
        return self.shown.pieces(self.text) if self.text.split() else []

    def __repr__(self) -> str:
        pieces = self.pieces
        words = sum(piece.endswith(END_OF_WORD) for piece in pieces)
        return (
            f"{words} words in {len(pieces)} pieces after {self.n_merges} merges: "
            f"{' '.join(pieces)}"
        )
