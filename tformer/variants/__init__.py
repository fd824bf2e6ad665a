"""What came before the paper, and after it: other parts, and models of one stack.

One idea, one file, none of which the paper's model needs. `tformer.parts` gives the
parts (`RMSNorm`, `SwiGLU`, `GroupedAttention`, `RotaryAttention`) their names::

    Transformer(TransformerConfig(norm_kind="rms", feed_forward="swiglu"))

`OneStack` is an encoder alone (as BERT) or a decoder alone (as GPT), and `mask_pieces`
hides what the former has to guess. Chapter *What came after*.
"""

from tformer.variants.grouped import GroupedAttention, grouped_attention
from tformer.variants.masking import mask_pieces
from tformer.variants.one_stack import OneStack
from tformer.variants.rms_norm import RMSNorm, rms_norm
from tformer.variants.rotary import NoPositions, RotaryAttention, rotate_pairs
from tformer.variants.swiglu import SwiGLU

__all__ = [
    "GroupedAttention",
    "NoPositions",
    "OneStack",
    "RMSNorm",
    "RotaryAttention",
    "SwiGLU",
    "grouped_attention",
    "mask_pieces",
    "rms_norm",
    "rotate_pairs",
]
