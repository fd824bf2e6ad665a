import itertools

import torch

from answers import right, wrong


def looped(
    choose=lambda logits: logits[0, -1].argmax(),
    ends=lambda best, ids, eos_id: best == eos_id,
    steps=range,
):
    """Greedy search with one step exchanged."""

    def mine(next_logits, *, bos_id, eos_id, max_len):
        ids = [bos_id]
        for _ in steps(max_len):
            best = int(choose(next_logits(torch.tensor([ids]))))
            if ends(best, ids, eos_id):
                break
            ids.append(best)
        return ids[1:]

    return mine


plain = right(looped())
wrong("random", "argmax")(
    looped(lambda logits: torch.multinomial(logits[0, -1].softmax(-1), 1))
)
wrong("max-len-ignored")(looped(steps=lambda max_len: itertools.count()))
wrong("stops-at-repeats", "twice")(
    looped(ends=lambda best, ids, eos_id: best == eos_id or best in ids)
)
wrong("stops-at-repeats", "twice in a row")(
    looped(ends=lambda best, ids, eos_id: best in (eos_id, ids[-1]))
)
wrong("emits-eos")(looped(ends=lambda best, ids, eos_id: ids[-1] == eos_id))
wrong("not-an-id")(looped(lambda logits: logits[0].argmax()))


@right
def in_tensors(next_logits, *, bos_id, eos_id, max_len):
    ys = torch.ones(1, 1).fill_(bos_id).long()
    for _ in range(max_len):
        prob = next_logits(ys)[:, -1]
        _, next_word = torch.max(prob, dim=1)
        next_word = next_word.item()
        if next_word == eos_id:
            break
        ys = torch.cat([ys, torch.ones(1, 1).long().fill_(next_word)], dim=1)
    return ys[0, 1:].tolist()


@wrong("emits-bos-and-eos")
def annotated(next_logits, *, bos_id, eos_id, max_len):
    ys = torch.full((1, 1), bos_id)
    for _ in range(max_len):
        word = next_logits(ys)[:, -1].argmax(-1)
        ys = torch.cat([ys, word[None]], dim=1)
        if word.item() == eos_id:
            break
    return ys[0].tolist()


@wrong("bos-counted")
def older(next_logits, *, bos_id, eos_id, max_len):
    ys = torch.full((1, 1), bos_id)
    for _ in range(max_len - 1):
        word = next_logits(ys)[:, -1].argmax(-1)
        ys = torch.cat([ys, word[None]], dim=1)
    return ys[0].tolist()


@wrong("bos-id-ignored", "bos_id=8")
def begins_with_1(next_logits, *, bos_id, eos_id, max_len):
    return plain(next_logits, bos_id=1, eos_id=eos_id, max_len=max_len)


@wrong("eos-id-ignored", "eos_id=5")
def stops_at_2(next_logits, *, bos_id, eos_id, max_len):
    return plain(next_logits, bos_id=bos_id, eos_id=2, max_len=max_len)


@wrong("tensors-not-ids", "(1, 5)")
def one_tensor(next_logits, *, bos_id, eos_id, max_len):
    found = plain(next_logits, bos_id=bos_id, eos_id=eos_id, max_len=max_len)
    return torch.tensor([found])


@wrong("tensors-not-ids", "list of tensors")
def no_item(next_logits, *, bos_id, eos_id, max_len):
    found = plain(next_logits, bos_id=bos_id, eos_id=eos_id, max_len=max_len)
    return list(torch.tensor(found))


wrong("not-a-batch")(
    lambda next_logits, *, bos_id, eos_id, max_len: next_logits(torch.tensor([bos_id]))
)


@wrong("endless", "60 calls")
def never_ends(next_logits, *, bos_id, eos_id, max_len):
    while True:
        next_logits(torch.tensor([[bos_id]]))


@wrong("too-many-calls")
def asks_twice(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        if next_logits(torch.tensor([ids]))[0, -1].argmax() == eos_id:
            break
        ids.append(int(next_logits(torch.tensor([ids]))[0, -1].argmax()))
    return ids[1:]
