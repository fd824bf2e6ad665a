"""torch.nn.Transformer in a wrapper: sequence first, post-norm, masks made outside."""

import math

import torch
from torch import nn

VOCAB, PAD, BOS, EOS = (23, 29), 0, 1, 2


class Positions(nn.Module):
    def __init__(self, width, dropout=0.1, longest=64):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        place = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(longest, 1, width)
        table[:, 0, 0::2] = torch.sin(place * rate)
        table[:, 0, 1::2] = torch.cos(place * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        x = x + self.table[: x.size(0)]
        return self.dropout(x)


class Seq2Seq(nn.Module):
    def __init__(self, width=32, layers=2, heads=4):
        super().__init__()
        self.width = width
        self.embed_source = nn.Embedding(VOCAB[0], width)
        self.embed_target = nn.Embedding(VOCAB[1], width)
        self.positions = Positions(width)
        self.transformer = nn.Transformer(
            d_model=width, nhead=heads, num_encoder_layers=layers,
            num_decoder_layers=layers, dim_feedforward=2 * width, dropout=0.1,
        )  # fmt: skip
        self.to_words = nn.Linear(width, VOCAB[1])
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        self.embed_source.weight.data.uniform_(-0.1, 0.1)
        self.embed_target.weight.data.uniform_(-0.1, 0.1)

    def encode(self, source, padding):
        x = self.positions(self.embed_source(source) * math.sqrt(self.width))
        return self.transformer.encoder(x, src_key_padding_mask=padding)

    def forward(self, source, target, causal, source_padding, target_padding):
        memory = self.encode(source, source_padding)
        y = self.positions(self.embed_target(target) * math.sqrt(self.width))
        y = self.transformer.decoder(
            y, memory, tgt_mask=causal,
            tgt_key_padding_mask=target_padding,
            memory_key_padding_mask=source_padding,
        )  # fmt: skip
        return self.to_words(y)


def run(model, source, target):
    n = target.size(1)
    causal = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
    out = model(source.t(), target.t(), causal, source == PAD, target == PAD)
    return out.transpose(0, 1)


def loss(logits, labels):
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    return criterion(logits.reshape(-1, logits.size(-1)), labels.reshape(-1))


def reversal(seed, rows=6):
    g = torch.Generator().manual_seed(seed)
    source, target = torch.full((rows, 8), PAD), torch.full((rows, 10), PAD)
    for row in range(rows):
        n = int(torch.randint(3, 8, (1,), generator=g)) if row else 8
        words = torch.randint(3, VOCAB[0], (n,), generator=g)
        source[row, :n] = words
        target[row, 0] = BOS
        target[row, 1 : n + 1] = words.flip(0)
        target[row, n + 1] = EOS
    return source, target[:, :-1], target[:, 1:]


def batches():
    return [reversal(seed) for seed in range(3)]


def gradients(model, parts):
    total = sum(int((labels != PAD).sum()) for _, _, labels in parts)
    for source, target, labels in parts:
        words = int((labels != PAD).sum())
        (loss(run(model, source, target), labels) * words / total).backward()


def decode(model, source):
    target = torch.full((source.size(0), 1), BOS)
    ended = torch.zeros(source.size(0), dtype=torch.bool)
    for _ in range(12):
        following = run(model, source, target)[:, -1].argmax(-1)
        following[ended] = PAD
        ended |= following == EOS
        target = torch.cat([target, following[:, None]], dim=1)
        if ended.all():
            break
    return target


def schedule(step):
    return min(step / 400, (400 / step) ** 0.5)


def case(width=32, layers=2):
    model = Seq2Seq(width, layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return model, {
        "forward": run, "vocab_size": VOCAB, "loss": loss, "batches": batches(),
        "gradients": gradients, "decode": decode, "schedule": schedule,
        "steps": 4000, "optimizer": optimizer, "tied": False,
    }  # fmt: skip
