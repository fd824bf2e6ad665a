"""How much did Tatoeba's first split leak, and what was that worth? Writes a result.

    python tools/measure_leak.py             about five minutes on one core

The first split went by the English sentence, so a German sentence of the test set could
be a target of training, under another English. The released model was trained that way:
it translates both test sets, the first one and today's, with beam 4, and
``results/split-leak.json`` keeps BLEU and chrF of the pairs that training had touched
and of the others:

- ``by_english``: the first split. ``german_in_training`` are the test pairs whose
  reference training had shown; ``others`` the rest.
- ``by_group``: today's split, where no sentence of the test set is in the training
  part. The released model had another training part: ``touched`` are the test pairs of
  whose group it had learned something, ``untouched`` the rest, and the figure to quote.
- ``multi30k``: the official splits, which stay as they are: how many pairs of each
  held-out set share a sentence with the training set.

Pairs that share a German sentence with another are also shorter and more common than
the rest (``reference_words`` is the mean length), so not all of a difference is memory.
"""

import json
import platform
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from first_split import all_pairs, by_english, learned_from, untouched

from tformer import data, evaluate
from tformer.data.corpus import Pair, components, keys, sentence_key, shared
from tformer.files import write_json
from tformer.pretrained import load_pretrained

FILE = Path(__file__).resolve().parent.parent / "results" / "split-leak.json"


class Measured:
    """Scores of any selection of pairs that were translated once."""

    def __init__(self, pairs: list[Pair]) -> None:
        report = evaluate.score(load_pretrained(), pairs, progress=True)
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


def main() -> None:
    tatoeba = data.load("tatoeba")
    today, first = tatoeba.test["tatoeba"], by_english(tatoeba)
    germans = keys(learned_from(), side=1)
    seen = [pair for pair in first["test"] if sentence_key(pair[1]) in germans]
    unseen = [pair for pair in first["test"] if sentence_key(pair[1]) not in germans]
    new = untouched(today)
    touched = [pair for pair in today if pair not in set(new)]
    groups = Counter(components(all_pairs(tatoeba)))
    measured = Measured(list(dict.fromkeys(first["test"] + today)))
    found = {
        "command": "python tools/measure_leak.py",
        "checksums": tatoeba.checksums,
        "by_english": {
            "train_pairs": len(first["train"]),
            "test": measured(first["test"]),
            "german_in_training": measured(seen),
            "others": measured(unseen),
            "share_leaked": round(len(seen) / len(first["test"]), 4),
        },
        "by_group": {
            "groups": len(groups),
            "pairs_of_the_largest": max(groups.values()),
            "train_pairs": len(tatoeba.train),
            "test_pairs_shared_with_train": len(shared(today, tatoeba.train)),
            "test": measured(today),
            "touched": measured(touched),
            "untouched": measured(new),
        },
        "multi30k": count_overlaps(),
        "search": measured.search,
        "weights": "tformer/pretrained: float16, computed in float32",
        "device": f"CPU ({platform.machine()}, {torch.get_num_threads()} thread)",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    write_json(FILE, found)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
