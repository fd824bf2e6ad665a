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


@right
def refuses_what_is_too_long(pairs, max_tokens):
    if any(len(a) + len(b) > max_tokens for a, b in pairs):
        raise ValueError("a pair alone is over max_tokens")
    return plain(pairs, max_tokens)


@wrong("long-pair-lost", "missing")
def drops_what_is_too_long(pairs, max_tokens):
    kept = [p for p in pairs if len(p[0]) + len(p[1]) <= max_tokens]
    return plain(kept, max_tokens)


@wrong("pairs-shortened", "shorten")
def shortens(pairs, max_tokens):
    n = max_tokens // 2
    return plain([(a[:n], b[:n]) for a, b in pairs], max_tokens)


@wrong("forgets-the-longest", "max(s, len(source))")
def newest_lengths(pairs, max_tokens):
    batches, batch = [], []
    for a, b in sorted(pairs, key=lambda p: (len(p[1]), len(p[0]))):
        if batch and (len(batch) + 1) * (len(a) + len(b)) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append((a, b))
    return [*batches, batch]


@wrong("overfull", "Without its last pair")
def looks_afterwards(pairs, max_tokens):
    batches, batch, s, t = [], [], 0, 0
    for a, b in sorted(pairs, key=lambda p: (len(p[1]), len(p[0]))):
        s, t = max(s, len(a)), max(t, len(b))
        batch.append((a, b))
        if len(batch) * (s + t) > max_tokens:
            batches.append(batch)
            batch, s, t = [], 0, 0
    return [*batches, batch] if batch else batches
