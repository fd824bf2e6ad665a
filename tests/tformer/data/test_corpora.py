"""Corpora: what is in which split, and what happens when files are damaged."""

from __future__ import annotations

import gzip
import hashlib
import os
import socket
import sys
import time
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tformer import data
from tformer.data import DataError, DataUnavailable, multi30k, tatoeba
from tformer.data.corpus import Corpus, keys, sentence_key, shared, split_position

SETS = ("train", "val", *multi30k.TEST_SETS)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """A folder of the reader's with small stand-ins for both corpora."""
    folder = tmp_path / "own"
    (folder / "multi30k").mkdir(parents=True)
    for name in SETS:
        for language in ("en", "de"):
            lines = [f"{name} {language} {i}" for i in range(12)]
            write_lines(folder, name, language, lines)
    english = [f"Sentence {i} here." for i in range(600)]
    pairs = [f"{e}\t{g} {e}\tCC-BY 2.0" for e in english for g in ("Satz", "Der Satz")]
    write_tatoeba(folder, "\n".join(pairs) + "\n")
    monkeypatch.setenv("TFORMER_DATA", str(folder))
    return folder


def write_lines(folder: Path, name: str, language: str, lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    (folder / "multi30k" / f"{name}.{language}.gz").write_bytes(gzip.compress(text))


def write_tatoeba(folder: Path, text: str) -> None:
    (folder / "tatoeba").mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "tatoeba" / "deu-eng.zip", "w") as archive:
        archive.writestr("deu.txt", text.encode())


def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setattr(multi30k, "BASE_URL", url)
    monkeypatch.setattr(tatoeba, "URL", url)


# Multi30k


def test_multi30k_has_its_published_sizes_and_clean_lines(corpus_of) -> None:
    corpus = corpus_of("multi30k")
    assert len(corpus.train) == 29_000
    assert len(corpus.valid) == 1_014
    assert {name: len(pairs) for name, pairs in corpus.test.items()} == {
        "test_2016_flickr": 1_000,
        "test_2017_flickr": 1_000,
        "test_2017_mscoco": 461,
    }
    every = [corpus.train, corpus.valid, *corpus.test.values()]
    for english, german in (pair for pairs in every for pair in pairs):
        assert english == english.strip() != ""
        assert german == german.strip() != ""
    assert corpus.train[0][1].startswith("Zwei junge weiße Männer")
    assert "non-commercial" in corpus.licence
    assert "W16-3210" in corpus.attribution
    pinned = {f"multi30k/{file.name}": file.sha256 for file in multi30k.remotes()}
    assert corpus.checksums.items() <= pinned.items()
    assert len(corpus.checksums) >= 10
    for name, lines in corpus.tokenised_references.items():
        assert len(lines) == len(corpus.test[name])
        assert all(line == line.lower() for line in lines)


def test_multi30k_is_downloaded_once(corpus_of, host, monkeypatch, cache) -> None:
    folder = os.environ.get("TFORMER_DATA_KEPT", "")
    if not folder:
        pytest.skip("TFORMER_DATA is not set: no copy of Multi30k to serve")
    for file in multi30k.remotes():
        path = Path(folder) / "multi30k" / file.name
        address = file.url.removeprefix(multi30k.BASE_URL)
        if path.is_file():
            host.content[address] = path.read_bytes()
    monkeypatch.setattr(multi30k, "BASE_URL", host.url)
    corpus = data.load("multi30k")
    assert len(corpus.train) == 29_000
    assert len(host.requests) == len(multi30k.remotes())
    again = data.load("multi30k")
    assert again.train == corpus.train
    assert again.checksums == corpus.checksums
    assert len(host.requests) == len(multi30k.remotes())


@pytest.fixture(autouse=True)
def remember_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the real folder's name for the tests that serve it from a host."""
    monkeypatch.setenv("TFORMER_DATA_KEPT", os.environ.get("TFORMER_DATA", ""))


def test_lines_are_split_at_line_feeds_only_and_stripped(own) -> None:
    odd = ["  one \t", "a\u2028b", "c\x0bd\x0c", "e\x85f", "g\rh", "last\r"]
    write_lines(own, "train", "en", odd)
    write_lines(own, "train", "de", list("abcdef"))
    english = [pair[0] for pair in data.load("multi30k").train]
    assert english == ["one", "a\u2028b", "c\x0bd", "e\x85f", "g\rh", "last"]


def test_what_lies_in_the_reader_s_folder_is_used_and_its_sum_recorded(own) -> None:
    write_lines(own, "train", "en", ["mine"] * 12)
    corpus = data.load("multi30k")
    assert corpus.train[0] == ("mine", "train de 0")
    path = own / "multi30k" / "train.en.gz"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert corpus.checksums["multi30k/train.en.gz"] == digest
    assert corpus.tokenised_references == {}


def test_files_that_are_not_parallel_are_named(own) -> None:
    write_lines(own, "val", "de", ["only one"])
    with pytest.raises(DataError, match=r"val\.en\.gz has 12 lines .* has 1; they m"):
        data.load("multi30k")


DAMAGED = {
    "empty": b"",
    "no gzip": b"no gzip",
    "cut short": gzip.compress(b"x" * 999)[:-9],
    "not UTF-8": gzip.compress("Straße\n".encode("latin-1") * 12),
}


@pytest.mark.parametrize("junk", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_named_and_no_reason_to_fall_back(own, junk) -> None:
    (own / "multi30k" / "train.de.gz").write_bytes(junk)
    message = r"train\.de\.gz (is damaged|has)" if not junk else "is damaged"
    with pytest.raises(DataError, match=message):
        data.load("multi30k", fallback=True)


# Tatoeba


def test_tatoeba_has_two_thousand_pairs_in_each_held_out_split(corpus_of) -> None:
    corpus = corpus_of("tatoeba")
    assert 1_500 < len(corpus.valid) < 2_500
    assert 1_500 < len(corpus.test["tatoeba"]) < 2_500
    assert len(corpus.train) > 150_000
    assert "tatoeba.org" in corpus.attribution


def test_an_epoch_of_tatoeba_shows_each_english_once(corpus_of) -> None:
    corpus = corpus_of("tatoeba")
    shown = corpus.epoch_pairs(0, seed=0)
    assert len(shown) == len({english for english, _ in corpus.train})
    assert set(shown) <= set(corpus.train)
    assert len({english for english, _ in shown}) == len(shown)
    other = corpus.epoch_pairs(1, seed=0)
    assert {english for english, _ in other} == {english for english, _ in shown}
    assert other != shown


def test_another_edition_keeps_every_sentence_in_its_split(own) -> None:
    before = data.load("tatoeba")
    more = [f"{e}\t{g}" for part in (before.train, before.valid) for e, g in part]
    more += [f"{e}\t{g}" for e, g in before.test["tatoeba"]]
    more += [f"New sentence {i}.\tNeuer Satz {i}." for i in range(900)]
    write_tatoeba(own, "\n".join(reversed(more)) + "\n")
    after = data.load("tatoeba")
    assert set(before.train) <= set(after.train)
    assert set(before.valid) <= set(after.valid)
    assert set(before.test["tatoeba"]) <= set(after.test["tatoeba"])
    assert len(after.valid) > len(before.valid)


def test_only_the_first_two_columns_are_read_and_repeats_kept_once(own) -> None:
    line = "Go on.\tMach weiter.\tCC-BY 2.0 (France) Attribution: …"
    write_tatoeba(own, f"{line}\n{line}\nGo on.\t Weiter! \n")
    corpus = data.load("tatoeba")
    every = corpus.train + corpus.valid + corpus.test["tatoeba"]
    assert every == [("Go on.", "Mach weiter."), ("Go on.", "Weiter!")]


def test_spelling_variants_of_one_english_go_to_one_split(own) -> None:
    variants = [f"It's number {i}" for i in range(300)]
    marks = {".": "eins", "!": "zwei", "?!": "drei"}
    lines = [f"{v}{mark}\tNr. {v} {g}" for v in variants for mark, g in marks.items()]
    lines += [f"{v.upper()}\tNr. {v}" for v in variants]
    write_tatoeba(own, "\n".join(lines))
    corpus = data.load("tatoeba")
    sets = [keys(corpus.train), keys(corpus.valid), keys(corpus.test["tatoeba"])]
    assert all(sets)
    assert sum(map(len, sets)) == len(set().union(*sets)) == 300


@pytest.mark.parametrize("text", ["no tab here\n", "\tno English\n", "no German\t \n"])
def test_a_bad_line_of_tatoeba_is_numbered(own, text) -> None:
    write_tatoeba(own, "Fine.\tGut.\n" + text)
    with pytest.raises(DataError, match=r"deu\.txt, line 2"):
        data.load("tatoeba")


def test_a_damaged_zip_is_named(own) -> None:
    path = own / "tatoeba" / "deu-eng.zip"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DataError, match=r"deu-eng\.zip is damaged"):
        data.load("tatoeba")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(DataError, match=r"holds no deu\.txt"):
        data.load("tatoeba")


# Mixtures


def test_a_mixture_names_every_set_and_keeps_the_parts_valid_sets(own) -> None:
    mixed = data.load("multi30k*3+tatoeba")
    one, two = data.load("multi30k"), data.load("tatoeba")
    assert mixed.name == "multi30k*3+tatoeba"
    assert mixed.train == one.train + two.train
    assert mixed.valid == one.valid + two.valid
    assert mixed.valid_sets == {"multi30k": one.valid, "tatoeba": two.valid}
    assert mixed.test == {**one.test, **two.test}
    assert set(mixed.checksums) == {*one.checksums, *two.checksums}
    for part in (one, two):
        assert part.attribution in mixed.attribution and part.licence in mixed.licence


def test_weights_repeat_a_part_and_each_repeat_draws_anew(own) -> None:
    mixed = data.load("multi30k*3+tatoeba*2")
    shown = mixed.epoch_pairs(0, seed=0)
    one, two = data.load("multi30k"), data.load("tatoeba")
    counts = Counter(english for english, _ in shown)
    assert all(counts[english] == 3 for english, _ in one.train)
    assert all(counts[english] == 2 for english, _ in two.train)
    from_tatoeba = shown[3 * len(one.train) :]
    half = len(from_tatoeba) // 2
    assert from_tatoeba[:half] != from_tatoeba[half:]


def test_what_an_epoch_shows_depends_on_epoch_and_seed_alone(own) -> None:
    mixed, again = data.load("multi30k+tatoeba"), data.load("multi30k+tatoeba")
    assert mixed.epoch_pairs(2, seed=5) == again.epoch_pairs(2, seed=5)
    assert mixed.epoch_pairs(2, seed=5) != mixed.epoch_pairs(3, seed=5)
    assert mixed.epoch_pairs(2, seed=5) != mixed.epoch_pairs(2, seed=6)


def test_no_training_sentence_of_one_part_is_held_out_by_another(own) -> None:
    secrets = ["The dog runs!", "A man; walking.", "Val sentence"]
    write_lines(own, "test_2016_flickr", "en", [*secrets[:2], *"abcdefghij"])
    write_lines(own, "val", "en", [secrets[2], *"mnopqrstuvw"])
    trained = [f"Sentence {i} here." for i in range(600)]
    told = ["the dog runs", "A MAN, walking", "Val sentence.", "The dog ran."]
    write_tatoeba(own, "".join(f"{e}\tx {e}\n" for e in trained + told))
    alone = data.load("tatoeba")
    held_out = alone.valid[0][0]
    others = [f"train {i}" for i in range(11)]
    write_lines(own, "train", "en", [held_out.upper(), *others])
    mixed = data.load("multi30k+tatoeba")
    trained_keys = keys(mixed.train)
    assert not trained_keys & set(map(sentence_key, [*secrets, held_out]))
    assert "the dog ran" in trained_keys
    assert sentence_key(held_out) in keys(mixed.valid)  # kept where it is held out
    assert not keys(mixed.epoch_pairs(0, 0)) - trained_keys
    assert len(mixed.notes) == 2
    assert any(n.startswith("1 of 12 training pairs of multi30k") for n in mixed.notes)


def test_no_training_german_of_one_part_is_an_answer_of_another(own) -> None:
    write_lines(own, "test_2017_flickr", "de", ["Der Hund rennt.", *"abcdefghijk"])
    write_lines(own, "val", "de", ["Ein Mann.", *"mnopqrstuvw"])
    told = "Run, dog!\tDER HUND RENNT\nSome man\tein mann!\nIt runs.\tEs rennt.\n"
    with zipfile.ZipFile(own / "tatoeba" / "deu-eng.zip") as archive:
        write_tatoeba(own, told + archive.read("deu.txt").decode())
    mixed = data.load("multi30k+tatoeba")
    germans = keys(mixed.train, side=1)
    assert "es rennt" in germans
    assert not germans & {"der hund rennt", "ein mann"}


def test_a_validation_sentence_in_another_part_s_test_is_left_out(own) -> None:
    alone = data.load("tatoeba")
    known, other = alone.test["tatoeba"][0][0], alone.valid[0][1]
    write_lines(own, "val", "en", [known, *"abcdefghijk"])
    write_lines(own, "test_2016_flickr", "de", [other, *"mnopqrstuvw"])
    mixed = data.load("multi30k+tatoeba")
    tests = [pair for pairs in mixed.test.values() for pair in pairs]
    assert shared(mixed.valid, tests) == []
    assert len(mixed.valid_sets["multi30k"]) == 11
    assert mixed.test["tatoeba"] == alone.test["tatoeba"]
    assert len(mixed.notes) == 2


def test_two_parts_of_one_name_are_refused(tmp_path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "pairs.tsv"
        path.write_text("".join(f"{folder} {i}\tx {i}\n" for i in range(12)), "utf-8")
    mixture = f"{tmp_path}/one/pairs.tsv+{tmp_path}/two/pairs.tsv"
    with pytest.raises(DataError, match="two parts of .* are called 'pairs'; rename"):
        data.load(mixture)


@pytest.mark.parametrize("weight", ["101", "99999999999", "9" * 5000])
def test_a_weight_that_no_memory_holds_is_refused(weight) -> None:
    with pytest.raises(DataError, match=r"weight 1?[091]+ .*too large; give 1 to 100"):
        data.load(f"grammar*{weight}")
    hundred = data.load("grammar*0100")
    assert hundred.parts[0][1] == 100 and hundred.is_synthetic


@pytest.mark.parametrize(
    "name",
    [*(f"multi30k{x}" for x in ("*0", "*-1", "*1.5", "+", "*x", "*00")), "+"],
)
def test_a_mixture_that_cannot_be_read_is_quoted(own, name) -> None:
    with pytest.raises(DataError, match=r"cannot read .* in the mixture"):
        data.load(name)


def test_a_mixture_with_the_same_part_twice_asks_for_a_weight(own) -> None:
    with pytest.raises(DataError, match="'grammar' occurs twice"):
        data.load("grammar+grammar")


# Loading, and falling back


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(DataError, match="corpus 'wmt14'; give one of multi30k,"):
        data.load("wmt14")


def test_without_network_and_data_there_is_one_clear_error(cache, monkeypatch) -> None:
    no_network(monkeypatch)
    for name in ("multi30k", "tatoeba", "multi30k+tatoeba"):
        with pytest.raises(DataUnavailable) as caught:
            data.load(name)
        assert "\n" not in str(caught.value)
        assert str(cache) in str(caught.value)


def test_without_network_and_data_one_may_fall_back(cache, monkeypatch, capsys) -> None:
    no_network(monkeypatch)
    corpus = data.load("multi30k", fallback=True)
    assert corpus.name == "grammar" and corpus.is_synthetic
    notice = capsys.readouterr().err
    assert "NOTICE: multi30k is not here" in notice
    assert "say nothing about real text" in notice


def test_required_data_forbids_falling_back(cache, monkeypatch) -> None:
    no_network(monkeypatch)
    monkeypatch.setenv("TFORMER_REQUIRE_DATA", "1")
    with pytest.raises(DataError, match="TFORMER_REQUIRE_DATA=1 forbids"):
        data.load("multi30k", fallback=True)
    monkeypatch.setenv("TFORMER_REQUIRE_DATA", "0")
    assert data.load("multi30k", fallback=True).is_synthetic


def test_a_wrong_download_is_no_reason_to_fall_back(cache, host, monkeypatch) -> None:
    for file in multi30k.remotes():
        host.content[file.url.removeprefix(multi30k.BASE_URL)] = b"x" * file.size
    monkeypatch.setattr(multi30k, "BASE_URL", host.url)
    with pytest.raises(DataError, match="not the file it should be"):
        data.load("multi30k", fallback=True)


# A reader's own file


@pytest.fixture
def tsv(tmp_path: Path) -> Path:
    path = tmp_path / "my pairs.tsv"
    lines = [f"I have {i} books.\tIch habe {i} Bücher.\tnote" for i in range(200)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_tsv_is_split_90_5_5(tsv) -> None:
    corpus = data.load(str(tsv))
    test = corpus.test["test"]
    assert (len(corpus.train), len(corpus.valid), len(test)) == (180, 10, 10)
    every = {*corpus.train, *corpus.valid, *test}
    assert every == {
        (f"I have {i} books.", f"Ich habe {i} Bücher.") for i in range(200)
    }
    held_out = sorted(test + corpus.valid)  # drawn from everywhere, not cut off
    assert held_out != sorted(every)[:20]
    assert held_out != sorted(every)[-20:]
    assert corpus.name == "my pairs"
    digest = hashlib.sha256(tsv.read_bytes()).hexdigest()
    assert corpus.checksums == {"my pairs.tsv": digest}
    assert data.load(tsv).test == corpus.test  # a Path will do, and nothing is random


@pytest.mark.parametrize("columns", [(3, 1), ("en", "de")])
def test_columns_are_named_or_numbered(columns, tsv, tmp_path) -> None:
    expected = data.load(tsv)
    rows = [line.split("\t")[:2] for line in tsv.read_text("utf-8").splitlines()]
    head = "de\tnumber\ten\n" if columns == ("en", "de") else ""
    lines = [f"{german}\t{n}\t{english}\n" for n, (english, german) in enumerate(rows)]
    other = tmp_path / "other.tsv"
    other.write_text(head + "".join(lines), encoding="utf-8")
    corpus = data.load(other, columns=columns)
    assert (corpus.train, corpus.test) == (expected.train, expected.test)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((1, 9), r"line 1: has \d columns, but column 9 was requested"),
        ((0, 1), r"columns=\(0, 1\) must be two different ones, from 1"),
        ((1, 1), r"columns=\(1, 1\) must be two different ones"),
        (("en", "de"), "has no column 'en': its first line names 'I have 0 books.'"),
    ],
)
def test_columns_that_are_not_there_are_said(columns, message, tsv) -> None:
    with pytest.raises(DataError, match=message):
        data.load(tsv, columns=columns)


def test_a_spreadsheets_quotes_are_told_of_and_a_speakers_are_kept(tsv) -> None:
    with tsv.open("a", encoding="utf-8") as file:
        file.write('\n"Go!" she said.\t„Geh!“, sagte sie.\n"Run!"\t"Lauf!"\n')
    corpus = data.load(tsv)
    every = {*corpus.train, *corpus.valid, *corpus.test["test"]}
    assert ('"Run!"', '"Lauf!"') in every
    with tsv.open("a", encoding="utf-8") as file:
        file.write('"""Go!"" she said."\t„Geh!“, sagte sie.\n')
    with pytest.raises(DataError, match="line 203: .*doubled, as spreadsheets do"):
        data.load(tsv)


@pytest.fixture
def parallel(tsv) -> str:
    """The same pairs in two files; as data.load takes them."""
    rows = [line.split("\t") for line in tsv.read_text("utf-8").splitlines()]
    for side, suffix in enumerate((".en", ".de")):
        lines = [f"{row[side]}\n" for row in rows]
        tsv.with_suffix(suffix).write_text("".join(lines), encoding="utf-8")
    return f"{tsv.with_suffix('.en')},{tsv.with_suffix('.de')}"


def test_two_files_are_read_line_by_line(tsv, parallel) -> None:
    expected, corpus = data.load(tsv), data.load(parallel)
    assert (corpus.train, corpus.test) == (expected.train, expected.test)
    assert corpus.name == "my pairs"
    assert list(corpus.checksums) == ["my pairs.en", "my pairs.de"]
    for path in parallel.split(","):  # lines that are empty in both do no harm
        Path(path).write_bytes(b"\r\n" + Path(path).read_bytes())
    assert data.load(parallel).train == expected.train


@pytest.mark.parametrize(
    ("suffix", "change", "message"),
    [
        (".en", b"more\nand more\n", r"\.en has 202 lines and the other file 200: li"),
        (".de", b"mehr\n", r"\.de has 201 lines and the other file 200: line by line"),
        (".de", b"\n", r"\.de has 201 lines and the other file 200"),
        (".de", b"f\xfcr\n", r"\.de, line 201: not UTF-8 \(byte 0xfc\); save the file"),
    ],
)
def test_two_files_that_do_not_fit_are_named(suffix, change, message, tsv, parallel):
    with tsv.with_suffix(suffix).open("ab") as file:
        file.write(change)
    with pytest.raises(DataError, match=message):
        data.load(parallel)


def test_a_line_that_is_empty_in_one_of_two_files_is_numbered(tsv, parallel) -> None:
    german = tsv.with_suffix(".de")
    lines = german.read_text("utf-8").splitlines()
    german.write_text("\n".join([*lines[:4], "", *lines[5:]]), encoding="utf-8")
    with pytest.raises(DataError, match="line 5: the German side is empty"):
        data.load(parallel)


def test_a_vocabulary_grows_with_the_text_between_bounds() -> None:
    def size(n_words: int) -> int:
        pairs = [("word " * 6, "wort " * 4)] * (n_words // 10)
        return data.vocabulary_for(data.Corpus("many", pairs, [], {}))

    sizes = [size(n) for n in (100, 60_000, 200_000, 420_000, 10**6)]
    assert sizes == [600, 600, 2000, 4200, 8000]


def test_a_pair_of_a_tsv_takes_few_bytes_while_it_is_loaded(tmp_path) -> None:
    """Besides the text itself. benchmarks/loading_memory.py measures more lines."""
    n_lines, width = 30_000, 60
    path = tmp_path / "large.tsv"
    with path.open("w") as file:
        for n in range(n_lines):
            file.write(f"{n} {'a' * width}\t{n} {'b' * width}\n")
    tracemalloc.start()
    corpus = data.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(corpus.train) > 0.85 * n_lines
    assert (peak - path.stat().st_size) / n_lines < 420


def test_a_tsv_s_order_does_not_change_its_splits(tsv) -> None:
    before = data.load(tsv)
    lines = tsv.read_text("utf-8").split("\n")
    tsv.write_text("\n".join(reversed(lines)), encoding="utf-8")
    assert set(data.load(tsv).test["test"]) == set(before.test["test"])


def test_a_tsv_may_have_a_byte_order_mark_crlf_empty_lines_and_repeats(tsv) -> None:
    expected = data.load(tsv)
    text = tsv.read_text("utf-8").replace("\n", "\r\n\r\n")
    tsv.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n" + text.encode())
    corpus = data.load(tsv)
    assert corpus.train == expected.train
    assert corpus.valid == expected.valid


def test_translations_of_one_english_stay_in_one_split(tsv) -> None:
    with tsv.open("a", encoding="utf-8") as file:
        file.writelines(f"\ni have {i} BOOKS\tAnders {i}." for i in range(200))
    corpus = data.load(tsv)
    sets = [keys(corpus.train), keys(corpus.valid), keys(corpus.test["test"])]
    assert sum(map(len, sets)) == len(set().union(*sets)) == 200


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "no tab",
            r"expected English, tab, German; .* no tab in 'no tab'\. Put one",
        ),
        ("English\t ", r"the German side is empty\. Complete the line or"),
        ("\tDeutsch", r"the English side is empty\. Complete the line or"),
        ("a\t" + "b" * 1_000_000, "longer than 1,000,000 bytes; is this a text"),
    ],
)
def test_a_bad_line_of_a_tsv_is_numbered(tsv, line, message) -> None:
    lines = tsv.read_text("utf-8").split("\n")
    tsv.write_text("\n".join([*lines[:3], line, *lines[3:]]), encoding="utf-8")
    with pytest.raises(DataError, match=f"line 4: {message}"):
        data.load(tsv)


def test_a_long_file_without_a_line_s_end_is_not_read_to_its_end(tsv) -> None:
    with tsv.open("wb") as file:
        file.truncate(2 << 30)  # 2 GB of zeros that take no room on the disk
    start = time.monotonic()
    with pytest.raises(DataError, match="line 1: longer than"):
        data.load(tsv)
    assert time.monotonic() - start < 5


@pytest.mark.skipif(sys.platform != "linux", reason="others allow no such names")
def test_a_tsv_whose_name_is_not_utf_8_is_read_and_named(tsv) -> None:
    odd = tsv.with_name(os.fsdecode(b"paare\xff.tsv"))
    tsv.rename(odd)
    corpus = data.load(odd)
    assert len(corpus.train) == 180
    for text in (corpus.name, str(corpus), corpus.attribution, *corpus.checksums):
        assert "paare\\udcff" in text
        text.encode("utf-8")


def test_a_tsv_that_is_not_utf_8_names_the_line(tsv) -> None:
    tsv.write_bytes("a\tb\nc\td\nfor\tfür\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 3: not UTF-8 \(byte 0xfc\)"):
        data.load(tsv)


def test_ten_pairs_are_enough_to_split_and_fewer_are_counted(tsv) -> None:
    for n in (0, 1, 9):
        tsv.write_text("".join(f"word {i}\tWort {i}\n" for i in range(n)))
        with pytest.raises(DataError, match=rf"falls into {n} groups .* at least 10"):
            data.load(tsv)
    tsv.write_text("".join(f"word {i}\tWort {i}\n" for i in range(10)))
    corpus = data.load(tsv)
    assert (len(corpus.train), len(corpus.valid), len(corpus.test["test"])) == (8, 1, 1)


def test_a_tsv_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*absent\.tsv"):
        data.load(tmp_path / "absent.tsv")


# Keys


@given(text=st.text(max_size=30))
def test_a_key_ignores_case_and_marks_and_is_its_own_key(text) -> None:
    key = sentence_key(text)
    assert sentence_key(key) == key
    assert 0 <= split_position(text) < 1
    if any(c.isalnum() for c in key):
        assert sentence_key(f"  {text}!?. ") == key


def test_different_sentences_have_different_keys() -> None:
    distinct = ["I am", "I", "Iam", "?!", "!", "It is", "its", "Ä", "A"]
    assert len(set(map(sentence_key, distinct))) == len(distinct)
    assert sentence_key("It's  LATE!") == sentence_key("its late") == "its late"
    assert sentence_key("Don’t.") == sentence_key("Don't")


def test_what_was_trained_on_is_told_apart_by_its_text() -> None:
    def told(train):
        return Corpus("toy", train, [("c", "d")], {}).trained_on()

    assert told([("a", "b")]) == told([("a", "b")])
    assert told([("a", "b")])["pairs"] == 1
    others = [[("b", "a")], [("a", "b"), ("a", "b")], [("a", "b\udcff")]]
    assert len({told(each)["sha256"] for each in [[("a", "b")], *others]}) == 4


def test_a_corpus_shows_itself_in_one_line() -> None:
    corpus = Corpus("toy", [("a", "b")], [("c", "d")], {"test": [("e", "f")]})
    assert str(corpus) == "toy: train 1, valid 1, test 1 pairs"
    assert corpus.epoch_pairs(0, 0) == [("a", "b")]
    assert corpus.epoch_pairs(0, 0) is not corpus.train
    assert corpus.valid_sets == {"toy": [("c", "d")]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, line: f"{n}\t{line}", "column 1 holds nothing but numbers"),
        (lambda n, line: f"{line[: line.index(chr(9))]}\t{n}", "column 2 holds"),
        (lambda n, line: line if n else "English\tGerman", "line names the columns"),
        (lambda n, line: line if n != 4 else "a\0b\tc", "line 5: holds a zero byte"),
        (lambda n, line: f"sent-{n}\t{line}", "column 1 .* such as 'sent-39'"),
        (lambda n, line: f"{n / 40:.3f}\t{line}" if n else "score\ten\tde", "column 1"),
        (lambda n, line: f"eng\t{line}", "column 1 is 'eng' in every line"),
        (
            lambda n, line: f"2020-01-01 12:{n + 10}\t{line}",
            "such as '2020-01-01 12:49",
        ),
        (lambda n, line: '"{}"\t"{}"'.format(*line.split("\t")), "are in quotes"),
        (lambda n, line: line if n else "ID\tEnglish\tGerman", "names the columns"),
        (lambda n, line: line if n else "sentence_en\tsentence_de", "names the colum"),
        (lambda n, line: line if n else "Sentence\tTranslation", "names the columns"),
    ],
)
def test_columns_that_are_no_sentences_are_refused(change, message, tmp_path):
    lines = [change(n, f"dog {n} runs\tHund {n} rennt") for n in range(40)]
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(data.DataError, match=message):
        data.load(path)


def test_a_dictionary_may_begin_with_the_names_of_languages(tsv) -> None:
    others = "".join(f"one {i}\teins {i}\n" for i in range(20))
    for first in ("German\tDeutsch", "English\tEnglisch", "Text\tText", "No\tNein"):
        tsv.write_text(f"{first}\n{others}")
        assert sum(map(len, data.load(tsv).test.values())) == 1


def test_names_on_top_of_two_files_are_noticed(tsv, parallel) -> None:
    for path, name in zip(parallel.split(","), ("English", "German"), strict=True):
        Path(path).write_text(f"{name}\n{Path(path).read_text('utf-8')}", "utf-8")
    with pytest.raises(DataError, match="their first lines are names"):
        data.load(parallel)


@pytest.mark.parametrize("columns", [(), (1,), (1, 2, 3), "ab", ("a", 2), 3, (1.0, 2)])
def test_columns_that_are_no_two_are_said(columns, tsv) -> None:
    with pytest.raises(DataError, match="must be two numbers or two names"):
        data.load(tsv, columns=columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\x1bb\tc", r"U\+001B, a control character: remove it"),
        ("a\tb\x0bc", r"U\+000B, an end of a line or page: put a space"),
        ("a\tb\rc\td", r"U\+000D, an end of a line or page"),
        ("a\u2028\tb", r"U\+2028, an end of a line"),
        ("\ufeffa\tb", r"U\+FEFF, a byte-order mark in the middle: remove it"),
        ("a\tb\u202ec", r"U\+202E, a mark that turns the direction"),
        ("a\x93b\tc", r"U\+0093, a sign of a wrong encoding: convert the file"),
        ("\x1b\t\x1b", r"U\+001B"),
    ],
)
def test_a_stray_character_is_named_with_its_line(text, message, tsv, parallel) -> None:
    lines = tsv.read_text("utf-8").split("\n")
    content = "\n".join([*lines[:3], text, *lines[3:]])
    tsv.write_bytes(content.encode())
    with pytest.raises(DataError, match=f"line 4: holds {message}") as caught:
        data.load(tsv)
    assert str(caught.value).isprintable()
    english = Path(parallel.split(",")[0])
    english.write_bytes(content.split("\t")[0].encode() + b"\x1b" + text.encode())
    with pytest.raises(DataError, match=r"line 1: holds U\+001B"):
        data.load(parallel)


def test_what_languages_need_is_no_stray_character(tsv) -> None:
    """Soft hyphens, joiners, marks of direction without effect on others, emoji."""
    kept = "Do\xadnau \u200d\u200e 👩\u200d👩 \xa0„x“"
    with tsv.open("a", encoding="utf-8") as file:
        file.write(f"\n{kept}\t{kept}\n")
    corpus = data.load(tsv)
    assert (kept, kept) in [*corpus.train, *corpus.valid, *corpus.test["test"]]
