from answers import right, wrong


@right
def plain(step, *, bos_id, eos_id, max_len):
    piece, cache, said = bos_id, None, []
    while len(said) < max_len:
        logits, cache = step(piece, cache)
        piece = int(logits.argmax())
        if piece == eos_id:
            break
        said.append(piece)
    return said


@wrong("cache-lost", "None")
def forgets(step, *, bos_id, eos_id, max_len):
    piece, said = bos_id, []
    while len(said) < max_len:
        logits, _ = step(piece, None)
        piece = int(logits.argmax())
        if piece == eos_id:
            break
        said.append(piece)
    return said


@wrong("reads-bos-again")
def deaf(step, *, bos_id, eos_id, max_len):
    cache, said = None, []
    while len(said) < max_len:
        logits, cache = step(bos_id, cache)
        piece = int(logits.argmax())
        if piece == eos_id:
            break
        said.append(piece)
    return said


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


@wrong("never-stops")
def on_and_on(step, *, bos_id, eos_id, max_len):
    piece, cache, said = bos_id, None, []
    while len(said) < max_len:
        logits, cache = step(piece, cache)
        piece = int(logits.argmax())
        said.append(piece)
    return said


@wrong("endless")
def without_a_limit(step, *, bos_id, eos_id, max_len):
    piece, cache, said = bos_id, None, []
    while True:
        logits, cache = step(piece, cache)
        piece = int(logits.argmax())
        said.append(piece)


@wrong("not-the-cache")
def gives_the_ids(step, *, bos_id, eos_id, max_len):
    said = [bos_id]
    logits, _ = step(said[-1], said)
    return [int(logits.argmax())]


@wrong("not-a-list")
def a_text(step, *, bos_id, eos_id, max_len):
    return "Der Hund"


@wrong("wrong-pieces")
def nothing(step, *, bos_id, eos_id, max_len):
    return []
