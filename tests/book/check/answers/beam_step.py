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


wrong("not-sorted")(
    lambda beams, log_p, *, beam_size: plain(beams, log_p, beam_size=beam_size)[::-1]
)
wrong("wrong-beams")(lambda beams, log_p, *, beam_size: [([0], 0.0)] * beam_size)
wrong("beam-size")(lambda beams, log_p, *, beam_size: plain(beams, log_p, beam_size=9))


@right
def by_topk(beams, log_p, *, beam_size):
    scores = log_p + log_p.new_tensor([score for _, score in beams])[:, None]
    best = scores.flatten().topk(beam_size)
    width = log_p.size(1)
    return [
        ([*beams[j // width][0], j % width], score)
        for score, j in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
