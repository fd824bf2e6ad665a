from answers import right, wrong

right(lambda target_ids: (target_ids[:, :-1], target_ids[:, 1:]))


@wrong("wrong-way-round")
def reversed_order(target_ids):
    return target_ids[:, 1:], target_ids[:, :-1]


wrong("dtype", "labels")(
    lambda target_ids: (target_ids[:, :-1], target_ids[:, 1:].float())
)
wrong("widths-differ")(lambda target_ids: (target_ids, target_ids[:, 1:]))
wrong("shape")(lambda target_ids: (target_ids[:, :-3], target_ids[:, 3:]))
wrong("wrong-numbers")(lambda t: (t[:, :-1], t[:, 1:].masked_fill(t[:, 1:] == 8, 9)))
right(lambda t: (t[:, :-1].masked_fill(t[:, :-1] == 2, 0), t[:, 1:]))


@wrong("picks-by-value")
def without_padding(target_ids):
    kept = target_ids[target_ids != 0].view(target_ids.size(0), -1)
    return kept[:, :-1], kept[:, 1:]
