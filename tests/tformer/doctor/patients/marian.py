"""After Marian: post-norm, swish, tied tables, sinusoids, a final bias."""

import math

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, PAD, EOS = 40, 39, 0  # the decoder begins with padding


class Sinusoids(nn.Embedding):
    def __init__(self, places, width):
        super().__init__(places, width)
        angle = torch.arange(places)[:, None] / torch.pow(
            10000, 2 * torch.arange(width // 2) / width
        )
        self.weight = nn.Parameter(
            torch.cat([angle.sin(), angle.cos()], dim=1), requires_grad=False
        )

    def forward(self, length, past=0):
        places = torch.arange(past, past + length, device=self.weight.device)
        return super().forward(places)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.scaling = self.size**-0.5
        self.k_proj, self.v_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.q_proj, self.out_proj = nn.Linear(width, width), nn.Linear(width, width)

    def shape(self, x):
        return x.view(x.size(0), -1, self.heads, self.size).transpose(1, 2)

    def forward(self, hidden, states=None, mask=None, past=None):
        states = hidden if states is None else states
        q = self.shape(self.q_proj(hidden) * self.scaling)
        k, v = self.shape(self.k_proj(states)), self.shape(self.v_proj(states))
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        if mask is not None:
            scores = scores + mask
        weights = F.softmax(scores, dim=-1)
        mixed = torch.einsum("bhqk,bhkd->bhqd", weights, v)
        mixed = mixed.transpose(1, 2).reshape(
            hidden.size(0), -1, self.heads * self.size
        )
        return self.out_proj(mixed), (k, v)


class Layer(nn.Module):
    def __init__(self, width, heads, dropout, decodes):
        super().__init__()
        self.dropout, self.decodes = dropout, decodes
        self.self_attn = Attention(width, heads)
        self.self_attn_layer_norm = nn.LayerNorm(width)
        if decodes:
            self.encoder_attn = Attention(width, heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.final_layer_norm = nn.LayerNorm(width)

    def drop(self, x):
        return F.dropout(x, p=self.dropout, training=self.training)

    def forward(self, x, mask, memory=None, memory_mask=None, past=None):
        residual = x
        x, kept = self.self_attn(x, mask=mask, past=past)
        x = self.self_attn_layer_norm(residual + self.drop(x))
        if self.decodes:
            residual = x
            x, _ = self.encoder_attn(x, states=memory, mask=memory_mask)
            x = self.encoder_attn_layer_norm(residual + self.drop(x))
        residual = x
        x = self.fc2(F.silu(self.fc1(x)))
        x = self.final_layer_norm(residual + self.drop(x))
        return x, kept


class Stack(nn.Module):
    def __init__(self, table, width, heads, layers, dropout, decodes):
        super().__init__()
        self.embed_tokens = table
        self.embed_scale = math.sqrt(width)
        self.embed_positions = Sinusoids(64, width)
        self.layers = nn.ModuleList(
            [Layer(width, heads, dropout, decodes) for _ in range(layers)]
        )

    def forward(self, ids, mask, memory=None, memory_mask=None, past=None):
        begin = 0 if past is None else past[0][0].size(2)
        x = self.embed_tokens(ids) * self.embed_scale
        x = x + self.embed_positions(ids.size(1), begin)
        kept = []
        for i, layer in enumerate(self.layers):
            old = None if past is None else past[i]
            x, new = layer(x, mask, memory, memory_mask, old)
            kept.append(new)
        return x, kept


class MarianLike(nn.Module):
    def __init__(self, width=32, layers=2, heads=4, dropout=0.1):
        super().__init__()
        self.shared = nn.Embedding(VOCAB, width, padding_idx=PAD)
        nn.init.normal_(self.shared.weight, std=width**-0.5)
        self.encoder = Stack(self.shared, width, heads, layers, dropout, False)
        self.decoder = Stack(self.shared, width, heads, layers, dropout, True)
        self.lm_head = nn.Linear(width, VOCAB, bias=False)
        self.lm_head.weight = self.shared.weight
        self.final_logits_bias = nn.Parameter(torch.zeros(1, VOCAB))

    def hide(self, ids):
        far = torch.zeros(ids.shape).masked_fill(ids == PAD, -1e9)
        return far[:, None, None, :]

    def encode(self, ids):
        return self.encoder(ids, self.hide(ids))[0]

    def decode(self, ids, memory, source, past=None):
        n = ids.size(1)
        causal = torch.full((n, n), float("-inf")).triu(1)
        if past is not None:
            causal = None
        y, kept = self.decoder(ids, causal, memory, self.hide(source), past)
        return self.lm_head(y) + self.final_logits_bias, kept

    def forward(self, input_ids, decoder_input_ids):
        memory = self.encode(input_ids)
        return {"logits": self.decode(decoder_input_ids, memory, input_ids)[0]}


def smoothed(logits, labels, epsilon=0.1):
    logs = logits.log_softmax(-1)
    right = -logs.gather(-1, labels[..., None])[..., 0]
    even = -logs.mean(-1)
    real = labels != PAD
    right, even = right[real], even[real]
    return (1 - epsilon) * right.mean() + epsilon * even.mean()


def batches():
    g = torch.Generator().manual_seed(8)
    made = []
    for _ in range(2):
        source = torch.randint(1, PAD, (4, 7), generator=g)
        labels = torch.randint(1, PAD, (4, 9), generator=g)
        labels[:, -1] = EOS
        labels[2, 4], labels[2, 5:], source[2, 3:] = EOS, PAD, PAD
        target = torch.cat([torch.full((4, 1), PAD), labels[:, :-1]], dim=1)
        made.append((source, target, labels))
    return made


def generate(model, source, longest=12):
    memory, past = model.encode(source), None
    ids = torch.full((source.size(0), 1), PAD)
    out, over = [], torch.zeros(source.size(0), dtype=torch.bool)
    for _ in range(longest):
        logits, past = model.decode(ids, memory, source, past)
        logits[..., PAD] = float("-inf")
        ids = logits[:, -1:].argmax(-1)
        out.append(ids.masked_fill(over[:, None], PAD))
        over = over | (ids[:, 0] == EOS)
        if over.all():
            break
    return torch.cat(out, dim=1)


def schedule(step, warm=500):
    return 3e-4 * min(step / warm, (warm / step) ** 0.5)


def case(width=32, layers=2):
    model = MarianLike(width, layers)
    weights = [p for p in model.parameters() if p.requires_grad]
    return model, {
        "vocab_size": VOCAB, "pad_id": PAD, "bos_id": None, "eos_id": EOS,
        "tied": True, "loss": smoothed, "batches": batches(), "decode": generate,
        "schedule": schedule, "steps": 5000,
        "optimizer": torch.optim.Adam(weights, lr=3e-4),
    }  # fmt: skip
