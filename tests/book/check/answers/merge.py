from answers import right, wrong


@right
def plain(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == tuple(pair):
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


@wrong("joined-strings", "symbol with symbol")
def compares_strings(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] + symbols[i + 1] == "".join(pair):
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


@wrong("endless", "counter")
def forgets_to_step(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        elif len(out) < 100:
            out.append(symbols[i])
    return out


wrong("wrong-merge")(lambda symbols, pair: list(symbols))
