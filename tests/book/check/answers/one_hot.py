import torch
import torch.nn.functional as F

from answers import right, wrong


@right
def compared(ids, vocab_size):
    return (ids.unsqueeze(-1) == torch.arange(vocab_size)).float()


right(lambda ids, vocab_size: torch.eye(vocab_size)[ids])


@right
def scattered(ids, vocab_size):
    out = torch.zeros(*ids.shape, vocab_size)
    return out.scatter_(-1, ids.unsqueeze(-1), 1.0)


@wrong("not-floats")
def torchs(ids, vocab_size):
    return F.one_hot(ids, vocab_size)


@wrong("one-sentence-only")
def one_sentence(ids, vocab_size):
    out = torch.zeros(len(ids), vocab_size)
    out[torch.arange(len(ids)), ids] = 1.0
    return out


wrong("axes")(lambda ids, vocab_size: compared(ids, vocab_size)[None])
wrong("wrong-numbers")(lambda ids, vocab_size: compared(ids, vocab_size) / 2)
wrong("vocabulary-from-the-ids")(lambda ids, vocab_size: F.one_hot(ids).float())
right(lambda ids, vocab_size: F.one_hot(ids, vocab_size).double())
