"""The command line: ``python -m tformer train|translate|evaluate``.

For people without notebooks. What the user got wrong ends in one line on standard
error and exit status 2, never in a traceback; Ctrl-C ends with 130. Results go to
standard output, everything said about them to standard error.

Nothing heavy is imported before the arguments are understood.
Chapters: 12, Training; 13, Decoding and scoring.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn, TextIO

__all__ = ["main"]

PROGRAM = "python -m tformer"
CHUNK = 64  # lines translated at once
INTERRUPTED = 130  # the shell's status of a command that Ctrl-C ended

# The same values as TransformerConfig() and Recipe(), which may not be imported before
# --help: (option, field, type or choices, default, help). A test holds them equal.
CONFIG_OPTIONS: list[tuple[str, str, Any, Any, str]] = [
    (
        *("--vocab-size", "vocab_size", int, 6000),
        "pieces, both languages together; 800 for grammar, which has few words",
    ),
    ("--d-model", "d_model", int, 192, "width of the residual stream"),
    ("--heads", "n_heads", int, 6, "attention heads; must divide d-model"),
    ("--d-ff", "d_ff", int, 768, "inner width of the feed-forward networks"),
    ("--encoder-layers", "n_encoder_layers", int, 3, "depth of the encoder"),
    ("--decoder-layers", "n_decoder_layers", int, 3, "depth of the decoder"),
    ("--dropout", "dropout", float, 0.1, "share of activations dropped in training"),
    ("--max-len", "max_len", int, 256, "longest sequence in pieces"),
    (
        *("--positions", "positions", ["sinusoidal", "learned"], "sinusoidal"),
        "what tells one place from another",
    ),
    ("--norm", "norm", ["post", "pre"], "post", "place of the layer norms"),
    ("--activation", "activation", ["relu", "gelu"], "relu", "inside feed-forward"),
]
RECIPE_OPTIONS: list[tuple[str, str, Any, Any, str]] = [
    ("--max-tokens", "max_tokens", int, 4096, "tokens per batch, both sides, padded"),
    ("--warmup-steps", "warmup_steps", int, 1000, "steps of rising learning rate"),
    ("--lr-scale", "lr_scale", float, 1.0, "factor on the paper's learning rate"),
    ("--label-smoothing", "label_smoothing", float, 0.1, "mass spread over all pieces"),
    ("--clip-norm", "clip_norm", float, 1.0, "largest norm of the gradient"),
    ("--average-last", "average_last", int, 5, "checkpoints averaged at the end"),
    ("--eval-every", "eval_every", int, 250, "steps between checkpoints"),
    (
        "--patience",
        "patience",
        int,
        None,
        "stop after so many checkpoints without gain",
    ),
    (
        *("--tokenizer", "tokenizer", ["bpe", "unigram"], "bpe"),
        "how pieces are learned",
    ),
    (
        *("--precision", "precision", ["auto", "fp32", "bf16", "fp16"], "auto"),
        "auto = bf16 or fp16 where the hardware has it",
    ),
    ("--seed", "seed", int, 0, "equal seeds repeat a run exactly on one device"),
]

# What translate hands on to beam search and to sampling, where it is given.
SEARCH_OPTIONS = ("beam_size", "length_penalty")
SAMPLE_OPTIONS = ("temperature", "top_k", "top_p", "seed")

FIELDS_FOR: dict[str, dict[str, Any]] = {"grammar": {"vocab_size": 800}}


class UsageError(Exception):
    """Something the user can put right; its text is the one line they see."""


class _Parser(argparse.ArgumentParser):
    """Argparse that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        command = self.prog.removeprefix(PROGRAM).strip()
        hint = f"{PROGRAM} {command} --help" if command else f"{PROGRAM} --help"
        _say(f"tformer: error: {message} (see `{hint}`)")
        raise SystemExit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status.

    Args:
        arguments: without the program's name; those of the process unless given.

    Returns:
        0 = done, 2 = wrong input (one line on standard error), 130 = Ctrl-C.
    """
    _use_utf8()
    try:
        options = _parser().parse_args(arguments)
        return int(options.run(options))
    except SystemExit as end:  # argparse: --help, --version or a mistake
        return end.code if isinstance(end.code, int) else 2
    except KeyboardInterrupt:
        _say("tformer: interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (
        UsageError,
        ValueError,
        TypeError,
        ArithmeticError,
        OSError,
        ImportError,
    ) as error:
        if os.environ.get("TFORMER_TRACEBACK") == "1":
            raise
        _say(f"tformer: error: {_one_line(error)}")
        return 2


# --- train -------------------------------------------------------------------------


def _train(options: argparse.Namespace) -> int:
    if options.steps is None and options.minutes is None:
        raise UsageError("train needs a budget: give --steps N or --minutes M")
    folder = Path(options.out)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder} is a file: name a folder for the run")

    from tformer import data
    from tformer.config import TransformerConfig
    from tformer.train import Recipe, fit

    if options.restart:
        _clear(folder)
    saved = _settings_of(folder)
    name = options.corpus or saved.get("corpus", "multi30k")
    fields = saved.get("config", {}) or FIELDS_FOR.get(name, {})
    config = TransformerConfig.from_dict(fields | _given(options, CONFIG_OPTIONS))
    recipe = Recipe(**saved.get("recipe", {}) | _given(options, RECIPE_OPTIONS))
    try:
        corpus = data.load(name)
    except ValueError as error:
        if options.corpus or "corpus" not in saved:
            raise
        raise UsageError(
            f"{folder} holds a run on {name!r}, which is not to be found: give its "
            "--corpus again"
        ) from error
    if not options.quiet:
        _say(f"{corpus.attribution}\n{corpus.licence}".strip())

    shows_bar = sys.stderr.isatty() and not options.quiet
    with _stop_on_interrupt() as stop:

        def listen(event: dict[str, Any]) -> bool:
            if not shows_bar and not options.quiet:
                _report(event)
            return stop.wanted

        run = fit(
            config,
            corpus,
            steps=options.steps,
            minutes=options.minutes,
            device=options.device,
            folder=folder,
            recipe=recipe,
            progress="bar" if shows_bar else "none",
            on_event=listen,
        )
    if stop.wanted:
        _say(
            f"tformer: interrupted at step {run.report['steps']}; the checkpoint is "
            f"kept in {folder}: run the same command again to go on"
        )
        return INTERRUPTED
    last = run.report
    print(f"run: {folder}")
    print(
        f"{last['steps']} steps, {last['seconds']:.0f} s on {last['device']}, "
        f"validation loss {last['valid_loss']:.3f} (stopped: {last['stopped']})"
    )
    print("next:")
    print(f'  {PROGRAM} translate --model {folder} "A man is riding a horse."')
    print(f"  {PROGRAM} evaluate --model {folder} --corpus {name}")
    return 0


def _report(event: dict[str, Any]) -> None:
    """One line per evaluation: for logs, where a bar would only be noise."""
    if event["kind"] == "start":
        _say(
            f"{event['corpus']}\n{event['n_parameters']:,} parameters, "
            f"{event['device']}, {event['precision']}; from step {event['step']}"
        )
    elif event["kind"] == "evaluate":
        sample = event["samples"][0]["translation"] if event["samples"] else ""
        _say(
            f"step {event['step']}  train {event['train_loss']:.3f}  "
            f"valid {event['valid_loss']:.3f}  "
            f"{event['tokens_per_second']:,.0f} tokens/s  {sample}"
        )


def _settings_of(folder: Path) -> dict[str, Any]:
    """Corpus, configuration and recipe of the run in a folder; empty if there is none.

    They are the defaults when a run goes on, so that nobody need repeat them.
    """
    checkpoint = folder / "checkpoint.safetensors"
    if not checkpoint.is_file():
        return {}
    from tformer.files import load_tensors

    _, facts = load_tensors(checkpoint)
    settings: dict[str, Any] = facts.get("identity", {})
    return settings


def _clear(folder: Path) -> None:
    """Remove a run's own files, and nothing else that may lie in its folder."""
    for pattern in (
        "checkpoint.safetensors",
        "snapshot-*.safetensors",
        "model.safetensors",
        "tokenizer.model",
        "history.json",
        "card.json",
    ):
        for file in folder.glob(pattern):
            file.unlink()


class _Stop:
    wanted = False


@contextmanager
def _stop_on_interrupt() -> Iterator[_Stop]:
    """Turn the first Ctrl-C into a wish to stop soon; the second ends at once."""
    stop = _Stop()

    def ask(signum: int, frame: Any) -> None:
        if stop.wanted:
            raise KeyboardInterrupt
        stop.wanted = True
        _say("\ntformer: stopping after a few steps (Ctrl-C again: at once)")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


# --- translate ---------------------------------------------------------------------


def _translate(options: argparse.Namespace) -> int:
    _check_way(options)
    if options.sentences and options.input:
        raise UsageError("give sentences or --input FILE, not both")
    for number, sentence in enumerate(options.sentences, start=1):
        if not sentence.strip():
            raise UsageError(
                f"sentence {number} is empty ({sentence!r}): give at least one word"
            )
    lines: Iterable[str] | None = None
    if options.sentences:
        lines = list(options.sentences)
    elif options.input:
        lines = _read_lines(Path(options.input))

    if options.output is not None:
        _check_writable(options.output, "--output")
    translator = _load(options)
    if lines is None and sys.stdin.isatty():
        return _converse(translator, options)
    if lines is None:
        lines = _decoded(sys.stdin, "standard input")
    lines = list(lines)
    _check_lines(translator, lines, options)
    with (
        _writer(options.output) as out,
        _bar(len(lines), "line", options.quiet) as bar,
    ):
        for start in range(0, len(lines), CHUNK):
            chunk = lines[start : start + CHUNK]
            _translate_lines(translator, chunk, options, out, first=start)
            bar.update(len(chunk))
    return 0


def _converse(translator: Any, options: argparse.Namespace) -> int:
    """Answer each sentence that is typed; a mistake does not end the conversation."""
    _say("Type an English sentence and press Enter; Ctrl-D ends.")
    with _writer(options.output) as out:
        for number, line in enumerate(sys.stdin):
            lines = [line.rstrip("\n")]
            try:
                _check_lines(translator, lines, options)
                _translate_lines(translator, lines, options, out, first=number)
            except UsageError as error:
                _say(f"tformer: error: {error}")
    return 0


def _check_lines(
    translator: Any, lines: list[str], options: argparse.Namespace
) -> None:
    """Find what cannot be translated before any work is done or file touched."""
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                for text in _pair(line) if options.score else [line]:
                    translator.encode(text)  # too long for the model, for instance
        except ValueError as error:
            raise UsageError(f"sentence {number}: {_one_line(error)}") from error


def _pair(line: str) -> list[str]:
    """The English and the German of a line; further columns are left alone."""
    columns = line.split("\t")
    if len(columns) < 2:
        raise ValueError(
            f"there is no tab in {line[:40]!r}: --score wants English, a tab, German"
        )
    return columns[:2]


def _translate_lines(
    translator: Any,
    lines: list[str],
    options: argparse.Namespace,
    out: TextIO,
    *,
    first: int,
) -> None:
    """Answer some lines, the first of them number ``first``; blank ones stay blank."""
    full = [number for number, line in enumerate(lines) if line.strip()]
    found = _answers(
        translator, [lines[i] for i in full], options, [first + i for i in full]
    )
    answers = dict(zip(full, found, strict=True))
    for i in range(len(lines)):
        out.writelines(f"{line}\n" for line in answers.get(i, [""]))
    out.flush()


def _answers(
    translator: Any, texts: list[str], options: argparse.Namespace, numbers: list[int]
) -> list[list[str]]:
    """The lines to write for each text, in the way that the options ask for."""
    if options.score:
        english, german = zip(*map(_pair, texts), strict=True) if texts else ((), ())
        scores = translator.score(english, german)
        return [
            [f"{each.log_probability:.4f}\t{text}"]
            for each, text in zip(scores, german, strict=True)
        ]
    given = {
        name: getattr(options, name)
        for name in (*SEARCH_OPTIONS, *SAMPLE_OPTIONS)
        if getattr(options, name) is not None
    }
    if options.n_best is not None:
        lists = translator.n_best(texts, options.n_best, **given)
        return [
            [f"{each.score:.4f}\t{_unbroken(each.text)}" for each in best]
            for best in lists
        ]
    if options.sample:
        from tformer.decode import row_seeds

        seeds = row_seeds(given.pop("seed", 0), max(numbers, default=0) + 1)
        drawn = translator.sample(texts, seed=[seeds[i] for i in numbers], **given)
        return [[_unbroken(text)] for text in drawn]
    return [[_unbroken(text)] for text in translator.translate(texts, **given)]


def _unbroken(text: str) -> str:
    """A translation in one line and one column: any character may come by chance."""
    return " ".join(text.splitlines()).replace("\t", " ")


# --- evaluate ----------------------------------------------------------------------


def _evaluate(options: argparse.Namespace) -> int:
    _check_search(options)
    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit {options.limit} must be at least 1")
    if options.worst is not None and options.worst < 1:
        raise UsageError(f"--worst {options.worst} must be at least 1")
    for name in ("json", "output"):
        if (path := getattr(options, name)) is not None:
            _check_writable(path, f"--{name}")

    from tformer import data, evaluate

    corpus = data.load(options.corpus)
    names = options.test or list(corpus.test)
    for name in names:
        if name not in corpus.test:
            raise UsageError(
                f"{options.corpus} has no test set {name!r}: "
                f"it has {', '.join(corpus.test) or 'none'}"
            )
    if not names:
        raise UsageError(f"{options.corpus} has no test set")
    if options.output and len(names) > 1:
        raise UsageError(
            f"--output takes the translations of one test set, not of {len(names)}: "
            f"add --test NAME ({', '.join(names)})"
        )
    translator = _load(options)

    scores = {}
    for name in names:
        pairs = corpus.test[name][: options.limit]
        references = corpus.tokenised_references.get(name)
        if references is not None:
            references = None if options.no_tokenised else references[: options.limit]
        report = evaluate.score(
            translator,
            pairs,
            tokenised_references=references,
            beam_size=options.beam_size,
            length_penalty=options.length_penalty,
            progress=not options.quiet and sys.stderr.isatty(),
        )
        print(f"{name}: {report}")
        if corpus.is_synthetic:
            print("  (generated sentences: not comparable with scores on real text)")
        if len(pairs) < len(corpus.test[name]):
            print(
                f"  (the first {len(pairs)} of {len(corpus.test[name])} sentences: "
                "not comparable with scores on all of them)"
            )
        checks = evaluate.check(report, tokenizer=translator.tokenizer)
        print(f"  checks: {checks}")
        gold = corpus.alignments.get(name, [])[: len(pairs)]
        shares = evaluate.exact_by_phenomenon(report, gold) if gold else {}
        if gold:
            print(f"  exact match: {report.exact_match:.1%}")
        for phenomenon, share in shares.items():
            print(f"    {share.share:6.1%} of {share.n:4} with {phenomenon}")
        if options.worst:
            print("  the worst by chrF of the sentence:")
            for row in report.worst(options.worst):
                print(f"  {row.chrf:5.1f}  {row.source}")
                print(f"         model      {_unbroken(row.translation)}")
                print(f"         reference  {row.reference}")
        sys.stdout.flush()
        scores[name] = report.to_dict(sentences=False)
        scores[name]["complete"] = len(pairs) == len(corpus.test[name])
        scores[name]["checks"] = asdict(checks)
        if gold:
            scores[name]["phenomena"] = {
                phenomenon: {"n": share.n, "exact_match": share.share}
                for phenomenon, share in shares.items()
            }
        if options.output:
            _write(
                Path(options.output),
                "".join(f"{_unbroken(s.translation)}\n" for s in report.sentences),
            )
    if options.json:
        record = _record(options, corpus, translator, scores)
        _write(Path(options.json), json.dumps(record, indent=2, ensure_ascii=False))
    return 0


def _record(
    options: argparse.Namespace, corpus: Any, translator: Any, scores: dict[str, Any]
) -> dict[str, Any]:
    """All that someone needs to judge or repeat the scores."""
    import datetime
    import platform
    from importlib.metadata import PackageNotFoundError, version

    def package(name: str) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    from tformer.train import device_name

    return {
        "command": f"{PROGRAM} evaluate",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "model": str(options.model) if options.model else "released",
        "tokenizer": translator.tokenizer.fingerprint,
        "corpus": corpus.name,
        "is_synthetic": corpus.is_synthetic,
        "checksums": corpus.checksums,
        "device": device_name(translator.device),
        "versions": {
            "python": platform.python_version(),
            **{name: package(name) for name in ("torch", "sacrebleu", "sacremoses")},
        },
        "scores": scores,
    }


# --- what the commands share -------------------------------------------------------


def _load(options: argparse.Namespace) -> Any:
    from tformer.pretrained import load_pretrained
    from tformer.train import choose_device

    return load_pretrained(options.model, device=choose_device(options.device))


def _given(
    options: argparse.Namespace, table: list[tuple[str, str, Any, Any, str]]
) -> dict[str, Any]:
    """The values that the user gave; the rest is left to the package's defaults."""
    values = {field: getattr(options, field) for _, field, *_ in table}
    return {field: value for field, value in values.items() if value is not None}


def _check_search(options: argparse.Namespace) -> None:
    if options.beam_size is not None and options.beam_size < 1:
        raise UsageError(f"--beam-size {options.beam_size} must be at least 1")
    penalty = options.length_penalty
    if penalty is not None and not penalty >= 0:
        raise UsageError(f"--length-penalty {penalty} must not be negative")


def _check_way(options: argparse.Namespace) -> None:
    """Refuse what makes no sense, or would be left unused without a word."""
    _check_search(options)
    way = "--sample" if options.sample else "--score" if options.score else None
    for name in SEARCH_OPTIONS if way else ():
        if getattr(options, name) is not None:
            raise UsageError(f"{_option(name)} is for beam search, not for {way}")
    for name in SAMPLE_OPTIONS if not options.sample else ():
        if getattr(options, name) is not None:
            raise UsageError(f"{_option(name)} is for sampling: give --sample, too")
    n_best, beam_size = options.n_best, options.beam_size
    if n_best is not None and n_best < 1:
        raise UsageError(f"--n-best {n_best} must be at least 1")
    if n_best is not None and beam_size is not None and n_best > beam_size:
        raise UsageError(f"--n-best {n_best} needs a --beam-size of {n_best} or more")
    temperature, top_k, top_p = options.temperature, options.top_k, options.top_p
    if temperature is not None and not 1e-6 <= temperature < float("inf"):
        raise UsageError(
            f"--temperature {temperature} must be above 0 (at least 1e-6) and finite; "
            "for the best piece every time give --beam-size 1 instead of --sample"
        )
    if top_k is not None and top_k < 1:
        raise UsageError(f"--top-k {top_k} must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise UsageError(f"--top-p {top_p} must be above 0 and at most 1")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _decoded(lines: Iterable[str], name: str) -> Iterator[str]:
    try:
        for line in lines:
            yield line.removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name} is not UTF-8 (byte {error.object[error.start]:#04x}): convert it"
        ) from error


def _read_lines(path: Path) -> list[str]:
    if not path.is_file():
        raise UsageError(f"--input {path}: there is no such file")
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        return list(_decoded(file, str(path)))


def _check_writable(path: str, option: str) -> None:
    """Refuse an impossible output file now, not after an hour's work."""
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{option} {target} is a folder: name a file")
    if not target.parent.is_dir():
        raise UsageError(f"{option} {target}: there is no folder {target.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"{option} {target} cannot be written: permission denied")


@contextmanager
def _writer(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _write(path: Path, text: str) -> None:
    """Write the whole file or leave the old one."""
    part = path.with_name(path.name + ".part")
    part.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    part.replace(path)


def _bar(total: int, unit: str, quiet: bool) -> Any:
    from tqdm import tqdm

    hidden = quiet or total <= CHUNK or not sys.stderr.isatty()
    return tqdm(total=total, unit=unit, desc="translating", disable=hidden)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    return text or type(error).__name__


def _use_utf8() -> None:
    """German needs more than ASCII, whatever the locale says."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")


# --- options -----------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        description="Train a Transformer that translates English into German, "
        "translate with it, and score it.",
        epilog=_examples(
            'translate "A man is riding a horse."',
            "train --corpus multi30k --steps 300 --out runs/first",
            "evaluate --model runs/first --test test_2016_flickr",
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_Parser
    )
    _add_train(commands)
    _add_translate(commands)
    _add_evaluate(commands)
    return parser


def _add_train(commands: Any) -> None:
    parser = _command(
        commands,
        "train",
        _train,
        "learn a tokenizer and a model from pairs of sentences",
        """\
        Learns a tokenizer and a model on a corpus and writes both, with the history
        of the training, into a run folder. If the folder holds a run already, that run
        goes on from its last checkpoint, with its own settings. Ctrl-C stops after a
        few steps and keeps the checkpoint.
        """,
        "train --corpus multi30k --steps 300 --out runs/first",
        "train --corpus multi30k --minutes 30 --patience 5 --out runs/longer",
        "train --corpus my-pairs.tsv --steps 2000 --vocab-size 2000 --out runs/mine",
    )
    parser.add_argument(
        "--corpus",
        help="multi30k, tatoeba, grammar, a mixture such as multi30k+tatoeba, or a "
        "file of tab-separated pairs, English first (default: multi30k)",
    )
    parser.add_argument("--out", required=True, metavar="RUN", help="the run folder")
    parser.add_argument("--steps", type=int, help="stop after so many updates")
    parser.add_argument(
        "--minutes", type=float, help="stop after so much time (or --steps if sooner)"
    )
    parser.add_argument(
        "--restart", action="store_true", help="begin anew in a folder that holds a run"
    )
    _add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    _add_table(parser.add_argument_group("the model"), CONFIG_OPTIONS)
    _add_table(parser.add_argument_group("the recipe"), RECIPE_OPTIONS)


def _add_translate(commands: Any) -> None:
    parser = _command(
        commands,
        "translate",
        _translate,
        "translate English sentences into German",
        """\
        Translates the sentences given, or else a file or standard input line by line:
        as many lines come out as went in, and blank lines stay blank. --n-best N
        writes up to N lines for each sentence, the best first: score, tab, German.
        --score reads English, tab, German and writes log-probability, tab, German.
        """,
        'translate "A man is riding a horse." "Two dogs play in the snow."',
        "translate --model runs/first --input english.txt --output german.txt",
        "translate < english.txt > german.txt",
        'translate --n-best 4 "A man is riding a horse."',
        'translate --sample --top-p 0.9 --seed 7 "A man is riding a horse."',
        "translate --score --input pairs.tsv",
    )
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE", help="in English")
    parser.add_argument("--input", metavar="FILE", help="UTF-8, one sentence a line")
    parser.add_argument("--output", metavar="FILE", help="instead of standard output")
    _add_model_and_search(parser)
    parser.set_defaults(**dict.fromkeys(SEARCH_OPTIONS))  # None: not given
    ways = parser.add_argument_group("other ways than the best translation")
    one = ways.add_mutually_exclusive_group()
    one.add_argument(
        "--n-best",
        type=int,
        metavar="N",
        help="the N best of beam search, each after its score: its log-probability "
        "divided by the length penalty (the beam is as wide as N asks for)",
    )
    one.add_argument(
        "--sample", action="store_true", help="draw every piece by chance instead"
    )
    one.add_argument(
        "--score",
        action="store_true",
        help="no translation: the log-probability of the one that stands after a tab",
    )
    ways.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="with --sample: below 1 bolder about what is probable, above 1 wilder "
        "(default: 1.0)",
    )
    ways.add_argument(
        "--top-k",
        type=int,
        metavar="K",
        help="with --sample: only from the K most probable pieces (default: all)",
    )
    ways.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        help="with --sample: only from the most probable pieces that together have "
        "probability P (default: all)",
    )
    ways.add_argument(
        "--seed",
        type=int,
        metavar="S",
        help="with --sample: equal seeds repeat (default: 0)",
    )


def _add_evaluate(commands: Any) -> None:
    parser = _command(
        commands,
        "evaluate",
        _evaluate,
        "score a model on a corpus's test sets",
        """\
        Translates test sets and prints BLEU and chrF of the cased, detokenised text
        in sacreBLEU's own form, signature included. Where the corpus has tokenised
        references (multi30k) the lower-cased, tokenised BLEU of published tables
        follows: it has another signature, and the two do not compare. Then come the
        checks: translations that are empty, loop, or have an odd length; for grammar,
        where one German is right, also exact match by phenomenon.
        """,
        "evaluate --corpus multi30k --worst 10",
        "evaluate --model runs/first --test test_2016_flickr --output german.txt",
        "evaluate --model runs/first --limit 100 --beam-size 1 --json scores.json",
    )
    parser.add_argument(
        "--corpus", default="multi30k", help="as for train (default: multi30k)"
    )
    parser.add_argument(
        "--test",
        action="append",
        metavar="NAME",
        help="a test set of the corpus; may be repeated (default: all of them)",
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="only the first N sentences of each"
    )
    parser.add_argument(
        "--worst",
        type=int,
        metavar="N",
        help="show the N translations of the lowest chrF (ties: in order)",
    )
    parser.add_argument("--json", metavar="FILE", help="write scores and versions here")
    parser.add_argument("--output", metavar="FILE", help="write the translations here")
    parser.add_argument(
        "--no-tokenised",
        action="store_true",
        help="leave the lower-cased, tokenised BLEU out (it needs sacremoses)",
    )
    _add_model_and_search(parser)


def _command(
    commands: Any, name: str, run: Any, summary: str, text: str, *examples: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=textwrap.dedent(text),
        epilog=_examples(*examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _add_model_and_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", metavar="RUN", help="a run folder (default: the released model)"
    )
    parser.add_argument(
        "--beam-size",
        type=int,
        default=4,
        metavar="N",
        help="hypotheses kept per sentence; 1 = greedy (default: 4)",
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=0.6,
        metavar="A",
        help="more than 0 favours longer translations (default: 0.6)",
    )
    _add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default: auto)"
    )


def _add_table(group: Any, table: list[tuple[str, str, Any, Any, str]]) -> None:
    for option, field, kind, default, text in table:
        shown = "never" if default is None else default
        group.add_argument(
            option,
            dest=field,
            type=str if isinstance(kind, list) else kind,
            choices=kind if isinstance(kind, list) else None,
            metavar=None if isinstance(kind, list) else kind.__name__.upper()[0],
            help=f"{text} (default: {shown})",
        )


def _examples(*commands: str) -> str:
    return "examples:\n" + "\n".join(f"  {PROGRAM} {command}" for command in commands)
