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


def by_length(pairs):
    return sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0])))


def filled(pairs, cost, limit, *, on_closing="begin"):
    """Batches in this order; `on_closing` says what the pair that does not fit does."""
    batches, batch = [], []
    for pair in pairs:
        if batch and cost([*batch, pair]) > limit:
            batches.append([*batch, pair] if on_closing == "both" else batch)
            batch = []
            if on_closing == "drop":
                continue
        batch.append(pair)
    return [*batches, batch]


def rectangle(batch):
    return len(batch) * (max(len(s) for s, _ in batch) + max(len(t) for _, t in batch))


def side(i):
    return lambda batch: len(batch) * max(len(pair[i]) for pair in batch)


def real(batch):
    return sum(len(s) + len(t) for s, t in batch)


right(lambda p, max_tokens: filled(by_length(p)[::-1], rectangle, max_tokens))
wrong("twice")(
    lambda p, max_tokens: filled(by_length(p), rectangle, max_tokens, on_closing="both")
)
wrong("pairs-lost")(
    lambda p, max_tokens: filled(by_length(p), rectangle, max_tokens, on_closing="drop")
)
wrong("last-batch-lost")(lambda p, max_tokens: plain(p, max_tokens)[:-1])
wrong("empty-batch")(lambda p, max_tokens: [[], *plain(p, max_tokens)])
wrong("one-by-one")(lambda p, max_tokens: [[pair] for pair in p])
wrong("not-sorted")(lambda p, max_tokens: filled(p, rectangle, max_tokens))
wrong("underfull")(
    lambda p, max_tokens: filled(by_length(p), rectangle, max_tokens - 1)
)
wrong("underfull")(lambda p, max_tokens: plain(p, 0.6 * max_tokens))
wrong("counts-real-tokens")(lambda p, max_tokens: filled(p, real, max_tokens))
wrong("forgets-targets")(
    lambda p, max_tokens: filled(by_length(p), side(0), max_tokens)
)
wrong("forgets-sources")(
    lambda p, max_tokens: filled(by_length(p), side(1), max_tokens)
)
wrong("other-pairs")(
    lambda p, max_tokens: plain([([*s, 0], t) for s, t in p], max_tokens)
)


@wrong("counts-pairs")
def eights(pairs, max_tokens):
    rows = by_length(pairs)
    return [rows[i : i + 8] for i in range(0, len(rows), 8)]


@wrong("torn-apart")
def sorts_each_side(pairs, max_tokens):
    sources = sorted((s for s, _ in pairs), key=len)
    targets = sorted((t for _, t in pairs), key=len)
    return plain(list(zip(sources, targets, strict=True)), max_tokens)
