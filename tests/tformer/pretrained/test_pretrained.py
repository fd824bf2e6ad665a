"""Saved models: what comes back, what is refused, and what translating promises."""

from __future__ import annotations

import copy
import io
import itertools
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from zipfile import ZipFile

import pytest
import torch
from safetensors import torch as safetensors
from torch.testing import assert_close

from tformer import load_pretrained
from tformer.common import files
from tformer.common.files import load_tensors, save_tensors
from tformer.pretrained import RELEASED
from tformer.tokenization import Tokenizer
from tformer.translator import Translator, weights

SENTENCES = [
    "A man is riding a horse.",
    "Two dogs play in the snow.",
    "Ein Mann reitet auf einem Pferd.",
    "Zwei Hunde spielen im Schnee.",
    "The woman reads a book to the child.",
    "Die Frau liest dem Kind ein Buch vor.",
]


@pytest.fixture(scope="module")
def translator(make_translator):
    return make_translator(SENTENCES)


@pytest.fixture
def folder(translator, tmp_path) -> Path:
    translator.save(tmp_path / "model")
    return tmp_path / "model"


# --- from a zip --------------------------------------------------------------------

FROM_A_ZIP = """
import sys
sys.path[:0] = [sys.argv[1]]
from tformer import cli, load_pretrained
from tformer.pretrained import load_history
assert ".zip" in cli.__file__
for attempt in (load_pretrained, load_history):
    try:
        attempt()
    except FileNotFoundError as error:
        print(error)
for line in ("translate one", "translate one --model " + sys.argv[1]):
    assert cli.main(line.split()) == 2
assert cli.main(["translate", "one", "--model", sys.argv[2]]) == 0
"""


def test_a_model_in_a_zip_is_not_called_untrained(folder, tmp_path):
    """Modules are imported from a zip, but the released model is a folder."""
    package = tmp_path / "package.zip"
    with ZipFile(package, "w") as archive:
        for file in RELEASED.parent.rglob("*.py"):
            archive.write(file, file.relative_to(RELEASED.parents[1]))
    done = subprocess.run(
        [sys.executable, "-I", "-c", FROM_A_ZIP, package, folder],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        check=True,
    )
    released = "the released model cannot be read from a zip: unpack"
    remedy = f"{released} {package}, or install the package with pip"
    assert done.stdout.splitlines()[:2] == [remedy, remedy]
    assert done.stderr.splitlines() == [
        f"tformer: error: {remedy}",
        f"tformer: error: {package} cannot be read from a zip: unpack {package}",
    ]


# --- saving and loading ------------------------------------------------------------


def test_what_is_saved_comes_back_whole(translator, folder):
    loaded = load_pretrained(folder)
    assert loaded.card == {"name": "tiny"}
    assert loaded.model.config == translator.model.config
    assert loaded.tokenizer.model_bytes == translator.tokenizer.model_bytes
    assert not loaded.model.training
    theirs = dict(loaded.model.named_parameters())
    for name, parameter in translator.model.named_parameters():
        assert_close(theirs[name], parameter, rtol=0, atol=0)
    assert loaded.translate(SENTENCES) == translator.translate(SENTENCES)
    assert load_pretrained(str(folder)).card == loaded.card  # a str will do


def test_half_precision_halves_the_file(translator, folder, tmp_path):
    """And keeps the weights nearly."""
    translator.save(tmp_path / "half", dtype=torch.float16)
    files = [each / "model.safetensors" for each in (tmp_path / "half", folder)]
    half, whole = (file.stat().st_size for file in files)
    assert half < 0.6 * whole
    half = dict(load_pretrained(tmp_path / "half").model.named_parameters())
    for name, parameter in translator.model.named_parameters():
        assert half[name].dtype == torch.float32
        assert_close(half[name], parameter, rtol=1e-3, atol=1e-4)


def test_eight_bits_quarter_the_file(translator, folder, tmp_path):
    """And are off by at most half a step of their row."""
    translator.save(tmp_path / "eight", dtype=torch.int8)
    kept, _ = load_tensors(tmp_path / "eight" / "model.safetensors")
    whole, _ = load_tensors(folder / "model.safetensors")
    sizes = [sum(x.nbytes for x in each.values()) for each in (kept, whole)]
    assert sizes[0] < 0.4 * sizes[1]
    loaded = load_pretrained(tmp_path / "eight")
    assert loaded.model.config == translator.model.config
    eight = dict(loaded.model.named_parameters())
    for name, parameter in translator.model.named_parameters():
        assert eight[name].dtype == torch.float32
        if parameter.dim() == 2:
            assert kept[name].dtype == torch.int8
            steps = parameter.abs().amax(dim=1, keepdim=True) / 127
            gaps = (eight[name] - parameter).abs()
            assert (gaps <= 0.5001 * steps).all()
            assert gaps.any()
            assert (kept[name].abs().amax(dim=1) == 127).all()
        else:
            assert_close(eight[name], parameter, rtol=1e-3, atol=1e-4)


def test_a_row_of_zeros_stays_one_in_eight_bits():
    matrix = torch.tensor([[0.0, 0.0], [1.0, -2.0]])
    numbers, scales = weights.quantised(matrix)
    assert numbers.tolist() == [[0, 0], [64, -127]]
    assert_close(scales, torch.tensor([0, 2 / 127]))


def test_eight_bits_without_their_scales_are_refused(translator, tmp_path):
    translator.save(tmp_path, dtype=torch.int8)
    file = tmp_path / "model.safetensors"
    tensors, about = load_tensors(file)
    name = next(name for name, each in tensors.items() if each.dtype == torch.int8)
    scales = tensors.pop(name + ".scales")
    for wrong in (None, scales[1:], scales[:, None]):
        found = tensors if wrong is None else {**tensors, name + ".scales": wrong}
        save_tensors(file, found, about)
        with pytest.raises(ValueError, match=f"{name} is kept in eight bits, and"):
            load_pretrained(tmp_path)


@pytest.mark.parametrize("part", ["", "decoder", "decoder.layers.0.feed_forward"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8])
def test_a_compiled_model_is_saved_as_the_plain_one_is(
    part, dtype, translator, tmp_path
):
    translator.save(tmp_path / "plain", dtype=dtype)
    model = copy.deepcopy(translator.model)
    if part:
        above, _, name = part.rpartition(".")
        inner = torch.compile(model.get_submodule(part), backend="eager")
        setattr(model.get_submodule(above), name, inner)
    else:
        model = torch.compile(model, backend="eager")
    assert any("_orig_mod" in name for name, _ in model.named_parameters())
    compiled = Translator(model, translator.tokenizer, translator.card)
    compiled.save(tmp_path / "compiled", dtype=dtype)
    for file in (tmp_path / "plain").iterdir():
        same = (tmp_path / "compiled" / file.name).read_bytes()
        assert same == file.read_bytes()
    if not part:  # attention and export look for a Transformer
        mine, theirs = (
            each.attention("A man.").cross for each in (translator, compiled)
        )
        assert_close(theirs, mine, rtol=0, atol=0)


def test_a_file_with_the_names_of_a_compiled_model_is_loaded(translator, folder):
    def rename(weights, _):
        for name in list(weights):
            weights[f"_orig_mod.{name}"] = weights.pop(name)

    rewrite(folder, rename)
    loaded = dict(load_pretrained(folder).model.named_parameters())
    for name, parameter in translator.model.named_parameters():
        assert_close(loaded[name], parameter, rtol=0, atol=0)


def test_saving_again_replaces_and_leaves_nothing_half_written(translator, folder):
    translator.save(folder)
    names = {file.name for file in folder.iterdir()}
    assert names == {"model.safetensors", "tokenizer.model", "card.json"}


@pytest.fixture(scope="module")
def other(make_translator):
    """A model whose tokenizer is different."""
    other = make_translator([each.upper() for each in SENTENCES])
    return Translator(other.model, other.tokenizer, {"name": "other"})


def killed_at(step: int, work: Callable[[], object], folder: Path) -> bool:
    """Whether a process that does this work is killed before it is done.

    It is killed at its nth call of the operating system that is about the folder.
    """
    calls = itertools.count()

    def die(event: str, arguments: tuple) -> None:
        about = any(str(folder) in str(each) for each in arguments)
        is_call = about and event.startswith(("os.", "open", "shutil."))
        if is_call and next(calls) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        sys.addaudithook(die)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.skipif(os.name == "nt", reason="processes are forked")
def test_a_save_that_is_killed_leaves_the_old_model_or_the_new_one(
    translator, other, tmp_path
):
    seen = []
    for step in itertools.count():
        folder = tmp_path / str(step)
        translator.save(folder)
        if not killed_at(step, lambda: other.save(folder), folder):  # noqa: B023
            break
        loaded = load_pretrained(folder)
        expected = translator if loaded.card == translator.card else other
        assert loaded.card == expected.card
        assert loaded.tokenizer.model_bytes == expected.tokenizer.model_bytes
        table = loaded.model.source_embedding.weight
        assert_close(table, expected.model.source_embedding.weight, rtol=0, atol=0)
        seen.append(loaded.card["name"])
        translator.save(folder)  # the next one tidies up
        assert load_pretrained(folder).card == translator.card
        assert len(list(folder.iterdir())) == 3
        shutil.rmtree(folder)
    first = seen.index("other")
    assert 5 < first < len(seen) - 5
    assert set(seen[first:]) == {"other"}


@pytest.mark.parametrize("card", [{"rate": torch.ones(1)}, {"rate": math.nan}])
def test_a_card_that_cannot_be_written_leaves_everything_as_it_was(
    card, translator, other, folder, tmp_path
):
    broken = Translator(other.model, other.tokenizer, card)
    for place in (folder, tmp_path / "new"):
        with pytest.raises((TypeError, ValueError), match="JSON"):
            broken.save(place)
    assert load_pretrained(folder).card == translator.card
    assert not (tmp_path / "new").exists()


def test_a_folder_in_the_place_of_a_file_is_named_before_anything_is_replaced(
    translator, other, folder
):
    (folder / "card.json").unlink()
    (folder / "card.json").mkdir()
    with pytest.raises(IsADirectoryError, match=r"card.json is a folder, where a file"):
        other.save(folder)
    assert load_pretrained(folder).tokenizer.fingerprint == (
        translator.tokenizer.fingerprint
    )


@pytest.mark.skipif(os.name == "nt", reason="POSIX links")
def test_a_link_to_a_file_stays_one_and_its_mode_stays(other, folder, tmp_path):
    file = folder / "model.safetensors"
    real = file.rename(tmp_path / "real")
    file.symlink_to(real)
    real.chmod(0o640)
    other.save(folder)
    assert file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert load_pretrained(folder).card == other.card


def test_several_saves_to_one_folder_at_once_leave_one_of_them(
    translator, other, folder
):
    savers = [
        Thread(target=each.save, args=[folder]) for each in [translator, other] * 4
    ]
    for each in savers:
        each.start()
    for each in savers:
        each.join()
    loaded = load_pretrained(folder)
    expected = translator if loaded.card == translator.card else other
    assert loaded.tokenizer.model_bytes == expected.tokenizer.model_bytes
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("folder", ["", None, 3])
def test_a_folder_without_a_name_is_refused(folder, translator):
    with pytest.raises((TypeError, ValueError), match="must be the name of a folder"):
        translator.save(folder)


@pytest.mark.parametrize("device", ["nope", "cuda:999", "meta", "mps:7", None, 3.5])
def test_a_device_that_cannot_be_used_is_named(device, folder):
    with pytest.raises(ValueError, match=f"device='{device}' cannot be used here"):
        load_pretrained(folder, device=device)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model"])
def test_a_missing_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        load_pretrained(folder)


def test_a_missing_folder_is_named():
    with pytest.raises(FileNotFoundError, match="no folder nowhere: train a model"):
        load_pretrained("nowhere")


FOUR_HEADS, TWO_HEADS = b'\\"n_heads\\": 4', b'\\"n_heads\\": 2'


def pickled(tensors) -> bytes:
    file = io.BytesIO()
    torch.save(tensors, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: len(data) // 2], "truncated or not a safetensors file"),
        (lambda data: data[:-1], "truncated or not a safetensors file"),
        (lambda data: data[:5], "truncated or not a safetensors file"),
        (lambda data: b"<html>404</html>" * 999, "truncated or not a safetensors file"),
        (lambda data: data[:-4] + b"\0\0\x80?", "changed after it was written"),
        (lambda data: data.replace(FOUR_HEADS, TWO_HEADS, 1), "changed after it was w"),
        (lambda data: pickled({"a": torch.ones(2)}), "not a safetensors file"),
        (lambda data: safetensors.save({"a": torch.ones(2)}), "carries no check"),
    ],
)
def test_a_damaged_model_file_is_never_loaded(damage, message, folder):
    file = folder / "model.safetensors"
    before = file.read_bytes()
    file.write_bytes(damage(before))
    assert file.read_bytes() != before
    with pytest.raises(ValueError, match=f"model.safetensors .*{message}"):
        load_pretrained(folder)


@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.999])
def test_a_truncated_tokenizer_is_never_loaded(keep, folder):
    file = folder / "tokenizer.model"
    data = file.read_bytes()
    file.write_bytes(data[: int(keep if keep in (0, 100) else keep * len(data))])
    with pytest.raises(ValueError, match=r"tokenizer.model"):
        load_pretrained(folder)


def test_a_tokenizer_of_equal_size_from_another_run_is_refused(folder):
    other = Tokenizer.train([s.upper() for s in SENTENCES] * 3, 330, algorithm="bpe")
    other.save(folder / "tokenizer.model")
    with pytest.raises(ValueError, match="is not the tokenizer that model.safetensors"):
        load_pretrained(folder)


def rewrite(folder: Path, change) -> None:
    """Change weights or metadata and sign the file anew, as an honest writer would."""
    file = folder / "model.safetensors"
    weights, metadata = load_tensors(file)
    change(weights, metadata)
    save_tensors(file, weights, metadata)


@pytest.mark.parametrize(
    "claim",
    [
        *({"d_model": 2_000_000}, {"d_ff": 2**40}, {"n_encoder_layers": 10**9}),
        *({"n_decoder_layers": 10**9}, {"vocab_size": 10**12}, {"max_len": 10**10}),
        {"max_len": 10**10, "positions": "learned"},
    ],
    ids=str,
)
def test_a_claim_of_a_huge_model_is_refused_unbuilt(claim, folder, monkeypatch):
    def build(config):
        raise AssertionError("a model was built")

    monkeypatch.setattr(weights, "build", build)
    rewrite(folder, lambda _, metadata: metadata["config"].update(claim))
    message = r"model.safetensors claims (a model of [\d,]+ weights and holds|max_len=)"
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder)


def test_saving_twice_gives_the_same_bytes(translator, tmp_path):
    files = []
    for name in "abcdefgh":  # the order of a header's entries is not always the same
        translator.save(tmp_path / name)
        files.append((tmp_path / name / "model.safetensors").read_bytes())
    assert len(set(files)) == 1


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn, "float16"]
)
def test_a_dtype_that_cannot_hold_weights_is_refused(dtype, translator, tmp_path):
    with pytest.raises(TypeError, match="cannot hold weights: take one of float16"):
        translator.save(tmp_path / "new", dtype=dtype)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("value", "dtype"), [(1e6, "float16"), (math.nan, "float32")])
def test_weights_that_are_no_numbers_are_not_saved(value, dtype, translator, tmp_path):
    model = copy.deepcopy(translator.model)
    with torch.no_grad():
        model.encoder.layers[1].feed_forward.expand.bias[3] = value
    broken = Translator(model, translator.tokenizer)
    with pytest.raises(ValueError, match=r"^encoder.layers.1.*expand.bias holds NaN"):
        broken.save(tmp_path / "new", dtype=getattr(torch, dtype))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w, m: m["config"].update(d_ff=65), "has shape .*the model needs"),
        (lambda w, m: m["config"].update(n_heads=5), "n_heads=5"),
        (lambda w, m: m["config"].update(n_encoder_layers=3), "lacks encoder.layers.2"),
        (lambda w, m: m["config"].update(wings=2), "unknown configuration fields: w"),
        (lambda w, m: m.pop("config"), "its header has no config"),
        (lambda w, m: m.pop("tokenizer"), "its header has no tokenizer"),
        (lambda w, m: w.update(extra=torch.ones(1)), "unknown weight extra"),
        (lambda w, m: w.popitem(), "lacks .*different kind of model"),
        (lambda w, m: next(iter(w.values())).fill_(float("nan")), "NaN or infinity"),
    ],
)
def test_a_file_of_another_model_says_what_does_not_fit(change, message, folder):
    rewrite(folder, change)
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "complex64", "float8_e4m3fn", "float8_e5m2"]
)
def test_weights_of_a_dtype_that_cannot_hold_them_are_refused(dtype, folder):
    name = "encoder.layers.0.feed_forward.expand.bias"

    def change(weights, _):
        weights[name] = weights[name].to(getattr(torch, dtype))

    rewrite(folder, change)
    message = rf"model.safetensors: {name} is stored as torch.{dtype}, which is not one"
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder)


@pytest.mark.parametrize("dtype", [torch.bool, torch.complex64, torch.float8_e4m3fn])
def test_eight_bits_with_scales_that_are_no_numbers_are_refused(
    dtype, translator, tmp_path
):
    translator.save(tmp_path, dtype=torch.int8)

    def change(weights, _):
        name = next(name for name in weights if name.endswith(".scales"))
        weights[name] = weights[name].to(dtype)

    rewrite(tmp_path, change)
    with pytest.raises(ValueError, match=r"model.safetensors: .*is kept in eight bits"):
        load_pretrained(tmp_path)


def test_eight_bits_that_are_no_matrix_are_refused(folder):
    def change(weights, _):
        weights["a"] = torch.tensor(3, dtype=torch.int8)
        weights["a.scales"] = torch.tensor(1.0)

    rewrite(folder, change)
    with pytest.raises(ValueError, match=r"model.safetensors: a is kept in eight bits"):
        load_pretrained(folder)


@pytest.mark.parametrize("text", ["{not JSON", "[" * 100_000], ids=["broken", "deep"])
def test_a_header_that_is_not_json_is_an_error_that_names_the_file(
    text, folder, monkeypatch
):
    file = folder / "model.safetensors"
    header = {"config": text, "sha256": "0"}
    header["sha256_of_header"] = files._header_checksum(dict(header))
    safetensors.save_file({"a": torch.ones(2)}, file, header)
    with pytest.raises(ValueError, match=r"model.safetensors: config in its header is"):
        load_pretrained(folder)


def test_a_card_that_is_nested_too_deeply_is_an_error_that_names_the_file(folder):
    (folder / "card.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"card.json is not JSON"):
        load_pretrained(folder)


# --- the released model ------------------------------------------------------------


@pytest.mark.skipif(
    not (RELEASED / "model.safetensors").exists(), reason="no released model yet"
)
def test_the_released_model_translates_and_its_card_says_how_well():
    translator = load_pretrained()
    assert translator.translate("Two dogs play in the snow.").startswith("Zwei Hunde")
    text = json.dumps(translator.card)
    assert "tok:13a" in text  # scores with sacreBLEU's signature
    assert "multi30k" in text
    size = sum(file.stat().st_size for file in RELEASED.iterdir())
    assert size <= 12e6


def test_a_copied_folder_needs_nothing_else(folder, tmp_path):
    moved = shutil.move(folder, tmp_path / "elsewhere")
    assert load_pretrained(moved).translate(SENTENCES[0])
