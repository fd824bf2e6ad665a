from answers import right, wrong


@right
def plain(beams, log_p, *, beam_size):
    found = [
        ([*ids, v], score + log_p[i, v].item())
        for i, (ids, score) in enumerate(beams)
        for v in range(log_p.size(1))
    ]
    return sorted(found, key=lambda each: -each[1])[:beam_size]


@wrong("changes-inputs")
def appends(beams, log_p, *, beam_size):
    for ids, _ in beams:
        ids.append(0)
    return plain(beams, log_p, beam_size=beam_size)
