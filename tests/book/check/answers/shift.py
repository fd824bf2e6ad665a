from answers import right, wrong


@right
def plain(target_ids):
    return target_ids[:, :-1], target_ids[:, 1:]


@wrong("wrong-way-round")
def reversed_order(target_ids):
    return target_ids[:, 1:], target_ids[:, :-1]


@wrong("dtype", "labels")
def float_labels(target_ids):
    return target_ids[:, :-1], target_ids[:, 1:].float()
