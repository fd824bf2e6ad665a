from answers import right, wrong


@right
def plain(found, sure, possible):
    hits = len(found & sure) + len(found & possible)
    return 1 - hits / (len(found) + len(sure))


@wrong("possible-in-the-denominator", "|A| + |S|")
def all_possible(found, sure, possible):
    hits = len(found & sure) + len(found & possible)
    return 1 - hits / (len(found) + len(possible))


@wrong("possible-ignored")
def sure_only(found, sure, possible):
    return 1 - 2 * len(found & sure) / (len(found) + len(sure))


@wrong("one-minus-forgotten")
def rightness(found, sure, possible):
    return 1 - plain(found, sure, possible)


@wrong("wrong-links-only", "missing")
def precision(found, sure, possible):
    return len(found - possible) / len(found)


@wrong("wrong-numbers")
def off(found, sure, possible):
    return plain(found, sure, possible) / 2
