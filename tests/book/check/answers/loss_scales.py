from answers import right, wrong


def scaled(
    enough=lambda good, patience: good == patience,
    doubled=lambda good: 0,
    halved=lambda good: 0,
):
    """The scales, with another rule for when to double or what to count from."""

    def mine(is_finite, patience=3):
        scale, good, scales = 2.0**16, 0, []
        for fine in is_finite:
            if not fine:
                scale, good = scale / 2, halved(good)
            else:
                good += 1
                if enough(good, patience):
                    scale, good = scale * 2, doubled(good)
            scales.append(scale)
        return scales

    return mine


plain = right(scaled())
wrong("count-not-reset-by-a-bad-step")(scaled(halved=lambda good: good))
wrong("count-not-reset-by-doubling")(
    scaled(lambda good, patience: good >= patience, doubled=lambda good: good)
)
wrong("one-too-patient")(scaled(lambda good, patience: good > patience))


right(lambda *given: [int(x) for x in plain(*given)])
