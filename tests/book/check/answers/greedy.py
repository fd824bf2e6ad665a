import torch

from answers import right, wrong


@right
def plain(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        best = int(next_logits(torch.tensor([ids]))[0, -1].argmax())
        if best == eos_id:
            break
        ids.append(best)
    return ids[1:]


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


@wrong("random", "argmax")
def sampled(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        p = next_logits(torch.tensor([ids]))[0, -1].softmax(-1)
        best = torch.multinomial(p, 1).item()
        if best == eos_id:
            break
        ids.append(best)
    return ids[1:]


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


@wrong("emits-eos")
def checks_late(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) <= max_len:
        ids.append(next_logits(torch.tensor([ids]))[0, -1].argmax().item())
        if ids[-1] == eos_id:
            break
    return ids[1:]


@wrong("max-len-ignored")
def while_true(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    while True:
        best = next_logits(torch.tensor([ids]))[0, -1].argmax().item()
        if best == eos_id:
            return ids[1:]
        ids.append(best)


@wrong("stops-at-repeats", "twice")
def avoids_repeats(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        best = int(next_logits(torch.tensor([ids]))[0, -1].argmax())
        if best == eos_id or best in ids:
            break
        ids.append(best)
    return ids[1:]


@wrong("bos-id-ignored", "bos_id=8")
def begins_with_1(next_logits, *, bos_id, eos_id, max_len):
    return plain(next_logits, bos_id=1, eos_id=eos_id, max_len=max_len)


@wrong("eos-id-ignored", "eos_id=5")
def stops_at_2(next_logits, *, bos_id, eos_id, max_len):
    return plain(next_logits, bos_id=bos_id, eos_id=2, max_len=max_len)


@wrong("stops-at-repeats", "twice in a row")
def avoids_repeats_in_a_row(next_logits, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        best = int(next_logits(torch.tensor([ids]))[0, -1].argmax())
        if best in (eos_id, ids[-1]):
            break
        ids.append(best)
    return ids[1:]


@wrong("tensors-not-ids", "(1, 5)")
def one_tensor(next_logits, *, bos_id, eos_id, max_len):
    found = plain(next_logits, bos_id=bos_id, eos_id=eos_id, max_len=max_len)
    return torch.tensor([found])


@wrong("tensors-not-ids", "list of tensors")
def no_item(next_logits, *, bos_id, eos_id, max_len):
    found = plain(next_logits, bos_id=bos_id, eos_id=eos_id, max_len=max_len)
    return list(torch.tensor(found))


def reading(choose):
    """A loop that reads the piece from the logits in another way."""

    def mine(next_logits, *, bos_id, eos_id, max_len):
        ids = [bos_id]
        for _ in range(max_len):
            ids.append(int(choose(next_logits(torch.tensor([ids])))))
        return ids[1:]

    return mine


wrong("not-an-id")(reading(lambda logits: logits[0].argmax()))


@wrong("not-a-batch")
def one_axis(next_logits, *, bos_id, eos_id, max_len):
    return next_logits(torch.tensor([bos_id]))


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
