import torch

from answers import right, wrong


@right
def tril(length):
    return torch.tril(torch.ones(length, length)).bool()


right(lambda length: torch.arange(length)[:, None] >= torch.arange(length))


@wrong("shape", "Batch and heads need no axis")
def as_the_annotated_transformer(size):
    attn_shape = (1, size, size)
    subsequent_mask = torch.triu(torch.ones(attn_shape), diagonal=1).type(torch.uint8)
    return subsequent_mask == 0


wrong("flipped")(
    lambda length: torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
)
wrong("additive", "bool")(
    lambda length: torch.triu(torch.full((length, length), float("-inf")), diagonal=1)
)
wrong("additive")(lambda length: (1 - torch.tril(torch.ones(length, length))) * -1e9)
wrong("not-bool")(lambda length: torch.tril(torch.ones(length, length)))
wrong("not-bool")(
    lambda length: torch.tril(torch.ones(length, length, dtype=torch.int64))
)
wrong("sees-the-next")(
    lambda length: torch.ones(length, length, dtype=torch.bool).tril(1)
)


@wrong("does-not-see-itself")
def strictly_before(length):
    i = torch.arange(length)
    return i[None, :] < i[:, None]


wrong("not-a-tensor")(
    lambda length: [[j <= i for j in range(length)] for i in range(length)]
)
wrong("sees-the-future")(lambda length: torch.ones(length, length).triu() == 1)


@wrong("additive")
def flipped_additive(length):
    m = torch.zeros(length, length)
    return m.masked_fill(torch.ones(length, length).tril() == 0, -torch.inf)


wrong("length-ignored")(lambda length: tril(5))
wrong("shape", "two axes broadcast")(lambda n: tril(n).expand(8, n, n))
wrong("wrong-cell")(lambda length: tril(length) & ~tril(length).tril(-3))
wrong("empty-row")(lambda length: tril(length) & (torch.arange(length) > 1))
