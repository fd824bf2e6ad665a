"""The typed tree of a sentence: one meaning, from which both languages are read.

A tree says who does what, when, and to whom; it has no word order, no case and no
agreement. ``english.linearize`` and ``german.linearize`` turn it into leaves; leaves
that share a key say the same thing, and the alignment follows from that.
"""

from __future__ import annotations

from dataclasses import dataclass

from tformer.data.grammar.lexicon import (
    PRONOUNS,
    Adjective,
    Adverb,
    Modal,
    Noun,
    Preposition,
    Verb,
)


@dataclass(frozen=True)
class Leaf:
    """One word or mark of a sentence.

    Attributes:
        text: as written.
        sure: keys of what it expresses; a leaf of the other language with one of them
            is its translation.
        possible: keys of what it helps to express (an auxiliary, a comma).
    """

    text: str
    sure: frozenset[str]
    possible: frozenset[str] = frozenset()


@dataclass(frozen=True)
class NounPhrase:
    """A noun with what belongs to it: "the old dog", "my books", "milk"."""

    determiner: str  # the, a, this, my, no; "" for a bare plural or mass noun
    noun: Noun
    plural: bool = False
    adjective: Adjective | None = None
    relative: Clause | None = None

    @property
    def gender(self) -> str:
        """m, f, n, or pl: the column of German's tables."""
        return "pl" if self.plural else self.noun.gender

    @property
    def is_definite(self) -> bool:
        """Whether it names something known: before the adverb in German."""
        return self.determiner in ("the", "this", "my")


@dataclass(frozen=True)
class Personal:
    """I, he, she, we, they: a pronoun whose German does not depend on a noun."""

    name: str


@dataclass(frozen=True)
class It:
    """it: German says er, sie or es, after the gender of the noun it stands for."""

    antecedent: Noun


@dataclass(frozen=True)
class Relative:
    """The gap of a relative clause: who, that; der, die, das."""

    head: NounPhrase


@dataclass(frozen=True)
class Wh:
    """The gap of a question: who, whom, what."""

    is_person: bool


Subject = NounPhrase | Personal | It | Relative | Wh


@dataclass(frozen=True)
class Place:
    """A preposition and its noun: "in the garden", "with the dog"."""

    preposition: Preposition
    noun_phrase: NounPhrase


@dataclass(frozen=True)
class Clause:
    """Who does what.

    Attributes:
        subject: who.
        verb: does.
        tense: "present", "past" or "perfect"; "present" with a modal.
        modal: can, must, should, want.
        negated: with not / nicht (a noun phrase with no / kein negates by itself).
        indirect, direct: dative and accusative object.
        adjective: what the subject is, with "be".
        place: a prepositional phrase.
        adverb: of time.
    """

    subject: Subject
    verb: Verb
    tense: str = "present"
    modal: Modal | None = None
    negated: bool = False
    indirect: Subject | None = None
    direct: Subject | None = None
    adjective: Adjective | None = None
    place: Place | None = None
    adverb: Adverb | None = None


@dataclass(frozen=True)
class Sentence:
    """A main clause, perhaps with another, as a statement or a question.

    Attributes:
        clause: the main clause.
        front: what a statement begins with: "subject", "adverb" or "direct".
        question: "", "polar" (Does …?), "where", "why", or "gap" (who, whom, what:
            the main clause holds a ``Wh``).
        conjunction: "" or "because", "that", "if" (which comes first).
        subordinate: the clause after it.
    """

    clause: Clause
    front: str = "subject"
    question: str = ""
    conjunction: str = ""
    subordinate: Clause | None = None


def leaf(text: str, *sure: str, possible: tuple[str, ...] = ()) -> Leaf:
    """A leaf with its keys."""
    return Leaf(text, frozenset(sure), frozenset(possible))


def person_of(subject: Subject) -> str:
    """What the verb agrees with: "first" (I), "third" (he, the dog) or "plural"."""
    match subject:
        case Personal(name):
            if PRONOUNS[name].plural:
                return "plural"
            return "first" if name == "I" else "third"
        case NounPhrase():
            return "plural" if subject.plural else "third"
        case Relative(head):
            return "plural" if head.plural else "third"
        case _:
            return "third"


def finish(leaves: list[Leaf]) -> list[Leaf]:
    """Give the first leaf its capital; drop a comma that another mark follows."""
    kept = [
        this
        for this, after in zip(leaves, [*leaves[1:], None], strict=True)
        if not (this.text == "," and after is not None and after.text in ",.?")
    ]
    first = kept[0]
    capital = first.text[0].upper() + first.text[1:]
    return [Leaf(capital, first.sure, first.possible), *kept[1:]]


def text_of(leaves: list[Leaf]) -> str:
    """The leaves as written text: spaces between words, none before marks."""
    text = ""
    for leaf in leaves:
        text += leaf.text if leaf.text in ",.?" or not text else f" {leaf.text}"
    return text
