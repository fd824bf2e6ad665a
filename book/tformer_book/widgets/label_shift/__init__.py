"""Inputs and labels cut from one row: every way to cut, and what it would teach.

Chapter *The decoder* shows it. ``maths.js`` does the cutting; tests hold it to
slices of Python's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import traitlets

from tformer_book.widgets._figure import PageFigure

BOS, EOS, PAD = "⟨bos⟩", "⟨eos⟩", "⟨pad⟩"
CUTS = {"[:, :-1]": slice(None, -1), "[:, 1:]": slice(1, None), "[:, :]": slice(None)}
ROWS = (("Der", "Hund", "schläft"), ("Nein",))
Place = tuple[str, str, str]


class LabelShift(PageFigure):
    """Two sentences, position by position: what the decoder reads and must say.

    Args:
        rows: pieces of each sentence, without special pieces.
        inputs: how the input is cut from bos + pieces + eos + padding.
        labels: how the labels are cut.
        ignore_padding: whether labels that are padding are left out of the loss.

    Raises:
        ValueError: no sentence, an empty one, or an unknown way to cut.

    Source: section 3.1, "the output embeddings are offset by one position".
    """

    rows = traitlets.List().tag(sync=True)
    inputs = traitlets.Unicode().tag(sync=True)
    labels = traitlets.Unicode().tag(sync=True)
    ignore_padding = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        rows: Sequence[Sequence[str]] = ROWS,
        *,
        inputs: str = "[:, :-1]",
        labels: str = "[:, 1:]",
        ignore_padding: bool = True,
    ) -> None:
        if not rows or not all(rows):
            raise ValueError(f"rows={rows!r}: give sentences of at least one piece")
        for name, cut in (("inputs", inputs), ("labels", labels)):
            if cut not in CUTS:
                raise ValueError(f"{name}={cut!r} is none of {', '.join(CUTS)}")
        super().__init__(
            rows=[list(row) for row in rows],
            inputs=inputs,
            labels=labels,
            ignore_padding=ignore_padding,
        )

    @property
    def whole(self) -> list[list[str]]:
        """Bos, pieces, eos, and padding up to the longest: a rectangle."""
        width = 2 + max(map(len, self.rows))
        signed = [[BOS, *row, EOS] for row in self.rows]
        return [row + [PAD] * (width - len(row)) for row in signed]

    @property
    def lessons(self) -> list[list[Place]] | None:
        """For each position: what is read, what must be said, and what that teaches.

        The last is "next", "copy", "before", "left out" or "padding". None where
        inputs and labels differ in width.
        """
        first, second = CUTS[self.inputs], CUTS[self.labels]
        width = len(self.whole[0])
        ahead = (second.start or 0) - (first.start or 0)
        if len(range(width)[first]) != len(range(width)[second]):
            return None
        what = {1: "next", 0: "copy", -1: "before"}[ahead]
        left = "left out" if self.ignore_padding else "padding"
        return [
            [
                (reads, says, left if says == PAD else what)
                for reads, says in zip(row[first], row[second], strict=True)
            ]
            for row in self.whole
        ]

    def __repr__(self) -> str:
        found = self.lessons
        if found is None:
            says = "they differ in width"
        else:
            kinds = [kind for row in found for *_, kind in row]
            says = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
        return f"inputs whole{self.inputs}, labels whole{self.labels}: {says}."
