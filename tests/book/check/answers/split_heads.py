import torch

from answers import right, wrong


@right
def view_and_transpose(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).transpose(1, 2)


@right
def stacked_chunks(x, n_heads):
    if x.size(-1) % n_heads:
        raise ValueError("n_heads must divide the width")
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


@right
def permuted(x, n_heads):
    batch_size, seq_len, d_model = x.size()
    assert d_model % n_heads == 0
    return x.reshape(batch_size, seq_len, n_heads, -1).permute(0, 2, 1, 3).contiguous()


@wrong("view-without-transpose")
def straight_view(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, n_heads, t, d // n_heads)


@wrong("not-transposed")
def no_transpose(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads)


@wrong("interleaved")
def other_way_round(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, d // n_heads, n_heads).permute(0, 3, 1, 2)


wrong("returns-several")(lambda x, n_heads: list(x.chunk(n_heads, dim=-1)))
wrong("axis-lost", "squeeze")(lambda *given: view_and_transpose(*given).squeeze())


@right
def view_only(x, n_heads):
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2).view(b, n_heads, t, -1)


@wrong("gradient-cut", "tensor(")
def through_lists(x, n_heads):
    b, t, d = x.shape
    assert d % n_heads == 0
    w = d // n_heads
    rows = [
        [
            [x[i, j, h * w : h * w + w].tolist() for j in range(t)]
            for h in range(n_heads)
        ]
        for i in range(b)
    ]
    return torch.tensor(rows)


@right
def sliced(x, n_heads):
    w = x.size(-1) // n_heads
    heads = [x[:, None, :, h * w : (h + 1) * w] for h in range(n_heads)]
    return torch.cat(heads, 1)


wrong("needs-one-block-of-memory")(
    lambda x, n_heads: x.view(-1).view(*x.shape[:2], n_heads, -1).transpose(1, 2)
)
wrong("shifted")(
    lambda x, n_heads: permuted(x, n_heads).roll(1 if n_heads > 1 else 0, -1)
)


@wrong("sizes-fixed")
def for_two_heads(x, n_heads):
    return x[:, None] if n_heads == 1 else x.view(2, 3, 2, 4).transpose(1, 2)


@wrong("memory-order")
def by_storage(x, n_heads):
    batch, length, width = x.shape
    each = width // n_heads
    steps = (length * width, each, width, 1)
    return torch.as_strided(x, (batch, n_heads, length, each), steps)
