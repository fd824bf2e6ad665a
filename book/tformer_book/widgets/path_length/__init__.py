"""The path of a signal between two tokens, drawn for five kinds of layers.

Chapter *Transduction* shows it. ``maths.js`` does the arithmetic;
`tformer.analysis.paths` checks it.
"""

from __future__ import annotations

from collections.abc import Sequence

import traitlets

from tformer.analysis import paths
from tformer_book.widgets._figure import PageFigure

ENGLISH = "The dog did not cross the street because it was tired ."
LONGEST, WIDEST = 1024, 1024


class PathLength(PageFigure):
    """Two tokens to move, and the path between them: table 1 of the paper, drawn.

    Args:
        words: names of the tokens, shown unless the sequence has more tokens.
        kind: one of `tformer.analysis.paths.KINDS`.
        length: n, tokens in the sequence, 2 to 1024; one per word if omitted.
        start: the token from which the signal comes, counted from 0.
        end: the token whose output the signal must reach.
        width: d, 8 to 1024.
        kernel: k, 2 to 9.

    Raises:
        ValueError: a number out of its range; the message names it.

    Source: section 4, table 1.
    """

    words = traitlets.List().tag(sync=True)
    kind = traitlets.Enum(list(paths.KINDS), "recurrent").tag(sync=True)
    length = traitlets.Int(12).tag(sync=True)
    start = traitlets.Int(1).tag(sync=True)
    end = traitlets.Int(8).tag(sync=True)
    width = traitlets.Int(512).tag(sync=True)
    kernel = traitlets.Int(3).tag(sync=True)

    def __init__(
        self,
        words: Sequence[str] = tuple(ENGLISH.split()),
        *,
        kind: str = "recurrent",
        length: int | None = None,
        start: int = 1,
        end: int = 8,
        width: int = 512,
        kernel: int = 3,
    ) -> None:
        n = len(words) if length is None else length
        for name, value, low, high in [
            ("length", n, 2, LONGEST),
            ("start", start, 0, n - 1),
            ("end", end, 0, n - 1),
            ("width", width, 8, WIDEST),
            ("kernel", kernel, 2, 9),
        ]:
            if not low <= value <= high:
                raise ValueError(f"{name}={value} must be {low} to {high}")
        if kind not in paths.KINDS:
            raise ValueError(f"kind={kind!r} is none of {', '.join(paths.KINDS)}")
        super().__init__(
            words=[str(word) for word in words],
            kind=kind,
            length=n,
            start=start,
            end=end,
            width=width,
            kernel=kernel,
        )

    @property
    def steps(self) -> int:
        """Steps on the path on screen."""
        return paths.path_length(self.kind, abs(self.end - self.start), self.kernel)

    @property
    def table(self) -> dict[str, tuple[int, int, int, int]]:
        """For each kind: steps here, longest path, sequential operations, work."""
        n, d, k, distance = (
            self.length,
            self.width,
            self.kernel,
            abs(self.end - self.start),
        )
        return {
            kind: (
                paths.path_length(kind, distance, k),
                paths.longest_path(kind, n, k),
                paths.sequential_operations(kind, n),
                paths.multiplications(kind, n, d, k),
            )
            for kind in paths.KINDS
        }

    def __repr__(self) -> str:
        return (
            f"From token {self.start + 1} to token {self.end + 1} of {self.length}, "
            f"{self.kind}: {self.steps} step{'s' if self.steps != 1 else ''}."
        )
