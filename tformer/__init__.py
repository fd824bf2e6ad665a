"""The Transformer of *Attention Is All You Need*, piece by piece.

>>> from tformer import load_pretrained
>>> load_pretrained().translate("A man is riding a horse.")
"""

from tformer import data, decode, evaluate, train
from tformer.config import TransformerConfig
from tformer.model import Transformer
from tformer.pretrained import load_pretrained

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
