"""Files that are whole or not there at all, and tensors that say what they are.

Weights and checkpoints are safetensors: plain numbers and a JSON header, so nothing is
ever unpickled. Every file is written beside its place and then moved there, which the
file system does at once: a killed run leaves the old file or the new one.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash, never meets half of it.

    Raises:
        OSError: the folder is missing or cannot be written; the message names it.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read, atomically."""
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_atomically(path, (text + "\n").encode())


def save_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, Any]
) -> None:
    """Write named tensors with JSON metadata, and checksums over both.

    Args:
        path: ends in ``.safetensors``.
        tensors: by name; moved to the CPU.
        metadata: anything that JSON can hold.
    """
    tensors = {name: each.detach().cpu().contiguous() for name, each in tensors.items()}
    header = {name: json.dumps(value) for name, value in metadata.items()}
    header["sha256"] = _checksum(tensors)
    header["sha256_of_header"] = _header_checksum(header)
    write_atomically(path, save(tensors, header))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote.

    Raises:
        FileNotFoundError: no such file.
        ValueError: truncated, not safetensors, not ours, or changed since written.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            header, names = file.metadata() or {}, list(file.keys())
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path} is truncated or not a safetensors file ({error}): "
            "copy or download it again"
        ) from error
    if not {"sha256", "sha256_of_header"} <= header.keys():
        raise ValueError(f"{path} was not written by tformer: it carries no checksum")
    header_is_right = header.pop("sha256_of_header") == _header_checksum(header)
    if not header_is_right or header.pop("sha256") != _checksum(tensors):
        raise ValueError(
            f"{path} was changed after it was written: its checksum does not fit. "
            "Copy or download it again"
        )
    return tensors, {name: json.loads(value) for name, value in header.items()}


def _header_checksum(header: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _checksum(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
