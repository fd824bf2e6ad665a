"""The trained embedding as a map: forty words, each joined to its true neighbours.

Chapter *Embeddings* shows it. The neighbours and the axes are computed here, since a
page cannot hold the whole table; ``maths.js`` does what the map itself needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import torch
import traitlets
from torch import Tensor
from torch.nn.functional import normalize

from tformer.pretrained import load_pretrained
from tformer.translator import Translator
from tformer_book.widgets._figure import PageFigure
from tformer_book.widgets._model import RUNNING

N_NEIGHBOURS = 8
N_AXES = 2  # of each map
FAMILIES = ("▁dog", "▁street", "▁three", "▁rot", "▁walking")
N_FAMILY = 7  # neighbours that join each of these on the map: forty words in all
LEVELS = 1000  # steps of a coordinate, from one end of the map to the other
KINDS = (
    "none",
    "all",
    "begins a word",
    "inside a word",
    "signs, digits",
    "bytes, special",
)
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


def principal_axes(
    rows: Tensor, n: int, of: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The n directions in which some rows differ most, and each row's place along them.

    The eigenvectors of the covariance of ``of`` with the largest eigenvalues.

    Args:
        rows: (V, D) what is placed.
        n: how many directions, at most D.
        of: (N, D) the rows whose differences decide; `rows` if omitted.

    Returns:
        places: (V, n) float64 coordinates, the mean of ``of`` at 0.
        shares: (n,) each axis's share of the variance of ``of``; the rest is lost.
    """
    of = rows if of is None else of
    mean = of.mean(dim=0)
    centred = (of - mean).double()
    variances, axes = torch.linalg.eigh(centred.T @ centred)  # smallest first
    axes = axes.flip(1)[:, :n]
    strongest = axes.abs().argmax(dim=0)  # an axis has no natural sign: choose one
    axes = axes * axes[strongest, torch.arange(n)].sign()
    return (rows - mean).double() @ axes, variances.flip(0)[:n] / variances.sum()


def families(
    names: Sequence[str], rows: Tensor, words: Sequence[str], n: int
) -> tuple[list[int], list[int]]:
    """Some words and, for each, the n nearest words that are not taken yet.

    A neighbour counts if its piece begins a word and has two letters or more.

    Args:
        names: V pieces.
        rows: (V, D) their rows.
        words: pieces, in the order in which they choose.
        n: how many neighbours join each.

    Returns:
        ids: of the words, then of their neighbours, nearest first.
        homes: for each id, the number of its word.
    """
    unit = normalize(rows, dim=-1)
    ids = [names.index(word) for word in words]
    homes = list(range(len(ids)))
    for home, word in enumerate(ids[:]):
        order = (unit @ unit[word]).argsort(descending=True, stable=True).tolist()
        free = (i for i in order if i not in ids and _is_word(names[i]))
        joined = list(islice(free, n))
        ids += joined
        homes += [home] * len(joined)
    return ids, homes


def _is_word(piece: str) -> bool:
    return piece.startswith("▁") and sum(map(str.isalpha, piece)) > 1


def kept(rows: Tensor, places: Tensor, n: int) -> tuple[float, int]:
    """How much of some rows a map keeps.

    Args:
        rows: (N, D) unit rows.
        places: (N, 2) where the map has them.
        n: how many neighbours of each are compared.

    Returns:
        share: of the rows' variance, 0 to 1.
        neighbours: how many of the N n pairs of a row and one of its n nearest by
            cosine are pairs of a dot and one of its n nearest dots, too.
    """
    centred = (rows - rows.mean(dim=0)).double()
    flat = places - places.mean(dim=0)
    share = (flat.square().sum() / centred.square().sum()).item()
    true, _ = nearest(rows, n)
    far = torch.cdist(places, places).fill_diagonal_(torch.inf)
    drawn = far.topk(n, largest=False).indices
    return share, int((true.unsqueeze(2) == drawn.unsqueeze(1)).sum())


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
    """Forty words on a map, each joined to its true neighbours, and what the map loses.

    The words are `FAMILIES` and, for each, the `N_FAMILY` nearest by cosine that begin
    a word; any other piece joins them when it is chosen, with its neighbours.
    `neighbours` gives what the list on screen says, from the table itself.

    Args:
        piece: the one selected at the start, such as ``"▁dog"``.
        translator: whose table; the released model's if omitted.
        text: a sentence whose pieces become buttons.
        kind: which other pieces are shown as grey dots, one of `KINDS`.
        words: pieces whose families are on the map; `FAMILIES` if omitted, as far as
            the vocabulary has them.

    Raises:
        ValueError: no such piece in the vocabulary, an unknown kind, or a vocabulary
            that is too large.
    """

    pieces = traitlets.Unicode().tag(sync=True)  # one a line
    links = traitlets.Unicode().tag(sync=True)  # ids of neighbours, packed
    drops = traitlets.Unicode().tag(sync=True)  # hundredths from cosine to cosine
    places = traitlets.Unicode().tag(sync=True)  # axis by axis, in LEVELS steps
    bound = traitlets.Float().tag(sync=True)  # the coordinate of the last level
    words = traitlets.List().tag(sync=True)  # ids of those on the map
    homes = traitlets.List().tag(sync=True)  # the number of each one's family
    shares = traitlets.List().tag(sync=True)  # of the words' variance, by map
    kept = traitlets.List().tag(sync=True)  # of the words' neighbours, by map
    compared = traitlets.Int().tag(sync=True)  # neighbours of each word
    d_model = traitlets.Int().tag(sync=True)
    examples = traitlets.List().tag(sync=True)  # ids
    chosen = traitlets.Int(min=0).tag(sync=True)
    axes = traitlets.Int(0, min=0, max=1).tag(sync=True)  # the words', the table's
    kind = traitlets.Enum(list(KINDS), KINDS[0]).tag(sync=True)

    def __init__(
        self,
        piece: str = "▁dog",
        *,
        translator: Translator | None = None,
        text: str = RUNNING,
        kind: str = KINDS[0],
        words: Sequence[str] | None = None,
    ) -> None:
        translator = load_pretrained() if translator is None else translator
        tokenizer = translator.tokenizer
        self._names = [tokenizer.id_to_piece(i) for i in range(tokenizer.vocab_size)]
        self._rows = translator.model.source_embedding.weight.detach().float().cpu()
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} must be one of {KINDS}")
        chosen = self._id(piece)
        if words is None:
            known = [word for word in FAMILIES if word in self._names]
            words = known or [piece]
        for word in words:
            self._id(word)
        count = min(N_NEIGHBOURS, len(self._names) - 1)
        ids, cosines = nearest(self._rows, count)
        hundredths = (100 * cosines).round().long()
        before = torch.cat([hundredths.new_full((len(ids), 1), 100), hundredths], 1)
        unit = normalize(self._rows, dim=-1)
        shown, homes = families(self._names, self._rows, words, N_FAMILY)
        maps = [
            principal_axes(unit, N_AXES, of=unit[shown])[0],
            principal_axes(unit, N_AXES)[0],
        ]
        compared = min(N_FAMILY, len(shown) - 1)
        judged = [kept(unit[shown], each[shown], compared) for each in maps]
        places = torch.cat(maps, dim=1)
        bound = places.abs().max().item()
        levels = ((places / bound + 1) / 2 * (LEVELS - 1)).round().long()
        own = dict.fromkeys(tokenizer.encode(text))  # each once, in order
        super().__init__(
            pieces="\n".join(self._names),
            links=pack(ids),
            drops=pack(before[:, :-1] - hundredths),
            places=pack(levels.T),
            bound=bound,
            words=shown,
            homes=homes,
            shares=[share for share, _ in judged],
            kept=[count for _, count in judged],
            compared=compared,
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
        return (
            f"{self.piece}: nearest by cosine {near}. The map of {len(self.words)} "
            f"words keeps {self.shares[self.axes]:.1%} of their variance and "
            f"{self.kept[self.axes]} of their {len(self.words) * self.compared} pairs "
            "of neighbours."
        )
