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


@wrong("smoothing-ignored", "0.1")
def always_a_tenth(labels, *, vocab_size, smoothing):
    return 0.9 * F.one_hot(labels, vocab_size).float() + 0.1 / vocab_size


@wrong("softmax-on-top", "shares already")
def softmax_of_shares(labels, *, vocab_size, smoothing):
    hot = F.one_hot(labels, vocab_size).float()
    return ((1 - smoothing) * hot + smoothing / vocab_size).softmax(-1)


def moved(move):
    return lambda labels, *, vocab_size, smoothing: move(
        plain(labels, vocab_size=vocab_size, smoothing=smoothing)
    )


wrong("integers")(moved(lambda target: target.long()))
wrong("vocabulary-first")(moved(lambda target: target.movedim(-1, 0)))
wrong("wrong-numbers")(moved(lambda target: target**2))
wrong("shape")(moved(lambda target: target.flatten(0, 1)))
wrong("not-one-hot-at-zero")(
    lambda labels, *, vocab_size, smoothing: plain(
        labels, vocab_size=vocab_size, smoothing=smoothing or 0.1
    )
)
