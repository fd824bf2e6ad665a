from answers import right, wrong


@right
def plain(is_finite, patience=3):
    scale, good, scales = 2.0**16, 0, []
    for fine in is_finite:
        if not fine:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == patience:
                scale, good = scale * 2, 0
        scales.append(scale)
    return scales


@right
def integers(is_finite, patience=3):
    return [int(x) for x in plain(is_finite, patience)]


@wrong("count-not-reset-by-a-bad-step")
def keeps_the_count(is_finite, patience=3):
    scale, good, scales = 2.0**16, 0, []
    for fine in is_finite:
        if fine:
            good += 1
            if good == patience:
                scale, good = scale * 2, 0
        else:
            scale /= 2
        scales.append(scale)
    return scales


@wrong("count-not-reset-by-doubling")
def doubles_on(is_finite, patience=3):
    scale, good, scales = 2.0**16, 0, []
    for fine in is_finite:
        if fine:
            good += 1
            if good >= patience:
                scale *= 2
        else:
            scale, good = scale / 2, 0
        scales.append(scale)
    return scales


@wrong("one-too-patient")
def patient(is_finite, patience=3):
    scale, good, scales = 2.0**16, 0, []
    for fine in is_finite:
        if not fine:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good > patience:
                scale, good = scale * 2, 0
        scales.append(scale)
    return scales
