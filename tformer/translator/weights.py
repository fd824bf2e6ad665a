"""A model's weights in a file: how they are stored, and how a model is restored.

The header says what model the file holds; this is compared with the file's contents
before a model of that size is built.

In eight bits, a matrix is stored as integers with a scale for each row, and anything
that is not a matrix (biases, gains) in half precision: that is the form in which a page
downloads a model.
"""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tformer.common.files import load_tensors, read_header, save_tensors
from tformer.config import ModelConfig, TransformerConfig
from tformer.model import Transformer
from tformer.parts import PAPER
from tformer.variants.recurrent import RecurrentConfig, RecurrentSeq2Seq

KINDS: dict[str, tuple[type[ModelConfig], type]] = {  # the name is in the file
    "transformer": (TransformerConfig, Transformer),
    "recurrent": (RecurrentConfig, RecurrentSeq2Seq),
}
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPES = (*FLOATS, torch.int8)
SCALES = ".scales"  # appended to a matrix's name for its scales
COMPILED = "_orig_mod"  # where torch.compile keeps the module that it wraps
LARGEST_TABLE = 2**27  # numbers in a table that is computed, so in no file


def build(config: ModelConfig) -> Any:
    """An untrained model, of the kind that its configuration describes.

    Raises:
        TypeError: not the configuration of a model we have.
    """
    for config_class, model_class in KINDS.values():
        if isinstance(config, config_class):
            return model_class(config)
    raise TypeError(
        f"expected a TransformerConfig or a RecurrentConfig, got {config!r}"
    )


def usable_device(device: str | torch.device) -> torch.device:
    """A device that can hold a model and compute with it, here and now.

    Raises:
        ValueError: there is no such device, or PyTorch does not see it.
    """
    try:
        found = torch.device(device)
        torch.zeros(1, device=found).item()  # on "meta" there are no numbers
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(
            f"device={str(device)!r} cannot be used here: {why}; try 'cpu'"
        ) from error
    return found


def uncompiled(model: Any) -> Any:
    """The model itself, if torch.compile has wrapped it."""
    return getattr(model, COMPILED, model)


def plain_names(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same weights, by the names that they have without torch.compile."""
    return {name.replace(f"{COMPILED}.", ""): each for name, each in weights.items()}


def stored_weights(model: nn.Module, dtype: torch.dtype) -> dict[str, Tensor]:
    """A model's weights by name, as a file stores them.

    Args:
        model: whose parameters; it, or parts of it, may be compiled.
        dtype: one of `DTYPES`. In int8 a matrix is rounded row by row and comes with
            its scales (`quantised`).

    Raises:
        TypeError: any other dtype, which could not represent the weights.
        ValueError: a weight that is not finite in that dtype; the message names it. A
            model with parts that no configuration can name.
    """
    model = uncompiled(model)
    if isinstance(model, Transformer) and model.own_parts != PAPER:
        raise ValueError(
            "the model has parts of its own, which no file can name: keep its "
            "state_dict() with the code that makes the parts"
        )
    if dtype not in DTYPES:
        known = ", ".join(str(each).removeprefix("torch.") for each in DTYPES)
        raise TypeError(f"dtype={dtype} cannot hold weights: take one of {known}")
    weights = {
        name: each.detach().to(_kept_in(dtype, each))
        for name, each in plain_names(dict(model.named_parameters())).items()
    }
    for name, weight in weights.items():
        if not bool(weight.isfinite().all()):
            raise ValueError(
                f"{name} holds NaN, infinity, or numbers beyond what {weight.dtype} "
                f"can hold ({torch.finfo(weight.dtype).max:g}): keep an earlier "
                "checkpoint, or use a wider dtype"
            )
    if dtype != torch.int8:
        return weights
    matrices = {name: each for name, each in weights.items() if each.dim() == 2}
    for name, weight in matrices.items():
        weights[name], weights[name + SCALES] = quantised(weight)
    return weights


def _kept_in(dtype: torch.dtype, weight: Tensor) -> torch.dtype:
    """The dtype of one weight, before a matrix is rounded to eight bits."""
    if dtype != torch.int8:
        return dtype
    return torch.float32 if weight.dim() == 2 else torch.float16


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as 8-bit integers, with a scale for each row.

    ``matrix[i, j] ≈ scales[i] * numbers[i, j]``, within half a scale, where
    ``scales[i] = max_j |matrix[i, j]| / 127``.

    Args:
        matrix: (rows, columns), finite.

    Returns:
        numbers: (rows, columns) int8, from -127 to 127.
        scales: (rows,) float32.
    """
    scales = matrix.abs().amax(dim=1).float() / 127
    steps = scales.where(scales > 0, 1)  # a row of zeros stays zero
    return (matrix / steps[:, None]).round().to(torch.int8), scales


def restored(weights: dict[str, Tensor], *, origin: str) -> dict[str, Tensor]:
    """The same weights in full precision: each 8-bit matrix times its scales.

    Raises:
        ValueError: a matrix without matching scales, or weights of a dtype that does
            not hold them; the message names ``origin`` and the weight.
    """
    found = dict(weights)
    for name, weight in weights.items():
        if weight.dtype != torch.int8:
            continue
        scales = found.pop(name + SCALES, None)
        if (
            scales is None
            or weight.dim() != 2
            or scales.shape != weight.shape[:1]
            or scales.dtype not in FLOATS
        ):
            raise ValueError(
                f"{origin}: {name} is kept in eight bits, and {name + SCALES} is not "
                "one number for each of its rows: save the model again"
            )
        found[name] = weight * scales[:, None]
    check_dtypes(found, origin=origin)
    return found


def check_dtypes(weights: dict[str, Tensor], *, origin: str) -> None:
    """Raise a ValueError unless all are floating-point numbers that PyTorch adds."""
    for name, weight in weights.items():
        if weight.dtype not in FLOATS:
            known = ", ".join(str(each).removeprefix("torch.") for each in FLOATS)
            raise ValueError(
                f"{origin}: {name} is stored as {weight.dtype}, which is not one of "
                f"{known}: save the model again, in one of them"
            )


def save_model(
    path: Path, config: ModelConfig, weights: dict[str, Tensor], *, tokenizer: str
) -> None:
    """Write weights, with what `load_model` needs to know.

    Args:
        path: ends in ``.safetensors``.
        config: of the model they belong to.
        weights: from `stored_weights`.
        tokenizer: the fingerprint of the tokenizer that the model was trained with.
    """
    kind = next(kind for kind, (each, _) in KINDS.items() if isinstance(config, each))
    metadata = {"kind": kind, "config": config.stored(), "tokenizer": tokenizer}
    save_tensors(path, weights, metadata)


def load_model(path: Path) -> tuple[Any, str]:
    """Build the model that a file holds.

    Returns:
        The model, in eval mode on the CPU, and its tokenizer's fingerprint.

    Raises:
        FileNotFoundError: no such file.
        ValueError: truncated, changed, not ours, or a configuration that does not match
            the weights.
    """
    shapes, metadata = read_header(path)
    kind = metadata.get("kind", "transformer")
    if kind not in [*KINDS]:
        raise ValueError(f"{path} holds no tformer model: its kind is {kind!r}")
    config_class, _ = KINDS[kind]
    try:
        config = config_class.from_dict(metadata["config"])
        fingerprint = metadata["tokenizer"]
    except KeyError as error:
        raise ValueError(
            f"{path} holds no tformer model: its header has no {error.args[0]}"
        ) from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no tformer model: {error}") from error
    check_size(config, shapes, origin=str(path))
    weights, _ = load_tensors(path)
    weights = restored(plain_names(weights), origin=str(path))
    model = build(config)
    load_parameters(model, weights, origin=str(path))
    return model.eval(), fingerprint


def check_size(
    config: ModelConfig, shapes: dict[str, tuple[int, ...]], *, origin: str
) -> None:
    """Raise a ValueError if a model would be far larger than the file that has it."""
    stored = sum(math.prod(shape) for shape in shapes.values())
    claimed = config.n_parameters
    if claimed > 2 * stored:
        raise ValueError(
            f"{origin} claims a model of {claimed:,} weights and holds {stored:,}: its "
            "configuration does not match its weights"
        )
    if config.n_constants > LARGEST_TABLE:
        raise ValueError(
            f"{origin} claims max_len={config.to_dict()['max_len']:,}: a table of that "
            "many positions does not fit in memory"
        )


def load_parameters(
    model: nn.Module, weights: dict[str, Tensor], *, origin: str
) -> None:
    """Copy named weights into a model, all of them or none.

    Raises:
        ValueError: a name is missing or unknown, a shape differs, a weight is not
            finite; the message names ``origin`` and the weight.
    """
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() ^ weights.keys()):
        what = "lacks" if name in parameters else "has the unknown weight"
        raise ValueError(f"{origin} {what} {name}: it is a different kind of model")
    for name, parameter in parameters.items():
        weight = weights[name]
        if weight.shape != parameter.shape:
            raise ValueError(
                f"{origin}: {name} has shape {tuple(weight.shape)}, the model needs "
                f"{tuple(parameter.shape)}: the configurations differ"
            )
        if not bool(weight.isfinite().all()):
            raise ValueError(f"{origin}: {name} holds NaN or infinity")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
