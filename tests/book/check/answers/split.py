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
