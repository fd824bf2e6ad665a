"""``translate``: English sentences into German."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from tformer.cli.options import (
    SAMPLE_OPTIONS,
    SEARCH_OPTIONS,
    add_command,
    add_model_and_search,
    check_search,
    load,
    option,
)
from tformer.cli.streams import (
    CHUNK,
    UsageError,
    bar,
    check_writable,
    decoded,
    one_line,
    read_lines,
    say,
    unbroken,
    writer,
)


def add_parser(commands: Any) -> None:
    """Give the program its command ``translate``."""
    parser = add_command(
        commands,
        "translate",
        _run,
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
    add_model_and_search(parser)
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


def _run(options: argparse.Namespace) -> int:
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
        lines = read_lines(Path(options.input))

    if options.output is not None:
        check_writable(options.output, "--output")
    translator = load(options)
    if lines is None and sys.stdin.isatty():
        return _converse(translator, options)
    if lines is None:
        lines = decoded(sys.stdin, "standard input")
    lines = list(lines)
    _check_lines(translator, lines, options)
    with (
        writer(options.output) as out,
        bar(len(lines), "line", options.quiet) as progress,
    ):
        for start in range(0, len(lines), CHUNK):
            chunk = lines[start : start + CHUNK]
            _translate_lines(translator, chunk, options, out, first=start)
            progress.update(len(chunk))
    return 0


def _converse(translator: Any, options: argparse.Namespace) -> int:
    """Answer each sentence that is typed; a mistake does not end the conversation."""
    say("Type an English sentence and press Enter; Ctrl-D ends.")
    with writer(options.output) as out:
        for number, line in enumerate(sys.stdin):
            lines = [line.rstrip("\n")]
            try:
                _check_lines(translator, lines, options)
                _translate_lines(translator, lines, options, out, first=number)
            except UsageError as error:
                say(f"tformer: error: {error}")
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
            raise UsageError(f"sentence {number}: {one_line(error)}") from error


def _check_way(options: argparse.Namespace) -> None:
    """Refuse what makes no sense, or would be left unused without a word."""
    check_search(options)
    way = "--sample" if options.sample else "--score" if options.score else None
    for name in SEARCH_OPTIONS if way else ():
        if getattr(options, name) is not None:
            raise UsageError(f"{option(name)} is for beam search, not for {way}")
    for name in SAMPLE_OPTIONS if not options.sample else ():
        if getattr(options, name) is not None:
            raise UsageError(f"{option(name)} is for sampling: give --sample, too")
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
            [f"{each.score:.4f}\t{unbroken(each.text)}" for each in best]
            for best in lists
        ]
    if options.sample:
        from tformer.decode import row_seeds

        seeds = row_seeds(given.pop("seed", 0), max(numbers, default=0) + 1)
        drawn = translator.sample(texts, seed=[seeds[i] for i in numbers], **given)
        return [[unbroken(text)] for text in drawn]
    return [[unbroken(text)] for text in translator.translate(texts, **given)]
