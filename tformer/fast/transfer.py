"""Between the CPU and a GPU: whatever copies something makes the program wait.

A GPU works through a queue, and the program only fills it. To read a value, the program
must wait until all before it is done, and while it waits the queue runs dry. Chapters
*Training* and *Decoding and scoring*.
"""

import torch
from torch import Tensor


def sent(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on another device, without waiting for the copy.

    On an Apple GPU such a copy may read the source after it was freed (PyTorch's issue
    189690), so there we wait.
    """
    return tensor.to(device, non_blocking=torch.device(device).type != "mps")


def fetched(*tensors: Tensor) -> list[Tensor]:
    """The tensors on the CPU, by a single copy: each would wait for a GPU anew."""
    if all(each.device.type == "cpu" for each in tensors):
        return list(tensors)
    flat = [each.reshape(-1).view(torch.uint8) for each in tensors]
    parts = torch.cat(flat).cpu().split([len(each) for each in flat])
    return [
        part.clone().view(each.dtype).view(each.shape)  # clone: it begins at a border
        for part, each in zip(parts, tensors, strict=True)
    ]
