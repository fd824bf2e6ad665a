"""How sure is the released model of captions that it hasn't trained on? For the lab.

    python -m studies.lab_doubt

The model, with its weights in eight bits as a page has it, translates the validation
captions of Multi30k by the lab's usual search. Of each translation the log-probability
counts, divided by its pieces (the end of the sentence is one of them).
``percentiles`` of these numbers go to results/lab-doubt.json, in nats a piece. The lab
warns of a translation that falls below the lowest of them, ``LEVEL``: that is how few
captions of the kind that the model knows do worse. The level was chosen before the
numbers were there, and no test set is looked at.
"""

import argparse
import hashlib
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from tformer import data, decode
from tformer.common.files import write_json
from tformer.common.search import USUAL
from tformer.translator import Translator
from tformer_book.widgets._model import released_model
from tformer_book.widgets.live_lab import LEVEL

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "results" / "lab-doubt.json"
CORPUS = "multi30k"
PERCENTILES = (LEVEL, 10, 25, 50, 75, 90)
BATCH = 64  # sentences


def per_piece(translator: Translator, texts: Sequence[str]) -> list[float]:
    """log p of each text's translation for each of its pieces, in nats; shortest first.

    (The order is that of the texts' lengths, so that a batch has little padding.)
    """
    model, values = translator.model, []
    sources = sorted(map(translator.encode, texts), key=len)
    for start in range(0, len(sources), BATCH):
        rows = [torch.tensor(each) for each in sources[start : start + BATCH]]
        source_ids = pad_sequence(rows, True, model.config.pad_id)
        for best, *_ in decode.drain(
            decode.STEPS[USUAL.search](model, source_ids, USUAL)
        ):
            values.append(best.log_probability / (len(best.ids) + 1))
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    torch.set_num_threads(1)
    page, corpus = released_model(), data.load(CORPUS)
    captions = [english for english, _ in corpus.valid if english.strip()]
    values = per_piece(page.translator, captions)
    found = {
        "command": "python -m studies.lab_doubt",
        "model": hashlib.sha256(page.files["model.safetensors"]).hexdigest(),
        "captions": len(values),
        "level": LEVEL,
        "percentiles": {
            str(each): round(float(np.percentile(values, each)), 4)
            for each in PERCENTILES
        },
        "mean": round(float(np.mean(values)), 4),
        "search": f"{USUAL.search}, {USUAL.beam_size} wide, α {USUAL.length_penalty}",
        "checksums": {
            name: each for name, each in corpus.checksums.items() if "/val." in name
        },
        "device": f"CPU ({platform.machine()}, {torch.get_num_threads()} thread)",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    write_json(FILE, found)


if __name__ == "__main__":
    main()
