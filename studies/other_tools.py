"""Does the released model say the same in other programs? Writes a result.

    python -m studies.other_tools                 the captions of test_2016_flickr
    python -m studies.other_tools --limit 20 --no-write

The model is exported for Hugging Face's transformers, for CTranslate2 (in float32 and
in int8) and as ONNX graphs. Each program translates the same captions, greedily, in the
same batches, and ``results/other-tools.json`` keeps how many translations are ours,
piece by piece, their BLEU, the processor's seconds (of all threads together) and the
bytes on disk. It needs the packages of the extra ``interop``.
"""

import argparse
import importlib.metadata
import os
import platform
import re
import tempfile
import textwrap
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # everything is in the folders

import torch

from tformer import data, decode, evaluate, interop
from tformer.common.files import write_json
from tformer.interop import onnx as onnx_writer
from tformer.pretrained import load_pretrained
from tformer.train import device_name
from tformer.translator import Translator

FILE = Path(__file__).resolve().parent.parent / "results" / "other-tools.json"
CORPUS, TEST_SET = "multi30k", "test_2016_flickr"
ROWS = 50  # sentences at once
MAX_LEN = 64
Greedy = Callable[[list[str]], list[list[int]]]


def ours(translator: Translator) -> Greedy:
    """The package's own search."""

    def greedy(texts: list[str]) -> list[list[int]]:
        source = translator._pad([translator.encode(each) for each in texts])
        return decode.greedy(translator.model, source, max_len=MAX_LEN)

    return greedy


def hugging_face(translator: Translator, folder: Path) -> Greedy:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    config = translator.model.config
    special = {config.pad_id, config.bos_id, config.eos_id}

    def greedy(texts: list[str]) -> list[list[int]]:
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        found = model.generate(**batch, num_beams=1, max_length=1 + MAX_LEN)
        return [[i for i in row if i not in special] for row in found.tolist()]

    return greedy


def ctranslate2(translator: Translator, folder: Path, compute_type: str) -> Greedy:
    import ctranslate2 as program

    engine = program.Translator(
        str(folder), compute_type=compute_type, intra_threads=1, inter_threads=1
    )
    pieces = translator.tokenizer
    number = {pieces.id_to_piece(i): i for i in range(pieces.vocab_size)}

    def greedy(texts: list[str]) -> list[list[int]]:
        batch = [pieces.pieces(each) for each in texts]
        found = engine.translate_batch(
            batch, beam_size=1, disable_unk=True, max_decoding_length=MAX_LEN
        )
        return [[number[each] for each in row.hypotheses[0]] for row in found]

    return greedy


def onnxruntime(folder: Path) -> Greedy:
    """The program in the docstring of `tformer.interop.onnx`, word for word."""
    found = re.search(r"    import json.*?\n\n(?=\S)", onnx_writer.__doc__ or "", re.S)
    assert found is not None
    names: dict[str, Any] = {"folder": str(folder)}
    exec(textwrap.dedent(found[0]), names)
    return lambda texts: names["greedy"](texts, max_len=MAX_LEN)


def measure(greedy: Greedy, texts: list[str]) -> tuple[list[list[int]], float]:
    """What it says, and the processor's seconds; texts of one length side by side."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    said: list[list[int]] = [[] for _ in texts]
    greedy(texts[:2])  # what is made at first use
    start = time.process_time()
    for at in range(0, len(order), ROWS):
        rows = order[at : at + ROWS]
        for i, ids in zip(rows, greedy([texts[i] for i in rows]), strict=True):
            said[i] = ids
    return said, time.process_time() - start


def compare(texts: list[str], references: list[str], home: Path) -> dict[str, Any]:
    """Every program on the same texts."""
    translator = load_pretrained()
    for name in ("hf", "ctranslate2", "onnx"):
        interop.export(translator, name, home / name)
    makers: dict[str, tuple[str, Callable[[], Greedy]]] = {
        "tformer": ("", lambda: ours(translator)),
        "transformers": ("hf", lambda: hugging_face(translator, home / "hf")),
        "ctranslate2": (
            "ctranslate2",
            lambda: ctranslate2(translator, home / "ctranslate2", "float32"),
        ),
        "ctranslate2, int8": (
            "ctranslate2",
            lambda: ctranslate2(translator, home / "ctranslate2", "int8"),
        ),
        "onnxruntime": ("onnx", lambda: onnxruntime(home / "onnx")),
    }
    found: dict[str, Any] = {}
    wanted: list[list[int]] = []
    for name, (export, make) in makers.items():
        with torch.inference_mode():
            said, seconds = measure(make(), texts)
        wanted = wanted or said
        same = sum(one == other for one, other in zip(said, wanted, strict=True))
        german = [translator.tokenizer.decode(ids) for ids in said]
        bleu, _ = evaluate.bleu_chrf(german, references)
        found[name] = {
            "same": same,
            "bleu": round(bleu.score, 2),
            "cpu_seconds": round(seconds, 1),
            "bytes": sum(p.stat().st_size for p in (home / export).rglob("*") if export)
            or None,
        }
        print(name, found[name], flush=True)
    return {"class": _class_of(home / "hf"), "programs": found}


def _class_of(folder: Path) -> str:
    from tformer.common.files import read_json

    (name,) = read_json(folder / "config.json")["architectures"]
    return str(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=int, help="only this many captions")
    parser.add_argument("--no-write", action="store_true", help="only print")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pairs = data.load(CORPUS).test[TEST_SET][: arguments.limit]
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        found = compare([en for en, _ in pairs], [de for _, de in pairs], Path(folder))
    packages = ("torch", "transformers", "ctranslate2", "onnxruntime")
    result = {
        "command": "python -m studies.other_tools",
        "date": datetime.now(UTC).date().isoformat(),
        "device": device_name(torch.device("cpu")),
        "system": platform.system(),
        "load_average": {"before": before, "after": os.getloadavg()[0]},
        "versions": {each: importlib.metadata.version(each) for each in packages},
        "test_set": TEST_SET,
        "captions": len(pairs),
        "search": "greedy",
        "sentences_at_once": ROWS,
        **found,
    }
    if not arguments.no_write:
        write_json(FILE, result)


if __name__ == "__main__":
    main()
