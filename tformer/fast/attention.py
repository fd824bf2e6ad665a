"""Attention by PyTorch's fused kernel, and several projections as one product.

`tformer.attention` says what is computed. Chapters *Attention* and *Multi-head
attention*.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> Tensor:
    """The output of `tformer.attention`, by a fused kernel that keeps no weights."""
    if query.device.type == "cpu" and query.dtype == torch.bfloat16:
        # The kernel's gradient is several times slower on a CPU in bfloat16.
        with torch.autocast("cpu", enabled=False):
            output = F.scaled_dot_product_attention(
                query.float(), key.float(), value.float(), attn_mask=mask
            )
        return output.to(query.dtype)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def stacked(x: Tensor, *projections: nn.Linear) -> Tensor:
    """Several linear maps of the same input as one product, results side by side.

    For the few rows of a decoding step the products are computed one by one, because
    concatenating the matrices would take longer than all of them.
    """
    if not torch.is_grad_enabled() and x.numel() < x.size(-1) ** 2:
        products = [F.linear(x, each.weight, each.bias) for each in projections]
        return torch.cat(products, dim=-1)
    weight = torch.cat([projection.weight for projection in projections])
    if projections[0].bias is None:
        return F.linear(x, weight)
    return F.linear(x, weight, torch.cat([each.bias for each in projections]))
