import torch

from answers import right, wrong


@right
def indexed(ids, pad_id):
    return (ids != pad_id)[:, None, None, :]


right(lambda ids, pad_id=0: (ids != pad_id).unsqueeze(1).unsqueeze(2))


@right
def viewed(ids, pad_id):
    b, t = ids.shape
    return ids.ne(pad_id).view(b, 1, 1, t)


@right
def looped(ids, pad_id):
    out = torch.ones(ids.shape[0], 1, 1, ids.shape[1], dtype=torch.bool)
    for i, row in enumerate(ids):
        for j, x in enumerate(row):
            if x == pad_id:
                out[i, 0, 0, j] = False
    return out


@wrong("flipped")
def true_where_padding(ids, pad_id):
    return (ids == pad_id)[:, None, None, :]


wrong("axes-missing")(lambda ids, pad_id: ids != pad_id)
wrong("axes-missing")(lambda ids, pad_id: (ids != pad_id).unsqueeze(1))
wrong("wrong-axis")(lambda ids, pad_id: (ids != pad_id)[:, None, :, None])
wrong("not-bool")(lambda ids, pad_id: (ids != pad_id).float()[:, None, None, :])
wrong("pad-id-ignored")(lambda ids, pad_id: (ids != 0)[:, None, None, :])
wrong("pad-id-ignored")(lambda ids, pad_id: ids.bool()[:, None, None])
wrong("additive")(
    lambda ids, pad_id: torch.where(ids == pad_id, -torch.inf, 0.0)[:, None, None]
)


@wrong("hides-queries")
def both_sides(ids, pad_id):
    real = ids != pad_id
    return (real[:, None, :] & real[:, :, None])[:, None]


wrong("batch-in-the-heads")(lambda ids, pad_id: indexed(ids, pad_id).transpose(0, 1))
wrong("batch-size-fixed")(
    lambda ids, pad_id: indexed(ids, pad_id)[:1].expand(32, 1, 1, -1)
)
wrong("copied-for-heads")(
    lambda ids, pad_id: indexed(ids, pad_id).expand(-1, 8, -1, -1)
)
wrong("copied-for-queries")(
    lambda ids, pad_id: indexed(ids, pad_id).expand(-1, 1, ids.size(1), -1)
)
wrong("wrong-axis")(
    lambda ids, pad_id: indexed(ids, pad_id).expand(-1, 1, ids.size(1), -1).mT
)
wrong("shape")(lambda ids, pad_id: indexed(ids, pad_id).flatten())
wrong("wrong-cell")(
    lambda ids, pad_id: indexed(ids, pad_id) & (ids != 5)[:, None, None]
)
wrong("axes-missing", "the heads")(lambda ids, pad_id: (ids != pad_id)[:, None])
