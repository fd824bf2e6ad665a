"""Exchange with other programs: our models for them, and one of theirs for us.

`export` writes a folder that another program can open: Hugging Face's transformers, to
train it further or translate with it; CTranslate2, which is fast; anything that runs
ONNX; or the live lab of this book, in a browser. The weights are exactly ours, in
float32; only names and layout change. In the other direction, `load_marian` in
`tformer.interop.marian` reads the published models of Helsinki-NLP.

Nothing heavy is imported before it is needed, and another project's package only by the
function that writes for it; ``pip install 'tformer[interop]'`` installs them all.
Chapter *Training*.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tformer.translator import Translator

__all__ = ["FORMATS", "export"]

# The formats that `export` writes, and their uses. Their modules have
# `write(translator, folder)`, and in NEEDS the packages that they require.
FORMATS = {
    "hf": "for Hugging Face transformers",
    "ctranslate2": "for CTranslate2, which is faster than PyTorch",
    "onnx": "two graphs for ONNX runtimes",
    "lab": "two files that the live lab opens, on this book's site",
}
_MODULES = {"hf": "hugging_face"}  # the others are called as their format


def export(
    translator: Translator, to: str, folder: str | Path, *, force: bool = False
) -> list[str]:
    """Write a model for another program.

    The folder appears once everything is written, or not at all if anything fails. An
    earlier export is replaced.

    Args:
        translator: a `Transformer` of the paper's parts, with its tokenizer.
        to: one of `FORMATS`.
        folder: created if missing.
        force: write to a folder even if it holds other things. They stay, unless a
            file of ours has the same name.

    Returns:
        The names of the files.

    Raises:
        ImportError: the format needs a package that is not installed.
        TypeError: the translator's model is not a `Transformer`.
        ValueError: an unknown format; a model that the other program cannot represent
            (the message says why); a folder that holds other things.
        IsADirectoryError: a folder stands where one of the files belongs.
    """
    from tformer.common.values import named_folder
    from tformer.interop.folders import assembled

    writer = writer_for(to)
    with assembled(named_folder(folder), to, force=force) as place:
        writer.write(translator, place)
        return sorted(each.name for each in place.iterdir())


def writer_for(to: str) -> Any:
    """The module that writes one format, once its packages are available.

    Raises:
        ImportError: a package is missing; the message names it.
        ValueError: an unknown format.
    """
    from tformer.common.values import one_of

    name = _MODULES.get(one_of("to", to, tuple(FORMATS)), to)
    writer = import_module(f"tformer.interop.{name}")
    for package in writer.NEEDS:
        try:
            import_module(package)
        except ImportError as error:
            raise ImportError(
                f"export to {to} needs the package {package}: "
                "pip install 'tformer[interop]'"
            ) from error
    return writer
