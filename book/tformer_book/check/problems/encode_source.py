"""The grader for `encode_source` of chapter *The encoder*, and the slips it knows."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from tformer import masks
from tformer.config import TransformerConfig
from tformer.model import Transformer
from tformer_book.check import kit

HINTS = (
    "The trained model is pre-norm. What, then, does each sub-layer read, what is "
    "added to the stream, and what closes the stack?",
    "Embed, add positions, make the source's mask. In each layer: norm, attention, "
    "add; norm, network, add. The network's matrices are stored transposed, so hand "
    "over `.weight.T`. One last norm follows the loop.",
    "mask = masks.source_mask(source_ids, model.config.pad_id)",
)


def _model(seed: int, *, pad_id: int = 0, n_layers: int = 2) -> Transformer:
    """A small pre-norm model in which no gain is 1 and no bias 0."""
    config = TransformerConfig(
        vocab_size=11,
        d_model=8,
        n_heads=2,
        d_ff=12,
        n_encoder_layers=n_layers,
        max_len=16,
        norm="pre",
        pad_id=pad_id,
        unk_id=3 - pad_id,
    )
    with torch.random.fork_rng(devices=[]):
        model = Transformer(config).eval()
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            noise = kit.draw(*parameter.shape, seed=seed + i)
            size = 0.4 if parameter.dim() == 1 else parameter.size(-1) ** -0.5
            parameter.copy_(size * noise + (parameter == 1))
    return model


def built(
    model: Transformer,
    source_ids: Tensor,
    *,
    scaled: bool = True,
    positions: bool = True,
    mask: str = "source",
    norms: str = "pre",
    final: bool = True,
    layers: str = "all",
    residual: str = "stream",
    bend: Any = torch.relu,
    swapped: bool = False,
) -> Tensor:
    """(B, S, D) memory; other settings make a known mistake."""
    pad_id = 0 if mask == "pad 0" else model.config.pad_id
    see: Tensor | None = masks.source_mask(source_ids, pad_id)
    if mask in ("none", "flipped"):
        see = None if mask == "none" else ~see  # type: ignore[operator]
    x = model.source_embedding(source_ids)
    x = x if scaled else x / math.sqrt(model.config.d_model)
    x = model.positions(x) if positions else x
    stack: list[Any] = list(model.encoder.layers)
    stack = {
        "all": stack,
        "first": stack[:1],
        "two": stack[:2],
        "reversed": stack[::-1],
    }[layers]

    def normed(x: Tensor, norm: nn.Module) -> Tensor:
        result: Tensor = norm(x)
        return result

    for layer in stack:
        pair = [layer.self_attention_residual.norm, layer.feed_forward_residual.norm]
        first, second = pair[::-1] if swapped else pair
        read = normed(x, first) if norms == "pre" else x
        said = layer.self_attention(read, mask=see)
        x = {"stream": x + said, "normed": read + said, "none": said}[residual]
        x = normed(x, first) if norms == "post" else x
        read = normed(x, second) if norms == "pre" else x
        wide = bend(layer.feed_forward.expand(read))
        said = layer.feed_forward.contract(wide)
        x = {"stream": x + said, "normed": read + said, "none": said}[residual]
        x = normed(x, second) if norms == "post" else x
    return normed(x, model.encoder.final_norm) if final else x


SLIPS: kit.Table = {
    "final-norm-missing": (
        {"final": False},
        "The last norm is missing. In a pre-norm model nothing normalises the stream "
        "after the last addition but model.encoder.final_norm.",
    ),
    "post-norm": (
        [{"norms": "post", "final": final} for final in (True, False)],
        "You normalise after each addition: that is post-norm. This model normalises "
        "what each sub-layer reads, and leaves the stream alone.",
    ),
    "norms-missing": (
        [{"norms": "none", "final": final} for final in (True, False)],
        "The norms of the layers are missing: each sub-layer reads norm(x).",
    ),
    "norms-swapped": (
        {"swapped": True},
        "The two norms of a layer have changed places.",
    ),
    "positions-forgotten": (
        {"positions": False},
        "The positions are missing: model.positions(model.source_embedding(ids)).",
    ),
    "not-scaled": (
        {"scaled": False},
        "You read the rows of the table without √d_model. model.source_embedding(ids) "
        "multiplies by it.",
    ),
    "mask-forgotten": (
        {"mask": "none"},
        "Padding is read like any word. Hide it: "
        "masks.source_mask(source_ids, model.config.pad_id).",
    ),
    "mask-flipped": (
        {"mask": "flipped"},
        "The mask is the wrong way round: True means may attend.",
    ),
    "first-layer-only": (
        {"layers": "first"},
        "You run one layer. A stack has as many as len(model.encoder.layers).",
    ),
    "layers-reversed": ({"layers": "reversed"}, "You run the layers from the end."),
    "no-residuals": (
        {"residual": "none"},
        "The residual connections are missing: x + sublayer(norm(x)).",
    ),
    "residual-of-the-normed": (
        {"residual": "normed"},
        "You add to the normed stream: norm(x) + sublayer(norm(x)). Only the sub-layer "
        "reads norm(x); what it says is added to x itself: x + sublayer(norm(x)).",
    ),
    "pad-id-ignored": (
        {"mask": "pad 0"},
        "You look for padding at 0. Other tokenizers put it elsewhere: "
        "model.config.pad_id says where.",
    ),
    "layers-counted": (
        {"layers": "two"},
        "You run two layers, and this model has more. Go through all of "
        "model.encoder.layers.",
    ),
    "relu-missing": (
        {"bend": lambda z: z},
        "There is no ReLU between expand and contract.",
    ),
}


def _probe(mine: kit.Function) -> None:
    for model, rows in (
        (_model(0), [[4, 5, 6, 7, 2], [8, 9, 2, 0, 0]]),
        (_model(50), [[5, 4, 2]]),
        (_model(60, pad_id=3, n_layers=3), [[4, 5, 6, 7, 2], [8, 0, 2, 3, 3]]),
    ):
        case = kit.Case({"model": model, "source_ids": torch.tensor(rows)})

        def stop(*_: object, **__: object) -> None:
            raise kit.Mistake(
                "calls-the-encoder",
                "You call model.encode or model.encoder as a whole, which is the "
                "answer. Go through model.encoder.layers yourself.",
            )

        model.encode = stop  # type: ignore[method-assign, assignment]
        model.encoder.forward = stop  # type: ignore[method-assign, assignment]
        with torch.no_grad():
            case.compare(
                case.ask(mine),
                built,
                SLIPS,
                built,
                said=f"for source_ids {case.shape('source_ids')}",
                hint="Compare with the package layer by layer: trace.watch(model, "
                "'encoder') shows what it computes.",
                tolerance=1e-4,
            )


def _own_norm(mine: kit.Function) -> str | None:
    """A remark for those who used the package's norms instead of their own."""
    model = _model(90)
    asked = []
    for module in model.modules():
        if hasattr(module, "gain"):
            module.register_forward_hook(lambda *parts: asked.append(True))
    with torch.no_grad():
        kit.call(mine, {"model": model, "source_ids": torch.tensor([[4, 5, 2]])})
    if not asked:
        return None
    return "Now with your own layer norm: it needs norm.gain, .bias and .epsilon."


@kit.grader(_probe, _own_norm)
def encode_source(mine: kit.Function) -> str:
    """Grade a reader's whole encoder, put together from a pre-norm model's parts.

    ``mine`` is a function ``mine(model, source_ids)``: a `Transformer` whose norm is
    "pre", and (B, S) ids, to its memory (B, S, D).
    """
    return (
        "Embedding and positions, every layer with a norm before each sub-layer, and "
        "one norm at the end: the memory of the package, padding hidden."
    )
