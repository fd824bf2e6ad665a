from answers import right, wrong

right(lambda weights, offset: weights.diagonal(offset).mean())


@right
def by_loop(weights, offset):
    length, width = weights.shape
    found = [
        weights[i, i + offset].item() for i in range(length) if 0 <= i + offset < width
    ]
    return sum(found) / len(found)


wrong("rows-that-have-no-such-place", "no previous piece")(
    lambda weights, offset: weights.diagonal(offset).sum() / len(weights)
)
wrong("wrong-direction", "other side")(
    lambda weights, offset: weights.diagonal(-offset).mean()
)
wrong("summed")(lambda weights, offset: weights.diagonal(offset).sum())


@wrong("counts-winners")
def winners(weights, offset):
    length, width = weights.shape
    rows = [i for i in range(length) if 0 <= i + offset < width]
    return sum(int(weights[i].argmax()) == i + offset for i in rows) / len(rows)
