"""A decoder-only model: fused qkv, learned positions, pre-norm, tied, loss inside."""

import math

import torch
import torch.nn as nn
from torch.nn import functional as F

VOCAB, BLOCK, IGNORE = 37, 48, -1


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, fused=True):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head, self.n_embd, self.fused = n_head, n_embd, fused
        self.register_buffer("bias", torch.tril(torch.ones(1, 1, BLOCK, BLOCK)))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            att = F.softmax(att, dim=-1)
            y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self, n_embd, n_head, fused):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, fused)
        self.c_fc, self.c_out = (
            nn.Linear(n_embd, 4 * n_embd),
            nn.Linear(4 * n_embd, n_embd),
        )
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.dropout(self.attn(self.ln_1(x)))
        x = x + self.dropout(self.c_out(F.gelu(self.c_fc(self.ln_2(x)))))
        return x


class GPT(nn.Module):
    def __init__(self, n_embd=32, n_layer=2, n_head=4, fused=True):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, n_embd), nn.Embedding(BLOCK, n_embd)
        self.h = nn.ModuleList([Block(n_embd, n_head, fused) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, VOCAB, bias=False)
        self.apply(self._init)
        self.wte.weight = self.lm_head.weight

    def _init(self, module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        t = idx.size(1)
        pos = torch.arange(t)
        x = self.wte(idx) + self.wpe(pos)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None if targets is None else criterion(logits, targets)
        return logits, loss


def criterion(logits, targets):
    flat = logits.view(-1, logits.size(-1))
    return F.cross_entropy(flat, targets.reshape(-1), ignore_index=IGNORE)


def get_batches():
    g = torch.Generator().manual_seed(2)
    data = torch.randint(0, VOCAB, (400,), generator=g)
    out = []
    for start in (0, 90, 200):
        x = torch.stack([data[start + i : start + i + 16] for i in range(0, 64, 16)])
        y = torch.stack(
            [data[start + i + 1 : start + i + 17] for i in range(0, 64, 16)]
        )
        out.append((x, y))
    return out


def accumulate(model, parts):
    for x, y in parts:
        (model(x, y)[1] / len(parts)).backward()


def generate(model, idx, max_new_tokens=8):
    for _ in range(max_new_tokens):
        logits, _ = model(idx[:, -BLOCK:])
        idx = torch.cat((idx, logits[:, -1].argmax(-1, keepdim=True)), dim=1)
    return idx


def get_lr(it, warmup=100, decay=1000, top=6e-4, least=6e-5):
    if it < warmup:
        return top * (it + 1) / (warmup + 1)
    ratio = min(1.0, (it - warmup) / (decay - warmup))
    return least + 0.5 * (1 + math.cos(math.pi * ratio)) * (top - least)


def case(width=32, layers=2, fused=True):
    model = GPT(width, layers, fused=fused)
    return model, {
        "vocab_size": VOCAB, "pad_id": None, "bos_id": None, "eos_id": None,
        "forward": lambda model, idx: model(idx), "loss": criterion, "tied": True,
        "batches": get_batches(), "gradients": accumulate, "decode": generate,
        "schedule": get_lr, "steps": 1000,
        "optimizer": torch.optim.AdamW(model.parameters(), lr=6e-4),
    }  # fmt: skip
