import torch

from answers import right, wrong


@right
def padded(targets, *, pad_id, bos_id, eos_id):
    width = max(len(t) for t in targets) + 1
    inputs = [[bos_id, *t] + [pad_id] * (width - len(t) - 1) for t in targets]
    labels = [[*t, eos_id] + [pad_id] * (width - len(t) - 1) for t in targets]
    return torch.tensor(inputs), torch.tensor(labels)


@right
def filled(targets, pad_id, bos_id, eos_id):
    n = max(map(len, targets)) + 2
    whole = torch.full((len(targets), n), pad_id)
    for i, t in enumerate(targets):
        whole[i, : len(t) + 2] = torch.tensor([bos_id, *t, eos_id])
    return whole[:, :-1], whole[:, 1:]


@right
def with_pad_sequence(targets, *, pad_id, bos_id, eos_id):
    from torch.nn.utils.rnn import pad_sequence

    a = [torch.tensor([bos_id, *t]) for t in targets]
    b = [torch.tensor([*t, eos_id]) for t in targets]
    kind = dict(batch_first=True, padding_value=pad_id)
    return pad_sequence(a, **kind), pad_sequence(b, **kind)


@wrong("changes-inputs")
def appends(targets, *, pad_id, bos_id, eos_id):
    for t in targets:
        t.append(eos_id)
    return padded(targets, pad_id=pad_id, bos_id=bos_id, eos_id=eos_id)


@wrong("pad-id-ignored")
def zeros(targets, *, pad_id, bos_id, eos_id):
    n = max(map(len, targets)) + 2
    whole = torch.zeros((len(targets), n), dtype=torch.long)
    for i, t in enumerate(targets):
        whole[i, : len(t) + 2] = torch.tensor([bos_id, *t, eos_id])
    return whole[:, :-1], whole[:, 1:]


@wrong("padded-on-the-left", "on the right")
def left(targets, *, pad_id, bos_id, eos_id):
    n = max(map(len, targets)) + 2
    rows = [[bos_id, *t, eos_id] for t in targets]
    whole = torch.tensor([[pad_id] * (n - len(row)) + row for row in rows])
    return whole[:, :-1], whole[:, 1:]


wrong("bos-and-eos-swapped", "changed places")(
    lambda targets, *, pad_id, bos_id, eos_id: filled(targets, pad_id, eos_id, bos_id)
)


@wrong("bos-and-eos-swapped", "changed places")
def swapped_in_lists(targets, *, pad_id, bos_id, eos_id):
    return padded(targets, pad_id=pad_id, bos_id=eos_id, eos_id=bos_id)


def changed(change):
    """The right tensors, changed at the end."""

    def mine(targets, **ids):
        return change(*padded(targets, **ids))

    return mine


wrong("not-int64")(changed(lambda inputs, labels: (inputs.float(), labels)))
wrong("widths-differ")(changed(lambda inputs, labels: (inputs[:, :-1], labels)))
wrong("shape")(changed(lambda inputs, labels: (inputs[:, :2], labels[:, :2])))
wrong("wrong-numbers", "your labels are")(
    changed(lambda inputs, labels: (inputs, labels.masked_fill(labels == 8, 9)))
)
wrong("wrong-numbers", "your inputs are")(
    changed(lambda inputs, labels: (inputs.masked_fill(inputs == 8, 9), labels))
)
wrong("not-two-tensors")(changed(lambda inputs, labels: (inputs, None)))


@wrong("not-padded")
def ragged(targets, *, pad_id, bos_id, eos_id):
    return (
        torch.tensor([[bos_id, *t] for t in targets]),
        torch.tensor([[*t, eos_id] for t in targets]),
    )


@right
def sliced(targets, *, pad_id, bos_id, eos_id):
    width = max(map(len, targets)) + 2
    rows = [[bos_id, *t, eos_id] for t in targets]
    whole = torch.tensor([row + [pad_id] * (width - len(row)) for row in rows])
    return whole[:, :-1], whole[:, 1:]
