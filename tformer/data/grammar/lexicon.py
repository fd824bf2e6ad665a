# ruff: noqa: E501 (tables)
"""The words of the generated corpus, and the endings that German gives them.

Each noun carries kinds (``person``, ``food`` …); verbs say which kinds they take, so
that sentences make sense. Everything a linearizer needs is looked up here.
"""

from dataclasses import dataclass

CASES = ("nom", "acc", "dat")
GENDERS = ("m", "f", "n", "pl")


@dataclass(frozen=True)
class Noun:
    """A noun of both languages; an English compound is two words, a German one."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    kinds: frozenset[str]

    @property
    def is_mass(self) -> bool:
        """Milk, water: no plural and no indefinite article."""
        return "mass" in self.kinds

    @property
    def pronoun(self) -> str | None:
        """he, she or it; None if English and German gender do not correspond."""
        for pronoun in ("he", "she"):
            if pronoun in self.kinds:
                return pronoun
        return None if "person" in self.kinds else "it"

    def in_german(self, case: str, plural: bool) -> str:
        """The noun in a case: dative plural takes -n, a weak noun -n but in the nom."""
        if plural:
            word = self.german_plural
            return word + "n" if case == "dat" and word[-1] not in "ns" else word
        return self.german + ("n" if "weak" in self.kinds and case != "nom" else "")


@dataclass(frozen=True)
class Adjective:
    """An adjective: ``german`` after "ist", ``stem`` before an ending."""

    english: str
    german: str
    stem: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class Verb:
    """A verb of both languages and what it goes with.

    Attributes:
        english: base, third person, past, participle.
        particle: word after the English verb ("up" in "get up"), or "".
        german: infinitive, third person, past, participle (without the prefix).
        prefix: separable prefix, or "".
        auxiliary: "haben" or "sein".
        frame: "none", "acc", "dat", "both" (dative and accusative), "motion" (a
            direction), "that" (a clause), "copula".
        subjects, objects: kinds of noun that it takes.
        traits: "static" (may have a place), "company" (may be done with someone),
            "state" (has no time).
    """

    english: tuple[str, str, str, str]
    particle: str
    german: tuple[str, str, str, str]
    prefix: str
    auxiliary: str
    frame: str
    subjects: frozenset[str]
    objects: frozenset[str]
    traits: frozenset[str]

    @property
    def name(self) -> str:
        """The English verb with its particle: "get up"."""
        return f"{self.english[0]} {self.particle}".strip()


@dataclass(frozen=True)
class Preposition:
    """A preposition with the case it governs here and the kinds it goes with."""

    english: str
    german: str
    case: str
    kinds: frozenset[str]
    motion: bool


@dataclass(frozen=True)
class Adverb:
    """An adverb of time, with the tenses it goes with."""

    english: str
    german: str
    tenses: frozenset[str]
    is_frequency: bool


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun; ``it`` has a German only once its noun is known."""

    english: str
    english_object: str
    german: dict[str, str]  # case → form
    plural: bool


@dataclass(frozen=True)
class Modal:
    """A modal verb: English base and third person; German ich/er and plural."""

    english: tuple[str, str]
    german: tuple[str, str]
    negatable: bool


def _rows(table: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.split("|")]
        for line in table.strip().split("\n")
        if line.strip()
    ]


def _kinds(cell: str) -> frozenset[str]:
    return frozenset(cell.split())


NOUNS: dict[str, Noun] = {
    row[0]: Noun(row[0], row[1], row[2], row[3], row[4], _kinds(row[5]))
    for row in _rows("""
man         | men          | Mann        | Männer       | m | person he
boy         | boys         | Junge       | Jungen       | m | person he weak
teacher     | teachers     | Lehrer      | Lehrer       | m | person he
father      | fathers      | Vater       | Väter        | m | person he
dog         | dogs         | Hund        | Hunde        | m | animal
bird        | birds        | Vogel       | Vögel        | m | animal
garden      | gardens      | Garten      | Gärten       | m | place inside
park        | parks        | Park        | Parks        | m | place inside
letter      | letters      | Brief       | Briefe       | m | thing text
table       | tables       | Tisch       | Tische       | m | thing cover
ball        | balls        | Ball        | Bälle        | m | thing
apple       | apples       | Apfel       | Äpfel        | m | food
coffee      | -            | Kaffee      | -            | m | drink mass
woman       | women        | Frau        | Frauen       | f | person she
mother      | mothers      | Mutter      | Mütter       | f | person she
sister      | sisters      | Schwester   | Schwestern   | f | person she
cat         | cats         | Katze       | Katzen       | f | animal
mouse       | mice         | Maus        | Mäuse        | f | animal
school      | schools      | Schule      | Schulen      | f | place inside building
kitchen     | kitchens     | Küche       | Küchen       | f | place inside room
street      | streets      | Straße      | Straßen      | f | place surface wide
bridge      | bridges      | Brücke      | Brücken      | f | place surface wide cover
newspaper   | newspapers   | Zeitung     | Zeitungen    | f | thing text
lamp        | lamps        | Lampe       | Lampen       | f | thing
soup        | soups        | Suppe       | Suppen       | f | food
door        | doors        | Tür         | Türen        | f | opening wide behind
milk        | -            | Milch       | -            | f | drink mass
child       | children     | Kind        | Kinder       | n | person
girl        | girls        | Mädchen     | Mädchen      | n | person
horse       | horses       | Pferd       | Pferde       | n | animal
pig         | pigs         | Schwein     | Schweine     | n | animal
house       | houses       | Haus        | Häuser       | n | place inside building
room        | rooms        | Zimmer      | Zimmer       | n | place inside room
village     | villages     | Dorf        | Dörfer       | n | place inside
book        | books        | Buch        | Bücher       | n | thing text
picture     | pictures     | Bild        | Bilder       | n | thing
gift        | gifts        | Geschenk    | Geschenke    | n | thing
egg         | eggs         | Ei          | Eier         | n | food
window      | windows      | Fenster     | Fenster      | n | opening
water       | -            | Wasser      | -            | n | drink mass
train station | train stations | Bahnhof | Bahnhöfe     | m | place building goal
kitchen table | kitchen tables | Küchentisch | Küchentische | m | thing cover
bus stop    | bus stops    | Bushaltestelle | Bushaltestellen | f | place goal
school bag  | school bags  | Schultasche | Schultaschen | f | thing
front door  | front doors  | Haustür     | Haustüren    | f | opening wide behind
city hall   | city halls   | Rathaus     | Rathäuser    | n | place inside building goal
living room | living rooms | Wohnzimmer  | Wohnzimmer   | n | place inside room
picture book | picture books | Bilderbuch | Bilderbücher | n | thing text
""")
}

ADJECTIVES: dict[str, Adjective] = {
    row[0]: Adjective(row[0], row[1], row[2], _kinds(row[3]))
    for row in _rows("""
old       | alt     | alt     | person animal thing place opening
young     | jung    | jung    | person animal
small     | klein   | klein   | person animal thing place opening food
big       | groß    | groß    | person animal thing place opening food
new       | neu     | neu     | thing place opening
tired     | müde    | müd     | person animal
hungry    | hungrig | hungrig | person animal
expensive | teuer   | teur    | thing food
cold      | kalt    | kalt    | food drink room
red       | rot     | rot     | thing opening
wide      | breit   | breit   | wide
dark      | dunkel  | dunkl   | room
""")
}

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb(
            tuple(row[0].split()),  # type: ignore[arg-type]
            row[1],
            tuple(row[2].split()),  # type: ignore[arg-type]
            row[3],
            row[4],
            row[5],
            _kinds(row[6]),
            _kinds(row[7]),
            _kinds(row[8]),
        )
        for row in _rows("""
sleep sleeps slept slept      |     | schlafen schläft schlief geschlafen      |    | haben | none   | person animal | | static
work works worked worked      |     | arbeiten arbeitet arbeitete gearbeitet   |    | haben | none   | person        | | static company
laugh laughs laughed laughed  |     | lachen lacht lachte gelacht              |    | haben | none   | person        | |
wait waits waited waited      |     | warten wartet wartete gewartet           |    | haben | none   | person animal | | static company
play plays played played      |     | spielen spielt spielte gespielt          |    | haben | none   | person animal | | static company
sing sings sang sung          |     | singen singt sang gesungen               |    | haben | none   | person        | | static company
go goes went gone             |     | gehen geht ging gegangen                 |    | sein  | motion | person        | |
come comes came come          |     | kommen kommt kam gekommen                |    | sein  | motion | person animal | |
run runs ran run              |     | laufen läuft lief gelaufen               |    | sein  | motion | person animal | |
see sees saw seen             |     | sehen sieht sah gesehen                  |    | haben | acc    | person animal | person animal thing place | static
find finds found found        |     | finden findet fand gefunden              |    | haben | acc    | person animal | person animal thing food | static
buy buys bought bought        |     | kaufen kauft kaufte gekauft              |    | haben | acc    | person        | thing food drink |
carry carries carried carried |     | tragen trägt trug getragen               |    | haben | acc    | person        | thing |
read reads read read          |     | lesen liest las gelesen                  |    | haben | acc    | person        | text | static
eat eats ate eaten            |     | essen isst aß gegessen                   |    | haben | acc    | person animal | food | static
drink drinks drank drunk      |     | trinken trinkt trank getrunken           |    | haben | acc    | person animal | drink | static
love loves loved loved        |     | lieben liebt liebte geliebt              |    | haben | acc    | person        | person animal | state
visit visits visited visited  |     | besuchen besucht besuchte besucht        |    | haben | acc    | person        | person place |
cross crosses crossed crossed |     | überqueren überquert überquerte überquert |   | haben | acc    | person animal | surface |
look looks looked looked      | for | suchen sucht suchte gesucht              |    | haben | acc    | person animal | person animal thing | static
help helps helped helped      |     | helfen hilft half geholfen               |    | haben | dat    | person        | person animal |
thank thanks thanked thanked  |     | danken dankt dankte gedankt              |    | haben | dat    | person        | person |
follow follows followed followed |  | folgen folgt folgte gefolgt              |    | sein  | dat    | person animal | person animal |
answer answers answered answered |  | antworten antwortet antwortete geantwortet |  | haben | dat    | person        | person |
give gives gave given         |     | geben gibt gab gegeben                   |    | haben | both   | person        | thing food |
show shows showed shown       |     | zeigen zeigt zeigte gezeigt              |    | haben | both   | person        | thing animal |
bring brings brought brought  |     | bringen bringt brachte gebracht          |    | haben | both   | person animal | thing food drink |
send sends sent sent          |     | schicken schickt schickte geschickt      |    | haben | both   | person        | text |
get gets got got              | up  | stehen steht stand gestanden             | auf | sein | none   | person        | |
wake wakes woke woken         | up  | wachen wacht wachte gewacht              | auf | sein | none   | person animal | |
arrive arrives arrived arrived |    | kommen kommt kam gekommen                | an | sein  | none   | person        | |
call calls called called      |     | rufen ruft rief gerufen                  | an | haben | acc    | person        | person |
invite invites invited invited |    | laden lädt lud geladen                   | ein | haben | acc   | person        | person |
pick picks picked picked      | up  | holen holt holte geholt                  | ab | haben | acc    | person        | person thing |
open opens opened opened      |     | machen macht machte gemacht              | auf | haben | acc   | person        | opening |
close closes closed closed    |     | machen macht machte gemacht              | zu | haben | acc    | person        | opening |
look looks looked looked      | at  | schauen schaut schaute geschaut          | an | haben | acc    | person animal | person animal thing |
say says said said            |     | sagen sagt sagte gesagt                  |    | haben | that   | person        | |
know knows knew known         |     | wissen weiß wusste gewusst               |    | haben | that   | person        | | state
believe believes believed believed | | glauben glaubt glaubte geglaubt         |    | haben | that   | person        | | state
hope hopes hoped hoped        |     | hoffen hofft hoffte gehofft              |    | haben | that   | person        | |
be is was been                |     | sein ist war gewesen                     |    | sein  | copula | person animal thing place opening food drink | |
""")
    )
}

PREPOSITIONS: dict[str, Preposition] = {
    row[0]: Preposition(row[0], row[1], row[2], _kinds(row[3]), row[4] == "motion")
    for row in _rows("""
in          | in     | dat | inside        |
on          | auf    | dat | surface       |
under       | unter  | dat | cover         |
behind      | hinter | dat | building behind |
in front of | vor    | dat | building behind |
with        | mit    | dat | person animal |
into        | in     | acc | inside        | motion
onto        | auf    | acc | surface       | motion
to          | zu     | dat | goal building | motion
through     | durch  | acc | inside        | motion
out of      | aus    | dat | inside        | motion
""")
}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}

CONJUNCTIONS = {"because": "weil", "that": "dass", "if": "wenn"}

ADVERBS: dict[str, Adverb] = {
    row[0]: Adverb(row[0], row[1], _kinds(row[2]), row[3] == "frequency")
    for row in _rows("""
today     | heute   | present past perfect modal |
now       | jetzt   | present modal              |
yesterday | gestern | past                       |
tomorrow  | morgen  | modal                      |
often     | oft     | present past perfect       | frequency
always    | immer   | present past perfect       | frequency
""")
}

PRONOUNS: dict[str, Pronoun] = {
    name: Pronoun(
        name, them, dict(zip(CASES, german.split(), strict=True)), n == "plural"
    )
    for name, them, german, n in _rows("""
I    | me   | ich mich mir   |
he   | him  | er ihn ihm     |
she  | her  | sie sie ihr    |
we   | us   | wir uns uns    | plural
they | them | sie sie ihnen  | plural
""")
}
IT = {  # gender → case → form
    "m": PRONOUNS["he"].german,
    "f": PRONOUNS["she"].german,
    "n": {"nom": "es", "acc": "es", "dat": "ihm"},
}

MODALS: dict[str, Modal] = {
    "can": Modal(("can", "can"), ("kann", "können"), True),
    "must": Modal(("must", "must"), ("muss", "müssen"), False),
    "should": Modal(("should", "should"), ("sollte", "sollten"), True),
    "want": Modal(("want", "wants"), ("will", "wollen"), True),
}

_DER = {
    "nom": ("der", "die", "das", "die"),
    "acc": ("den", "die", "das", "die"),
    "dat": ("dem", "der", "dem", "den"),
}
_EIN = {  # endings of ein, mein, kein
    "nom": ("", "e", "", "e"),
    "acc": ("en", "e", "", "e"),
    "dat": ("em", "er", "em", "en"),
}
_WEAK = {
    "nom": ("e", "e", "e", "en"),
    "acc": ("en", "e", "e", "en"),
    "dat": ("en", "en", "en", "en"),
}
_MIXED = {
    "nom": ("er", "e", "es", "en"),
    "acc": ("en", "e", "es", "en"),
    "dat": ("en", "en", "en", "en"),
}
_STRONG = {  # dieser, too
    "nom": ("er", "e", "es", "e"),
    "acc": ("en", "e", "es", "e"),
    "dat": ("em", "er", "em", "en"),
}


def determiner(english: str, case: str, gender: str) -> str:
    """German for the, a, this, my or no; "" for a bare noun ("").

    Args:
        english: the determiner.
        case: "nom", "acc" or "dat".
        gender: "m", "f", "n", or "pl" for any plural.
    """
    column = GENDERS.index(gender)
    if english == "the":
        return _DER[case][column]
    if english == "this":
        return "dies" + _STRONG[case][column]
    if english == "":
        return ""
    return {"a": "ein", "my": "mein", "no": "kein"}[english] + _EIN[case][column]


def adjective_ending(english_determiner: str, case: str, gender: str) -> str:
    """Weak after der and dieser, mixed after ein, mein and kein, strong else."""
    table = {"the": _WEAK, "this": _WEAK, "": _STRONG}.get(english_determiner, _MIXED)
    return table[case][GENDERS.index(gender)]


def relative_pronoun(case: str, gender: str) -> str:
    """der, die, das as a relative: as the article, but for the dative plural."""
    if (case, gender) == ("dat", "pl"):
        return "denen"
    return _DER[case][GENDERS.index(gender)]
