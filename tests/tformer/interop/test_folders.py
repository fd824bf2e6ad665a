"""A folder of an export is whole or not there, and spares what others put there."""

from __future__ import annotations

import json
import os

import pytest

from tformer import cli, interop
from tformer.interop.folders import NOTE, assembled
from tformer.translator import Translator
from tformer.variants.recurrent import RecurrentConfig, RecurrentSeq2Seq


def fill(folder, *names, force=False, to="hf"):
    with assembled(folder, to, force=force) as place:
        for name in names:
            (place / name).write_text(f"{name} for {to}")


def stop_in_the_middle(folder):
    with assembled(folder, "hf") as place:
        (place / "a").write_text("half of it")
        raise KeyboardInterrupt


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_new_export_replaces_all_files_of_an_old_one(tmp_path):
    fill(tmp_path / "deep/er", "a", "b")
    fill(tmp_path / "deep/er", "b", "c", to="onnx")
    assert names(tmp_path / "deep/er") == ["b", "c", NOTE]
    assert (tmp_path / "deep/er/b").read_text() == "b for onnx"
    note = json.loads((tmp_path / "deep/er" / NOTE).read_text())
    assert (note["to"], note["files"]) == ("onnx", ["b", "c"])
    assert names(tmp_path / "deep") == ["er"]


def test_what_others_put_there_is_never_lost(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds mine.txt, which no export made"):
        fill(tmp_path, "a")
    assert names(tmp_path) == ["mine.txt"]
    fill(tmp_path, "a", "b", force=True)
    with pytest.raises(ValueError, match="mine.txt"):
        fill(tmp_path, "a")
    fill(tmp_path, "a", force=True)
    assert names(tmp_path) == ["a", "mine.txt", NOTE]
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_note_that_names_files_elsewhere_deletes_none_of_them(tmp_path):
    (tmp_path / "kept").write_text("kept")
    out = tmp_path / "out"
    fill(out, "a")
    note = json.loads((out / NOTE).read_text())
    (out / NOTE).write_text(json.dumps(note | {"files": ["../kept", "a", "", 3]}))
    fill(out, "b")
    assert names(tmp_path) == ["kept", "out"]
    assert names(out) == ["b", NOTE]


def test_after_an_error_everything_is_as_before(tmp_path):
    old = tmp_path / "old"
    fill(old, "a")
    for folder in (old, tmp_path / "new/er"):
        with pytest.raises(KeyboardInterrupt):
            stop_in_the_middle(folder)
    assert names(tmp_path) == ["old"]
    assert (old / "a").read_text() == "a for hf"


@pytest.mark.skipif(os.name == "nt", reason="POSIX links")
def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    fill(tmp_path / "link", "a")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == ["a", NOTE]


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
