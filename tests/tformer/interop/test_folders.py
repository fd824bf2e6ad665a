"""A folder of an export is whole or not there, and spares what others put there."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tformer import cli, interop
from tformer.interop.folders import FILES, NOTE, assembled
from tformer.translator import Translator
from tformer.variants.recurrent import RecurrentConfig, RecurrentSeq2Seq


def fill(folder, *, force=False, to="onnx"):
    with assembled(folder, to, force=force) as place:
        for name in FILES[to]:
            (place / name).write_text(f"{name} for {to}")


def stop_in_the_middle(folder):
    with assembled(folder, "onnx") as place:
        (place / "config.json").write_text("half of it")
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", [None, "model.bin"])
def test_an_error_names_the_folder_that_was_asked_for(name, tmp_path):
    out = tmp_path / "out"
    with (
        pytest.raises(OSError, match="File too large") as e,
        assembled(out, "hf") as at,
    ):
        raise OSError(
            errno.EFBIG, "File too large", *([str(at / name)] if name else [])
        )
    assert e.value.filename == str(out / name if name else out)
    assert names(tmp_path) == []


def test_an_error_before_and_after_names_the_folder_too(tmp_path, monkeypatch):
    out = tmp_path / "new" / "out"

    def fails(source, *_, **__):
        raise OSError(errno.ENOSPC, "No space left", str(source))

    for module, name in ((tempfile, "mkdtemp"), (Path, "rename")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fails)
            with pytest.raises(OSError, match="No space left") as e:
                fill(out)
        assert e.value.filename == str(out)
        assert names(tmp_path) == []


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_new_export_replaces_all_files_of_an_old_one(tmp_path):
    fill(tmp_path / "deep/er", to="onnx")
    fill(tmp_path / "deep/er", to="ctranslate2")
    assert names(tmp_path / "deep/er") == sorted([*FILES["ctranslate2"], NOTE])
    text = (tmp_path / "deep/er/config.json").read_text()
    assert text == "config.json for ctranslate2"
    note = json.loads((tmp_path / "deep/er" / NOTE).read_text())
    assert note["to"] == "ctranslate2"
    assert note["files"] == sorted(FILES["ctranslate2"])
    assert names(tmp_path / "deep") == ["er"]


def test_a_new_folder_may_be_read_by_whoever_may_read_others(tmp_path):
    (tmp_path / "other").mkdir()
    fill(tmp_path / "out")
    modes = [(tmp_path / name).stat().st_mode for name in ("other", "out")]
    assert modes[0] == modes[1]


def test_what_others_put_there_is_never_lost(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds mine.txt, which no export made"):
        fill(tmp_path)
    assert names(tmp_path) == ["mine.txt"]
    fill(tmp_path, force=True, to="onnx")
    with pytest.raises(ValueError, match="mine.txt"):
        fill(tmp_path)
    fill(tmp_path, force=True, to="lab")
    assert names(tmp_path) == sorted([*FILES["lab"], "mine.txt", NOTE])
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_folder_in_the_place_of_a_file_is_named_before_anything_is_written(tmp_path):
    (tmp_path / "tokenizer.model").mkdir()
    (tmp_path / "config.json").write_text("mine")
    with pytest.raises(IsADirectoryError, match=r"tokenizer.model is a folder, where"):
        fill(tmp_path, force=True)
    assert names(tmp_path) == ["config.json", "tokenizer.model"]
    assert (tmp_path / "config.json").read_text() == "mine"


@pytest.mark.parametrize("to", ["onnx", "else", None, ["onnx"]])
def test_a_note_that_names_other_files_deletes_none_of_them(to, tmp_path):
    (tmp_path / "kept").write_text("kept")
    out = tmp_path / "out"
    fill(out, to="onnx")
    (out / "thesis.tex").write_text("years of work")
    note = json.loads((out / NOTE).read_text())
    listed = ["../kept", "thesis.tex", "config.json", "", 3]
    (out / NOTE).write_text(json.dumps(note | {"to": to, "files": listed}))
    with pytest.raises(ValueError, match="which no export made"):
        fill(out, to="lab")
    fill(out, to="lab", force=True)
    assert names(tmp_path) == ["kept", "out"]
    assert (out / "thesis.tex").read_text() == "years of work"
    assert (out / "config.json").exists() == (to != "onnx")


def test_of_several_exports_to_one_folder_at_once_one_stays(tmp_path):
    formats = ["onnx", "hf", "ctranslate2", "lab"] * 5
    with ThreadPoolExecutor(len(formats)) as threads:
        list(threads.map(lambda to: fill(tmp_path / "out", to=to), formats))
    note = json.loads((tmp_path / "out" / NOTE).read_text())
    assert names(tmp_path / "out") == sorted([*FILES[note["to"]], NOTE])
    for name in FILES[note["to"]]:
        assert (tmp_path / "out" / name).read_text() == f"{name} for {note['to']}"


@pytest.mark.parametrize("to", interop.FORMATS)
def test_an_export_writes_the_files_of_its_format(to, translator_of, tmp_path):
    files = interop.export(translator_of(norm="pre"), to, tmp_path / "out")
    assert files == sorted(FILES[to])


def test_after_an_error_everything_is_as_before(tmp_path):
    old = tmp_path / "old"
    fill(old)
    for folder in (old, tmp_path / "new/er"):
        with pytest.raises(KeyboardInterrupt):
            stop_in_the_middle(folder)
    assert names(tmp_path) == ["old"]
    assert (old / "config.json").read_text() == "config.json for onnx"


@pytest.mark.skipif(os.name == "nt", reason="POSIX links")
def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    fill(tmp_path / "link", to="lab")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == sorted([*FILES["lab"], NOTE])


def test_the_command_writes_what_the_function_writes(released, tmp_path, capsys):
    out = tmp_path / "by command"
    assert cli.main(["export", "--to", "hf", str(out)]) == 0
    files = interop.export(released, "hf", tmp_path / "by function")
    assert capsys.readouterr().out.splitlines() == [str(out / each) for each in files]
    for name in files:
        same = (tmp_path / "by function" / name).read_bytes()
        assert (out / name).read_bytes() == same


def test_a_model_that_is_no_transformer_is_refused(released, tmp_path):
    config = RecurrentConfig(vocab_size=released.tokenizer.vocab_size, d_hidden=8)
    translator = Translator(RecurrentSeq2Seq(config), released.tokenizer)
    with pytest.raises(TypeError, match="only a Transformer can be exported"):
        interop.export(translator, "hf", tmp_path / "out")
    assert names(tmp_path) == []


def test_a_missing_package_is_named_at_once(released, tmp_path, monkeypatch):
    from tformer.interop import hugging_face

    monkeypatch.setattr(hugging_face, "NEEDS", ("no_such_package",))
    with pytest.raises(ImportError, match=r"no_such_package: pip install"):
        interop.export(released, "hf", tmp_path / "out")
    assert names(tmp_path) == []
