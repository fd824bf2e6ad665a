"""The command line: what it does. What it refuses stands in test_wrong_lines.py."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tformer import TransformerConfig, cli, data, evaluate, load_pretrained
from tformer.cli import options, streams, translate
from tformer.cli.program import build_parser
from tformer.common.search import SearchSettings
from tformer.tokenization import Tokenizer
from tformer.train import Recipe
from tformer.translator import Candidate, Translator

TINY = [
    *("--vocab-size", "320", "--tokenizer", "bpe", "--d-model", "16", "--heads", "2"),
    *("--d-ff", "32", "--encoder-layers", "1", "--decoder-layers", "1"),
    *("--max-len", "128", "--max-tokens", "256", "--eval-every", "10"),
    *("--warmup-steps", "20", "--device", "cpu"),
]


def error_of(capsys, *arguments: str) -> str:
    """The one line that a mistake ends in; nothing else may be said or raised."""
    assert cli.main(list(arguments)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    [line] = shown.err.splitlines()
    assert line.startswith("tformer: error: ")
    return line


def told(capsys, command: str, *arguments: object) -> str:
    """What a command that succeeds says."""
    assert cli.main([*command.split(), *map(str, arguments)]) == 0
    return capsys.readouterr().out


def typed(text: str) -> io.TextIOWrapper:
    """A standard input that holds a text."""
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")


def hear_ctrl_c() -> None:
    """As in a terminal, whatever the tests were started from: a shell's background job
    ignores Ctrl-C, and its children with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(*arguments: str, **options) -> subprocess.Popen:
    environment = os.environ | {
        "PYTHONPATH": str(Path(cli.__file__).parents[2]),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tformer", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
        preexec_fn=None if os.name == "nt" else hear_ctrl_c,
        **options,
    )


# --- help --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["train", "translate", "evaluate", "export", "doctor"]
)
def test_help_describes_every_option_and_its_examples_work(command, capsys):
    text = told(capsys, command, "--help")
    options = re.findall(r"^  (--[\w-]+)(.*(?:\n {10,}.*)*)", text, re.MULTILINE)
    assert len(options) >= (3 if command in ("export", "doctor") else 7)
    for option, words in options:
        assert len(re.findall("[a-z]{2,}", words)) >= 2, f"{option} is not explained"
    examples = re.findall(r"^  python -m tformer (.*)$", text, re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        arguments = re.findall(r'"[^"]*"|[^" ]+', example.split(" <")[0])
        parsed = build_parser().parse_args([a.strip('"') for a in arguments])
        assert callable(parsed.run)


def test_the_first_help_names_every_command(capsys):
    text = told(capsys, "--help")
    for command in ("train", "translate", "evaluate", "export", "doctor"):
        assert re.search(rf"^ +{command}\b", text, re.MULTILINE)


@pytest.mark.parametrize(
    "command", ["", "train", "translate", "evaluate", "export", "doctor"]
)
def test_help_works_without_docstrings(command):
    """Under ``python -OO``, which drops them; what an option means is not told then."""
    line = [sys.executable, "-OO", "-B", "-m", "tformer", *command.split(), "--help"]
    done = subprocess.run(line, capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--vocab-size" in done.stdout or command != "train"


@pytest.mark.parametrize(
    ("folder", "corpus"),
    [("my run", "it's.tsv"), ("-run", "-x.tsv"), ("$HOME;ls", "a\tb`ls`.tsv")],
)
def test_the_commands_that_training_ends_with_work_as_they_are_printed(
    folder, corpus, pairs_file, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    shutil.copy(pairs_file, corpus)
    given = ["train", f"--corpus={corpus}", f"--out={folder}", "--steps", "1", *TINY]
    assert cli.main(given) == 0
    printed = capsys.readouterr().out.partition("next:\n")[2]
    written = f'printf "%s\\0" {" ".join(printed.splitlines())}'
    words = subprocess.run(["sh", "-c", written], capture_output=True, check=True)
    words = words.stdout.decode().split("\0")[:-1]
    program, first = ["python", "-m", "tformer"], words.index("evaluate") - 3
    assert words[:3] == words[first : first + 3] == program
    model = build_parser().parse_args(words[3:first])
    assert (model.model, model.sentences) == (folder, ["A man is riding a horse."])
    scores = build_parser().parse_args(words[first + 3 :])
    assert (scores.model, scores.corpus) == (folder, corpus)


@pytest.mark.parametrize(
    ("command", "owner", "left_out"),
    [
        ("train", TransformerConfig, {"pad_id", "bos_id", "eos_id", "unk_id"}),
        ("train", Recipe, set()),
        ("translate", SearchSettings, {"search", "n_best", "max_len"}),
    ],
)
def test_every_field_is_an_option(command, owner, left_out, capsys):
    """With its help and its default."""
    text = " ".join(told(capsys, command, "--help").split())
    for field in dataclasses.fields(owner):
        if field.name in left_out:
            continue
        written = options.option(field.name)
        described = text.split("options:", 1)[1]
        _, help_of_it = re.split(rf" {written}[ ,]", described, maxsplit=1)
        about = options._described(owner)[field.name]
        assert about in help_of_it[: len(about) + 120], written
        if field.default is None or field.type is bool:
            continue
        default = field.default
        shown = " ".join(map(str, default)) if type(default) is tuple else default
        assert f"(default: {shown})" in help_of_it[: len(about) + 200], written


def test_the_parser_is_built_without_torch():
    code = (
        "import sys; from tformer.cli.program import build_parser; build_parser();"
        "assert not {'torch', 'numpy', 'sentencepiece'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_option_of_the_model_and_the_recipe_reaches_them(monkeypatch, tmp_path):
    import tformer.train

    caught = {}

    def fit(config, corpus, **options):
        caught.update(options, config=config)
        raise ValueError("enough")

    monkeypatch.setattr(tformer.train, "fit", fit)
    no_corpus = SimpleNamespace(attribution="", licence="")
    monkeypatch.setattr("tformer.data.load", lambda *_, **__: no_corpus)
    given = {"vocab_size": 700, "d_model": 24, "n_heads": 4, "d_ff": 50, "max_len": 99}
    given |= {"n_encoder_layers": 2, "n_decoder_layers": 4, "dropout": 0.3}
    given |= {"positions": "learned", "norm": "pre", "norm_kind": "rms"}
    given |= {"attention": "grouped", "n_groups": 2, "feed_forward": "swiglu"}
    given |= {"activation": "gelu", "tie_embeddings": False, "output_bias": True}
    given |= {"adam_betas": (0.8, 0.7), "adam_epsilon": 1e-5, "clip_norm": 2.0}
    given |= {"max_tokens": 777, "accumulate": 3, "warmup_steps": 5, "last_step": 800}
    given |= {"lr_scale": 0.5, "label_smoothing": 0.2, "average_last": 2}
    given |= {"eval_every": 7, "patience": 3, "precision": "bf16", "seed": 9}
    given |= {"tokenizer": "unigram", "sample_pieces": 0.3, "r_drop": 4.0}
    arguments = []
    for field in options.CONFIG + options.RECIPE:
        value = given[field.name]
        written = options.option(field.name)
        if field.type is bool:
            arguments.append(written.replace("--", "--no-") if not value else written)
        else:
            values = value if isinstance(value, tuple) else (value,)
            arguments += [written, *map(str, values)]
    arguments += ["--out", str(tmp_path / "run"), "--steps", "5", "--minutes", "2"]
    assert cli.main(["train", *arguments]) == 2
    assert (caught["steps"], caught["minutes"]) == (5, 2.0)
    for field, value in given.items():
        owner = caught["config"] if hasattr(caught["config"], field) else None
        assert getattr(owner or caught["recipe"], field) == value, field


# --- train -------------------------------------------------------------------------


def test_training_says_where_it_is_and_what_is_next(pairs_file, tmp_path, capsys):
    folder = tmp_path / "run"
    arguments = ["train", "--corpus", str(pairs_file), "--out", str(folder), *TINY]
    assert cli.main([*arguments, "--steps", "20"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0] == f"run: {folder}"
    assert re.search(r"20 steps, \d+ s on CPU.*validation loss \d\.\d", shown.out)
    commands = re.findall(r"^  python -m tformer (\w+) --model (\S+)", shown.out, re.M)
    assert commands == [("translate", str(folder)), ("evaluate", str(folder))]
    assert re.search(r"^step 10  train \d.* valid \d.*tokens/s", shown.err, re.M)
    assert (folder / "model.safetensors").is_file()


def test_training_goes_on_with_its_own_settings(run, pairs_file, tmp_path, capsys):
    folder = shutil.copytree(run, tmp_path / "run")
    arguments = ["train", "--out", str(folder), "--device", "cpu", "--quiet"]
    assert cli.main([*arguments, "--corpus", str(pairs_file), "--steps", "30"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("30 steps")
    card = json.loads((folder / "card.json").read_text("utf-8"))
    assert card["config"]["d_model"] == 16  # though --d-model was not given again

    line = error_of(capsys, *arguments, "--steps", "40")
    assert "'numbers'" in line
    assert "give its --corpus again" in line
    arguments += ["--corpus", str(pairs_file), "--steps", "40"]
    line = error_of(capsys, *arguments, "--d-ff", "64")
    assert "d_ff=32, this one has 64: choose another folder" in line


def test_training_may_begin_with_another_runs_weights(pairs_file, run, tmp_path):
    """And needs to be told of no size: they are that run's."""
    given = ["train", "--corpus", str(pairs_file), "--out", str(tmp_path / "tuned")]
    assert cli.main([*given, "--from", str(run), "--steps", "2", "--quiet"]) == 0
    tuned, theirs = load_pretrained(tmp_path / "tuned"), load_pretrained(run)
    assert tuned.model.config == theirs.model.config
    assert tuned.tokenizer.fingerprint == theirs.tokenizer.fingerprint
    assert len(tuned.card["start"]) == 64
    assert cli.main([*given, "--steps", "3", "--quiet"]) == 0  # --from is known


def test_the_generated_corpus_needs_no_more_options(monkeypatch, tmp_path, capsys):
    """It has too few words for the vocabulary that real corpora get."""
    import tformer.train

    def fit(config, corpus, **options):
        sentences = [side for pair in corpus.train for side in pair]
        algorithm = options["recipe"].tokenizer
        Tokenizer.train(sentences, config.vocab_size, algorithm=algorithm)
        raise ValueError("enough")

    monkeypatch.setattr(tformer.train, "fit", fit)
    train = ["train", "--corpus", "grammar", "--out", str(tmp_path), "--steps", "5"]
    assert error_of(capsys, *train, "--quiet") == "tformer: error: enough"


def test_restart_begins_anew_and_touches_nothing_else(run, pairs_file, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    (folder / "notes.txt").write_text("mine")
    arguments = ["train", "--out", str(folder), "--corpus", str(pairs_file), *TINY]
    assert cli.main([*arguments, "--steps", "5", "--restart", "--quiet"]) == 0
    card = json.loads((folder / "card.json").read_text("utf-8"))
    assert card["steps"] == 5
    assert (folder / "notes.txt").read_text() == "mine"
    assert [f.name[9:17] for f in folder.glob("snapshot-*")] == ["00000005"]


# --- translate ---------------------------------------------------------------------


def test_sentences_given_are_translated_in_order(run, capsys):
    sentences = ["one two", "three", "four five six"]
    said = told(capsys, "translate --model", run, *sentences)
    assert said.splitlines() == load_pretrained(run).translate(sentences)


WAYS = {
    "translate": (
        "--beam-size 2 --length-penalty 0.9 --precision int8",
        {"beam_size": 2, "length_penalty": 0.9, "precision": "int8"},
    ),
    "n_best": (
        "--n-best 3 --beam-size 5 --length-penalty 0.9 --precision int8",
        {
            "beam_size": 5,
            "length_penalty": 0.9,
            "batch_size": 51,
            "precision": "int8",
        },
    ),
    "sample": (
        "--sample --temperature 0.7 --top-k 9 --top-p 0.8 --seed 4 --precision float32",
        {
            "temperature": 0.7,
            "top_k": 9,
            "top_p": 0.8,
            "seed": [4],
            "precision": "float32",
        },
    ),
    "score": ("--score", {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_translate_gets_its_options_and_no_others(way, run, monkeypatch):
    calls = []

    def spy(self, texts, *more, **options):
        calls.append((list(texts), more, options))
        return []

    monkeypatch.setattr(Translator, way, spy)
    arguments, options = WAYS[way]
    monkeypatch.setenv("TFORMER_TRACEBACK", "1")
    with pytest.raises(ValueError, match=r"zip\(\)"):  # the spy answers nothing
        cli.main(["translate", "--model", str(run), *arguments.split(), "one\teins"])
    more = {"n_best": (3,), "score": (("eins",),)}.get(way, ())
    text = "one" if way == "score" else "one\teins"
    assert calls == [([text], more, options)]


def test_the_best_are_listed_each_after_its_score(run, capsys, monkeypatch):
    monkeypatch.setattr(streams, "CHUNK", 2)
    monkeypatch.setattr(sys, "stdin", typed("one two\n\nthree\nfour"))
    lines = told(capsys, "translate --n-best 5 --model", run).splitlines()
    assert len(lines) == 16
    assert lines[5] == ""  # the blank line
    lists = load_pretrained(run).n_best(["one two", "three", "four"], 5)
    wanted = [f"{each.score:.4f}\t{each.text}" for best in lists for each in best]
    assert [line for line in lines if line] == wanted


def test_samples_repeat_and_each_line_has_its_own(run, capsys, monkeypatch):
    def draw(*options):
        monkeypatch.setattr(sys, "stdin", typed("one two\n\n" + "three\n" * 5))
        said = told(capsys, "translate --sample --model", run, *options)
        return said.splitlines()

    lines = draw("--temperature", "1.2")
    assert len(lines) == 7
    assert len(set(lines[2:])) >= 3  # one sentence, five lines
    monkeypatch.setattr(streams, "CHUNK", 2)  # chunks change nothing
    assert draw("--temperature", "1.2", "--seed", "0") == lines
    assert draw("--temperature", "1.2", "--seed", "1") != lines
    for seed in ("-3", str(10**30)):
        assert len(draw("--temperature", "1.2", "--seed", seed)) == 7
    texts = ["one two", "blank", *["three"] * 5]
    expected = load_pretrained(run).sample(texts, temperature=1.2)
    assert lines == [expected[0], "", *expected[2:]]


@pytest.mark.parametrize("way", ["translate", "n_best", "sample"])
def test_a_translation_with_line_breaks_is_one_line(way, run, capsys, monkeypatch):
    """Pieces of single bytes can spell any character."""
    text = "eins\nzwei\tdrei\x85vier\r\nfünf"
    answer = [Candidate(text, -1.0, -0.5)] if way == "n_best" else text
    monkeypatch.setattr(Translator, way, lambda self, texts, *n, **options: [answer])
    arguments, _ = WAYS[way]
    said = told(capsys, f"translate {arguments} --model", run, "one")
    shown = said.removeprefix("-0.5000\t")
    assert shown == "eins zwei drei vier fünf\n"


def test_given_translations_are_scored(run, tmp_path, capsys):
    file = tmp_path / "pairs.tsv"
    file.write_text("one two\teins zwei\n\nthree\tdrei\tCC BY, somebody\n", "utf-8")
    command = ("translate --score --model", run, "--input", file)
    first, blank, second = told(capsys, *command).splitlines()
    one, two = load_pretrained(run).score(["one two", "three"], ["eins zwei", "drei"])
    assert first == f"{one.log_probability:.4f}\teins zwei"
    assert second == f"{two.log_probability:.4f}\tdrei"
    assert blank == ""
    file.write_text("\n", "utf-8")
    assert told(capsys, *command) == "\n"


def test_lines_of_standard_input_keep_their_places(run, capsys, monkeypatch):
    """And blank ones stay; no input gives no output."""
    monkeypatch.setattr(streams, "CHUNK", 2)
    monkeypatch.setattr(sys, "stdin", typed("one two\n\n   \r\nthree\n\nfour"))
    said = told(capsys, "translate --model", run)
    one, three, four = load_pretrained(run).translate(["one two", "three", "four"])
    assert said == f"{one}\n\n\n{three}\n\n{four}\n"
    monkeypatch.setattr(sys, "stdin", typed(""))
    assert told(capsys, "translate --model", run) == ""


def test_files_are_read_and_written_as_utf_8(run, tmp_path, capsys):
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes("\ufeff\r\none\r\n\r\nfive five\n".encode())  # Notepad's way
    files = ["--input", source, "--output", target]
    assert told(capsys, "translate --model", run, *files) == ""
    one, five = load_pretrained(run).translate(["one", "five five"])
    assert target.read_text("utf-8") == f"\n{one}\n\n{five}\n"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_reader_that_goes_away_ends_it_quietly(run):
    process = start("translate", "--model", run, stdin=subprocess.PIPE)
    process.stdout.close()
    process.stdin.write("one two three\n" * 300)
    process.stdin.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) == 141  # as a shell calls a broken pipe
    assert errors == ""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_ends_other_commands_in_one_line(run):
    process = start("translate", "--model", run, stdin=subprocess.PIPE)
    process.stdin.write("one\n" * 20_000)
    process.stdin.close()
    process.stdout.readline()  # it is at work
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    errors = process.stderr.read()
    assert process.wait(timeout=120) == 130
    assert errors == "tformer: interrupted\n"
    process.stdout.close()
    process.stderr.close()


# --- evaluate ----------------------------------------------------------------------


@pytest.fixture
def scored(run, pairs_file, capsys):
    """``scored(*options)``: what `evaluate` says of the run and its own corpus."""
    return functools.partial(
        told, capsys, "evaluate --model", run, "--corpus", pairs_file
    )


def test_scores_are_those_of_the_package(scored, run, pairs_file, tmp_path):
    """With sacreBLEU's signature."""
    pairs = data.load(pairs_file).test["test"]
    report = evaluate.score(load_pretrained(run), pairs)
    files = ["--json", tmp_path / "s.json", "--output", tmp_path / "out.txt"]
    shown = scored(*files)
    assert f"BLEU|{report.signature} = {report.bleu:.1f} " in shown
    assert f"chrF2|{report.chrf_signature} = {report.chrf:.1f}" in shown
    assert shown.startswith(f"test: {len(pairs)} sentences")
    assert "not comparable" not in shown
    record = json.loads((tmp_path / "s.json").read_text("utf-8"))
    assert record["scores"]["test"]["bleu"] == report.bleu
    assert record["scores"]["test"]["complete"] is True
    assert record["versions"]["sacrebleu"]
    assert record["checksums"] == data.load(pairs_file).checksums
    said = (tmp_path / "out.txt").read_text("utf-8").splitlines()
    assert said == [sentence.translation for sentence in report.sentences]


def test_a_wider_beam_than_usual_is_scored_too(scored, run, pairs_file):
    pairs = data.load(pairs_file).test["test"]
    report = evaluate.score(load_pretrained(run), pairs, beam_size=6)
    assert report.lines[0] in scored("--beam-size", 6)


def test_a_part_of_a_test_set_is_called_a_part(scored):
    shown = scored("--limit", 3, "--beam-size", 1)
    assert shown.startswith("test: 3 sentences, beam 1")
    assert re.search(r"the first 3 of \d+ sentences: not comparable", shown)


def test_checks_and_the_worst_sentences_are_shown(scored, run, pairs_file, tmp_path):
    pairs = data.load(pairs_file).test["test"]
    translator = load_pretrained(run)
    report = evaluate.score(translator, pairs)
    checks = evaluate.check(report, tokenizer=translator.tokenizer)
    json_file = tmp_path / "s.json"
    shown = scored("--worst", 2, "--json", json_file)
    assert f"  checks: {checks}\n" in shown
    assert "exact match" not in shown  # real text has many right translations
    tail = shown.split("the worst by chrF of the sentence:\n")[1].splitlines()
    first, second = report.worst(2)
    assert len(tail) == 6
    assert tail[0] == f"  {first.chrf:5.1f}  {first.source}"
    assert tail[2].split(maxsplit=1) == ["reference", first.reference]
    assert tail[3] == f"  {second.chrf:5.1f}  {second.source}"
    record = json.loads(json_file.read_text("utf-8"))
    kept = record["scores"]["test"]["checks"]
    assert kept["length_ratio"] == checks.length_ratio
    assert kept["too_long"] == list(checks.too_long)


def test_generated_sentences_get_exact_match_by_phenomenon(run, capsys):
    limits = "--test random --limit 3 --beam-size 1"
    shown = told(capsys, f"evaluate --corpus grammar {limits} --model", run)
    assert "\n  exact match: 0.0%\n" in shown
    gold = data.load("grammar").alignments["random"][:3]
    for name in set().union(*(aligned.phenomena for aligned in gold)):
        n = sum(name in aligned.phenomena for aligned in gold)
        assert f"\n      0.0% of    {n} with {name}\n" in shown


def test_multi30k_gets_the_score_of_published_tables_too(run, capsys, corpus_of):
    corpus_of("multi30k")
    command = ("evaluate --limit 2 --beam-size 1 --model", run)
    shown = told(capsys, *command, "--test", "test_2016_flickr")
    assert len(re.findall(r"BLEU\|.*\|tok:13a\|", shown)) == 1
    assert len(re.findall(r"BLEU\|.*\|tok:none\|", shown)) == 1
    shown = told(capsys, *command, "--no-tokenised")
    assert "tok:none" not in shown
    assert len(re.findall(r"^test_\d{4}_\w+: 2 sentences", shown, re.M)) == 3


# --- as a program ------------------------------------------------------------------


def test_as_a_program_mistakes_give_status_2_and_no_traceback():
    process = start("translate", "")
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert out == ""
    assert re.fullmatch(r"tformer: error: sentence 1 is empty.*\n", errors)


@pytest.mark.parametrize("arguments", [[], ["fly"], ["--fly"], ["train", "--fly"]])
def test_unknown_commands_and_options_point_to_help(arguments, capsys):
    line = error_of(capsys, *arguments)
    assert re.search(r"\(see `python -m tformer.* --help`\)$", line)


def test_an_unexpected_kind_of_error_is_not_hidden(monkeypatch):
    def broken(options):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(translate, "_run", broken)
    with pytest.raises(KeyError):
        cli.main(["translate", "one"])


OUT_OF_MEMORY = [
    RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; …"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you …"),
    MemoryError(),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["gpu", "cpu", "python"])
def test_out_of_memory_says_what_to_lower(error, run, capsys, monkeypatch):
    def full(self, texts, **options):
        raise error

    monkeypatch.setattr(Translator, "translate", full)
    line = error_of(capsys, "translate", "--model", str(run), "one")
    assert line.startswith("tformer: error: out of memory: lower --beam-size")


def test_an_error_of_ours_in_pytorch_is_not_hidden(run, monkeypatch):
    def broken(self, texts, **options):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(Translator, "translate", broken)
    with pytest.raises(RuntimeError, match="mat1"):
        cli.main(["translate", "--model", str(run), "one"])


@pytest.mark.parametrize("beam_size", [4, 8, 300, 1024])
def test_a_wide_beam_takes_fewer_sentences(beam_size, run, capsys, monkeypatch):
    """Memory goes with rows, and rows are sentences times hypotheses."""
    rows = []

    def translate(self, texts, *, beam_size, batch_size=64):
        rows.append(min(len(texts), batch_size) * beam_size)
        return texts

    monkeypatch.setattr(Translator, "translate", translate)
    monkeypatch.setattr(sys, "stdin", typed("one two\n" * 130))
    said = told(capsys, f"translate --quiet --beam-size {beam_size} --model", run)
    assert len(said.splitlines()) == 130
    assert 0 < max(rows) <= max(256, beam_size)


@pytest.mark.parametrize(
    "line", ["train --corpus=-- --out r", "translate --input=--", "export --to=-- x"]
)
def test_two_dashes_are_no_value_of_an_option(line, capsys):
    said = error_of(capsys, *line.split())
    assert "'--' is no value" in said


def test_a_vocabulary_that_is_not_chosen_fits_the_corpus(tmp_path):
    pairs = data.load("multi30k").train[:2500]
    file, out = tmp_path / "pairs.tsv", tmp_path / "run"
    file.write_text("".join(f"{en}\t{de}\n" for en, de in pairs), encoding="utf-8")
    sizes = [each for each in TINY if each not in ("--vocab-size", "320")]
    command = ["train", "--corpus", str(file), "--out", str(out), *sizes]
    assert cli.main([*command, "--steps", "1", "--quiet"]) == 0
    card = json.loads((out / "card.json").read_text("utf-8"))
    assert card["config"]["vocab_size"] == data.vocabulary_for(data.load(str(file)))
    assert cli.main([*command, "--steps", "2", "--quiet"]) == 0  # it resumes
