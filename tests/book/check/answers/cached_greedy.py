import itertools

from answers import right, wrong


def looped(
    read=lambda said, cache: (said[-1], cache),
    ends=lambda piece, eos_id: piece == eos_id,
    steps=range,
):
    """Greedy search with a cache, one step exchanged."""

    def mine(step, *, bos_id, eos_id, max_len):
        said, cache = [bos_id], None
        for _ in steps(max_len):
            logits, cache = step(*read(said, cache))
            piece = int(logits.argmax())
            if ends(piece, eos_id):
                break
            said.append(piece)
        return said[1:]

    return mine


plain = right(looped())
wrong("cache-lost", "None")(looped(lambda said, cache: (said[-1], None)))
wrong("reads-bos-again")(looped(lambda said, cache: (said[0], cache)))
wrong("never-stops")(looped(ends=lambda piece, eos_id: False))
wrong("endless")(
    looped(ends=lambda piece, eos_id: False, steps=lambda max_len: itertools.count())
)


@wrong("reads-twice", "read each piece once")
def recomputes(step, *, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) <= max_len:
        cache = None
        for piece in ids:
            logits, cache = step(piece, cache)
        best = int(logits.argmax())
        if best == eos_id:
            break
        ids.append(best)
    return ids[1:]


@wrong("emits-eos")
def with_eos(step, *, bos_id, eos_id, max_len):
    said = plain(step, bos_id=bos_id, eos_id=eos_id, max_len=max_len)
    return said if len(said) == max_len else [*said, eos_id]


@wrong("emits-bos")
def with_bos(step, *, bos_id, eos_id, max_len):
    return [bos_id, *plain(step, bos_id=bos_id, eos_id=eos_id, max_len=max_len)]


@wrong("one-too-many")
def longer(step, *, bos_id, eos_id, max_len):
    return plain(step, bos_id=bos_id, eos_id=eos_id, max_len=max_len + 1)


@wrong("one-too-few")
def shorter(step, *, bos_id, eos_id, max_len):
    return plain(step, bos_id=bos_id, eos_id=eos_id, max_len=max_len - 1)


@wrong("not-the-cache")
def gives_the_ids(step, *, bos_id, eos_id, max_len):
    said = [bos_id]
    logits, _ = step(said[-1], said)
    return [int(logits.argmax())]


wrong("not-a-list")(lambda step, *, bos_id, eos_id, max_len: "Der Hund")
wrong("wrong-pieces")(lambda step, *, bos_id, eos_id, max_len: [])


@wrong("prefix-read-again", "newest piece alone")
def reads_from_the_start(step, *, bos_id, eos_id, max_len):
    said, cache = [], None
    while len(said) < max_len:
        for piece in [bos_id, *said]:
            logits, cache = step(piece, cache)
        said.append(int(logits.argmax()))
        if said[-1] == eos_id:
            return said[:-1]
    return said
