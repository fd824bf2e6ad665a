from answers import right, wrong


@right
def plain(found, sure, possible):
    hits = len(found & sure) + len(found & possible)
    return 1 - hits / (len(found) + len(sure))


@wrong("possible-in-the-denominator", "|A| + |S|")
def all_possible(found, sure, possible):
    hits = len(found & sure) + len(found & possible)
    return 1 - hits / (len(found) + len(possible))


wrong("possible-ignored")(
    lambda found, sure, possible: 1 - 2 * len(found & sure) / (len(found) + len(sure))
)
wrong("one-minus-forgotten")(lambda *given: 1 - plain(*given))
wrong("wrong-links-only", "missing")(
    lambda found, sure, possible: len(found - possible) / len(found)
)
wrong("wrong-numbers")(lambda *given: plain(*given) / 2)
