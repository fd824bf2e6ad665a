"""Drawing trees at random: which sentences the corpus has.

The rules here keep sentences sensible and, above all, unambiguous: no English sentence
has two translations. So "you" is left out (du, ihr, Sie), a verb whose past looks like
its present has no past ("read"), nothing that could belong to two clauses follows a
relative clause, and "it" is used only if all the nouns it could mean share a gender.
"""

import random
from collections.abc import Iterator
from dataclasses import replace

from tformer.data.grammar.lexicon import (
    ADJECTIVES,
    ADVERBS,
    CONJUNCTIONS,
    MODALS,
    NOUNS,
    PREPOSITIONS,
    VERBS,
    Adverb,
    Noun,
    Verb,
)
from tformer.data.grammar.tree import (
    Clause,
    It,
    NounPhrase,
    Personal,
    Place,
    Relative,
    Sentence,
    Subject,
    Wh,
)

SHAPES = {  # kind of sentence → how often
    "plain": 34,
    "adverb": 8,
    "direct": 4,
    "because": 16,
    "that": 8,
    "if": 6,
    "relative": 8,
    "polar": 7,
    "where": 2,
    "why": 3,
    "gap": 4,
}
_ACTIONS = [verb for verb in VERBS.values() if verb.frame not in ("that", "copula")]
_SAYINGS = [verb for verb in VERBS.values() if verb.frame == "that"]
_BE = VERBS["be"]


def _has_past(verb: Verb) -> bool:
    """False for "read": in "They read", English does not show the tense."""
    return verb.english[0] != verb.english[2]


def _verbs(tense: str | None) -> list[Verb]:
    """The actions that have this tense."""
    return [verb for verb in _ACTIONS if tense != "past" or _has_past(verb)]


def draw_sentence(draw: random.Random) -> Sentence:
    """One sentence; the same state of ``draw`` gives the same sentence."""
    shape = draw.choices(list(SHAPES), list(SHAPES.values()))[0]
    while True:
        try:
            sentence = _Drawer(draw).sentence(shape)
        except _NothingFits:
            continue
        if sentence is not None:
            return sentence


class _NothingFits(Exception):
    """Every word that could go here is used up: draw another sentence."""


class _Drawer:
    """Draws one sentence; remembers what it has used, so that nothing is repeated."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.used: set[Noun] = set()
        self.may_negate = True

    def chance(self, probability: float) -> bool:
        return self.draw.random() < probability

    def sentence(self, shape: str) -> Sentence | None:
        match shape:
            case "plain":
                return Sentence(self.clause())
            case "adverb":
                clause = self.clause(needs_adverb=True)
                if clause.adverb is None or clause.adverb.is_frequency:
                    return None
                return Sentence(clause, front="adverb")
            case "direct":
                return self.fronted_object()
            case "because":
                return self.because()
            case "that":
                return self.saying()
            case "if":
                return self.condition()
            case "relative":
                return self.relative()
            case _:
                return self.question(shape)

    # Parts

    def noun_phrase(
        self,
        kinds: frozenset[str],
        *,
        definite: bool = False,
        bare: bool = True,
        attribute: bool = True,
    ) -> NounPhrase:
        """A noun of one of the kinds with its determiner, perhaps an adjective."""
        nouns = [
            noun
            for noun in NOUNS.values()
            if noun.kinds & kinds and noun not in self.used
        ]
        if not nouns:
            raise _NothingFits
        noun = self.draw.choice(nouns)
        self.used.add(noun)
        plural = not noun.is_mass and self.chance(0.25)
        weights = {"the": 50, "this": 10}
        if noun.english not in ("man", "woman"):  # "meine Frau" is my wife
            weights["my"] = 14
        if not definite:
            if bare or not (plural or noun.is_mass):
                weights["" if plural or noun.is_mass else "a"] = 26
            if self.may_negate:
                weights["no"] = 7
        name = self.draw.choices(list(weights), list(weights.values()))[0]
        if name == "no":
            self.may_negate = False
        fitting = [word for word in ADJECTIVES.values() if word.kinds & noun.kinds]
        if attribute and fitting and self.chance(0.3):
            return NounPhrase(name, noun, plural, self.draw.choice(fitting))
        return NounPhrase(name, noun, plural)

    def subject(self, kinds: frozenset[str]) -> Subject:
        if "person" in kinds and self.chance(0.25):
            return Personal(self.draw.choice(["I", "he", "she", "we", "they"]))
        return self.noun_phrase(kinds)

    def object(
        self,
        kinds: frozenset[str],
        subject: Subject,
        *,
        definite: bool,
        bare: bool = True,
    ) -> Subject:
        if "person" in kinds and self.chance(0.2):
            names = ["I", "he", "she", "we", "they"]
            if isinstance(subject, Personal):
                first = {"I", "we"}
                taken = first if subject.name in first else {subject.name}
                names = [name for name in names if name not in taken]
            return Personal(self.draw.choice(names))
        return self.noun_phrase(kinds, definite=definite, bare=bare)

    def clause(
        self,
        *,
        tense: str | None = None,
        verb: Verb | None = None,
        subject: Subject | None = None,
        simple: bool = False,
        needs_adverb: bool = False,
    ) -> Clause:
        """A clause with all that its verb needs.

        Args:
            tense: fixed, or None to draw one (a modal perhaps).
            verb: fixed, or None for an action or, at times, "be".
            subject: fixed, or None to draw one.
            simple: no place, no adverb.
            needs_adverb: draw an adverb of time.
        """
        if verb is None:
            if not simple and not needs_adverb and self.chance(0.12):
                return self.predication(tense=tense, subject=subject)
            verb = self.draw.choice(_verbs(tense))
        modal = None
        if tense is None:
            choices = {"present": 40, "past": 22, "perfect": 18, "modal": 20}
            if not _has_past(verb):
                del choices["past"]
            if verb.frame == "that":
                del choices["modal"], choices["perfect"]
            tense = self.draw.choices(list(choices), list(choices.values()))[0]
        if tense == "modal":
            tense, modal = "present", self.draw.choice(list(MODALS.values()))
        if modal is not None and not modal.negatable:
            self.may_negate = False  # "must not" is "darf nicht"
        if subject is None:
            subject = self.subject(verb.subjects)
        negated = self.may_negate and self.chance(0.2)
        if negated:
            self.may_negate = False
        adverb = None
        if not simple and "state" not in verb.traits:
            if needs_adverb or self.chance(0.2):
                says_no = _says_no(subject)
                adverb = self.adverb(tense, modal is not None, negated or says_no)
            if adverb is not None and modal is MODALS["want"] and adverb.is_frequency:
                adverb = None
        indirect: Subject | None = None
        direct: Subject | None = None
        if verb.frame in ("dat", "both"):
            kinds = verb.objects if verb.frame == "dat" else frozenset({"person"})
            indirect = self.object(kinds, subject, definite=negated, bare=False)
        if verb.frame == "both":
            direct = self.noun_phrase(verb.objects, definite=negated)
        elif verb.frame == "acc":
            direct = self.object(verb.objects, subject, definite=negated)
        place = None
        sees_a_place = isinstance(direct, NounPhrase) and "place" in direct.noun.kinds
        may_have_one = "static" in verb.traits and not simple
        if verb.frame == "motion":
            place = self.place(motion=True)
        elif may_have_one and self.chance(0.35) and not sees_a_place:
            place = self.place(company="company" in verb.traits)
        return Clause(
            subject, verb, tense, modal, negated, indirect, direct, None, place, adverb
        )

    def predication(
        self, *, tense: str | None = None, subject: Subject | None = None
    ) -> Clause:
        """Somebody is something."""
        if tense not in ("present", "past"):
            tense = "present" if tense or self.chance(0.6) else "past"
        adjective = self.draw.choice(list(ADJECTIVES.values()))
        if subject is None:
            if "person" in adjective.kinds and self.chance(0.3):
                subject = Personal(self.draw.choice(["I", "he", "she", "we", "they"]))
            else:
                subject = self.noun_phrase(adjective.kinds, bare=False, attribute=False)
        negated = self.may_negate and self.chance(0.2)
        if negated:
            self.may_negate = False
        return Clause(subject, _BE, tense, None, negated, adjective=adjective)

    def adverb(self, tense: str, modal: bool, negated: bool) -> Adverb:
        name = "modal" if modal else tense
        fitting = [
            adverb
            for adverb in ADVERBS.values()
            if name in adverb.tenses and not (negated and adverb.is_frequency)
        ]
        return self.draw.choice(fitting)

    def place(self, *, motion: bool = False, company: bool = False) -> Place:
        fitting = [
            preposition
            for preposition in PREPOSITIONS.values()
            if preposition.motion == motion and (company or preposition.german != "mit")
        ]
        preposition = self.draw.choice(fitting)
        may_negate, self.may_negate = self.may_negate, False  # not: in no garden
        phrase = self.noun_phrase(preposition.kinds)
        self.may_negate = may_negate
        return Place(preposition, phrase)

    # Sentences

    def fronted_object(self) -> Sentence | None:
        """The object first, as a topic: "This book, the man has read."."""
        verb = self.draw.choice([verb for verb in _ACTIONS if verb.frame == "acc"])
        clause = self.clause(verb=verb)
        if not isinstance(clause.direct, NounPhrase) or not clause.direct.is_definite:
            return None
        topic = replace(clause.direct, determiner="this")
        return Sentence(replace(clause, direct=topic), front="direct")

    def because(self) -> Sentence | None:
        """Two clauses, the second often about something in the first."""
        main = self.clause(tense=self.draw.choice(["present", "past"]))
        candidates = _it_candidates(main)
        if candidates and self.chance(0.7):
            about = It(self.draw.choice(candidates))
            if self.chance(0.8):
                reason = self.predication(tense=main.tense, subject=about)
            else:
                reason = self.clause(tense=main.tense, subject=about, simple=True)
            if reason.adjective is not None and reason.adjective is main.adjective:
                return None  # cold because it is cold
            if not _it_is_clear(reason, candidates):
                return None
        elif self.chance(0.5):
            pronoun = _pronoun_for(main.subject)
            if pronoun is None:
                return None
            reason = self.predication(tense=main.tense, subject=Personal(pronoun))
            if "person" not in reason.adjective.kinds:  # type: ignore[union-attr]
                return None
        else:
            reason = self.clause(tense=main.tense, simple=True)
        return Sentence(main, conjunction="because", subordinate=reason)

    def saying(self) -> Sentence:
        """A clause that is said or believed: "The man says that …"."""
        main = self.clause(verb=self.draw.choice(_SAYINGS), simple=True)
        dependent = self.clause(tense="past" if main.tense == "past" else None)
        return Sentence(main, conjunction="that", subordinate=dependent)

    def condition(self) -> Sentence | None:
        """The condition first, "If the dog is hungry, it …": "it" looks back."""
        condition = self.clause(tense="present")
        candidates = _it_candidates(condition)
        subject = None
        if candidates and self.chance(0.6):
            subject = It(self.draw.choice(candidates))
        main = self.clause(
            tense=self.draw.choice(["present", "modal"]), subject=subject
        )
        if subject is not None and not _it_is_clear(main, candidates):
            return None
        return Sentence(main, conjunction="if", subordinate=condition)

    def relative(self) -> Sentence | None:
        """A subject, or an object that ends the clause, with a relative clause."""
        main = self.clause(simple=True)
        if isinstance(main.subject, NounPhrase) and self.chance(0.6):
            which = "subject"
        elif isinstance(main.direct, NounPhrase) and _ends_with_object(main):
            which = "direct"
        else:
            return None
        head = main.subject if which == "subject" else main.direct
        if not isinstance(head, NounPhrase) or head.determiner in ("", "no"):
            return None
        gap = Relative(head)
        tense = self.draw.choice(["present", "past", "perfect"])
        self.may_negate = False
        verbs = _verbs(tense)
        as_subject = [v for v in verbs if v.subjects & head.noun.kinds]
        as_object = [
            v
            for v in verbs
            if v.frame in ("acc", "dat") and v.objects & head.noun.kinds
        ]
        if as_subject and (not as_object or self.chance(0.6)):
            verb = self.draw.choice(as_subject)
            clause = self.clause(tense=tense, verb=verb, subject=gap, simple=True)
        elif as_object:
            verb = self.draw.choice(as_object)
            clause = self.clause(tense=tense, verb=verb, simple=True)
            clause = _with(clause, "direct" if verb.frame == "acc" else "indirect", gap)
        else:
            return None
        return Sentence(_with(main, which, replace(head, relative=clause)))

    def question(self, kind: str) -> Sentence | None:
        verbs = _ACTIONS
        if kind == "where":
            verbs = [verb for verb in _ACTIONS if "static" in verb.traits]
        elif kind == "gap":
            verbs = [verb for verb in _ACTIONS if verb.frame != "both"]
        self.may_negate = False
        clause = self.clause(verb=self.draw.choice(verbs))
        if kind == "where":
            return Sentence(replace(clause, place=None), question="where")
        if kind != "gap":
            return Sentence(clause, question=kind)
        choices: list[tuple[str, Wh]] = []
        if "person" in clause.verb.subjects:
            choices.append(("subject", Wh(is_person=True)))
        if clause.verb.frame == "dat":
            choices.append(("indirect", Wh(is_person=True)))
        elif clause.verb.frame == "acc":
            if "person" in clause.verb.objects:
                choices.append(("direct", Wh(is_person=True)))
            if clause.verb.objects - {"person", "animal"}:
                choices.append(("direct", Wh(is_person=False)))
        role, gap = self.draw.choice(choices)
        return Sentence(_with(clause, role, gap), question="gap")


def _with(clause: Clause, role: str, node: Subject) -> Clause:
    """The clause with another "subject", "direct" or "indirect" object."""
    return replace(clause, **{role: node})  # type: ignore[arg-type]


def _ends_with_object(clause: Clause) -> bool:
    """Whether the German main clause ends with its accusative object."""
    return not (
        clause.verb.prefix
        or clause.modal
        or clause.negated
        or clause.tense == "perfect"
        or (isinstance(clause.indirect, NounPhrase) and not clause.indirect.is_definite)
    )


def _says_no(node: Subject) -> bool:
    return isinstance(node, NounPhrase) and node.determiner == "no"


def _pronoun_for(subject: Subject) -> str | None:
    """The pronoun that takes a subject up again, if it needs no noun to be clear."""
    if isinstance(subject, Personal):
        return subject.name
    if isinstance(subject, NounPhrase):
        name = "they" if subject.plural else subject.noun.pronoun
        return None if name == "it" else name
    return None


def noun_phrases(clause: Clause) -> Iterator[tuple[str, NounPhrase]]:
    """Every noun phrase of a clause with its role, relative clauses included."""
    nodes = [
        ("subject", clause.subject),
        ("indirect", clause.indirect),
        ("direct", clause.direct),
        ("place", clause.place.noun_phrase if clause.place else None),
    ]
    for role, node in nodes:
        if isinstance(node, NounPhrase):
            yield role, node
            if node.relative is not None:
                yield from noun_phrases(node.relative)


def _it_candidates(clause: Clause) -> list[Noun]:
    """The nouns of a clause that a following "it" could stand for."""
    return [
        phrase.noun
        for _, phrase in noun_phrases(clause)
        if not phrase.plural and phrase.noun.pronoun == "it"
    ]


def _it_is_clear(clause: Clause, candidates: list[Noun]) -> bool:
    """Whether the clause fits its "it", and no candidate of another gender."""
    if not isinstance(clause.subject, It):
        return True
    antecedent = clause.subject.antecedent
    kinds = clause.adjective.kinds if clause.adjective else clause.verb.subjects
    if not antecedent.kinds & kinds:
        return False
    fitting = [noun for noun in candidates if noun.kinds & kinds]
    return all(noun.gender == antecedent.gender for noun in fitting)


def phenomena(sentence: Sentence) -> frozenset[str]:
    """Names of what the sentence shows: to score a model phenomenon by phenomenon."""
    found: set[str] = set()
    clauses = [sentence.clause]
    if sentence.subordinate is not None:
        clauses.append(sentence.subordinate)
        found.add(CONJUNCTIONS[sentence.conjunction])
    if sentence.question:
        found.add("question")
    elif sentence.front != "subject":
        found.add(f"fronted {'object' if sentence.front == 'direct' else 'adverb'}")
    for clause in list(clauses):
        for _, phrase in noun_phrases(clause):
            if phrase.relative is not None:
                found.add("relative clause")
                clauses.append(phrase.relative)
    for clause in clauses:
        if clause.negated:
            found.add("nicht")
        if clause.modal is not None:
            found.add("modal")
        if clause.tense == "perfect":
            found.add(f"perfect with {clause.verb.auxiliary}")
        if clause.tense == "past":
            found.add("past")
        if clause.verb.prefix:
            found.add("separable verb")
        if clause.indirect is not None:
            found.add("dative object")
        if clause.place is not None:
            found.add("direction" if clause.verb.frame == "motion" else "place")
        if isinstance(clause.subject, It):
            found.add("it")
        for _, phrase in noun_phrases(clause):
            if phrase.determiner == "no":
                found.add("kein")
            if phrase.adjective is not None:
                found.add("adjective")
            if " " in phrase.noun.english:
                found.add("compound")
    return frozenset(found)
