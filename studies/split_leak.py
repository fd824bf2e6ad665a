"""How much did Tatoeba's first split leak, and what was that worth? Writes a result.

    python -m studies.split_leak                     the released model
    python -m studies.split_leak first --model DIR   the one that was released first

The first split went by the English sentence, so a German sentence of the test set could
be a target of training, under another English. The first released model was trained
that way; it lies in the repository's history (``git archive 9ffeae9
tformer/pretrained``). Each model translates the test sets with beam 4, and its part
of ``results/split-leak.json`` keeps BLEU and chrF of the pairs that the first model's
training had touched and of the others:

- ``by_english``, of the first model only: the first split. ``german_in_training`` are
  the test pairs whose reference training had shown; ``others`` the rest.
- ``by_group``: today's test set, of which no sentence is in today's training part.
  ``touched`` are the pairs of whose group the first model had learned something,
  ``untouched`` the rest. The model that is released now has learned from neither.
- ``multi30k``: the official splits, which stay as they are: how many pairs of each
  held-out set share a sentence with the training set.

Pairs that share a German sentence with another are also shorter and more common than
the rest (``reference_words`` is the mean length), so not all of a difference is memory:
what is left of it with today's model is ease.
"""

import argparse
import json
import platform
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from studies.first_split import all_pairs, by_english, first_learned_from, untouched
from studies.recorded_run import WEIGHTS
from tformer import data, evaluate
from tformer.common.files import write_json
from tformer.data.corpus import Pair, components, keys, sentence_key, shared
from tformer.pretrained import RELEASED, load_pretrained
from tformer.translator import Translator

FILE = Path(__file__).resolve().parent.parent / "results" / "split-leak.json"


class Measured:
    """Scores of any selection of pairs that were translated once."""

    def __init__(self, translator: Translator, pairs: list[Pair]) -> None:
        report = evaluate.score(translator, pairs, progress=True)
        self.search = {
            "beam_size": report.beam_size,
            "length_penalty": report.length_penalty,
            "bleu_signature": report.signature,
            "chrf_signature": report.chrf_signature,
        }
        self._translations = {
            each.source: each.translation for each in report.sentences
        }

    def __call__(self, pairs: list[Pair]) -> dict[str, float]:
        english, german = zip(*pairs, strict=True)
        translations = [self._translations[each] for each in english]
        bleu, chrf = evaluate.bleu_chrf(translations, german)
        words = sum(len(each.split()) for each in german) / len(german)
        return {
            "pairs": len(pairs),
            "bleu": round(bleu.score, 2),
            "chrf": round(chrf.score, 2),
            "reference_words": round(words, 2),
        }


def count_overlaps() -> dict[str, Any]:
    """Held-out pairs of Multi30k that share a sentence with its training set."""
    corpus = data.load("multi30k")
    held_out = {"valid": corpus.valid, **corpus.test}
    return {
        name: {
            "pairs": len(pairs),
            "shared_with_train": len(shared(pairs, corpus.train)),
        }
        for name, pairs in held_out.items()
    }


def measure(translator: Translator, *, is_first: bool) -> dict[str, Any]:
    """What one model makes of the pairs that the first one had been near."""
    tatoeba = data.load("tatoeba")
    today, first = tatoeba.test["tatoeba"], by_english(tatoeba)["test"]
    new = untouched(today)
    touched = [pair for pair in today if pair not in set(new)]
    measured = Measured(translator, list(dict.fromkeys(first * is_first + today)))
    found: dict[str, Any] = {}
    if is_first:
        germans = keys(first_learned_from(), side=1)
        seen = [pair for pair in first if sentence_key(pair[1]) in germans]
        unseen = [pair for pair in first if sentence_key(pair[1]) not in germans]
        found["by_english"] = {
            "test": measured(first),
            "german_in_training": measured(seen),
            "others": measured(unseen),
            "share_leaked": round(len(seen) / len(first), 4),
        }
    found["by_group"] = {
        "test": measured(today),
        "touched": measured(touched),
        "untouched": measured(new),
    }
    found["search"] = measured.search
    found["weights"] = WEIGHTS
    found["device"] = f"CPU ({platform.machine()}, {torch.get_num_threads()} thread)"
    found["torch"], found["python"] = torch.__version__, platform.python_version()
    found["date"] = datetime.now(UTC).date().isoformat()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", nargs="?", choices=("first", "now"), default="now")
    parser.add_argument("--model", type=Path, default=RELEASED)
    arguments = parser.parse_args()
    translator = load_pretrained(arguments.model)
    tatoeba = data.load("tatoeba")
    groups = Counter(components(all_pairs(tatoeba)))
    test = tatoeba.test["tatoeba"]
    found = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    found |= {
        "command": "python -m studies.split_leak",
        "checksums": tatoeba.checksums,
        "split": {
            "groups": len(groups),
            "pairs_of_the_largest": max(groups.values()),
            "train_pairs": len(tatoeba.train),
            "train_pairs_of_the_first_split": len(by_english(tatoeba)["train"]),
            "test_pairs_shared_with_train": len(shared(test, tatoeba.train)),
        },
        "multi30k": count_overlaps(),
        arguments.which: measure(translator, is_first=arguments.which == "first"),
    }
    write_json(FILE, found)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
