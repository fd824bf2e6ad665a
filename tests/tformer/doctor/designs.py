"""One Transformer in many designs, each sound: what the doctor must not accuse.

`Stack` is a language model, an encoder that guesses hidden words, or both halves of an
encoder–decoder; `case` makes one, with the arguments of `examine`.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PAD, BOS, EOS, VOCAB, MASK = 0, 1, 2, 31, 30


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain


class CentredNorm(RMSNorm):
    """Its gain is kept as a distance from 1."""

    def __init__(self, width):
        super().__init__(width)
        nn.init.normal_(self.gain, std=0.02)

    def forward(self, x):
        scaled = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return scaled * (1 + self.gain)


NORMS = {"layer": nn.LayerNorm, "rms": RMSNorm, "centred": CentredNorm,
         "none": nn.Identity}  # fmt: skip


def turned(x):
    half, n = x.size(-1) // 2, x.size(-2)
    angles = torch.arange(n)[:, None] * 1e4 ** (-torch.arange(half) / half)
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Attention(nn.Module):
    def __init__(self, o, *, is_cross=False):
        super().__init__()
        self.o, self.size = o, o.width // o.heads
        groups = o.groups or o.heads
        latent = 6 if o.latent else o.width
        self.to_query = nn.Linear(o.width, o.heads * self.size)
        self.to_key = nn.Linear(latent, groups * self.size)
        self.to_value = nn.Linear(latent, groups * self.size)
        self.out = nn.Linear(o.heads * self.size, o.width)
        if o.latent:
            self.down, self.latent_norm = nn.Linear(o.width, 6), RMSNorm(6)
        if o.sinks:
            self.sink = nn.Parameter(torch.randn(o.heads))
        if o.positions == "relative" and not is_cross:
            self.bias = nn.Embedding(64, o.heads)
        if o.zero_out:
            nn.init.zeros_(self.out.weight)
        if o.more == "zero queries":
            nn.init.zeros_(self.to_query.weight)
        if o.pruned:
            self.register_buffer("kept", torch.ones(o.width, o.heads * self.size))
            self.kept[:, : self.size] = 0

    def split(self, x):
        x = x.unflatten(-1, (-1, self.size)).transpose(1, 2)
        if self.o.more == "einsum":
            return x
        return x.repeat_interleave(self.o.heads // x.size(1), dim=1)

    def forward(self, x, memory, mask):
        o, read = self.o, memory
        if o.latent:
            read = self.latent_norm(self.down(memory))
        q, k = self.split(self.to_query(x)), self.split(self.to_key(read))
        v = self.split(self.to_value(read))
        if o.qk_norm:
            q, k = F.normalize(q, dim=-1) * 2, F.normalize(k, dim=-1) * 2
        if o.positions == "rotary" and memory is x:
            q, k = turned(q), turned(k)
        scale = {"root": self.size**-0.5, "none": 1.0, "mup": 1 / self.size,
                 "alpha": self.size**-0.5}[o.scale]  # fmt: skip
        if o.scale == "alpha":
            flat, keys = q.flatten(0, 1), k.flatten(0, 1).transpose(-2, -1)
            room = torch.empty(len(flat), q.size(2), k.size(2)).to(q)
            scores = torch.baddbmm(room, flat, keys, beta=0, alpha=scale)
            scores = scores.unflatten(0, q.shape[:2])
        elif o.more == "einsum":
            q = q.unflatten(1, (k.size(1), -1))
            scores = torch.einsum("bgrid, bgjd -> bgrij", q, k).flatten(1, 2) * scale
        else:
            scores = q @ k.transpose(-2, -1) * scale
        if memory is x:
            scores = scores + self.places(q.size(2)).to(q)
        if o.softcap:
            scores = 5 * torch.tanh(scores / 5)
        if o.weights == "sigmoid":
            weights = torch.sigmoid(scores - 2)
            weights = weights.masked_fill(~mask, 0)
        else:
            scores = scores.masked_fill(~mask, -math.inf)
            if o.sinks:
                sink = self.sink[None, :, None, None].expand(len(x), -1, x.size(1), 1)
                scores = torch.cat([scores, sink], dim=-1)
            weights = scores.softmax(dim=-1)[..., : k.size(2)]
        if o.more == "einsum":
            shared = weights.unflatten(1, (v.size(1), -1))
            mixed = torch.einsum("bgrij, bgjd -> bgrid", shared, v).flatten(1, 2)
        else:
            mixed = weights @ v
        mixed = mixed.transpose(1, 2).flatten(2)
        if o.pruned:
            return F.linear(mixed, self.out.weight * self.kept, self.out.bias)
        return self.out(mixed)

    def places(self, n):
        apart = torch.arange(n) - torch.arange(n)[:, None]
        if self.o.positions == "relative":
            return self.bias((apart + 32).clamp(0, 63)).permute(2, 0, 1)
        if self.o.positions == "alibi":
            slopes = 2.0 ** -torch.arange(1, self.o.heads + 1)
            return -slopes[:, None, None] * apart.abs()
        return torch.zeros(1)


class FeedForward(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.up, self.back = nn.Linear(o.width, 40), nn.Linear(40, o.width)
        self.gate = nn.Linear(o.width, 40) if o.more == "gated" else None
        if o.zero_out:
            nn.init.zeros_(self.back.weight)

    def forward(self, x):
        if self.gate is not None:
            return self.back(F.silu(self.gate(x)) * self.up(x))
        return self.back(F.gelu(self.up(x)))


class Experts(nn.Module):
    """Each word goes to one of many, and so most stand idle."""

    def __init__(self, o, n=40):
        super().__init__()
        self.router = nn.Linear(o.width, n)
        self.experts = nn.ModuleList([FeedForward(o) for _ in range(n)])

    def forward(self, x):
        share, chosen = self.router(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for i in chosen.unique().tolist():
            out[chosen == i] = self.experts[i](x[chosen == i])
        return out * share[..., None]


class Layer(nn.Module):
    def __init__(self, o, *, crosses):
        super().__init__()
        self.o = o
        self.attention = Attention(o)
        self.cross = Attention(o, is_cross=True) if crosses else None
        self.feed_forward = Experts(o) if o.experts else FeedForward(o)
        make = NORMS[o.norm]
        n_norms = 1 if o.parallel else 3 if crosses else 2
        self.norms = nn.ModuleList([make(o.width) for _ in range(3)][:n_norms])
        self.drop = nn.Dropout(0.1)
        if o.shift:
            self.shift = nn.Parameter(torch.full((o.width,), 0.3))
        if o.more == "sandwich":
            self.outer = nn.ModuleList([make(o.width) for _ in self.norms])
        if o.more == "layer scale":
            self.thin = nn.Parameter(torch.full((o.width,), 0.01))
        if o.gates:
            self.gate = nn.Parameter(torch.zeros(1))

    def mixed(self, h):
        """Each word with a part of the one before it."""
        before = F.pad(h, (0, 0, 1, 0))[:, :-1]
        return h + self.shift * (before - h) if self.o.shift else h

    def add(self, x, i, sublayer):
        gate = self.gate if self.o.gates else 1
        if self.o.more == "DeepNorm":
            new = 2 * x if i else self.drop(sublayer(x))  # in either order
            return self.norms[i](new + (self.drop(sublayer(x)) if i else 2 * x))
        if self.o.more == "sandwich":
            return x + self.outer[i](sublayer(self.norms[i](x)))
        if self.o.more == "layer scale":
            gate = self.thin
        if self.o.post:
            return self.norms[i](x + gate * self.drop(sublayer(x)))
        return x + gate * self.drop(sublayer(self.norms[i](x)))

    def forward(self, x, mask, memory=None, memory_mask=None):
        if self.o.parallel:
            h = self.norms[0](x)
            return x + self.attention(h, h, mask) + self.feed_forward(h)

        def attend(h):
            h = self.mixed(h)
            return self.attention(h, h, mask)

        x = self.add(x, 0, attend)
        if self.cross is not None:
            x = self.add(x, 1, lambda h: self.cross(h, memory, memory_mask))
        return self.add(x, len(self.norms) - 1, self.feed_forward)


class Stack(nn.Module):
    """Embeddings, positions, layers, and a last norm."""

    def __init__(self, o, *, crosses=False):
        super().__init__()
        self.o = o
        self.words = nn.Embedding(VOCAB, o.width, padding_idx=o.padding_idx)
        if o.positions == "learned":
            self.places = nn.Embedding(o.block, o.width)
        if o.positions == "zeros":
            self.places = nn.Embedding(o.block, o.width)
            nn.init.zeros_(self.places.weight)
        if o.positions == "frozen":
            self.places = nn.Embedding(o.block, o.width)
            self.places.weight.requires_grad_(False)
        n = 1 if o.shared else o.layers
        layers = [Layer(o, crosses=crosses) for _ in range(n)]
        self.layers = nn.ModuleList(layers * (o.layers // n))
        if o.alias:
            self.blocks = self.layers
        self.last = nn.Identity() if o.post else NORMS[o.norm](o.width)

    def forward(self, ids, mask, memory=None, memory_mask=None):
        if ids.size(1) > self.o.block:
            raise ValueError(f"{ids.size(1)} words, and the block has {self.o.block}")
        x = self.words(ids)
        if self.o.more == "scaled words":
            x = x * self.o.width**0.5
        if self.o.positions in ("learned", "zeros", "frozen"):
            x = x + self.places(torch.arange(ids.size(1)))
        for layer in self.layers:
            x = layer(x, mask, memory, memory_mask)
        return self.last(x)


class Model(nn.Module):
    """A language model (`kind` is "writes"), or an encoder ("guesses")."""

    def __init__(self, o):
        super().__init__()
        self.o, self.stack = o, Stack(o)
        self.head = nn.Linear(o.width, VOCAB, bias=False)
        if o.tied:
            self.head.weight = self.stack.words.weight
        if o.zero_head:
            nn.init.zeros_(self.head.weight)
        if o.low_rank_head:
            self.head = nn.Sequential(
                nn.Linear(o.width, 5, bias=False), nn.Linear(5, VOCAB, bias=False)
            )

    def forward(self, ids, labels=None):
        n = ids.size(1)
        mask = torch.ones(n, n, dtype=torch.bool)
        if self.o.kind == "writes":
            mask = mask.tril()
            mask[: self.o.prefix, : self.o.prefix] = True
        else:
            mask = mask & (ids != PAD)[:, None, None]
        x = self.stack(ids, mask)
        if self.o.returns == "last" and labels is None:
            return self.head(x[:, [-1]]), None
        logits = self.head(x)
        if self.o.returns == "logits":
            return logits
        if self.o.returns == "object":
            return SimpleNamespace(loss=None, logits=logits)
        return logits, None


class Pair(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.o = o
        self.encoder, self.decoder = Stack(o), Stack(o, crosses=True)
        self.head = nn.Linear(o.width, VOCAB)

    def forward(self, source, target):
        n = target.size(1)
        pad = self.o.pads
        seen = (source != pad[0])[:, None, None]
        memory = self.encoder(source, seen)
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        mask = mask & (target != pad[1])[:, None, None]
        mask = mask | torch.eye(n, dtype=torch.bool)
        return self.head(self.decoder(target, mask, memory, seen))


USUAL = {
    "kind": "writes", "width": 16, "heads": 4, "layers": 2, "groups": None,
    "latent": False, "sinks": False, "positions": "learned", "scale": "root",
    "qk_norm": False, "softcap": False, "weights": "softmax", "pruned": False,
    "zero_out": False, "experts": False, "norm": "layer", "shift": False,
    "gates": False, "post": False, "parallel": False, "shared": False,
    "alias": False, "tied": False, "zero_head": False, "low_rank_head": False,
    "prefix": 0, "more": "", "returns": "logits", "block": 48, "padding_idx": None,
    "pads": (PAD, PAD), "dtype": torch.float32, "trained": 0, "seed": 0,
}  # fmt: skip


def made(**options) -> nn.Module:
    o = SimpleNamespace(**{**USUAL, **options})
    assert set(options) <= set(USUAL)
    torch.manual_seed(o.seed)
    model = (Pair if o.kind == "translates" else Model)(o)
    train(model, o)
    return model.to(o.dtype)


def train(model, o):
    """A few steps, so that no weight is what it was made as."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(o.trained):
        *read, labels = batch(o, step)
        out = model(*read)
        out = out if isinstance(out, Tensor) else getattr(out, "logits", out[0])
        loss = F.cross_entropy(out.flatten(0, 1), labels.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def batch(o, step=0):
    """(source, read, labels) or (ids, labels), with −100 where nothing is asked."""
    g = torch.Generator().manual_seed(step)
    first = 5
    n = min(10, o.block + (o.kind == "writes"))
    ids = torch.randint(first, MASK, (6, n), generator=g)
    ids[:, 0], ids[:, -1] = BOS, EOS
    ids[0, 4], ids[0, 5:] = EOS, o.pads[1]
    if o.kind == "guesses":
        hidden = (torch.rand(ids.shape, generator=g) < 0.2) & (ids > EOS)
        hidden[1:3, 3] = True
        return ids.masked_fill(hidden, MASK), ids.masked_fill(~hidden, -100)
    labels = ids[:, 1:].masked_fill(ids[:, 1:] == o.pads[1], -100)
    if o.kind == "writes":
        return ids[:, :-1], labels
    source = ids.flip(1).masked_fill(ids.flip(1) == o.pads[1], o.pads[0])
    return (
        source.roll(3, dims=1)[:, :9].sort(descending=True).values,
        ids[:, :-1],
        labels,
    )
