"""Masks to try out: what each does to scores, weights and outputs.

Chapter *Masks* shows it. ``maths.js`` does the maths, float16 included;
`tformer.attention` checks it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import torch
import traitlets
from torch import Tensor, nn

from tformer import masks
from tformer.attention import MultiHeadAttention, attention
from tformer.decoder import DecoderLayer
from tformer.encoder import EncoderLayer
from tformer.translator import Translator
from tformer_book.widgets._figure import PageFigure

Rows = Sequence[Sequence[float]]

FILLS = {
    "−∞": lambda dtype: -math.inf,
    "−1e9": lambda dtype: -1e9,
    "−1e4": lambda dtype: -1e4,
    "dtype’s minimum": lambda dtype: torch.finfo(dtype).min,
}
PRECISIONS = {"float32": torch.float32, "float16": torch.float16}
ENGLISH = ["because", "it", "was", "tired", ".", "⟨eos⟩"]
GERMAN = ["⟨bos⟩", "weil", "er", "müde", "war", "."]
PAD = "⟨pad⟩"


def site(
    name: str,
    about: str,
    queries: Sequence[str],
    keys: Sequence[str],
    scores: Rows | Tensor,
    values: Rows | Tensor,
    *,
    causal: bool = False,
    same: bool = True,
) -> dict[str, Any]:
    """One attention site, as the laboratory shows it.

    Args:
        name: on its button.
        about: one sentence above the picture.
        queries: Tq pieces; those equal to `PAD` are padding.
        keys: Tk pieces, likewise.
        scores: (Tq, Tk), scaled, before any mask.
        values: (Tk, Dv).
        causal: whether the right mask hides the future here.
        same: queries and keys come from the same tokens (self-attention).

    Raises:
        ValueError: shapes do not fit, a number is not finite, or all keys are padding.
    """
    table = [[round(float(x), 3) for x in row] for row in scores]
    content = [[round(float(x), 3) for x in row] for row in values]
    if len(table) != len(queries) or any(len(row) != len(keys) for row in table):
        raise ValueError(
            f"scores must have shape ({len(queries)}, {len(keys)}): a row for each "
            f"query, a column for each key; got ({len(table)}, "
            f"{len(table[0]) if table else 0})"
        )
    if len(content) != len(keys) or len({len(row) for row in content}) != 1:
        raise ValueError(
            f"values must have {len(keys)} rows of one width, one for each key; got "
            f"{len(content)}"
        )
    if not all(math.isfinite(x) for row in [*table, *content] for x in row):
        raise ValueError("scores and values must be finite: give them without a mask")
    real_keys = [key != PAD for key in keys]
    if not real_keys or not real_keys[0]:
        raise ValueError(f"the first key must be real, not {PAD}: pad on the right")
    return {
        "name": name,
        "about": about,
        "queries": list(queries),
        "keys": list(keys),
        "scores": table,
        "values": content,
        "real_queries": [query != PAD for query in queries],
        "real_keys": real_keys,
        "self": same,
        "causal": causal,
        "padding": not all(real_keys),
    }


def _made_by_hand() -> list[dict[str, Any]]:
    """The end of the running sentence, with scores that tell its story."""
    english, german = [*ENGLISH, PAD, PAD], [*GERMAN, PAD]

    def table(rows: str) -> list[list[float]]:
        return [[float(x) for x in row.split()] for row in rows.strip().splitlines()]

    encoder = table("""
        1.5 0.2 0.6 0.9 0.1 0.4 1.1 0.8
        0.3 0.8 1.2 2.1 0.0 0.2 0.9 0.5
        0.6 1.4 0.7 1.8 0.2 0.1 0.3 0.4
        0.2 1.9 1.3 0.9 0.4 0.3 1.0 0.7
        0.8 0.1 0.4 0.6 1.0 1.5 1.2 1.2
        0.5 0.3 0.2 0.7 1.6 0.9 1.4 1.1
        0.4 0.5 0.3 0.6 0.8 1.0 1.3 1.2
        0.4 0.6 0.3 0.5 0.8 1.1 1.2 1.3
    """)
    decoder = table("""
        1.0 1.6 0.9 0.5 0.4 0.6 1.2
        1.7 0.8 1.9 0.6 1.1 0.3 0.9
        0.7 1.3 0.9 2.2 0.8 0.1 1.0
        0.4 0.5 1.6 1.0 2.0 0.5 0.8
        0.3 1.5 0.9 1.7 0.7 1.8 1.1
        0.9 0.6 0.2 0.8 1.4 1.0 1.5
        0.6 0.4 0.3 0.5 0.9 1.2 1.0
    """)
    cross = table("""
        1.8 0.5 0.4 0.6 0.2 0.9 1.3 1.0
        0.9 2.4 1.1 0.7 0.1 0.3 0.8 0.6
        0.3 0.9 1.0 2.6 0.2 0.4 1.1 0.7
        0.4 0.8 2.3 1.2 0.3 0.2 0.6 0.9
        0.1 0.2 0.3 0.5 2.5 1.1 1.0 1.2
        0.2 0.3 0.1 0.4 1.0 2.4 1.6 1.4
        0.5 0.4 0.6 0.3 0.9 1.0 1.2 1.1
    """)
    source = table("1 0\n0 1\n-1 0\n0.5 1.5\n0 -1\n-1 -1\n0.2 0.3\n0.2 0.2")
    target = table("0 0\n1 0\n0 1\n0.5 1.5\n-1 0\n0 -1\n0.2 0.3")
    return _sites(english, german, encoder, decoder, cross, source, target, source)


def _sites(
    english: list[str],
    german: list[str],
    encoder: Rows,
    decoder: Rows,
    cross: Rows,
    source: Rows,
    target: Rows,
    memory: Rows,
) -> list[dict[str, Any]]:
    """The masks of a Transformer, site by site; `german` alone, and in a batch."""
    real = sum(piece != PAD for piece in german)
    alone = [list(row)[:real] for row in list(decoder)[:real]]
    return [
        site(
            "encoder",
            "Encoder: source pieces ask source pieces. A longer sentence in the batch "
            "made padding necessary.",
            english,
            english,
            encoder,
            source,
        ),
        site(
            "decoder",
            "Decoder: target pieces ask target pieces, one sentence alone.",
            german[:real],
            german[:real],
            alone,
            list(target)[:real],
            causal=True,
        ),
        site(
            "decoder, padded",
            "Decoder: target pieces ask target pieces, in a batch with a longer one.",
            german,
            german,
            decoder,
            target,
            causal=True,
        ),
        site(
            "cross",
            "Cross-attention: target pieces ask source pieces; the rows are German, "
            "the columns English.",
            german,
            english,
            cross,
            memory,
            same=False,
        ),
    ]


class MaskLaboratory(PageFigure):
    """Scores, masked scores and weights of one head, under any mask and fill.

    Without arguments it shows the end of the book's running sentence, with scores made
    by hand; `from_translator` shows a head of a trained model. :attr:`mask` and
    :attr:`weights` give what is on the screen.

    Args:
        sites: made by `site`; the reader chooses among them.
        start: which of them is shown first.

    Raises:
        ValueError: there are no sites, or `start` is none of them.

    Source: section 3.2.3.
    """

    sites = traitlets.List().tag(sync=True)
    site = traitlets.Int(0, min=0).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    padding = traitlets.Bool(True).tag(sync=True)
    hide_queries = traitlets.Bool(False).tag(sync=True)
    flips = traitlets.List().tag(sync=True)
    fill = traitlets.Enum(list(FILLS), "−∞").tag(sync=True)
    precision = traitlets.Enum(list(PRECISIONS), "float32").tag(sync=True)
    stage = traitlets.Int(3, min=1, max=3).tag(sync=True)
    change = traitlets.Int(-1, min=-1).tag(sync=True)

    def __init__(
        self, sites: Sequence[dict[str, Any]] | None = None, *, start: int = 0
    ) -> None:
        shown = _made_by_hand() if sites is None else list(sites)
        if not 0 <= start < len(shown):
            raise ValueError(
                f"start must be one of the {len(shown)} sites, counted from 0; "
                f"got {start}"
            )
        first = shown[start]
        super().__init__(
            sites=shown, site=start, causal=first["causal"], padding=first["padding"]
        )

    @classmethod
    def from_translator(
        cls,
        translator: Translator,
        source: str,
        target: str,
        *,
        layer: int = 0,
        head: int = 0,
        pads: tuple[int, int] = (2, 1),
    ) -> MaskLaboratory:
        """Show the scores of one real head, before any mask, for a pair of sentences.

        Args:
            translator: a trained model.
            source: an English sentence.
            target: a German one.
            layer: of encoder and decoder, counted from 0.
            head: counted from 0.
            pads: how many padding pieces follow source and target, as if a longer pair
                were in the batch.

        Raises:
            ValueError: there is no such layer or head.
        """
        config, tokenizer = translator.model.config, translator.tokenizer
        depth = min(config.n_encoder_layers, config.n_decoder_layers)
        if not (0 <= layer < depth and 0 <= head < config.n_heads):
            raise ValueError(
                f"layer {layer}, head {head}: the model has layers 0…{depth - 1} with "
                f"heads 0…{config.n_heads - 1}"
            )
        rows = [translator.encode(source), [config.bos_id]]
        rows[1] += translator.encode(target)[:-1]
        special = {
            config.pad_id: PAD,
            config.bos_id: "⟨bos⟩",
            config.eos_id: "⟨eos⟩",
        }
        ids, names = [], []
        for row, more in zip(rows, pads, strict=True):
            padded = row + [config.pad_id] * more
            ids.append(torch.tensor([padded], device=translator.device))
            names.append(
                [
                    special.get(i, tokenizer.id_to_piece(i).replace("▁", ""))
                    for i in padded
                ]
            )
        encoder = cast(EncoderLayer, translator.model.encoder.layers[layer])
        decoder = cast(DecoderLayer, translator.model.decoder.layers[layer])
        places = [
            encoder.self_attention,
            decoder.self_attention,
            decoder.cross_attention,
        ]
        found = _scores_and_values(translator.model, places, ids, head)
        (encoder_s, source_v), (decoder_s, target_v), (cross_s, memory_v) = found
        english, german = names
        scores = (encoder_s, decoder_s, cross_s)
        return cls(_sites(english, german, *scores, source_v, target_v, memory_v))

    @property
    def shown(self) -> dict[str, Any]:
        """The site on screen, as it was given."""
        return self.sites[self.site]

    @property
    def mask(self) -> Tensor:
        """(Tq, Tk) bool, True = may attend: the mask on the screen."""
        shown = self.shown
        rows, columns = len(shown["queries"]), len(shown["keys"])
        mask = torch.ones(rows, columns, dtype=torch.bool)
        if self.causal:
            mask &= masks.causal_mask(max(rows, columns))[:rows, :columns]
        if self.padding:
            mask &= torch.tensor(shown["real_keys"])
        if self.hide_queries:
            mask &= torch.tensor(shown["real_queries"])[:, None]
        for cell in self.flips:
            mask[cell // columns, cell % columns] ^= True
        return mask

    @property
    def weights(self) -> Tensor:
        """(Tq, Tk): the weights on the screen, unless a token was changed."""
        scores, dtype = torch.tensor(self.shown["scores"]), PRECISIONS[self.precision]
        if self.fill == "−∞" and dtype == torch.float32:
            size = scores.size(-1)  # the keys are unit vectors: the scores are these
            return attention(
                scores * size**0.5, torch.eye(size), torch.eye(size), mask=self.mask
            )[1]
        low = torch.tensor(FILLS[self.fill](dtype)).to(dtype)
        return torch.where(self.mask, scores.to(dtype), low).softmax(-1)

    def __repr__(self) -> str:
        site, mask = self.shown, self.mask
        return (
            f"Masks at “{site['name']}”: {int(mask.sum())} of {mask.numel()} cells may "
            f"be seen; fill {self.fill} in {self.precision}."
        )


def _scores_and_values(
    model: nn.Module,
    places: Sequence[MultiHeadAttention],
    ids: Sequence[Tensor],
    head: int,
) -> list[tuple[list[list[float]], list[list[float]]]]:
    """One head: unmasked scores (Tq, Tk), values (Tk, Dh), in a real forward pass."""
    kept: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    def spy_on(index: int, place: MultiHeadAttention) -> None:
        attend = place.attend

        def spy(
            query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None
        ) -> Tensor:
            kept[index] = (query, key, value)
            return attend(query, key, value, mask=mask)

        place.attend = spy  # type: ignore[method-assign]

    for index, place in enumerate(places):
        spy_on(index, place)
    try:
        with torch.no_grad():
            model(*ids)
    finally:
        for place in places:
            del place.attend
    found = []
    for index in range(len(places)):
        query, key, value = (x[0, head].float().cpu() for x in kept[index])
        scores = query @ key.mT / math.sqrt(query.size(-1))
        found.append((scores.tolist(), value.tolist()))
    return found
