"""The trained embedding as a map: each piece a dot, its neighbours by cosine beside it.

Chapter *Embeddings* shows it. The neighbours and the axes are computed here, since a
page cannot hold the whole table; ``embedding_map.js`` does what the map itself needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import traitlets
from torch import Tensor
from torch.nn.functional import normalize

from tformer.pretrained import load_pretrained
from tformer.translator import Translator
from tformer.widgets._figure import PageFigure
from tformer.widgets._model import RUNNING

N_NEIGHBOURS = 8
N_AXES = 4  # two pairs of axes to choose from
LEVELS = 1000  # steps of a coordinate, from one end of the map to the other
KINDS = ("all", "begins a word", "inside a word", "signs, digits", "bytes, special")
# How numbers travel: printable characters that need no escape in HTML and JSON.
DIGITS = "".join(chr(c) for c in range(33, 127) if chr(c) not in "\"&'<>\\")


def nearest(rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """For each row the others with the largest cosine, ``a · b / (|a| |b|)``.

    Args:
        rows: (V, D)
        n: how many, below V.

    Returns:
        ids: (V, n) int64, nearest first; a row is not its own neighbour.
        cosines: (V, n)
    """
    unit = normalize(rows, dim=-1)
    ids, cosines = [], []
    for start in range(0, len(unit), 1000):  # (V, V) at once would be 144 MB
        alike = unit[start : start + 1000] @ unit.T
        alike.diagonal(start).fill_(-2)
        best = alike.topk(n, dim=-1)
        ids.append(best.indices)
        cosines.append(best.values)
    return torch.cat(ids), torch.cat(cosines)


def principal_axes(rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The n directions in which rows differ most, and each row's place along them.

    The eigenvectors of the rows' covariance with the largest eigenvalues.

    Args:
        rows: (V, D)
        n: how many directions, at most D.

    Returns:
        places: (V, n) float64 coordinates, the mean of all rows at 0.
        shares: (n,) each axis's share of the total variance; the rest is lost.
    """
    centred = (rows - rows.mean(dim=0)).double()
    variances, axes = torch.linalg.eigh(centred.T @ centred)  # smallest first
    axes = axes.flip(1)[:, :n]
    strongest = axes.abs().argmax(dim=0)  # an axis has no natural sign: choose one
    axes = axes * axes[strongest, torch.arange(n)].sign()
    return centred @ axes, variances.flip(0)[:n] / variances.sum()


def pack(values: Tensor) -> str:
    """Whole numbers as text: two digits each, first all high ones, then all low ones.

    Raises:
        ValueError: a number below 0 or too large for two digits.
    """
    base = len(DIGITS)
    flat = values.flatten().tolist()
    if min(flat) < 0 or max(flat) >= base**2:
        raise ValueError(
            f"numbers from {min(flat)} to {max(flat)} do not fit two digits, "
            f"0…{base**2 - 1}: the map takes vocabularies up to {base**2} pieces"
        )
    planes = [[x // base for x in flat], [x % base for x in flat]]
    return "".join(DIGITS[digit] for plane in planes for digit in plane)


class EmbeddingMap(PageFigure):
    """Every piece of a model's vocabulary as a dot, and its nearest neighbours.

    `neighbours` gives what the list on screen says, from the table itself.

    Args:
        piece: the one selected at the start, such as ``"▁dog"``.
        translator: whose table; the released model's if omitted.
        text: a sentence whose pieces become buttons.
        kind: which dots are shown, one of `KINDS`.

    Raises:
        ValueError: no such piece in the vocabulary, an unknown kind, or a vocabulary
            that is too large.
    """

    pieces = traitlets.Unicode().tag(sync=True)  # one a line
    links = traitlets.Unicode().tag(sync=True)  # ids of neighbours, packed
    drops = traitlets.Unicode().tag(sync=True)  # hundredths from cosine to cosine
    places = traitlets.Unicode().tag(sync=True)  # axis by axis, in LEVELS steps
    bound = traitlets.Float().tag(sync=True)  # the coordinate of the last level
    shares = traitlets.List().tag(sync=True)  # of the variance, by axis
    d_model = traitlets.Int().tag(sync=True)
    examples = traitlets.List().tag(sync=True)  # ids
    chosen = traitlets.Int(min=0).tag(sync=True)
    axes = traitlets.Int(0, min=0, max=1).tag(sync=True)
    kind = traitlets.Enum(list(KINDS), KINDS[0]).tag(sync=True)
    zoom = traitlets.Float(1.0, min=1, max=6).tag(sync=True)
    page_height = traitlets.Int(741).tag(sync=True)
    page_height_narrow = traitlets.Int(1385).tag(sync=True)

    def __init__(
        self,
        piece: str = "▁dog",
        *,
        translator: Translator | None = None,
        text: str = RUNNING,
        kind: str = KINDS[0],
    ) -> None:
        translator = load_pretrained() if translator is None else translator
        tokenizer = translator.tokenizer
        self._names = [tokenizer.id_to_piece(i) for i in range(tokenizer.vocab_size)]
        self._rows = translator.model.source_embedding.weight.detach().float().cpu()
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} must be one of {KINDS}")
        chosen = self._id(piece)
        count = min(N_NEIGHBOURS, len(self._names) - 1)
        ids, cosines = nearest(self._rows, count)
        hundredths = (100 * cosines).round().long()
        before = torch.cat([hundredths.new_full((len(ids), 1), 100), hundredths], 1)
        places, shares = principal_axes(normalize(self._rows, dim=-1), N_AXES)
        bound = places.abs().max().item()
        levels = ((places / bound + 1) / 2 * (LEVELS - 1)).round().long()
        own = dict.fromkeys(tokenizer.encode(text))  # each once, in order
        super().__init__(
            pieces="\n".join(self._names),
            links=pack(ids),
            drops=pack(before[:, :-1] - hundredths),
            places=pack(levels.T),
            bound=bound,
            shares=shares.tolist(),
            d_model=self._rows.size(1),
            examples=list(own),
            chosen=chosen,
            kind=kind,
        )

    def _id(self, piece: str) -> int:
        if piece not in self._names:
            raise ValueError(
                f"piece={piece!r} is not in the vocabulary: a piece that begins a word "
                "starts with ▁, and rare words have several pieces"
            )
        return self._names.index(piece)

    @property
    def piece(self) -> str:
        """The chosen piece."""
        return self._names[self.chosen]

    @property
    def neighbours(self) -> list[tuple[str, float]]:
        """The nearest pieces and their cosines, in full precision."""
        unit = normalize(self._rows, dim=-1)
        alike = unit @ unit[self.chosen]
        alike[self.chosen] = -2
        best = alike.topk(min(N_NEIGHBOURS, len(alike) - 1))
        found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [(self._names[i], cosine) for i, cosine in found]

    def cosine(self, pieces: Sequence[str]) -> Tensor:
        """How alike the rows of these pieces are.

        Args:
            pieces: N of them.

        Returns:
            (N, N) cosines.

        Raises:
            ValueError: one is not in the vocabulary.
        """
        unit = normalize(self._rows[[self._id(piece) for piece in pieces]], dim=-1)
        return unit @ unit.T

    def __repr__(self) -> str:
        near = ", ".join(f"{name} {cosine:.2f}" for name, cosine in self.neighbours)
        return f"{self.piece}: nearest by cosine {near}."
