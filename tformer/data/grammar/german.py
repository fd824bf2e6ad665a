"""The German of a tree: case and agreement, verb second, verb last.

Word order, from left to right: one constituent before the finite verb of a main clause;
then subject, pronouns, definite objects, time, indefinite objects, "nicht", predicate,
place; then the rest of the verb. In a subordinate clause the finite verb comes after
all this.
"""

from tformer.data.grammar.lexicon import (
    CONJUNCTIONS,
    CONTRACTIONS,
    IT,
    PRONOUNS,
    adjective_ending,
    determiner,
    relative_pronoun,
)
from tformer.data.grammar.tree import (
    Clause,
    It,
    Leaf,
    NounPhrase,
    Personal,
    Place,
    Relative,
    Sentence,
    Subject,
    Wh,
    finish,
    leaf,
    person_of,
)

_AUXILIARIES = {
    "haben": {"first": "habe", "third": "hat", "plural": "haben"},
    "sein": {"first": "bin", "third": "ist", "plural": "sind"},
}
_QUESTION_WORDS = {"where": "wo", "why": "warum"}


def linearize(sentence: Sentence) -> list[Leaf]:
    """The German leaves of a sentence, the first with a capital."""
    clause, first = sentence.clause, sentence.front
    before: list[Leaf] = []
    if sentence.subordinate is not None:
        conjunction = leaf(CONJUNCTIONS[sentence.conjunction], "c")
        before = [conjunction, *_verb_last(sentence.subordinate, "c.")]
    if sentence.conjunction == "if":
        leaves = [*before, leaf(",", "c.comma"), *_verb_second(clause, [], "")]
    else:
        if sentence.question in _QUESTION_WORDS:
            word = leaf(_QUESTION_WORDS[sentence.question], "w")
            leaves = _verb_second(clause, [word], "")
        elif sentence.question == "polar":
            leaves = _verb_second(clause, [], "")
        else:
            if sentence.question == "gap":
                first = _gap(clause)
            leaves = _verb_second(clause, _constituents(clause, "")[first], first)
        if before:
            leaves = [*leaves, leaf(",", possible=("c",)), *before]
    return finish([*leaves, leaf("?" if sentence.question else ".", "stop")])


def _gap(clause: Clause) -> str:
    """Which constituent is the question word."""
    if isinstance(clause.direct, Wh):
        return "direct"
    return "indirect" if isinstance(clause.indirect, Wh) else "subject"


def _verb_second(clause: Clause, first: list[Leaf], name: str) -> list[Leaf]:
    """``first`` (the constituent called ``name``), finite verb, everything else."""
    finite, final = _verb_group(clause, "")
    constituents = _constituents(clause, "")
    prefix: list[Leaf] = []
    if clause.verb.prefix and clause.modal is None and clause.tense != "perfect":
        prefix = [leaf(clause.verb.prefix, "v.particle")]
        finite = leaf(finite.text, "v")
    middle = [x for part in _order(clause) if part != name for x in constituents[part]]
    return [*first, finite, *middle, *final, *prefix]


def _verb_last(clause: Clause, path: str) -> list[Leaf]:
    """A subordinate clause without its conjunction; a relative pronoun first."""
    finite, final = _verb_group(clause, path)
    if clause.verb.prefix and clause.modal is None and clause.tense != "perfect":
        finite = leaf(clause.verb.prefix + finite.text, path + "v", path + "v.particle")
    constituents = _constituents(clause, path)
    order = _order(clause)
    for part, node in (("direct", clause.direct), ("indirect", clause.indirect)):
        if isinstance(node, Relative):
            order.remove(part)
            order.insert(0, part)
    middle = [x for part in order for x in constituents[part]]
    return [*middle, *final, finite]


def _order(clause: Clause) -> list[str]:
    """The names of the constituents between the two parts of the verb."""

    def rank(node: Subject | None) -> int:
        if isinstance(node, NounPhrase):
            return 1 if node.is_definite else 2
        return 0

    objects = {"indirect": clause.indirect, "direct": clause.direct}
    by_rank: tuple[list[str], list[str], list[str]] = ([], [], [])
    for name, node in objects.items():
        by_rank[rank(node)].append(name)
    pronouns, definite, indefinite = by_rank
    pronouns.reverse()  # accusative before dative: "gibt es ihm"
    head = ["subject", *pronouns]
    if rank(clause.subject) == 2:
        head = [*pronouns, "subject"]  # "Heute sieht ihn ein Hund."
    return [*head, *definite, "adverb", *indefinite, "not", "adjective", "place"]


def _constituents(clause: Clause, path: str) -> dict[str, list[Leaf]]:
    """The leaves of each part of the clause but the verb; [] for what is not there."""
    adverb, adjective = clause.adverb, clause.adjective
    return {
        "subject": _phrase(clause.subject, path + "s.", "nom"),
        "direct": _phrase(clause.direct, path + "o.", "acc"),
        "indirect": _phrase(clause.indirect, path + "i.", "dat"),
        "adverb": [leaf(adverb.german, path + "t")] if adverb else [],
        "not": [leaf("nicht", path + "v.not")] if clause.negated else [],
        "adjective": [leaf(adjective.german, path + "a")] if adjective else [],
        "place": _place(clause.place, path) if clause.place else [],
    }


def _verb_group(clause: Clause, path: str) -> tuple[Leaf, list[Leaf]]:
    """The finite verb (without its prefix), and what stands at the end."""
    verb = clause.verb
    infinitive, third, past, participle = verb.german
    person = person_of(clause.subject)
    keys = (path + "v", path + "v.particle")

    def past_of(form: str) -> str:
        if person != "plural":
            return form
        return form + ("n" if form.endswith("e") else "en")

    if clause.tense == "perfect":
        finite = _AUXILIARIES[verb.auxiliary][person]
        return leaf(finite, path + "v.aux"), [leaf(verb.prefix + participle, *keys)]
    if clause.modal is not None:
        finite = clause.modal.german[person == "plural"]
        return leaf(finite, path + "v.modal"), [leaf(verb.prefix + infinitive, *keys)]
    if clause.tense == "past":
        return leaf(past_of(past), *keys), []
    if verb.frame == "copula":
        finite = _AUXILIARIES["sein"][person]
    elif person == "plural":
        finite = infinitive
    elif person == "third" or infinitive == "wissen":
        finite = third
    else:
        finite = infinitive.removesuffix("en") + "e"
    return leaf(finite, *keys), []


def _place(place: Place, path: str) -> list[Leaf]:
    """A preposition and its noun phrase: "in dem" becomes "im"."""
    preposition = place.preposition
    phrase = _phrase(place.noun_phrase, path + "p.", preposition.case)
    if place.noun_phrase.determiner == "the":
        joined = CONTRACTIONS.get((preposition.german, phrase[0].text))
        if joined:
            return [leaf(joined, path + "p", path + "p.d"), *phrase[1:]]
    return [leaf(preposition.german, path + "p"), *phrase]


def _phrase(node: Subject | None, path: str, case: str) -> list[Leaf]:
    """A noun phrase or pronoun in a case; ``path`` is the beginning of its keys."""
    key = path + "n"
    match node:
        case None:
            return []
        case Personal(name):
            return [leaf(PRONOUNS[name].german[case], key)]
        case It(antecedent):
            return [leaf(IT[antecedent.gender][case], key)]
        case Relative(head):
            comma = leaf(",", possible=(key,))
            return [comma, leaf(relative_pronoun(case, head.gender), key)]
        case Wh(is_person):
            who = {"nom": "wer", "acc": "wen", "dat": "wem"}[case]
            return [leaf(who if is_person else "was", key)]
        case NounPhrase():
            words = []
            article = determiner(node.determiner, case, node.gender)
            if article:
                words.append(leaf(article, path + "d"))
            if node.adjective is not None:
                ending = adjective_ending(node.determiner, case, node.gender)
                words.append(leaf(node.adjective.stem + ending, path + "a"))
            words.append(leaf(node.noun.in_german(case, node.plural), key))
            if node.relative is not None:
                clause = _verb_last(node.relative, path + "r.")
                words += [*clause, leaf(",", possible=tuple(clause[0].possible))]
            return words
