"""The Transformer of *Attention Is All You Need*, piece by piece.

>>> from tformer import load_pretrained
>>> load_pretrained().translate("A man is riding a horse.")

Everything is imported at its first use, so that ``--help`` need not wait for torch.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = [
    "Transformer",
    "TransformerConfig",
    "data",
    "decode",
    "evaluate",
    "load_pretrained",
    "train",
]

if TYPE_CHECKING:
    from tformer import data, decode, evaluate, train
    from tformer.config import TransformerConfig
    from tformer.model import Transformer
    from tformer.pretrained import load_pretrained
else:
    _HOMES = {
        "Transformer": "model",
        "TransformerConfig": "config",
        "load_pretrained": "pretrained",
    }

    def __getattr__(name: str) -> object:
        """A public name, or a module of the package, at its first use (PEP 562)."""
        if name in _HOMES:
            value = getattr(import_module(f"tformer.{_HOMES[name]}"), name)
            globals()[name] = value
            return value
        if not name.startswith("_") and find_spec(f"tformer.{name}"):
            return import_module(f"tformer.{name}")
        raise AttributeError(f"module 'tformer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
