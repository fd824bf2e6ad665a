"""Where Marian, and models built like it, keep each of our weights.

Two things differ. Names: a table below. And the order of the stream: our sinusoids
are in pairs, ``[sin 0, cos 0, sin 1, cos 1, …]``, theirs in halves, ``[sin 0, sin 1, …,
cos 0, cos 1, …]``. Only the positions depend on the order of the stream's D entries, so
it is enough to put *every* weight that touches the stream into their order: columns of
what reads it, rows of what writes to it, entries of its norms. The insides of heads and
feed-forward networks are not touched.

Source: Junczys-Dowmunt et al. 2018 (Marian); chapter *Positions*.
"""

import re
from collections.abc import Callable

import torch
from torch import Tensor

# Our name for a part, theirs, and the axis of its matrix along the stream.
_PARTS = {
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    "to_query": "q_proj",
    "to_key": "k_proj",
    "to_value": "v_proj",
    "to_output": "out_proj",
    "self_attention_residual.norm": "self_attn_layer_norm",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
    "feed_forward.expand": "fc1",
    "feed_forward.contract": "fc2",
    "final_norm": "layer_norm",
    "gain": "weight",
}
_TIED = {"source_embedding.table.weight": "model.shared.weight"}
_SEPARATE = {
    "source_embedding.table.weight": "model.encoder.embed_tokens.weight",
    "target_embedding.table.weight": "model.decoder.embed_tokens.weight",
    "output_embedding.table.weight": "lm_head.weight",
}
_WRITES = ("to_output", "contract")  # to the stream; the other matrices read it


def their_name(name: str, *, tied: bool) -> str:
    """What a parameter of `tformer.Transformer` is called in a Marian checkpoint."""
    tables = _TIED if tied else _SEPARATE
    if name in tables:
        return tables[name]
    longest_first = sorted(_PARTS, key=len, reverse=True)
    pattern = rf"(?<=\.)({'|'.join(map(re.escape, longest_first))})(?=\.|$)"
    return "model." + re.sub(pattern, lambda found: _PARTS[found[1]], name)


def in_halves(name: str, weight: Tensor) -> Tensor:
    """A parameter of ours, with the stream reordered: pairs -> halves."""
    return _reordered(name, weight, lambda along: along.view(-1, 2).T)


def in_pairs(name: str, weight: Tensor) -> Tensor:
    """The inverse of `in_halves`; ``name`` is ours."""
    return _reordered(name, weight, lambda along: along.view(2, -1).T)


def _reordered(name: str, weight: Tensor, order: Callable[[Tensor], Tensor]) -> Tensor:
    """The weight with its axis along the stream, if it has one, in another order."""
    part, kind = name.rsplit(".", 2)[-2:]
    if part in _WRITES or "norm" in part:
        axis = 0
    elif kind == "weight":
        axis = 1
    else:  # a bias inside: of queries, keys, values, the feed-forward network
        return weight
    places = torch.arange(weight.size(axis), device=weight.device)
    return weight.index_select(axis, order(places).flatten())
