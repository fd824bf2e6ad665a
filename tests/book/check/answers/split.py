import hashlib
import random

from answers import right, wrong


def place(text):
    text = "".join(c for c in text.lower() if c.isalnum() or c == " ")
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 1000 / 1000


@right
def hashed(pairs, share):
    train = [p for p in pairs if place(p[0]) >= share]
    return train, [p for p in pairs if place(p[0]) < share]


@wrong("by-length", "length")
def by_length(pairs, share):
    ordered = sorted(pairs, key=lambda p: len(p[0]))
    n = int(len(pairs) * (1 - share))
    return ordered[:n], ordered[n:]


@wrong("by-pair")
def by_pair(pairs, share):
    mixed = list(pairs)
    random.Random(0).shuffle(mixed)
    n = int(len(pairs) * (1 - share))
    return mixed[:n], mixed[n:]


def key(text):
    return "".join(c for c in text.lower() if c.isalnum() or c == " ")


@wrong("moves-when-it-grows", "training sentences are test sentences now")
def by_place_among_the_keys(pairs, share):
    keys = sorted({key(p[0]) for p in pairs})
    test = set(keys[: round(len(keys) * share)])
    train = [p for p in pairs if key(p[0]) not in test]
    return train, [p for p in pairs if key(p[0]) in test]


@wrong("by-german", "English")
def by_german(pairs, share):
    train = [p for p in pairs if place(p[1]) >= share]
    return train, [p for p in pairs if place(p[1]) < share]


def parted(pairs, is_test):
    return [p for p in pairs if not is_test(p)], [p for p in pairs if is_test(p)]


def drawn(pairs, share, chance):
    keys = sorted({key(p[0]) for p in pairs})
    chance.shuffle(keys)
    chosen = set(keys[: round(share * len(keys))])
    return parted(pairs, lambda p: key(p[0]) in chosen)


def digest(text):
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8


wrong("differs-each-time")(lambda p, share: drawn(p, share, random.Random()))
wrong("moves-when-it-grows")(lambda p, share: drawn(p, share, random.Random(0)))
wrong("swapped")(lambda p, share: hashed(p, share)[::-1])
wrong("wrong-share")(lambda p, share: hashed(p, share / 2))
wrong("in-both")(lambda p, share: (p, hashed(p, share)[1]))
wrong("pairs-lost")(lambda p, share: hashed(list(dict(p).items()), share))
wrong("leaks-but-for-a-mark")(
    lambda p, share: parted(p, lambda each: digest(each[0]) < share)
)
wrong("salted-hash")(
    lambda p, share: parted(p, lambda each: hash(key(each[0])) % 100 < 100 * share)
)
