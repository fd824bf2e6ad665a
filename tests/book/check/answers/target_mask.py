import torch

from answers import right, wrong


def my_causal_mask(length):
    return torch.ones(length, length, dtype=torch.bool).tril()


def my_padding_mask(ids, pad_id):
    return (ids != pad_id)[:, None, None, :]


@right
def own_earlier_answers(source_ids, target_ids, pad_id):
    T = target_ids.size(1)
    return my_causal_mask(T) & my_padding_mask(target_ids, pad_id)


@right
def own_earlier_answers_without_source(target_ids, pad_id):
    return my_padding_mask(target_ids, pad_id) & my_causal_mask(target_ids.shape[-1])


@right
def on_the_device(target_ids, *, pad_id):
    t = target_ids.size(1)
    causal = torch.ones(t, t, dtype=torch.bool, device=target_ids.device).tril()
    return causal & (target_ids != pad_id)[:, None, None, :]


@right
def multiplied(target_ids, pad_id):
    t = target_ids.size(1)
    causal = torch.ones(t, t).tril()
    real = (target_ids != pad_id).float()[:, None, None, :]
    return (causal * real).bool()


@wrong("not-bool", "dtype=torch.bool")
def float_causal(target_ids, pad_id):
    T = target_ids.size(1)
    real = (target_ids != pad_id)[:, None, None, :]
    return torch.ones(T, T).tril() & real


@wrong("not-bool")
def multiplied_as_numbers(target_ids, pad_id):
    T = target_ids.size(1)
    real = (target_ids != pad_id)[:, None, None, :]
    return torch.ones(T, T).tril() * real


@wrong("or-instead-of-and")
def joined_by_or(target_ids, pad_id):
    return my_padding_mask(target_ids, pad_id) | my_causal_mask(target_ids.size(1))


wrong("padding-forgotten")(
    lambda target_ids, pad_id: my_causal_mask(target_ids.size(1))
)
wrong("future-forgotten")(
    lambda target_ids, pad_id: my_padding_mask(target_ids, pad_id)
)


@wrong("made-from-the-source")
def from_the_source(source_ids, target_ids, pad_id):
    return my_padding_mask(source_ids, pad_id) & my_causal_mask(source_ids.size(1))


@wrong("flipped")
def flipped(target_ids, pad_id):
    return ~(my_padding_mask(target_ids, pad_id) & my_causal_mask(target_ids.size(1)))


@wrong("truth-of-a-tensor", "“and”")
def joined_by_and(target_ids, pad_id):
    return my_causal_mask(target_ids.size(1)) and my_padding_mask(target_ids, pad_id)


@wrong("half-flipped", "causal half")
def half_flipped(target_ids, pad_id):
    T = target_ids.size(1)
    future = torch.triu(torch.ones(T, T), diagonal=1).bool()
    return future & my_padding_mask(target_ids, pad_id)


@wrong("half-flipped", "padding half")
def other_half_flipped(target_ids, pad_id):
    T = target_ids.size(1)
    return my_causal_mask(T) & (target_ids == pad_id)[:, None, None, :]


@wrong("first-sentence-only", "Each has its own")
def first_sentence_only(target_ids, pad_id):
    b, t = target_ids.shape
    real = my_padding_mask(target_ids, pad_id)[:1]
    return (my_causal_mask(t) & real).expand(b, 1, t, t)


def changed(change):
    return lambda target_ids, pad_id: change(
        own_earlier_answers_without_source(target_ids, pad_id)
    )


wrong("axes-missing")(changed(lambda mask: mask[:, 0]))
wrong("copied-for-heads")(changed(lambda mask: mask.expand(-1, 8, -1, -1)))
wrong("batch-in-the-heads")(changed(lambda mask: mask.transpose(0, 1)))
wrong("batch-size-fixed")(changed(lambda mask: mask[:1].expand(32, -1, -1, -1)))
wrong("shape")(changed(lambda mask: mask[0, 0, 0]))
wrong("not-bool")(changed(lambda mask: mask.float()))
wrong("wrong-cell")(
    lambda t, pad_id: (
        own_earlier_answers_without_source(t, pad_id) & (t != 5)[:, None, None]
    )
)
wrong("made-from-the-source")(
    lambda source_ids, target_ids, pad_id: own_earlier_answers_without_source(
        source_ids, pad_id
    )
)
