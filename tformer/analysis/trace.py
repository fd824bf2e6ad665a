"""Tracing: inspect values inside a model during its real forward pass.

Nothing is recomputed or simulated: hooks on named modules hand out what the *actual*
forward pass produced, and are removed afterwards. They see, and change, only the passes
of the thread that attached them: others may use the same model meanwhile.

Chapters *Multi-head attention*, *The encoder* and *Scale*.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import get_ident

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from tformer import masks
from tformer.decode.stepping import evaluating
from tformer.model import Transformer

# Where a Transformer attends: the name of each layer's attention.
SITES = {
    "encoder": "encoder.layers.{}.self_attention",
    "decoder": "decoder.layers.{}.self_attention",
    "cross": "decoder.layers.{}.cross_attention",
}


@contextmanager
def _hooked(
    module: nn.Module, hook: Callable[[Tensor], Tensor | None]
) -> Iterator[None]:
    """Give a module's outputs to a hook, which may return others, in this thread."""
    owner = get_ident()
    handle = module.register_forward_hook(
        lambda module, inputs, output: hook(output) if get_ident() == owner else None
    )
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def watch(model: nn.Module, *names: str) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the outputs of named modules while the model runs.

    Args:
        model: any module, run by this thread.
        names: as in ``model.named_modules()``, such as
            ``"encoder.layers.0.self_attention.weights"`` or ``"decoder.layers.2"``.

    Yields:
        A dictionary from each name to its outputs, detached, one per forward pass.

    Raises:
        ValueError: no module has such a name; or, at the end of the block, a module's
            ``forward`` never ran, as when a layer calls other methods of it.
    """
    modules = dict(model.named_modules())
    unknown = [name for name in names if name not in modules]
    if unknown:
        raise ValueError(
            f"no module is called {unknown[0]!r}; "
            "list(dict(model.named_modules())) shows all names"
        )
    seen: dict[str, list[Tensor]] = {name: [] for name in names}

    def keep(name: str, output: Tensor) -> None:
        seen[name].append(output.detach())

    with ExitStack() as hooks:
        for name in names:
            hooks.enter_context(_hooked(modules[name], partial(keep, name)))
        yield seen
    for name in names:
        if not seen[name]:
            parts = [part for part, _ in modules[name].named_children()]
            raise ValueError(
                f"nothing was seen of {name!r}: its forward did not run. Run the model "
                "inside the block, in the same thread"
                + (f", or watch a part: {', '.join(parts)}" if parts else "")
            )


@dataclass
class Kept:
    """What a forward pass has kept for its backward pass.

    Attributes:
        n_bytes: without the parameters and tables, which the model holds anyway.
    """

    n_bytes: int = 0


@contextmanager
def kept_for_backward(model: nn.Module) -> Iterator[Kept]:
    """Measure the memory that a forward pass inside the block keeps for gradients.

    PyTorch reports each tensor that it saves; a block of memory that several of them
    share counts once.

    Args:
        model: its parameters and buffers are not counted.

    Yields:
        What was kept, complete at the end of the block.
    """
    own = {
        each.untyped_storage().data_ptr()
        for each in chain(model.parameters(), model.buffers())
    }
    found: dict[int, Tensor] = {}  # kept alive, so that no address is used again

    def note(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in own:
            found.setdefault(place, tensor.detach())
        return tensor

    kept = Kept()
    with saved_tensors_hooks(note, lambda tensor: tensor):
        yield kept
    kept.n_bytes = sum(each.untyped_storage().nbytes() for each in found.values())


def attention_weights(
    model: Transformer, source_ids: Tensor, target_ids: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """All attention weights of one forward pass, without dropout.

    Args:
        model: any `Transformer`.
        source_ids: (B, S) int64, pieces + eos.
        target_ids: (B, T) int64, bos + pieces.

    Returns:
        encoder: (B, L, H, S, S), decoder: (B, L, H, T, T), cross: (B, L, H, T, S);
        axes: batch, layer, head, query, key. Rows sum to 1.

    Raises:
        TypeError: not a `Transformer`; and, with ValueError, as its ``forward``.
    """
    if not isinstance(model, Transformer):
        raise TypeError(
            f"a {type(model).__name__} has no self-attention: watch the module that "
            'you want to see with trace.watch(model, "attention.weights")'
        )
    names = {
        site: [f"{pattern.format(layer)}.weights" for layer in range(n_layers)]
        for (site, pattern), n_layers in zip(
            SITES.items(), _depths(model).values(), strict=True
        )
    }
    everything = chain.from_iterable(names.values())
    with evaluating(model), torch.no_grad(), watch(model, *everything) as seen:
        model(source_ids, target_ids)
    encoder, decoder, cross = (
        torch.stack([seen[name][0] for name in names[site]], dim=1) for site in names
    )
    return encoder, decoder, cross


@contextmanager
def head_gains(
    model: Transformer, gains: Mapping[tuple[str, int, int], float]
) -> Iterator[None]:
    """Scale the outputs of heads, before they are merged, while the block runs.

    ``head_gains(model, {("cross", 1, 4): 0})`` knocks out a head; a gain of 1
    changes nothing.

    Args:
        model: any `Transformer`.
        gains: from (site, layer, head), counted from 0, to the factor; sites are
            "encoder", "decoder" (self-attention) and "cross".

    Raises:
        ValueError: the model has no such head.
    """
    depths, n_heads = _depths(model), model.config.n_heads
    modules = dict(model.named_modules())
    with ExitStack() as hooks:
        for (site, layer, head), gain in gains.items():
            if not (0 <= layer < depths.get(site, 0) and 0 <= head < n_heads):
                raise ValueError(
                    f"there is no head {(site, layer, head)!r}: the model has "
                    f"{n_heads} heads in each layer, and these layers: {depths}; "
                    "layers and heads are counted from 0"
                )
            scale = torch.ones(n_heads, 1, 1)  # times (B, H, Tq, Dh)
            scale[head] = gain
            heads = modules[f"{SITES[site].format(layer)}.heads"]
            hooks.enter_context(_hooked(heads, partial(_scaled, scale)))
        yield


def _scaled(gains: Tensor, values: Tensor) -> Tensor:
    return values * gains.to(values)


@contextmanager
def weight_gains(
    model: Transformer, site_and_layer: tuple[str, int], gains: Tensor
) -> Iterator[None]:
    """Scale single attention weights of one layer while the block runs.

    The other weights of a row stay as they are: a gain of 0 takes one term,
    ``weight · value``, out of the sum.

    Args:
        model: any `Transformer`.
        site_and_layer: such as ``("cross", 1)``, counted from 0; sites as in
            `head_gains`.
        gains: broadcasts to the weights, (B, H, Tq, Tk).

    Raises:
        ValueError: the model has no such layer.
    """
    site, layer = site_and_layer
    depths = _depths(model)
    if not 0 <= layer < depths.get(site, 0):
        raise ValueError(
            f"there is no layer {site_and_layer!r}: the model has these layers: "
            f"{depths}, counted from 0"
        )
    probe = dict(model.named_modules())[f"{SITES[site].format(layer)}.weights"]
    with _hooked(probe, partial(_scaled, gains)):
        yield


@dataclass(frozen=True)
class Write:
    """What one part does to the residual stream, at every position.

    Attributes:
        name: "word" (the embedding, which begins the stream), "position", or a
            sub-layer such as "layers.0.self_attention".
        before: (B, T, D) the stream that arrives; zeros before the word.
        added: (B, T, D) what the part adds.
        after: (B, T, D) ``before + added``; after a sub-layer of a post-norm model,
            the norm of that.
    """

    name: str
    before: Tensor
    added: Tensor
    after: Tensor

    @property
    def cosine(self) -> Tensor:
        """(B, T) of the angle between the stream and what is added; 0 for the word."""
        return F.cosine_similarity(self.before, self.added, dim=-1)


def residual_stream(
    model: Transformer, source_ids: Tensor, target_ids: Tensor
) -> tuple[list[Write], list[Write]]:
    """Follow the residual stream through one forward pass, without dropout.

    Args:
        model: any `Transformer`.
        source_ids: (B, S) int64, pieces + eos.
        target_ids: (B, T) int64, bos + pieces.

    Returns:
        encoder, decoder: what was added, in order. The final norm of a pre-norm stack
        comes after the last of these.

    Raises:
        TypeError, ValueError: as the model's ``forward``.
    """
    source_mask = masks.source_mask(source_ids, model.config.pad_id)
    tied = model.target_embedding is model.source_embedding
    with evaluating(model), torch.no_grad():
        names = _writers(model, "encoder", "source_embedding")
        with watch(model, *chain(*names.values())) as seen:
            memory = model.encode(source_ids)
        encoder = _writes(names, seen)
        names = _writers(
            model, "decoder", "source_embedding" if tied else "target_embedding"
        )
        with watch(model, *chain(*names.values())) as seen:
            model.decode(target_ids, memory, source_mask)
        decoder = _writes(names, seen)
    return encoder, decoder


def _writers(
    model: Transformer, side: str, embedding: str
) -> dict[str, tuple[str, ...]]:
    """For each part: the modules that give what it adds, and the result."""
    parts = {
        "self_attention": "self_attention.to_output",
        "cross_attention": "cross_attention.to_output",
        "feed_forward": "feed_forward",
    }
    if side == "encoder":
        del parts["cross_attention"]
    names: dict[str, tuple[str, ...]] = {"word": (embedding,)}
    names["position"] = ("positions",)
    for layer in range(len(getattr(model, side).layers)):
        for part, says in parts.items():
            at = f"layers.{layer}"
            names[f"{at}.{part}"] = (
                f"{side}.{at}.{says}",
                f"{side}.{at}.{part}_residual",
            )
    return names


def _writes(
    names: dict[str, tuple[str, ...]], seen: dict[str, list[Tensor]]
) -> list[Write]:
    (word,), (start,) = (seen[names[part][0]] for part in ("word", "position"))
    writes = [
        Write("word", torch.zeros_like(word), word, word),
        Write("position", word, start - word, start),
    ]
    for name, modules in list(names.items())[2:]:
        (added,), (after,) = (seen[module] for module in modules)
        writes.append(Write(name, writes[-1].after, added, after))
    return writes


def _depths(model: Transformer) -> dict[str, int]:
    n_encoder, n_decoder = len(model.encoder.layers), len(model.decoder.layers)
    return {"encoder": n_encoder, "decoder": n_decoder, "cross": n_decoder}
