"""Does the fast decoder say the same? The released model on 1,000 captions.

    python -m benchmarks.fast_decoding        # or with --captions 100 --out FILE

Captions of Multi30k's validation set are translated by the plain modules, by the flat
form in float32, and with products of eight bits. Counted are the captions with the same
words, and among the others the ties, whose scores are equal but for rounding. Writes
``results/fast-decoding.json``.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmarks import timing
from tformer import data, evaluate, load_pretrained
from tformer.common.files import write_json
from tformer.common.search import PRECISIONS, SearchSettings
from tformer.translator import Candidate, Translator

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m benchmarks.fast_decoding"
SEARCHES = {
    "greedy": SearchSettings(search="greedy"),
    "beam": SearchSettings(beam_size=5),
}
WAYS = ("plain", *PRECISIONS)
AT_ONCE = 200  # captions that each way translates before it is the next one's turn
TIE = 1e-4  # between the scores of two translations


def compared(
    translator: Translator, pairs: list[tuple[str, str]], settings: SearchSettings
) -> dict[str, Any]:
    """For each way: captions that stay the same, BLEU, how much faster."""
    sources, references = (list(side) for side in zip(*pairs, strict=True))
    turns = [sources[i : i + AT_ONCE] for i in range(0, len(sources), AT_ONCE)]
    parts: dict[str, dict[int, list[Candidate]]] = {way: {} for way in WAYS}

    def call(way: str, turn: int) -> None:
        parts[way][turn] = translated(translator, turns[turn], settings, way)

    times = timing.rotations({way: partial(call, way) for way in WAYS}, len(turns))
    found = {
        way: [best for turn in sorted(own) for best in own[turn]]
        for way, own in parts.items()
    }
    rows: dict[str, Any] = {}
    for way, ours in found.items():
        both = zip(ours, found["plain"], strict=True)
        gaps = [abs(a.score - b.score) for a, b in both if a.text != b.text]
        texts = [each.text for each in ours]
        rows[way] = {
            "same": 1 - len(gaps) / len(sources),
            "different": len(gaps),
            "ties": sum(gap < TIE for gap in gaps),
            "bleu": evaluate.bleu_chrf(texts, references)[0].score,
            "speed": timing.ratios(times[way]["cpu"], times["plain"]["cpu"]),
        }
    return rows


def translated(
    translator: Translator, texts: list[str], settings: SearchSettings, way: str
) -> list[Candidate]:
    """The best translation of each text, by one of the ways."""
    if way != "plain":
        found = translator.search(texts, settings, precision=way)
    else:  # a model that is watched decodes by its modules
        hook = translator.model.register_forward_hook(lambda *given: None)
        found = translator.search(texts, settings)
        hook.remove()
    return [best[0] for best in found]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--captions", type=int, default=1000)
    out = ROOT / "results" / "fast-decoding.json"
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    translator = load_pretrained()
    pairs = data.load("multi30k").valid[: options.captions]
    record = timing.circumstances(COMMAND, torch.device("cpu"))
    record |= {"captions": len(pairs), "results": {}}
    for name, settings in SEARCHES.items():
        record["results"][name] = compared(translator, pairs, settings)
        print(f"\n{name:10}{'same':>8}{'ties':>6}{'BLEU':>8}{'speed':>8}")
        for way, row in record["results"][name].items():
            same, score, speed = row["same"], row["bleu"], row["speed"]["median"]
            print(f"{way:10}{same:8.1%}{row['ties']:6}{score:8.2f}{speed:8.2f}")
    write_json(options.out, record)


if __name__ == "__main__":
    main()
