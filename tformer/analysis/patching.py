"""Activation patching: put a state of one sentence into another, and see what follows.

The encoder keeps one vector per position, and every layer changes it. If another
sentence's vector, put in at one position and depth, carries the other translation
along, then what makes the difference stood there.

Chapter *Inside the trained model*.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import torch
from torch import Tensor, nn

from tformer.decode.stepping import evaluating
from tformer.model import Transformer


def encoder_states(model: Transformer, source_ids: Tensor) -> Tensor:
    """The encoder's stream at every depth, without dropout.

    Args:
        model: any `Transformer`.
        source_ids: (B, S) int64, pieces + eos.

    Returns:
        (L + 1, B, S, D): what enters layer 0, 1, …, and what the last layer gives,
        before the final norm.

    Raises:
        TypeError, ValueError: as `Transformer.encode`.
    """
    seen: list[Tensor] = []
    handles = [
        place.register_forward_pre_hook(
            _mine(lambda inputs: seen.append(inputs[0].detach()))
        )
        for place in _places(model)
    ]
    try:
        with evaluating(model), torch.no_grad():
            model.encode(source_ids)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(seen)


@contextmanager
def patched(
    model: Transformer, depth: int, position: int, state: Tensor
) -> Iterator[None]:
    """Replace one state of the encoder's stream while the block runs.

    Whatever this thread encodes meanwhile gets it in every row; the layers above
    go on from there.

    Args:
        model: any `Transformer`.
        depth: how many layers the stream has passed, 0 to L.
        position: in the source, from 0.
        state: (D,), usually ``encoder_states(model, other)[depth, 0, position]``.

    Raises:
        ValueError: the model is not as deep, or the state has another shape.
        IndexError: at encoding, the source has no such position.
    """
    places = _places(model)
    if not 0 <= depth < len(places):
        raise ValueError(
            f"depth={depth} is not in 0 to {len(places) - 1}, the number of layers "
            "that a state of this encoder can have passed"
        )
    width = model.config.d_model
    if state.shape != (width,):
        raise ValueError(f"the state must be ({width},), got {tuple(state.shape)}")

    def put(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        stream = inputs[0].clone()
        if not 0 <= position < stream.size(1):
            raise IndexError(
                f"there is no position {position} in a source of {stream.size(1)}"
            )
        stream[:, position] = state
        return stream, *inputs[1:]

    handle = places[depth].register_forward_pre_hook(_mine(put))
    try:
        yield
    finally:
        handle.remove()


def _places(model: Transformer) -> list[nn.Module]:
    """The modules whose inputs are the stream, in order of depth."""
    encoder = model.encoder
    return [*encoder.layers, encoder.final_norm]


def _mine(hook: Any) -> Any:
    """A hook on inputs for passes of this thread alone."""
    owner = get_ident()
    return lambda module, inputs: hook(inputs) if get_ident() == owner else None
