"""The English of a tree: fixed word order, do-support, -s."""

from tformer.data.grammar.lexicon import PRONOUNS
from tformer.data.grammar.tree import (
    Clause,
    It,
    Leaf,
    NounPhrase,
    Personal,
    Relative,
    Sentence,
    Subject,
    Wh,
    finish,
    leaf,
    person_of,
)


def linearize(sentence: Sentence) -> list[Leaf]:
    """The English leaves of a sentence, the first with a capital."""
    leaves = _main(sentence)
    if sentence.subordinate is not None:
        conjunction = leaf(sentence.conjunction, "c")
        dependent = [conjunction, *_clause(sentence.subordinate, "c.")]
        if sentence.conjunction == "if":
            leaves = [*dependent, leaf(",", "c.comma"), *leaves]
        else:
            leaves = [*leaves, *dependent]
    return finish([*leaves, leaf("?" if sentence.question else ".", "stop")])


def _main(sentence: Sentence) -> list[Leaf]:
    clause = sentence.clause
    if sentence.question in ("where", "why"):
        return [leaf(sentence.question, "w"), *_inverted(clause)]
    if sentence.question == "gap" and isinstance(clause.direct, Wh):
        return [*_phrase(clause.direct, "o.", True), *_inverted(clause)]
    if sentence.question == "gap" and isinstance(clause.indirect, Wh):
        return [*_phrase(clause.indirect, "i.", True), *_inverted(clause)]
    if sentence.question == "polar":
        return _inverted(clause)
    if sentence.front == "adverb" and clause.adverb is not None:
        adverb = leaf(clause.adverb.english, "t")
        return [adverb, *_clause(clause, "", fronted="adverb")]
    if sentence.front == "direct" and clause.direct is not None:
        topic = _phrase(clause.direct, "o.", True)
        comma = leaf(",", possible=("o.n",))
        return [*topic, comma, *_clause(clause, "", fronted="direct")]
    return _clause(clause, "")


def _inverted(clause: Clause) -> list[Leaf]:
    """A question: auxiliary before subject."""
    auxiliary, verb = _verb_group(clause, "", support=True)
    return [
        *auxiliary,
        *_phrase(clause.subject, "s.", False),
        *_frequency(clause, ""),
        *_rest(clause, "", verb),
    ]


def _clause(clause: Clause, path: str, fronted: str = "") -> list[Leaf]:
    """Subject first; a relative object before it."""
    auxiliary, verb = _verb_group(clause, path)
    leaves: list[Leaf] = []
    for node, name in ((clause.direct, "o."), (clause.indirect, "i.")):
        if isinstance(node, Relative):
            leaves += _phrase(node, path + name, True)
    leaves += _phrase(clause.subject, path + "s.", False)
    leaves += [*auxiliary, *_frequency(clause, path)]
    return leaves + _rest(clause, path, verb, fronted)


def _frequency(clause: Clause, path: str) -> list[Leaf]:
    if clause.adverb is not None and clause.adverb.is_frequency:
        return [leaf(clause.adverb.english, path + "t")]
    return []


def _rest(clause: Clause, path: str, verb: list[Leaf], fronted: str = "") -> list[Leaf]:
    """Verb, objects, predicate, place and time, in this order."""
    leaves = list(verb)
    gaps = (Relative, Wh)
    if clause.indirect is not None and not isinstance(clause.indirect, gaps):
        leaves += _phrase(clause.indirect, path + "i.", True)
    particle = []
    if clause.verb.particle:
        particle = [leaf(clause.verb.particle, path + "v.particle")]
    direct: list[Leaf] = []
    is_said = fronted == "direct" or isinstance(clause.direct, gaps)
    if clause.direct is not None and not is_said:
        direct = _phrase(clause.direct, path + "o.", True)
    if clause.verb.particle == "up" and isinstance(clause.direct, Personal | It):
        leaves += direct + particle  # picks him up
    else:
        leaves += particle + direct
    if clause.adjective is not None:
        leaves.append(leaf(clause.adjective.english, path + "a"))
    if clause.place is not None:
        preposition = clause.place.preposition.english.split()
        leaves += [leaf(word, path + "p") for word in preposition]
        leaves += _phrase(clause.place.noun_phrase, path + "p.", True)
    adverb = clause.adverb
    if adverb is not None and not adverb.is_frequency and fronted != "adverb":
        leaves.append(leaf(adverb.english, path + "t"))
    return leaves


def _verb_group(
    clause: Clause, path: str, support: bool = False
) -> tuple[list[Leaf], list[Leaf]]:
    """The auxiliaries with "not", and the verb that follows them."""
    base, third, past, participle = clause.verb.english
    person = person_of(clause.subject)
    keys = [path + "v"] + ([] if clause.verb.particle else [path + "v.particle"])
    negation = [leaf("not", path + "v.not")] if clause.negated else []
    do = {"third": "does"}.get(person, "do") if clause.tense == "present" else "did"

    if clause.verb.frame == "copula":
        present = {"first": "am", "third": "is", "plural": "are"}
        was = "were" if person == "plural" else "was"
        be = present[person] if clause.tense == "present" else was
        return [leaf(be, path + "v"), *negation], []
    if clause.tense == "perfect":
        have = "has" if person == "third" else "have"
        return [leaf(have, path + "v.aux"), *negation], [leaf(participle, *keys)]
    if clause.modal is not None:
        name = path + "v.modal"
        modal, modal_third = clause.modal.english
        if modal == "want":
            main = [leaf("to", possible=(name,)), leaf(base, *keys)]
            if clause.negated or support:
                do_not = [leaf(do, possible=(name,)), *negation]
                return do_not, [leaf(modal, name), *main]
            want = modal_third if person == "third" else modal
            return [], [leaf(want, name), *main]
        if modal == "can" and clause.negated:
            return [leaf("cannot", name, path + "v.not")], [leaf(base, *keys)]
        return [leaf(modal, name), *negation], [leaf(base, *keys)]
    if clause.negated or support:
        return [leaf(do, possible=(path + "v",)), *negation], [leaf(base, *keys)]
    if clause.tense == "past":
        return [], [leaf(past, *keys)]
    return [], [leaf(third if person == "third" else base, *keys)]


def _phrase(node: Subject | None, path: str, is_object: bool) -> list[Leaf]:
    """A noun phrase or pronoun; ``path`` is the beginning of its keys."""
    key = path + "n"
    match node:
        case Personal(name):
            pronoun = PRONOUNS[name]
            return [leaf(pronoun.english_object if is_object else name, key)]
        case It():
            return [leaf("it", key)]
        case Relative(head):
            is_person = "person" in head.noun.kinds and not is_object
            return [leaf("who" if is_person else "that", key)]
        case Wh(is_person):
            who = "whom" if is_object else "who"
            return [leaf(who if is_person else "what", key)]
        case NounPhrase():
            words = []
            if node.adjective is not None:
                words.append(leaf(node.adjective.english, path + "a"))
            noun = node.noun.english_plural if node.plural else node.noun.english
            words += [leaf(word, key) for word in noun.split()]
            if node.determiner:
                article = node.determiner
                if article == "a" and words[0].text[0] in "aeiou":
                    article = "an"
                elif article == "this" and node.plural:
                    article = "these"
                words.insert(0, leaf(article, path + "d"))
            if node.relative is not None:
                words += _clause(node.relative, path + "r.")
            return words
        case _:
            raise TypeError(f"not a noun phrase or pronoun: {node!r}")
