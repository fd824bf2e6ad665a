from answers import right, wrong


@right
def plain(pairs, max_tokens):
    batches, batch, s, t = [], [], 0, 0
    for a, b in sorted(pairs, key=lambda p: (len(p[1]), len(p[0]))):
        s, t = max(s, len(a)), max(t, len(b))
        if batch and (len(batch) + 1) * (s + t) > max_tokens:
            batches.append(batch)
            batch, s, t = [], len(a), len(b)
        batch.append((a, b))
    return [*batches, batch]


@wrong("widths-not-reset", "next one begins")
def never_reset(pairs, max_tokens):
    batches, batch, s, t = [], [], 0, 0
    for a, b in sorted(pairs, key=lambda p: (len(p[1]), len(p[0]))):
        s, t = max(s, len(a)), max(t, len(b))
        if batch and (len(batch) + 1) * (s + t) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append((a, b))
    return [*batches, batch]
