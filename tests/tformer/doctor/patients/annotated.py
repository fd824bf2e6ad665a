"""Small classes, clones, a generator: pre-norm, masks (B, 1, S) as inputs."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, PAD, BOS, EOS = 31, 0, 1, 2


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


class Heads(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = clones(nn.Linear(d_model, d_model), 4)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        b = query.size(0)
        query, key, value = [
            lin(x).view(b, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value), strict=False)
        ]
        x, self.attn = attention(query, key, value, mask, self.dropout)
        x = x.transpose(1, 2).contiguous().view(b, -1, self.h * self.d_k)
        return self.linears[-1](x)


class Norm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.gain * (x - mean) / (std + self.eps) + self.bias


class Sublayer(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.norm = Norm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class Forward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.w_2(self.dropout(self.w_1(x).relu()))


class EncoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__()
        self.self_attn, self.feed_forward = self_attn, feed_forward
        self.sublayer = clones(Sublayer(size, dropout), 2)

    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.sublayer[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    def __init__(self, size, self_attn, src_attn, feed_forward, dropout):
        super().__init__()
        self.self_attn, self.src_attn = self_attn, src_attn
        self.feed_forward = feed_forward
        self.sublayer = clones(Sublayer(size, dropout), 3)

    def forward(self, x, memory, src_mask, tgt_mask):
        m = memory
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, tgt_mask))
        x = self.sublayer[1](x, lambda x: self.src_attn(x, m, m, src_mask))
        return self.sublayer[2](x, self.feed_forward)


class Encoder(nn.Module):
    def __init__(self, layer, n, size):
        super().__init__()
        self.layers = clones(layer, n)
        self.norm = Norm(size)

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    def __init__(self, layer, n, size):
        super().__init__()
        self.layers = clones(layer, n)
        self.norm = Norm(size)

    def forward(self, x, memory, src_mask, tgt_mask):
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return self.norm(x)


class Embeddings(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * math.sqrt(self.d_model)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout, max_len=100):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        at = torch.arange(max_len)[:, None]
        waves = at / 10000 ** (torch.arange(0, d_model, 2) / d_model)
        pe = torch.stack([waves.sin(), waves.cos()], dim=-1).flatten(1)[None]
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[:, : x.size(1)]
        return self.dropout(x)


class Generator(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.proj = nn.Linear(d_model, vocab)

    def forward(self, x):
        return F.log_softmax(self.proj(x), dim=-1)


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, generator):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.src_embed, self.tgt_embed = src_embed, tgt_embed
        self.generator = generator

    def forward(self, src, tgt, src_mask, tgt_mask):
        memory = self.encode(src, src_mask)
        return self.decode(memory, src_mask, tgt, tgt_mask)

    def encode(self, src, src_mask):
        return self.encoder(self.src_embed(src), src_mask)

    def decode(self, memory, src_mask, tgt, tgt_mask):
        return self.decoder(self.tgt_embed(tgt), memory, src_mask, tgt_mask)


def make_model(n=2, d_model=32, h=4, dropout=0.1):
    c = copy.deepcopy
    attn = Heads(h, d_model)
    ff = Forward(d_model, 2 * d_model, dropout)
    position = PositionalEncoding(d_model, dropout)
    decoder_layer = DecoderLayer(d_model, c(attn), c(attn), c(ff), dropout)
    model = EncoderDecoder(
        Encoder(EncoderLayer(d_model, c(attn), c(ff), dropout), n, d_model),
        Decoder(decoder_layer, n, d_model),
        nn.Sequential(Embeddings(d_model, VOCAB), c(position)),
        nn.Sequential(Embeddings(d_model, VOCAB), c(position)),
        Generator(d_model, VOCAB),
    )
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    return model


def subsequent_mask(size):
    return torch.triu(torch.ones(1, size, size), diagonal=1) == 0


def masks(src, tgt):
    src_mask = (src != PAD).unsqueeze(-2)
    tgt_mask = (tgt != PAD).unsqueeze(-2) & subsequent_mask(tgt.size(-1))
    return src_mask, tgt_mask


def run(model, src, tgt):
    return model.generator(model(src, tgt, *masks(src, tgt)))


class LabelSmoothing:
    def __init__(self, size, smoothing=0.1):
        self.size, self.smoothing = size, smoothing

    def __call__(self, x, target):
        x, target = x.reshape(-1, x.size(-1)), target.reshape(-1)
        true = torch.full_like(x, self.smoothing / (self.size - 2))
        true = true.scatter(1, target[:, None], 1 - self.smoothing)
        true[:, PAD] = 0
        true = true.masked_fill((target == PAD)[:, None], 0.0)
        n = (target != PAD).sum()
        return F.kl_div(x, true, reduction="sum") / n


def make_batches():
    g = torch.Generator().manual_seed(5)
    found = []
    for _ in range(3):
        data = torch.randint(3, VOCAB, (5, 9), generator=g)
        data[:, 0] = BOS
        data[0, 6:] = PAD
        data[1, 5] = EOS
        data[1, 6:] = PAD
        found.append((data[:, 1:], data[:, :-1], data[:, 1:]))
    return found


def greedy_decode(model, src, max_len=12):
    src_mask = (src != PAD).unsqueeze(-2)
    memory = model.encode(src, src_mask)
    ys = torch.full((src.size(0), 1), BOS)
    done = torch.zeros(src.size(0), dtype=torch.bool)
    for _ in range(max_len - 1):
        out = model.decode(memory, src_mask, ys, subsequent_mask(ys.size(1)))
        word = model.generator(out[:, -1]).argmax(dim=-1)
        ys = torch.cat([ys, word[:, None]], dim=1)
        done = done | (word == EOS)
        if bool(done.all()):
            break
    return ys


def rate(step, model_size=32, warmup=400):
    return model_size**-0.5 * min(step**-0.5, step * warmup**-1.5)


def case(width=32, layers=2):
    model = make_model(layers, width)
    return model, {
        "forward": run, "vocab_size": VOCAB, "loss": LabelSmoothing(VOCAB),
        "batches": make_batches(), "decode": greedy_decode, "schedule": rate,
        "steps": 4000,
        "optimizer": torch.optim.Adam(model.parameters(), lr=1.0),
    }  # fmt: skip
