"""How many different sentences does the generated corpus have? Writes a result.

    python -m studies.grammar_size            draws 1.2 million; some minutes

Three numbers, none of which needs another to be believed:

- *exact*: the sentences of one small part of the language, counted by arithmetic: a
  subject, a transitive verb and an object, affirmative, with no adverb and no place.
  A test holds the arithmetic to what the sampler draws.
- *drawn*: distinct English sentences seen in so many draws. They exist, so there are at
  least as many. On the way, no English may have two Germans.
- *estimate*: capture and recapture. If two draws are equal with probability c, there
  are at least 1/c sentences (Cauchy and Schwarz: the sum of squared probabilities is
  least when all are equal). c is estimated by the share of equal pairs among the draws,
  so this is an estimate of a lower bound, not a count.
"""

import argparse
import hashlib
import json
import platform
import random
from collections import Counter
from datetime import UTC, datetime
from math import comb
from pathlib import Path
from typing import Any

from tformer.data.grammar import realize
from tformer.data.grammar.lexicon import ADJECTIVES, NOUNS, PRONOUNS, VERBS, Noun
from tformer.data.grammar.sample import draw_sentence

ROOT = Path(__file__).resolve().parent.parent
FIRST = ("I", "we")


def n_phrases(noun: Noun) -> int:
    """Noun phrases of one noun without "no" and without a relative clause.

    the, this, and my (not of "man" and "woman"), and an indefinite: "a" in the
    singular, nothing in the plural or for what cannot be counted; each with one of the
    fitting adjectives or none.
    """
    determiners = 3 if noun.english in ("man", "woman") else 4
    numbers = 1 if noun.is_mass else 2
    adjectives = sum(bool(word.kinds & noun.kinds) for word in ADJECTIVES.values())
    return numbers * determiners * (1 + adjectives)


def n_transitive() -> int:
    """Sentences "subject – transitive verb – object", counted by arithmetic.

    Present, perfect, past (if English shows it) and four modals, times every subject
    with every object: no noun twice, and no pronoun as an object of its own person.
    """
    total = 0
    pronouns = list(PRONOUNS)
    for verb in VERBS.values():
        if verb.frame != "acc":
            continue
        tenses = 1 + 1 + (verb.english[0] != verb.english[2]) + 4
        subjects = [noun for noun in NOUNS.values() if noun.kinds & verb.subjects]
        objects = [noun for noun in NOUNS.values() if noun.kinds & verb.objects]
        object_pronouns = pronouns if "person" in verb.objects else []
        n_objects = sum(map(n_phrases, objects))
        pairs = 0
        for noun in subjects:
            same = n_phrases(noun) if noun in objects else 0
            pairs += n_phrases(noun) * (n_objects - same + len(object_pronouns))
        if "person" in verb.subjects:
            for name in pronouns:
                taken = FIRST if name in FIRST else (name,)
                others = [each for each in object_pronouns if each not in taken]
                pairs += n_objects + len(others)
        total += tenses * pairs
    return total


def draw_many(n: int, seed: int = 0) -> dict[str, Any]:
    """Draw n sentences; count distinct ones and equal pairs.

    Raises:
        AssertionError: an English sentence came with two Germans.
    """
    draw = random.Random(f"count/{seed}")
    german_of: dict[bytes, bytes] = {}
    times: Counter[bytes] = Counter()
    for _ in range(n):
        (english, german), _ = realize(draw_sentence(draw))
        key, value = _digest(english), _digest(german)
        if german_of.setdefault(key, value) != value:
            raise AssertionError(f"{english!r} has another German, too: {german!r}")
        times[key] += 1
    equal_pairs = sum(comb(count, 2) for count in times.values())
    return {
        "draws": n,
        "seed": seed,
        "distinct": len(times),
        "equal_pairs": equal_pairs,
        "estimated_lower_bound": comb(n, 2) // equal_pairs if equal_pairs else None,
        "english_with_two_germans": 0,
    }


def _digest(text: str) -> bytes:
    """Ten bytes: two of a million texts share them with probability below 1e-12."""
    return hashlib.blake2b(text.encode(), digest_size=10).digest()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=1_200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    arguments = parser.parse_args()
    record = {
        "command": "python -m studies.grammar_size",
        "exact_transitive_sentences": n_transitive(),
        **draw_many(arguments.draws, arguments.seed),
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    file = arguments.results / "grammar-size.json"
    file.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
