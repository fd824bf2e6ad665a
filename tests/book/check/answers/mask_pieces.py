import torch

from answers import right, wrong


@right
def plain(ids, chance, others, mask_id):
    chosen = (chance < 0.15) & (ids >= 4)
    inputs = ids.clone()
    inputs[chosen & (chance < 0.135)] = others[chosen & (chance < 0.135)]
    inputs[chosen & (chance < 0.12)] = mask_id
    labels = torch.zeros_like(ids)
    labels[chosen] = ids[chosen]
    return inputs, labels


@right
def loop(ids, chance, others, *, mask_id, pad_id=0):
    inputs, labels = ids.clone(), torch.full_like(ids, pad_id)
    for b, t in (ids >= 4).nonzero().tolist():
        if chance[b, t] < 0.15:
            labels[b, t] = ids[b, t]
            if chance[b, t] < 0.12:
                inputs[b, t] = mask_id
            elif chance[b, t] < 0.135:
                inputs[b, t] = others[b, t]
    return inputs, labels


@wrong("all-hidden")
def all_hidden(ids, chance, others, mask_id):
    chosen = (chance < 0.15) & (ids >= 4)
    return ids.masked_fill(chosen, mask_id), ids.where(chosen, 0)


@wrong("of-all-pieces")
def of_all(ids, chance, others, mask_id):
    text = ids >= 4
    inputs = torch.where(text & (chance < 0.9), others, ids)
    inputs = torch.where(text & (chance < 0.8), mask_id, inputs)
    return inputs, ids.where(text, 0)


@wrong("only-hidden-have-labels")
def hidden_only(ids, chance, others, mask_id):
    inputs, _ = plain(ids, chance, others, mask_id)
    return inputs, ids.where(inputs == mask_id, 0)


@wrong("only-changed-have-labels")
def changed_only(ids, chance, others, mask_id):
    inputs, _ = plain(ids, chance, others, mask_id)
    return inputs, ids.where(inputs != ids, 0)


@wrong("none-kept")
def none_kept(ids, chance, others, mask_id):
    chosen = (chance < 0.15) & (ids >= 4)
    inputs = torch.where(chosen, others, ids)
    inputs = torch.where(chosen & (chance < 0.12), mask_id, inputs)
    return inputs, ids.where(chosen, 0)


@wrong("none-exchanged")
def none_exchanged(ids, chance, others, mask_id):
    chosen = (chance < 0.15) & (ids >= 4)
    return ids.masked_fill(chosen & (chance < 0.12), mask_id), ids.where(chosen, 0)


wrong("labels-everywhere")(
    lambda ids, chance, others, mask_id: (plain(ids, chance, others, mask_id)[0], ids)
)


@wrong("labels-from-the-inputs")
def from_inputs(ids, chance, others, mask_id):
    inputs, labels = plain(ids, chance, others, mask_id)
    return inputs, inputs.where(labels > 0, 0)


@wrong("labels-the-wrong-way-round")
def other_way(ids, chance, others, mask_id):
    inputs, labels = plain(ids, chance, others, mask_id)
    return inputs, ids.where(labels == 0, 0)


@wrong("special-pieces-chosen")
def specials(ids, chance, others, mask_id):
    inputs = torch.where(chance < 0.135, others, ids)
    inputs = torch.where(chance < 0.12, mask_id, inputs)
    return inputs, ids.where(chance < 0.15, 0)


wrong("hidden-by-padding")(
    lambda ids, chance, others, mask_id: plain(ids, chance, others, 0)
)
wrong("swapped")(lambda *given, **named: plain(*given, **named)[::-1])
wrong("not-two")(lambda *given, **named: plain(*given, **named)[0])
