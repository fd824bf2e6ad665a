"""How a model wants to be called, as its signature and its configuration say.

Ids go in, and logits (B, T, V) come out. A model of Hugging Face's kind gets its
arguments by name, with the mask that it expects; one that returns only the last
position when it is asked to write is given labels; a place to start from is 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

LABELS = ("targets", "target", "labels", "label", "y", "tgt")
STARTS = ("start_pos", "start", "offset", "past_length", "pos", "position")
SECOND = ("target", "targets", "tgt", "trg", "y", "decoder_input_ids", "target_ids")


class Call:
    """Calls a model with ids.

    Args:
        model: the model.
        pads: its ids of padding, (source's, target's), or None for each.

    Attributes:
        decoder_only: whether it takes one sequence.
    """

    def __init__(self, model: nn.Module, pads: tuple[int | None, int | None]) -> None:
        self.model, self.pads = model, pads
        self.names, self.required = _arguments(model)
        self.by_name = "input_ids" in self.names
        self._labels = next((n for n in self.names[1:] if n in LABELS), None)
        self._start = len(self.required) == 2 and self.required[1] in STARTS
        if self.by_name:
            self.decoder_only = "decoder_input_ids" not in self.names
        else:
            wanted = 2 if self._wants_two() else 1
            self.decoder_only = wanted == 1

    def _wants_two(self) -> bool:
        if self._start:
            return False
        if len(self.required) != 0:
            return len(self.required) > 1
        one, two = [*self.names, "", ""][:2]
        return one in ("src", "source", "x") and two in SECOND

    def __call__(self, source: Tensor | None, target: Tensor) -> Any:
        """What the model returns."""
        if self.by_name:
            return self.model(**self._named(source, target))
        given = [target] if self.decoder_only else [source, target]
        out = self.model(*given, 0) if self._start else self.model(*given)
        if self._labels and self.decoder_only and _last_only(out, target):
            return self.model(*given, **{self._labels: target})
        return out

    def _named(self, source: Tensor | None, target: Tensor) -> dict[str, Any]:
        given: dict[str, Any] = {"input_ids": target if source is None else source}
        if source is not None:
            given["decoder_input_ids"] = target
        pad = self.pads[0 if source is not None else 1]
        if pad is not None and "attention_mask" in self.names:
            mask = (given["input_ids"] != pad).long()
            given["attention_mask"] = mask
        if "use_cache" in self.names:
            given["use_cache"] = False
        return given


def _arguments(model: nn.Module) -> tuple[list[str], list[str]]:
    """The names of all arguments by position, and of those without a default."""
    if isinstance(model, torch.jit.ScriptModule):
        names = [each.debugName() for each in list(model.graph.inputs())[1:]]
        return names, names
    try:
        places = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return [], []
    usual = [
        p for p in places if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return [p.name for p in usual], [p.name for p in usual if p.default is p.empty]


def _last_only(out: Any, target: Tensor) -> bool:
    """Whether there are logits for the last position, and for no other."""
    try:
        found = unpacked(out)
    except TypeError:
        return False
    return found.dim() == 3 and found.size(1) == 1 < target.size(1)


def unpacked(out: Any) -> Tensor:
    """The logits among whatever a model returns.

    Raises:
        TypeError: there are none.
    """
    if isinstance(out, Tensor):
        return out
    found = out.get("logits") if isinstance(out, dict) else getattr(out, "logits", None)
    if isinstance(found, Tensor):
        return found
    if isinstance(out, tuple | list):
        for each in out:
            if isinstance(each, Tensor) and each.dim() == 3:
                return each
    raise TypeError(
        f"the model returned a {type(out).__name__} in which I find no logits: let "
        "forward=… return the tensor (B, T, V)"
    )


def n_places(function: Callable[..., Any], *, unknown: int = 3) -> int:
    """How many arguments a function wants by position."""
    try:
        places = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return unknown
    return sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        for p in places
    )


def said_by_config(model: nn.Module) -> dict[str, Any]:
    """What a Hugging Face configuration says: ids, scale, what is shared, direction."""
    config = getattr(model, "config", None)
    ids = {
        "pad_id": getattr(config, "pad_token_id", None),
        "bos_id": getattr(config, "decoder_start_token_id", None),
        "eos_id": getattr(config, "eos_token_id", None),
    }
    if not any(hasattr(config, name) for name in ("pad_token_id", "eos_token_id")):
        return {}
    if ids["bos_id"] is None:
        ids["bos_id"] = getattr(config, "bos_token_id", None)
    size = getattr(config, "vocab_size", None)
    said: dict[str, Any] = {}
    for name, each in ids.items():
        each = each[0] if isinstance(each, list) else each
        fits = isinstance(each, int) and (size is None or 0 <= each < size)
        said[name] = each if fits else None
    said["scale"] = getattr(config, "attention_multiplier", None)  # Granite's
    if scalar := getattr(config, "query_pre_attn_scalar", None):  # Gemma's
        said["scale"] = scalar**-0.5
    if "MaskedLM" in type(model).__name__:
        said["bidirectional"] = True
    return said
