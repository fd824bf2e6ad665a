"""Every attention head of the trained model on a reader's sentence.

Chapters *Multi-head attention* and *The decoder* and the live lab show it. The browser
engine computes, and what is shown is what `Translator.attention` gives: ``overview.js``
draws all heads as small maps, ``panes.js`` one or two of them large, ``damage.js`` and
``knockout.js`` what is lost without some. ``weights.js`` and ``maths.js`` need no page;
``view.js`` puts the parts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from tformer import decode
from tformer.analysis import trace
from tformer.config import TransformerConfig
from tformer.translator import AttentionMaps, Translator
from tformer_book.widgets._model import (
    RUNNING,
    ModelFigure,
    plain,
    recorded_attention,
)

Head = tuple[str, int, int]
SITES = {
    "encoder": "self-attention of the encoder",
    "decoder": "self-attention of the decoder",
    "cross": "cross-attention",
}


class Heads(ModelFigure):
    """Where each attention head of the trained model looks, and what it is worth.

    A map of damage says what the translation owes to each head: how far its
    log-probability falls where that head alone is knocked out. Everything is counted
    from 0, as in ``maps.cross[layer, head]``.

    Args:
        text: the English sentence that it shows first.
        site: "encoder" or "decoder" (self-attention), or "cross".
        layer: of the enlarged head; the last one if omitted.
        head: its number; None for the mean of the layer's heads.
        compare: "alone", "beside" (a second head beside it), or "difference".
        other: layer and head of the second head.
        form: "matrix" or "lines".
        locked: the query whose row stays marked; -1 for none.
        knocked_out: heads as (site, layer, head) whose output is 0. What the model then
            says is recorded, so that a page shows it at once.
        translator: whose model; the released one if omitted.

    Raises:
        traitlets.TraitError: no such site, layer or head.
        TypeError, ValueError: as `ModelFigure` and `Translator.attention`.
    """

    site = traitlets.Enum(tuple(trace.SITES), "cross").tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0, allow_none=True).tag(sync=True)
    compare = traitlets.Enum(("alone", "beside", "difference"), "alone").tag(sync=True)
    other = traitlets.List([0, 0]).tag(sync=True)
    form = traitlets.Enum(("matrix", "lines"), "matrix").tag(sync=True)
    locked = traitlets.Int(-1).tag(sync=True)
    knocked_out = traitlets.List().tag(sync=True)

    def __init__(
        self,
        text: str = RUNNING,
        *,
        site: str = "cross",
        layer: int | None = None,
        head: int | None = 0,
        other: Sequence[int | None] = (0, 0),
        knocked_out: Sequence[Head] = (),
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        super().__init__(
            text,
            translator=translator,
            site=site,
            head=head,
            other=list(other),
            **state,
        )
        self.layer = (
            _n_layers(self.translator.model.config, site) - 1
            if layer is None
            else layer
        )
        self.knocked_out = [list(each) for each in knocked_out]
        if self.knocked_out:
            self.example = {**self.example, "knocked": self._without()}

    def record(self, text: str) -> dict[str, Any]:
        """The attention for the sentence, as the page shows it before it asks."""
        maps = self._maps(text)
        return {
            **recorded_attention(maps),
            "damage": recorded_damage(self.translator, text, maps.translation),
        }

    @property
    def attention(self) -> AttentionMaps:
        """All weights for the sentence on screen, by PyTorch, with all heads."""
        return self._maps(self.text)

    @property
    def weights(self) -> Tensor:
        """The enlarged map, (query, key): the head's, or the mean of its layer's heads.

        With ``compare="difference"``, that minus the other one.
        """
        first = self._map(self.layer, self.head)
        if self.compare == "difference":
            return first - self._map(*self.other)
        return first

    @property
    def translation(self) -> str:
        """What the model says without the heads that are knocked out, by PyTorch."""
        with trace.head_gains(self.translator.model, self._gains()):
            return self.translator.translate(self.text)

    @property
    def damage(self) -> dict[str, Tensor]:
        """The map of damage for the sentence on screen, by PyTorch (see `damage`)."""
        return damage(self.translator, self.text, self.attention.translation)

    def __repr__(self) -> str:
        maps = self.attention
        best, at = maps.cross[-1].mean(0).max(-1)
        looks = "; ".join(
            f"{plain(piece)} ← {plain(maps.source_pieces[j])} {weight:.2f}"
            for piece, weight, j in zip(
                maps.predicted_pieces, best.tolist(), at.tolist(), strict=True
            )
        )
        return (
            f"“{self.text}” becomes “{maps.translation}” In the last layer of the "
            "decoder, on average over its heads, each German piece looks most at this "
            f"English piece, with this weight: {looks}.{self._worst()}"
        )

    def _worst(self) -> str:
        """The head that the translation would miss most, in words, where known."""
        text, translation = self.text, self.attention.translation
        found = recorded_damage(self.translator, text, translation)
        if not found:
            return ""
        worst = min(found["heads"], key=lambda each: float(each["logProbability"]))
        fall = (found["whole"] - worst["logProbability"]) / found["pieces"]
        return (
            f" The head that this translation would miss most is head {worst['head']} "
            f"of layer {worst['layer']}, {SITES[worst['site']]}: without it, log p "
            f"falls by {fall:.2f} nats a piece."
        )

    def _map(self, layer: int, head: int | None) -> Tensor:
        heads: Tensor = getattr(self.attention, self.site)[layer]
        return heads.mean(0) if head is None else heads[head]

    def _maps(self, text: str) -> AttentionMaps:
        kept: tuple[str, AttentionMaps] | None = getattr(self, "_kept", None)
        if kept is None or kept[0] != text:
            kept = self._kept = text, self.translator.attention(text)
        return kept[1]

    def _gains(self) -> dict[Head, float]:
        return {(site, layer, head): 0.0 for site, layer, head in self.knocked_out}

    def _without(self) -> dict[str, Any]:
        """What the sentence becomes without the knocked-out heads."""
        pair = self.text, self.attention.translation
        whole = self.translator.score(*pair)
        with trace.head_gains(self.translator.model, self._gains()):
            without = self.translator.score(*pair)
        return {
            "heads": self.knocked_out,
            "translation": self.translation,
            "before": whole.log_probability,
            "after": without.log_probability,
        }

    def _check(self, site: str, layer: Any, head: Any) -> None:
        config = self.translator.model.config
        if site not in trace.SITES:
            raise traitlets.TraitError(
                f"{site!r} is not an attention site: choose {', '.join(trace.SITES)}"
            )
        for value, count, what in (
            (layer, _n_layers(config, site), "layer"),
            (head, config.n_heads, "head"),
        ):
            if not (isinstance(value, int) and 0 <= value < count):
                raise traitlets.TraitError(
                    f"there is no {what} {value!r} in {site!r}: the model has "
                    f"{count}, counted from 0"
                )

    @traitlets.validate("layer", "head", "other", "knocked_out")
    def _validate(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if name == "layer":
            self._check(self.site, value, 0)
        elif name == "head" and value is not None:
            self._check(self.site, 0, value)
        elif name == "other":
            if len(value) != 2:
                raise traitlets.TraitError(f"other={value!r}: give [layer, head]")
            self._check(self.site, value[0], 0 if value[1] is None else value[1])
        elif name == "knocked_out":
            for each in value:
                if len(each) != 3:
                    raise traitlets.TraitError(
                        f"knocked_out has {each!r}: give (site, layer, head)"
                    )
                self._check(*each)
            value = [list(each) for each in value]
        return value


def damage(translator: Translator, text: str, translation: str) -> dict[str, Tensor]:
    """What a translation owes to each head.

    The fall of its log-probability where one head alone puts out zeros,
    ``(log p - log p without the head) / n``, with n the pieces of the translation and
    eos.

    Args:
        translator: whose model.
        text: one English sentence.
        translation: its German, usually the model's own.

    Returns:
        By site ("encoder", "decoder", "cross") a tensor (layer, head) in nats a piece;
        negative where the translation becomes more probable.

    Raises:
        TypeError, ValueError: as `Translator.encode`; the translation is longer than
            the model can score.
    """
    found = recorded_damage(translator, text, translation)
    if not found:
        longest = translator.model.config.max_len - 1
        raise ValueError(f"the translation has more pieces than {longest}")
    n_heads = translator.model.config.n_heads
    return {
        site: torch.tensor(
            [
                (found["whole"] - each["logProbability"]) / found["pieces"]
                for each in found["heads"]
                if each["site"] == site
            ]
        ).view(-1, n_heads)
        for site in trace.SITES
    }


def recorded_damage(
    translator: Translator, text: str, translation: str
) -> dict[str, Any]:
    """The same as the engine's ``damage`` reports it: log p with and without.

    Empty where the translation is longer than what the model can score.
    """
    model = translator.model
    ids = translator.tokenizer.target.encode(translation)
    if len(ids) >= model.config.max_len:
        return {}
    source_ids = torch.tensor([translator.encode(text)], device=translator.device)

    def log_probability() -> float:
        (scored,) = decode.score(model, source_ids, [ids])
        return round(scored.log_probability, 5)

    heads = []
    for site in trace.SITES:
        for layer in range(_n_layers(model.config, site)):
            for head in range(model.config.n_heads):
                with trace.head_gains(model, {(site, layer, head): 0.0}):
                    without = log_probability()
                name = {"site": site, "layer": layer, "head": head}
                heads.append({**name, "logProbability": without})
    return {"whole": log_probability(), "pieces": len(ids) + 1, "heads": heads}


def _n_layers(config: TransformerConfig, site: str) -> int:
    return config.n_encoder_layers if site == "encoder" else config.n_decoder_layers
