"""A table of wrong and odd command lines: one clear line each, and no file is harmed.

What is between braces stands for something in a folder of the test's own.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import stat
import sys
from pathlib import Path

import pytest

from tformer import TransformerConfig, cli, load_pretrained
from tformer.model import Transformer
from tformer.translator import Translator

HUGE = str(10**23)
TRAIN = "train --corpus {pairs} --out {new} --steps 5 --quiet"
TRANSLATE = "translate --model {run} --quiet"
EVALUATE = "evaluate --model {run} --corpus {pairs} --quiet"
BAD_NAME = "caf\udce9"  # for bytes that are no UTF-8

PROGRAM = [
    ("", "required: COMMAND"),
    ("fly", "invalid choice: 'fly'"),
    ("Train", "invalid choice: 'Train'"),
    ("--fly", "required: COMMAND"),
    ("--version", "required: COMMAND"),
    ("train --fly", "required: --out"),
    ("translate --fly one", "unrecognized arguments: --fly"),
    ("evaluate one", "unrecognized arguments: one"),
    ("help", "invalid choice: 'help'"),
]

SIZES = [
    *("vocab-size", "d-model", "heads", "d-ff"),
    *("encoder-layers", "decoder-layers", "max-len"),
]
COUNTS = [
    *("max-tokens", "accumulate", "warmup-steps"),
    *("eval-every", "average-last", "patience"),
]
NUMBERS = ["dropout", "lr-scale", "label-smoothing", "clip-norm", "adam-epsilon"]
CHOICES = ["positions", "norm", "activation", "attention", "tokenizer", "precision"]
DEVICES = {
    **dict.fromkeys(["cow", "", "gpu", "cuda:x", "CPU"], "is not a device"),
    **dict.fromkeys(["meta", "xla", "hip", "hpu:0", "vulkan"], "not supported"),
    "mps": "sees no Apple GPU",
    **dict.fromkeys(["cuda", "cuda:7"], "sees no GPU"),
}
NO_FILES = {
    "": "'' is not the name of a file",
    "{folder}": "is a folder: name a file",
    "{gone}/x": "there is no folder",
    "{text}/x": "Not a directory|there is no folder",
    "{circle}": "symbolic links",
    "{gone}" + "x" * 300: "File name too long",
}

TRAINING = [
    ("train --corpus {pairs} --steps 5", "required: --out"),
    ("train --corpus {pairs} --out {new}", "give --steps N or --minutes M"),
    ("train --corpus {pairs} --steps 5 --out", "--out: expected one argument"),
    *[(f"{TRAIN} --steps {x}", f"steps={x} must be") for x in ("0", "-1")],
    *[(f"{TRAIN} --steps {x}", "invalid int value") for x in ("x", "1.5", "1e3", "''")],
    *[
        (f"{TRAIN} --minutes {x}", "minutes=.* must be")
        for x in ("0", "-1", "nan", "inf")
    ],
    (f"{TRAIN} --minutes ten", "invalid float value"),
    *[(f"{TRAIN} --{name} 0", "=0 must be") for name in SIZES + COUNTS],
    *[(f"{TRAIN} --{name} -1", "=-1 must be") for name in [*SIZES, *COUNTS, "seed"]],
    *[
        (f"{TRAIN} --{name} {x}", f"--{name}: invalid int value: '{x}'")
        for name in [*SIZES, *COUNTS, "seed"]
        for x in ("1.5", "many")
    ],
    *[(f"{TRAIN} --{name} {HUGE}", "must be less than") for name in SIZES],
    *[(f"{TRAIN} --{x} {HUGE}", "must be .*less than") for x in [*COUNTS, "seed"]],
    *[
        (f"{TRAIN} --{name} {x}", "must be")
        for name in NUMBERS
        for x in ("-1", "nan", "inf")
    ],
    *[(f"{TRAIN} --{name} x", "invalid float value: 'x'") for name in NUMBERS],
    *[(f"{TRAIN} --{name} x", "invalid choice: 'x'") for name in CHOICES],
    (f"{TRAIN} --dropout 1", r"dropout=1.0 must be in \[0, 1\)"),
    (f"{TRAIN} --label-smoothing 1", r"label_smoothing=1.0 must be in \[0, 1\)"),
    (f"{TRAIN} --adam-betas 0.9 1", "adam_betas="),
    (f"{TRAIN} --adam-betas 0.9", "expected 2 arguments"),
    (f"{TRAIN} --heads 5", "a multiple of n_heads=5"),
    (f"{TRAIN} --d-model 9 --heads 3", "d_model=9 must be even"),
    (f"{TRAIN} --d-model 2000000 --heads 2", "d_model=2000000.* lower the largest"),
    (f"{TRAIN} --d-ff 1000000000000", "d_ff=1000000000000.* lower the largest"),
    (f"{TRAIN} --encoder-layers 999999999", "lower the largest"),
    (f"{TRAIN} --max-len 99999999999", "lower the largest"),
    (f"{TRAIN} --vocab-size 9000", "vocab_size=9000"),
    (f"{TRAIN} --vocab-size 5", "vocab_size=5"),
    (f"{TRAIN} --vocab-size 320 --max-len 1", "longer than max_len=1"),
    (f"{TRAIN} --groups 5", "n_groups=5"),
    (f"{TRAIN} --vocab-size 320 --max-tokens 4", "max_tokens=4"),
    (f"{TRAIN} --last-step 3 --warmup-steps 3", "last_step=3 must be None or at least"),
    (f"{TRAIN} --warmup-steps 2 --last-step 4", "steps=5 must not go beyond"),
    *[(f"{TRAIN} --lr-scale {x}", "lr_scale=") for x in ("0", "1e300")],
    (f"{TRAIN} --clip-norm 0", "clip_norm=0.0"),
    (f"{TRAIN} --d 5", "ambiguous option: --d"),
    (f"{TRAIN} --learning-rate 3", "unrecognized arguments: --learning-rate"),
    (f"{TRAIN} extra", "unrecognized arguments: extra"),
    (f"{TRAIN} --from {{gone}}", "there is no folder .*: train a model first"),
    (f"{TRAIN} --from {{folder}}", "there is no file .*model.safetensors"),
    (f"{TRAIN} --from ''", "'' is not the name of a folder"),
    (f"{TRAIN} --from {{run}} --tokenizer unigram", "takes those of .*, which are bpe"),
    (f"{TRAIN} --from {{run}} --d-ff 64", "start has d_ff=32, this run d_ff=64"),
    (f"{TRAIN} --from released --heads 4", "start has n_heads=6, this run n_heads=4"),
    *[(f"{TRAIN} --device '{name}'", message) for name, message in DEVICES.items()],
    *[
        (f"{TRAIN} --corpus '{name}'", message)
        for name, message in {
            "": "'' is not the name of a corpus",
            " ": "' ' is not the name of a corpus",
            "latin": "unknown corpus 'latin'",
            "{gone}.tsv": "there is no file",
            "{gone}.en,{gone}.de": "there is no file .*gone.*en",
            "-": "'-' is no name here",
            "{pairs},": "names one file; give two",
            ",": "names one file; give two",
            "{pairs},{pairs}": "names one file twice",
            "{pairs},{folder}": "is a folder; name a file",
            "{pairs},{few}": "has 400 lines and the other file",
            "{folder}": "unknown corpus",
            "{latin}": "line 1: not UTF-8",
            "{zeros}": "line 1: holds a zero byte",
            "{empty}": "at least 10 are needed",
            "{one-column}": "line 1: expected English, tab, German",
            "{few}": "at least 10 are needed",
            "grammar*99999999999": "weight",
            "grammar*0": "weight",
            "grammar*-1": "weight",
            "grammar*1.5": "weight",
            "grammar+grammar": "occurs twice",
            "+": "cannot read ''",
            "grammar+": "cannot read ''",
            "*3": "cannot read",
            BAD_NAME: "unknown corpus",
        }.items()
    ],
    *[
        (f"train --corpus {{pairs}} --steps 5 --quiet --out '{name}'", message)
        for name, message in {
            "": "'' is not the name of a folder",
            " ": "' ' is not the name of a folder",
            "{text}": "is a file",
            "{text}/run": "Not a directory|is a file",
            "{pipe}": "is a file|exists",
            "{gone}" + "x" * 300: "File name too long",
            "{circle}": "symbolic links|exists",
            "{bare}": "model",
            "{torn}": "truncated|not a safetensors",
        }.items()
    ],
    *[
        (f"train --out {{run}} --quiet --steps 30 {options}", message)
        for options, message in {
            "--corpus {pairs} --d-ff 64": "choose another folder",
            "--corpus {pairs} --from {run}": "a run with random weights at its start",
            "--corpus grammar": "choose another folder",
            "": "give its --corpus again",
            "--restart --corpus {pairs} --heads 5": "a multiple of n_heads=5",
            "--restart --corpus latin": "unknown corpus",
            "--restart --corpus {pairs} --steps 0": "steps=0",
            "--restart --corpus {pairs} --device cuda": "sees no GPU",
            "--restart --corpus {pairs} --vocab-size 9000": "vocab_size=9000",
        }.items()
    ],
]

TRANSLATING = [
    (f"{TRANSLATE} one -", "sentence 2 is '-': for standard input give no sentence"),
    (f"{TRANSLATE} one --output -", "'-' is no name here: for a standard stream"),
    (f"{TRANSLATE} --input -", "'-' is no name here"),
    (f"{TRANSLATE} one --output {{new}}/", "is the name of a folder: name a file"),
    ("translate one --model {weights}", "is a file: name the folder of the model"),
    ("translate one --model {folder-tokenizer}", "no tokenizer at .*: it is a folder"),
    (
        "translate one --model {checkpoint-model}",
        "holds no .* its header has no config",
    ),
    (f"{TRANSLATE} ''", r"sentence 1 is empty \(''\): give at least one word"),
    (f"{TRANSLATE} one ' \t'", "sentence 2 is empty"),
    (f"{TRANSLATE} {'x' * 9999}", "sentence 1: the text .* pieces.*split"),
    (f"{TRANSLATE} one two {'x' * 9999}", "sentence 3: the text .* pieces.*split"),
    (f"{TRANSLATE} {BAD_NAME}", "sentence 1 is not UTF-8"),
    (f"{TRANSLATE} one --input {{text}}", "sentences or --input FILE, not both"),
    (f"{TRANSLATE} one --input ''", "'' is not the name of a file"),
    *[
        (f"{TRANSLATE} --input '{name}'", message)
        for name, message in {
            "{gone}": "there is no such file",
            "{gone}/x": "there is no such file",
            "{text}/x": "there is no such file",
            "{circle}": "there is no such file",
            "{dangling}": "there is no such file",
            BAD_NAME: "there is no such file",
            "{folder}": "is a folder: name a file",
            "{latin}": r"line 1 is not UTF-8 \(byte 0xfc\): convert it",
            "{utf-16}": r"line 1 is not UTF-8 \(byte 0xff\): convert it",
            "{zeros}": "line 1 holds a zero byte: give a text file",
            "{endless}": "line 1 has more than .* bytes: give one sentence per line",
            "{long}": "sentence 3: the text beginning 'three",
            "{weights}": "line 1 ",
        }.items()
    ],
    *[(f"{TRANSLATE} one --output '{x}'", message) for x, message in NO_FILES.items()],
    (f"{TRANSLATE} --input {{gone}} --output {{text}}", "there is no such file"),
    (f"{TRANSLATE} --input {{latin}} --output {{text}}", "not UTF-8"),
    (f"{TRANSLATE} --input {{long}} --output {{text}}", "sentence 3"),
    (f"{TRANSLATE} --output {{text}} {'x' * 9999}", "sentence 1: the text"),
    (f"{TRANSLATE} one --output {{text}} --model {{gone}}", "train a model first"),
    *[(f"{TRANSLATE} one --beam-size {x}", "at least 1") for x in ("0", "-1")],
    *[(f"{TRANSLATE} one --beam-size {x}", "invalid int") for x in ("1.5", "x", "''")],
    *[
        (f"{TRANSLATE} one --beam-size {x}", f"--beam-size {x} must be at most 1024")
        for x in ("1000000000", HUGE)
    ],
    *[
        (f"{TRANSLATE} one --length-penalty {x}", "--length-penalty .* must be")
        for x in ("-1", "nan", "inf", "1e300")
    ],
    (f"{TRANSLATE} one --length-penalty x", "invalid float"),
    *[(f"{TRANSLATE} one --n-best {x}", "must be at least 1") for x in ("0", "-1")],
    *[(f"{TRANSLATE} one --n-best {x}", "1024") for x in ("1000000000", HUGE)],
    (f"{TRANSLATE} one --n-best 5 --beam-size 4", "must be at most --beam-size 4"),
    (f"{TRANSLATE} one --n-best x", "invalid int"),
    (f"{TRANSLATE} one --n-best 2 --sample", "not allowed with"),
    (f"{TRANSLATE} one --n-best 2 --score", "not allowed with"),
    (f"{TRANSLATE} one --score --sample", "not allowed with"),
    *[
        (f"{TRANSLATE} one --sample --temperature {x}", "--temperature .* must be")
        for x in ("0", "-1", "nan", "inf", "1e-9")
    ],
    *[
        (f"{TRANSLATE} one --sample --top-k {x}", "--top-k .* must be at least 1")
        for x in ("0", "-1")
    ],
    *[
        (f"{TRANSLATE} one --sample --top-p {x}", "--top-p .* must be")
        for x in ("0", "-1", "1.5", "nan", "inf")
    ],
    *[
        (f"{TRANSLATE} one --sample --{name} x", "invalid (int|float) value: 'x'")
        for name in ("temperature", "top-k", "top-p", "seed")
    ],
    *[
        (f"{TRANSLATE} one --{name} 1", f"--{name} is for sampling: add --sample")
        for name in ("temperature", "top-k", "top-p", "seed")
    ],
    (f"{TRANSLATE} one --n-best 2 --seed 5", "--seed is for sampling"),
    (f"{TRANSLATE} one --sample --beam-size 4", "beam search, not for --sample"),
    (f"{TRANSLATE} one --score --length-penalty 1", "beam search, not for --score"),
    (f"{TRANSLATE} --score one", "sentence 1: there is no tab in 'one'"),
    (f"{TRANSLATE} --score 'one\t'", "nothing to translate in ''"),
    (f"{TRANSLATE} --score '\teins'", "nothing to translate in ''"),
    (f"{TRANSLATE} --score 'one\t{'x' * 999}'", "sentence 1: the text .*split"),
    (f"{TRANSLATE} --score --input {{text}}", "sentence 1: there is no tab"),
    *[
        (f"translate one --model '{name}'", message)
        for name, message in {
            "": "'' is not the name of a folder",
            "{gone}": "train a model first",
            BAD_NAME: "train a model first",
            "{text}": "there is no folder|is a file",
            "{folder}": "there is no file .*model.safetensors",
            "{torn}": "truncated or not a safetensors file",
            "{no-model}": "truncated or not a safetensors file",
            "{no-tokenizer}": "tokenizer.model",
            "{other-tokenizer}": "tokenizer",
            "{no-card}": "card.json",
        }.items()
    ],
    *[(f"{TRANSLATE} one --device '{name}'", text) for name, text in DEVICES.items()],
]

EVALUATING = [
    (f"{EVALUATE} --test newstest", "no test set 'newstest': it has test"),
    (f"{EVALUATE} --test ''", "no test set ''"),
    *[
        (f"{EVALUATE} --{name} {x}", f"--{name} .* must be at least 1")
        for name in ("limit", "worst")
        for x in ("0", "-1")
    ],
    *[(f"{EVALUATE} --{x} many", "invalid int") for x in ("limit", "worst")],
    *[
        (f"{EVALUATE} --{option} '{name}'", message)
        for option in ("json", "output")
        for name, message in NO_FILES.items()
    ],
    (f"{EVALUATE} --json {{text}} --output {{text}}", "name one file, .*: give two"),
    (f"{EVALUATE} --json {{new}} --output {{new}}", "name one file, .*: give two"),
    (f"{EVALUATE} --json {{text}} --output {{link}}", "name one file, .*: give two"),
    (f"{EVALUATE} --json {{text}} --model {{gone}}", "train a model first"),
    ("evaluate --model {run} --corpus grammar --output {new}", "one test set, not of"),
    (f"{EVALUATE} --beam-size 0", "--beam-size 0 must be at least 1"),
    (f"{EVALUATE} --beam-size 1000000000", "must be at most 1024"),
    *[(f"{EVALUATE} --length-penalty {x}", "must be") for x in ("-1", "nan", "inf")],
    (f"{EVALUATE} --n-best 3", "unrecognized arguments"),
    (f"{EVALUATE} --corpus ''", "'' is not the name of a corpus"),
    (f"{EVALUATE} --corpus latin", "unknown corpus 'latin'"),
    (f"{EVALUATE} --corpus grammar*99999999999", "weight"),
    (f"{EVALUATE} --corpus {{empty}}", "at least 10 are needed"),
    *[(f"{EVALUATE} --device '{name}'", text) for name, text in DEVICES.items()],
]

EXPORT = "export --model {run} --to hf"
EXPORTING = [
    (EXPORT, "required: FOLDER"),
    ("export --model {run} {new}", "required: --to"),
    ("export {new} --to tensorflow", "invalid choice: 'tensorflow'"),
    ("export --to onnx", "required: FOLDER"),
    *[
        (f"export {{folder}} --to {each}", "holds mine.txt, which no export made")
        for each in ("ctranslate2", "onnx", "lab")
    ],
    (f"{EXPORT} {{new}} --device cpu", "unrecognized arguments: --device"),
    *[
        (f"{EXPORT} '{name}'", message)
        for name, message in {
            "": "'' is not the name of a folder",
            "{text}": "is a file: name a folder",
            "{text}/x": "is a file: name a folder",
            "{pipe}": "is a file: name a folder",
            "{folder}": "holds mine.txt, which no export made",
            "{run}": "which no export made: name another folder",
            "{circle}": "is a broken link|symbolic links",
            "{dangling}": "is a broken link",
            "{new}" + "x" * 300: "File name too long",
            "{torn-export}": "tformer-export.json is not JSON",
        }.items()
    ],
    *[
        (f"export {{new}}/deep --to hf --model '{name}'", message)
        for name, message in {
            "": "'' is not the name of a folder",
            "{gone}": "train a model first",
            "{folder}": "there is no file .*model.safetensors",
            "{torn}": "truncated or not a safetensors file",
        }.items()
    ],
    ("export {new} --to hf --model {separate}", "norm='pre' with tie_embeddings=False"),
]

EXAMINING = [
    ("doctor", "required: FILE:NAME"),
    ("doctor ''", "'' is not the name of a file"),
    ("doctor {model}", "must be FILE:NAME, such as model.py:Net"),
    ("doctor :Net", "must be FILE:NAME"),
    ("doctor {model}:1x", "must be FILE:NAME"),
    ("doctor {gone}:Net", "there is no such file"),
    ("doctor {folder}:Net", "there is no such file"),
    ("doctor {text}:Net", "text.txt stopped with (NameError|SyntaxError)"),
    ("doctor {zeros}:Net", "stopped with .*null bytes"),
    ("doctor {model}:Gone", "has no 'Gone': it has .*Net"),
    ("doctor {model}:number", "of type int, not an nn.Module"),
    ("doctor {model}:Wide", r"Wide\(width\) needs arguments: write a function"),
    ("doctor {model}:stops", "called with no arguments, stopped with KeyError"),
    (
        "doctor {model}:Masked",
        "missing 1 .* 'mask'.* dictionary in the file.* --with",
    ),
    ("doctor {model}:Net --with gone", "has no 'gone'"),
    ("doctor {model}:Net --with number", "is of type int, not a dictionary"),
    ("doctor {model}:Net --with wrong", "unexpected keyword argument 'lost'"),
    ("doctor {model}:Net --pad-id x", "'x' is no id: give a number, or none"),
    ("doctor {model}:Net --pad-id -1", "'-1' is no id"),
    ("doctor {model}:Net --vocab-size x", "invalid int value"),
    *[
        (f"doctor {{model}}:Net --seconds {x}", "must be positive and finite")
        for x in ("0", "-1", "nan", "inf")
    ],
    ("doctor {model}:Exits", "called with no arguments, stopped with SystemExit: 3"),
    ("doctor {model}:Leaves", "ended the program, by SystemExit"),
    ("doctor {notebook}:Net", "notebook.ipynb is no notebook: 'cells'"),
    ("doctor {model}:Broken", "Broken stopped with RuntimeError on target ids"),
]

# The same mistakes with --restart, in the folder of a finished run.
RESTARTING = [
    (line.replace("{new}", "{run} --restart"), message)
    for line, message in TRAINING
    if line.startswith(TRAIN)
]
ROWS = PROGRAM + TRAINING + TRANSLATING + EVALUATING + EXPORTING + EXAMINING
ROWS += RESTARTING
MODEL = """\
from torch import nn

number, wrong = 3, {"lost": 1}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(12, 8), nn.Linear(8, 12)

    def forward(self, ids):
        return self.out(self.table(ids))


class Wide(Net):
    def __init__(self, width):
        super().__init__()


class Masked(Net):
    def forward(self, source, target, mask):
        return super().forward(target)


class Exits(Net):
    def __init__(self):
        raise SystemExit(3)


class Leaves(Net):
    def forward(self, ids):
        raise SystemExit(0)


def stops():
    raise KeyError("no")


class Broken(Net):
    def forward(self, ids):
        raise RuntimeError("no")
"""

TYPED = {
    b"f\xfcnf\n": r"standard input, line 1 is not UTF-8 \(byte 0xfc\): convert it",
    b"one\ntwo\n\xff": r"standard input, line 3 is not UTF-8 \(byte 0xff\): convert it",
    b"\0\0\0": "standard input, line 1 holds a zero byte: give a text file",
    b"x" * 3_000_000: "standard input, line 1 has more than .* bytes",
    b"x" * 9999: "sentence 1: the text .* pieces.*split",
    b"one" + b" two" * 300: "sentence 1: the text .* pieces.*split",
}


def arguments_of(line: str, places: dict[str, Path]) -> list[str]:
    """The arguments of a line: only single quotes and blanks mean anything."""
    found = [each.replace("'", "") for each in re.findall(r"(?:'[^']*'|[^ '])+", line)]
    return [
        re.sub(r"\{([\w-]+)\}", lambda m: str(places[m[1]]), each) for each in found
    ]


@pytest.fixture
def places(tmp_path, run, pairs_file) -> dict[str, Path]:
    """A folder full of things to trip over."""
    place = {name: tmp_path / name for name in ("new", "gone", "folder", "bare")}
    place["folder"].mkdir()
    (place["folder"] / "mine.txt").write_text("mine\n")
    contents = {
        "text": b"one\ntwo\n",
        "latin": "fünf\n".encode("latin-1"),
        "utf-16": "one\n".encode("utf-16"),
        "zeros": bytes(1000),
        "endless": b"x" * 3_000_000,
        "long": b"one\ntwo\n" + b"three " * 150 + b"\n",
        "empty": b"",
        "one-column": b"one\n" * 20,
        "few": b"one\teins\ntwo\tzwei\n",
    }
    for name, content in contents.items():
        is_corpus = name in ("latin", "zeros", "empty", "one-column", "few")
        place[name] = tmp_path / f"{name}{'.tsv' if is_corpus else '.txt'}"
        place[name].write_bytes(content)
    place["model"] = tmp_path / "model.py"
    place["model"].write_text(MODEL)
    place["pairs"] = Path(shutil.copy(pairs_file, tmp_path))
    for name in ("link", "circle", "dangling"):
        place[name] = tmp_path / name
    place["link"].symlink_to(place["text"])
    place["circle"].symlink_to(place["circle"])
    place["dangling"].symlink_to("nowhere")
    place["pipe"] = tmp_path / "pipe"
    os.mkfifo(place["pipe"])
    place["run"] = shutil.copytree(run, tmp_path / "run")
    place["weights"] = place["run"] / "model.safetensors"
    for name in ("torn", "no-model", "no-tokenizer", "other-tokenizer", "no-card"):
        place[name] = shutil.copytree(run, tmp_path / name)
    os.truncate(place["torn"] / "checkpoint.safetensors", 1000)
    os.truncate(place["torn"] / "model.safetensors", 1000)
    (place["no-model"] / "model.safetensors").write_bytes(b"no weights")
    (place["no-tokenizer"] / "tokenizer.model").unlink()
    (place["other-tokenizer"] / "tokenizer.model").write_bytes(b"no tokenizer")
    (place["no-card"] / "card.json").write_bytes(b"{")
    place["torn-export"] = tmp_path / "torn-export"
    place["torn-export"].mkdir()
    (place["torn-export"] / "tformer-export.json").write_bytes(b"{")
    place["folder-tokenizer"] = shutil.copytree(run, tmp_path / "folder-tokenizer")
    (place["folder-tokenizer"] / "tokenizer.model").unlink()
    (place["folder-tokenizer"] / "tokenizer.model").mkdir()
    place["checkpoint-model"] = shutil.copytree(run, tmp_path / "checkpoint-model")
    (place["checkpoint-model"] / "checkpoint.safetensors").replace(
        place["checkpoint-model"] / "model.safetensors"
    )
    place["notebook"] = tmp_path / "notebook.ipynb"
    place["notebook"].write_text("{}")
    place["separate"] = tmp_path / "separate"
    translator = load_pretrained(run)
    fields = translator.model.config.to_dict() | {"tie_embeddings": False}
    model = Transformer(TransformerConfig(**fields | {"norm": "pre"}))
    Translator(model, translator.tokenizer).save(place["separate"])
    place["bare"] = tmp_path / "bare"
    place["bare"].mkdir()
    for name in ("model.safetensors", "tokenizer.model", "card.json"):
        shutil.copy(run / name, place["bare"])
    return place


def state_of(folder: Path) -> dict[str, tuple]:
    """All that lies in a folder: kinds, modes, contents."""
    state = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        said: str | bytes = b""
        if path.is_symlink():
            said = os.readlink(path)
        elif stat.S_ISREG(about.st_mode):
            said = hashlib.sha256(path.read_bytes()).digest()
        state[str(path.relative_to(folder))] = (about.st_mode, said)
    return state


def check(arguments: list[str], message: str, folder: Path, capsys, answers=0) -> None:
    """A wrong command line: status 2, one line that says why, and no file is harmed."""
    before = state_of(folder)
    assert cli.main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out.count("\n") == answers
    [line] = shown.err.splitlines()
    assert line.startswith("tformer: error: ")
    assert re.search(message, line), line
    assert len(line) < 500
    assert state_of(folder) == before


def named(rows: list[tuple[str, str]]) -> list:
    return [
        pytest.param(*row, id=ascii(row[0][:90]).replace("\\", "-")) for row in rows
    ]


@pytest.mark.skipif(os.name == "nt", reason="POSIX files")
@pytest.mark.parametrize(("line", "message"), named(ROWS))
def test_a_wrong_command(line, message, places, tmp_path, monkeypatch, capsys):
    """It ends in one line that says what is wrong, and no file is harmed."""
    monkeypatch.chdir(places["folder"])
    check(arguments_of(line, places), message, tmp_path, capsys)


@pytest.mark.skipif(os.name == "nt", reason="POSIX files")
@pytest.mark.parametrize("typed", TYPED, ids=[f"{i}" for i in range(len(TYPED))])
@pytest.mark.parametrize("output", [False, True])
def test_wrong_standard_input(typed, output, places, tmp_path, monkeypatch, capsys):
    stdin = io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    line = f"{TRANSLATE} --output {{text}}" if output else TRANSLATE
    answers = 0 if output else typed.count(b"\n", 0, -1)  # what came before the mistake
    check(arguments_of(line, places), TYPED[typed], tmp_path, capsys, answers)


def test_the_table_is_long():
    assert len(set(ROWS)) == len(ROWS) > 400
