"""Lengths instead of masks, heads folded into the batch, AddNorm, state."""

import math

import torch
from torch import nn

VOCAB, PAD, BOS, EOS = (20, 24), 0, 1, 2


def sequence_mask(x, valid_len, value=0.0):
    places = torch.arange(x.size(1))[None, :]
    x = x.clone()
    x[places >= valid_len[:, None]] = value
    return x


def masked_softmax(x, valid_lens):
    if valid_lens is None:
        return nn.functional.softmax(x, dim=-1)
    shape = x.shape
    if valid_lens.dim() == 1:
        valid_lens = torch.repeat_interleave(valid_lens, shape[1])
    else:
        valid_lens = valid_lens.reshape(-1)
    x = sequence_mask(x.reshape(-1, shape[-1]), valid_lens, value=-1e6)
    return nn.functional.softmax(x.reshape(shape), dim=-1)


class DotProductAttention(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        d = queries.shape[-1]
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return torch.bmm(self.dropout(self.attention_weights), values)


class MultiHead(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout)
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=False)

    def split(self, x):
        x = x.reshape(x.shape[0], x.shape[1], self.num_heads, -1)
        x = x.permute(0, 2, 1, 3)
        return x.reshape(-1, x.shape[2], x.shape[3])

    def merge(self, x):
        x = x.reshape(-1, self.num_heads, x.shape[1], x.shape[2])
        x = x.permute(0, 2, 1, 3)
        return x.reshape(x.shape[0], x.shape[1], -1)

    def forward(self, queries, keys, values, valid_lens):
        q, k, v = self.split(self.W_q(queries)), self.W_k(keys), self.W_v(values)
        k, v = self.split(k), self.split(v)
        if valid_lens is not None:
            valid_lens = torch.repeat_interleave(valid_lens, self.num_heads, dim=0)
        return self.W_o(self.merge(self.attention(q, k, v, valid_lens)))


class Positions(nn.Module):
    def __init__(self, num_hiddens, dropout, max_len=100):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.P = torch.zeros((1, max_len, num_hiddens))
        x = torch.arange(max_len, dtype=torch.float32).reshape(-1, 1)
        x = x / torch.pow(10000, torch.arange(0, num_hiddens, 2) / num_hiddens)
        self.P[:, :, 0::2] = torch.sin(x)
        self.P[:, :, 1::2] = torch.cos(x)

    def forward(self, x, start=0):
        return self.dropout(x + self.P[:, start : start + x.shape[1], :])


class FFN(nn.Module):
    def __init__(self, hidden, outputs):
        super().__init__()
        self.dense1, self.dense2 = nn.LazyLinear(hidden), nn.LazyLinear(outputs)

    def forward(self, x):
        return self.dense2(torch.relu(self.dense1(x)))


class AddNorm(nn.Module):
    def __init__(self, shape, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(shape)

    def forward(self, x, y):
        return self.ln(self.dropout(y) + x)


class EncoderBlock(nn.Module):
    def __init__(self, num_hiddens, heads, dropout):
        super().__init__()
        self.attention = MultiHead(num_hiddens, heads, dropout)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.ffn = FFN(2 * num_hiddens, num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens, dropout)

    def forward(self, x, valid_lens):
        y = self.addnorm1(x, self.attention(x, x, x, valid_lens))
        return self.addnorm2(y, self.ffn(y))


class Encoder(nn.Module):
    def __init__(self, num_hiddens, heads, blocks, dropout):
        super().__init__()
        self.num_hiddens = num_hiddens
        self.embedding = nn.Embedding(VOCAB[0], num_hiddens)
        self.pos_encoding = Positions(num_hiddens, dropout)
        self.blks = nn.Sequential()
        for i in range(blocks):
            self.blks.add_module(f"block{i}", EncoderBlock(num_hiddens, heads, dropout))

    def forward(self, x, valid_lens):
        x = self.pos_encoding(self.embedding(x) * math.sqrt(self.num_hiddens))
        for block in self.blks:
            x = block(x, valid_lens)
        return x


class DecoderBlock(nn.Module):
    def __init__(self, num_hiddens, heads, dropout, i):
        super().__init__()
        self.i = i
        self.attention1 = MultiHead(num_hiddens, heads, dropout)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.attention2 = MultiHead(num_hiddens, heads, dropout)
        self.addnorm2 = AddNorm(num_hiddens, dropout)
        self.ffn = FFN(2 * num_hiddens, num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens, dropout)

    def forward(self, x, state):
        enc, enc_lens, past, _ = state
        whole = past[self.i] is None
        seen = x if whole else torch.cat((past[self.i], x), dim=1)
        if not state[3]:
            past[self.i] = seen
        if whole and x.shape[1] > 1:
            steps = torch.arange(1, x.shape[1] + 1)
            lens = steps.repeat(x.shape[0], 1)
        else:
            lens = None
        x2 = self.attention1(x, seen, seen, lens)
        y = self.addnorm1(x, x2)
        y2 = self.attention2(y, enc, enc, enc_lens)
        z = self.addnorm2(y, y2)
        return self.addnorm3(z, self.ffn(z)), state


class Decoder(nn.Module):
    def __init__(self, num_hiddens, heads, blocks, dropout):
        super().__init__()
        self.num_hiddens, self.n = num_hiddens, blocks
        self.embedding = nn.Embedding(VOCAB[1], num_hiddens)
        self.pos_encoding = Positions(num_hiddens, dropout)
        self.blks = nn.Sequential()
        for i in range(blocks):
            block = DecoderBlock(num_hiddens, heads, dropout, i)
            self.blks.add_module(f"block{i}", block)
        self.dense = nn.LazyLinear(VOCAB[1])

    def forward(self, x, state, start=0):
        x = self.embedding(x) * math.sqrt(self.num_hiddens)
        x = self.pos_encoding(x, start)
        for block in self.blks:
            x, state = block(x, state)
        return self.dense(x), state


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, enc_x, dec_x, enc_lens):
        memory = self.encoder(enc_x, enc_lens)
        state = [memory, enc_lens, [None] * self.decoder.n, True]
        return self.decoder(dec_x, state)


def run(net, source, target):
    lens = (source != PAD).sum(dim=1)
    return net(source, target, lens)  # logits and state


def masked_ce(logits, labels):
    each = nn.functional.cross_entropy(
        logits.permute(0, 2, 1), labels, reduction="none"
    )
    weights = (labels != PAD).float()
    return (each * weights).sum() / weights.sum()


def load_batches():
    torch_g = torch.Generator().manual_seed(3)
    out = []
    for _ in range(2):
        tgt = torch.randint(3, VOCAB[1], (4, 8), generator=torch_g)
        src = torch.randint(3, VOCAB[0], (4, 8), generator=torch_g)
        src[1, 5:] = tgt[1, 5:] = PAD
        tgt[1, 4] = src[1, 4] = EOS
        bos = torch.full((4, 1), BOS)
        out.append((src, torch.cat([bos, tgt[:, :-1]], 1), tgt))
    return out


def predict(net, source, num_steps=11):
    rows = []
    for row in source:
        real = row[None]
        lens = (real != PAD).sum(dim=1)
        state = [net.encoder(real, lens), lens, [None] * net.decoder.n, False]
        x, said = torch.tensor([[BOS]]), []
        for step in range(num_steps):
            out, state = net.decoder(x, state, start=step)
            x = out.argmax(dim=2)
            word = int(x)
            if word == EOS:
                break
            said.append(word)
        rows.append(said)
    return rows


def micro_batches(net, parts):
    words = [int((labels != PAD).sum()) for *_, labels in parts]
    for (source, target, labels), n in zip(parts, words, strict=True):
        share = n / sum(words)
        (masked_ce(run(net, source, target)[0], labels) * share).backward()


def case(width=32, layers=2):
    net = EncoderDecoder(Encoder(width, 4, layers, 0.1), Decoder(width, 4, layers, 0.1))
    with torch.no_grad():
        run(net, torch.ones(1, 3).long(), torch.ones(1, 3).long())
    return net, {
        "forward": run, "vocab_size": VOCAB, "loss": masked_ce,
        "batches": load_batches(), "decode": predict, "gradients": micro_batches,
    }  # fmt: skip
