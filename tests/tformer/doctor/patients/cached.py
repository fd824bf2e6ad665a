"""A decoder-only model with rotary positions that keeps keys and values."""

import math

import torch
from torch import nn
from torch.nn import functional as F

VOCAB, PAD, BOS, EOS = 33, 0, 1, 2


def turned(x, begin):
    half = x.size(-1) // 2
    places = torch.arange(begin, begin + x.size(-2))[:, None]
    angles = places * 1e4 ** (-torch.arange(half) / half)
    a, b, cos, sin = x[..., :half], x[..., half:], angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_all, self.back = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.1)

    def attend(self, x, kept):
        rows, n, width = x.shape
        q, k, v = (
            each.view(rows, n, self.heads, self.size).transpose(1, 2)
            for each in self.to_all(x).chunk(3, dim=-1)
        )
        old = kept[0].size(2) if kept else 0
        q, k = turned(q, old), turned(k, old)
        if kept:
            k, v = torch.cat([kept[0], k], dim=2), torch.cat([kept[1], v], dim=2)
        if kept is not None:
            kept[:] = [k, v]
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.size)
        seen = torch.ones(n, old + n, dtype=torch.bool).tril(diagonal=old)
        weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)
        mixed = self.drop(weights) @ v
        return self.back(mixed.transpose(1, 2).reshape(rows, n, width))

    def forward(self, x, kept):
        x = x + self.drop(self.attend(self.before(x), kept))
        h = self.between(x)
        return x + self.drop(self.down(F.silu(self.up(h))))


class Cached(nn.Module):
    def __init__(self, width, layers, heads=4):
        super().__init__()
        self.words = nn.Embedding(VOCAB, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.last = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, ids, kept=None):
        x = self.words(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, None if kept is None else kept[i])
        return self.head(self.last(x))


def loss(logits, labels):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=PAD)


def batches():
    g = torch.Generator().manual_seed(4)
    made = []
    for _ in range(2):
        ids = torch.randint(3, VOCAB, (5, 12), generator=g)
        ids[:, 0], ids[:, -1] = BOS, EOS
        ids[1, 7], ids[1, 8:] = EOS, PAD
        made.append((ids[:, :-1], ids[:, 1:]))
    return made


@torch.no_grad()
def write(model, prompt, n=7):
    model.eval()
    kept = [[] for _ in model.blocks]
    latest, ids = prompt, prompt
    for _ in range(n):
        latest = model(latest, kept)[:, -1:].argmax(-1)
        ids = torch.cat([ids, latest], dim=1)
    return ids


def case(width=32, layers=2):
    model = Cached(width, layers)
    return model, {
        "vocab_size": VOCAB, "loss": loss, "batches": batches(), "decode": write,
        "optimizer": torch.optim.AdamW(model.parameters(), lr=1e-3),
    }  # fmt: skip
