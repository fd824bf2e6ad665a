"""Text as pieces: byte pairs written out, and sentencepiece's tokenizers for real use.

Chapter *Tokenization*.
"""

from tformer.tokenization.tokenizer import Tokenizer

__all__ = ["Tokenizer"]
