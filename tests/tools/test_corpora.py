"""Where the workflows find what they downloaded."""

from __future__ import annotations

import corpora
import pytest

from tformer import data


def test_the_corpora_lie_where_it_says(monkeypatch, tmp_path, capsys) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(data, "load", loaded.append)
    monkeypatch.setattr(corpora, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr("sys.stdout.reconfigure", lambda **_: None, raising=False)
    assert corpora.main() == 0
    assert capsys.readouterr().out == f"TFORMER_DATA={tmp_path}\n"
    assert sorted(loaded) == ["multi30k", "tatoeba"]


def test_it_says_nothing_where_a_corpus_cannot_be_had(monkeypatch, capsys) -> None:
    def away(name: str) -> None:
        raise data.DataError("the host is away")

    monkeypatch.setattr(data, "load", away)
    with pytest.raises(data.DataError):
        corpora.main()
    assert capsys.readouterr().out == ""
