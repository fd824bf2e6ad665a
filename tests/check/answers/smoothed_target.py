import torch
import torch.nn.functional as F

from answers import right, wrong


@right
def plain(labels, *, vocab_size, smoothing):
    hot = F.one_hot(labels, vocab_size).float()
    return hot * (1 - smoothing) + smoothing / vocab_size


@wrong("smoothed-without-padding", "Annotated")
def annotated(labels, *, vocab_size, smoothing):
    out = torch.full((*labels.shape, vocab_size), smoothing / (vocab_size - 2))
    out.scatter_(-1, labels.unsqueeze(-1), 1 - smoothing)
    out[..., 0] = 0
    return out


@wrong("smoothed-without-padding", "<pad>")
def no_mass_on_pad(labels, *, vocab_size, smoothing):
    out = torch.full((*labels.shape, vocab_size), smoothing / (vocab_size - 1))
    out[..., 0] = 0
    return out + (1 - smoothing) * F.one_hot(labels, vocab_size)


@wrong("label-left-out")
def over_v_minus_two(labels, *, vocab_size, smoothing):
    out = torch.full((*labels.shape, vocab_size), smoothing / (vocab_size - 2))
    return out.scatter_(-1, labels.unsqueeze(-1), 1 - smoothing)
