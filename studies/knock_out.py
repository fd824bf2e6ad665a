"""What does each attention head contribute to the score? Writes results/knock-out.json.

    python -m studies.knock_out

The released model translates 800 validation sentences (the first 400 of Multi30k
and of Tatoeba) by greedy search: once whole, then without each of its heads, without
all heads of each attention sub-layer, and without more and more heads at once. A
knocked-out head puts out zeros, before W_O (`tformer.analysis.trace.head_gains`).

- ``bleu`` is that of all sentences together; ``cost`` is how much lower it is than the
  whole model's. ``interval`` holds 95 % of the costs of 1,000 bootstrap samples of the
  sentences, drawn once and used for every cut (Koehn 2004).
- ``nats`` is what the cut costs of the references' log-probability, per piece, read
  with teacher forcing; ``changed``, the share of translations that became different.
- ``together``: the heads are ordered by their ``nats`` on the sentences with even
  numbers, and scored on those with odd numbers; beside it, two random orders.

Translations are kept under ``runs/knock-out``, so a run that was cut off goes on.
"""

import argparse
import hashlib
import json
import platform
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sacrebleu.metrics import BLEU

from studies.recorded_run import WEIGHTS
from tformer import data
from tformer.analysis import trace
from tformer.common.files import write_json
from tformer.pretrained import RELEASED, load_pretrained
from tformer.translator import Translator

Head = tuple[str, int, int]

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "results" / "knock-out.json"
CORPORA, EACH = ("multi30k", "tatoeba"), 400  # validation pairs of each
SAMPLES, SEED = 1000, 0  # of the bootstrap
STEPS = (6, 12, 18, 27, 36, 45)  # heads cut together
N_ORDERS = 2  # random ones
MAX_LEN = 64  # a model without many heads repeats itself for ever


class Cuts:
    """Translations and losses without some heads, each kept as soon as it is there."""

    def __init__(
        self, translator: Translator, pairs: Sequence[tuple[str, str]], folder: Path
    ) -> None:
        self.translator = translator
        self.english, self.german = zip(*pairs, strict=True)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def __call__(self, heads: Sequence[Head]) -> tuple[list[str], list[float], int]:
        """Greedy translations, each reference's log-probability, and all its pieces."""
        file = self._file(heads)
        if not file.is_file():
            with trace.head_gains(self.translator.model, dict.fromkeys(heads, 0.0)):
                said = self._translate(slice(None))
                scored = self.translator.score(list(self.english), list(self.german))
            pieces = sum(len(each.pieces) for each in scored)
            write_json(file, [said, [each.log_probability for each in scored], pieces])
        said, logs, pieces = json.loads(file.read_text("utf-8"))
        return said, logs, pieces

    def odd(self, heads: Sequence[Head]) -> list[str]:
        """Greedy translations of the sentences with odd numbers only."""
        if self._file(heads).is_file():
            return self(heads)[0][1::2]
        file = self._file(heads, "-odd")
        if not file.is_file():
            with trace.head_gains(self.translator.model, dict.fromkeys(heads, 0.0)):
                write_json(file, self._translate(slice(1, None, 2)))
        return json.loads(file.read_text("utf-8"))

    def _translate(self, rows: slice) -> list[str]:
        english = list(self.english[rows])
        return self.translator.translate(english, beam_size=1, max_len=MAX_LEN)

    def _file(self, heads: Sequence[Head], kind: str = "") -> Path:
        name = hashlib.sha256(json.dumps(sorted(heads)).encode()).hexdigest()[:16]
        return self.folder / f"{name}{kind}.json"


class Scored:
    """BLEU of translations, on all sentences and on bootstrap samples of them."""

    def __init__(self, references: Sequence[str]) -> None:
        self.metric, self.references = BLEU(), list(references)
        drawn = np.random.default_rng(SEED)
        n = len(self.references)
        self.samples = drawn.multinomial(n, np.full(n, 1 / n), size=SAMPLES)

    def bleu(self, said: Sequence[str], rows: slice = slice(None)) -> float:
        score = self.metric.corpus_score(said, [self.references[rows]])
        return float(score.score)

    def on_samples(self, said: Sequence[str]) -> np.ndarray:
        """(SAMPLES,) BLEU of each sample, from the counts of its sentences."""
        counts = self.metric._extract_corpus_statistics(said, [self.references])
        sums = self.samples @ np.array(counts)
        return np.array([self.metric._compute_score_from_stats(s).score for s in sums])


def measure(cuts: Cuts, heads: Sequence[Head]) -> dict[str, Any]:
    """The whole model, each head, each sub-layer, and many heads together."""
    scored = Scored(cuts.german)
    whole, logs, pieces = cuts([])
    samples = scored.on_samples(whole)

    def cut(name: dict[str, Any], chosen: Sequence[Head]) -> dict[str, Any]:
        said, without, _ = cuts(chosen)
        costs = samples - scored.on_samples(said)
        low, high = np.percentile(costs, [2.5, 97.5])
        changed = sum(a != b for a, b in zip(said, whole, strict=True)) / len(said)
        bleu = scored.bleu(said)
        found = {
            **name,
            "bleu": round(bleu, 2),
            "cost": round(scored.bleu(whole) - bleu, 2),
            "interval": [round(float(low), 2), round(float(high), 2)],
            "by_corpus": {
                corpus: round(
                    scored.bleu(whole[rows], rows) - scored.bleu(said[rows], rows), 2
                )
                for corpus, rows in parts.items()
            },
            "nats": round((sum(logs) - sum(without)) / pieces, 4),
            "changed": round(changed, 4),
        }
        print(found, flush=True)
        return found

    parts = {
        corpus: slice(i * EACH, (i + 1) * EACH) for i, corpus in enumerate(CORPORA)
    }
    found: dict[str, Any] = {
        "whole": {
            "bleu": round(scored.bleu(whole), 2),
            "interval": [
                round(float(x), 2) for x in np.percentile(samples, [2.5, 97.5])
            ],
            "by_corpus": {
                corpus: round(scored.bleu(whole[rows], rows), 2)
                for corpus, rows in parts.items()
            },
            "nats_per_piece": round(-sum(logs) / pieces, 4),
            "pieces": pieces,
        },
        "signature": str(scored.metric.get_signature()),
    }
    found["heads"] = [
        cut({"site": site, "layer": layer, "head": head}, [(site, layer, head)])
        for site, layer, head in heads
    ]
    layers = sorted({each[:2] for each in heads}, key=[e[:2] for e in heads].index)
    found["sub_layers"] = [
        cut(
            {"site": site, "layer": layer}, [h for h in heads if h[:2] == (site, layer)]
        )
        for site, layer in layers
    ]
    found["together"] = together(cuts, heads, scored)
    return found


def together(cuts: Cuts, heads: Sequence[Head], scored: Scored) -> dict[str, Any]:
    """BLEU on the odd sentences without the first 6, 12, … heads of each order."""
    least = sorted(heads, key=lambda head: -sum(cuts([head])[1][::2]))
    orders = {"least_first": least}
    for seed in range(N_ORDERS):
        orders[f"random_{seed}"] = random.Random(seed).sample(list(heads), len(heads))
    curves = {
        name: [
            {
                "n": n,
                "bleu": round(scored.bleu(cuts.odd(order[:n]), slice(1, None, 2)), 2),
            }
            for n in (0, *STEPS)
        ]
        for name, order in orders.items()
    }
    return {"order_least_first": least, "curves": curves}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "runs" / "knock-out")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    translator = load_pretrained()
    corpora = {name: data.load(name) for name in CORPORA}
    pairs = [pair for each in corpora.values() for pair in each.valid[:EACH]]
    config = translator.model.config
    depths = {
        "encoder": config.n_encoder_layers,
        "decoder": config.n_decoder_layers,
        "cross": config.n_decoder_layers,
    }
    heads = [
        (site, layer, head)
        for site, n_layers in depths.items()
        for layer in range(n_layers)
        for head in range(config.n_heads)
    ]
    weights = hashlib.sha256((RELEASED / "model.safetensors").read_bytes()).hexdigest()
    found = {
        "command": "python -m studies.knock_out",
        "model": weights,
        "pairs": {name: EACH for name in CORPORA},
        "checksums": {
            k: v for each in corpora.values() for k, v in each.checksums.items()
        },
        "search": f"greedy, at most {MAX_LEN} pieces",
        "bootstrap": {"samples": SAMPLES, "seed": SEED},
        **measure(Cuts(translator, pairs, arguments.folder / weights[:12]), heads),
        "weights": WEIGHTS,
        "device": f"CPU ({platform.machine()}, {torch.get_num_threads()} thread)",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    write_json(FILE, found)


if __name__ == "__main__":
    main()
