"""``translate``: English sentences into German."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from tformer.cli.options import (
    BEAM,
    SAMPLE,
    add_command,
    add_fields,
    add_model_and_search,
    add_name,
    check_search,
    given,
    load,
    option,
)
from tformer.cli.streams import (
    CHUNK,
    UsageError,
    bar,
    check_output_is_open,
    check_writable,
    chunks,
    one_line,
    open_input,
    say,
    shown,
    standard_input,
    unbroken,
    writer,
)
from tformer.common.search import PRECISIONS, USUAL, SearchSettings


def add_parser(commands: Any) -> None:
    """Add the command ``translate`` to the program."""
    parser = add_command(
        commands,
        "translate",
        _run,
        "translate English sentences into German",
        """\
        Translates the given sentences, or else a file or standard input line by line:
        as many lines come out as go in, and blank lines stay blank. --n-best N writes
        up to N lines per sentence, the best first: score, tab, German.
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
    add_name(parser, "--input", "FILE", "UTF-8, one sentence per line")
    text = "instead of standard output; an old file stays until the new one is there"
    add_name(parser, "--output", "FILE", text)
    add_model_and_search(parser)
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="of the search's matrix products; int8 is faster on a CPU and words a few "
        f"sentences differently (default: {PRECISIONS[0]})",
    )
    ways = parser.add_argument_group("instead of the best translation")
    one = ways.add_mutually_exclusive_group()
    one.add_argument(
        "--n-best",
        type=int,
        metavar="N",
        help="the N best of beam search, each after its score: its log-probability "
        "divided by the length penalty (the beam is as wide as N requires)",
    )
    one.add_argument("--sample", action="store_true", help="sample each piece instead")
    one.add_argument(
        "--score",
        action="store_true",
        help="no translation: the log-probability of the one given after a tab",
    )
    add_fields(parser.add_argument_group("with --sample"), SearchSettings, SAMPLE)


def _run(options: argparse.Namespace) -> int:
    settings = _check_way(options)
    if options.sentences and options.input:
        raise UsageError("give sentences or --input FILE, not both")
    _check_sentences(options.sentences)
    if options.output is None:
        check_output_is_open("name a file with --output")
    else:
        check_writable(options.output, "--output")
    with ExitStack() as stack:
        lines, can_be_read_twice = _source(options, stack)
        translator = load(options)
        n_lines = None
        if can_be_read_twice:
            n_lines = sum(
                _check_lines(translator, chunk, options, first)
                for first, chunk in _numbered(lines())
            )
        is_typed = not can_be_read_twice and sys.stdin.isatty() and not options.input
        if is_typed:
            say("Type an English sentence and press Enter; Ctrl-D ends.")
        out = stack.enter_context(writer(options.output))
        progress = stack.enter_context(bar(n_lines, out, options.quiet or is_typed))
        for first, chunk in _numbered(lines()):
            try:
                _check_lines(translator, chunk, options, first)
                answers = _translate(translator, chunk, options, settings, first)
                ours = shown if out is sys.stdout else str
                out.writelines(f"{ours(line)}\n" for line in answers)
                out.flush()
            except UsageError as error:
                if not is_typed:
                    raise
                say(f"tformer: error: {error}")  # a conversation continues
            progress.update(len(chunk))
    return 0


def _source(
    options: argparse.Namespace, stack: ExitStack
) -> tuple[Callable[[], Iterator[list[str]]], bool]:
    """How to get the lines, a few at a time, and whether that works twice."""
    if options.sentences:
        return lambda: iter([options.sentences]), True
    if not options.input:
        stdin = standard_input()
        return lambda: chunks(stdin, "standard input"), False
    file = stack.enter_context(open_input(options.input))

    def lines() -> Iterator[list[str]]:
        if file.seekable():
            file.seek(0)
        return chunks(file, options.input)

    return lines, file.seekable()


def _numbered(chunks: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Chunks of lines, each with the number of its first line, from 0."""
    first = 0
    for chunk in chunks:
        yield first, chunk
        first += len(chunk)


def _check_way(options: argparse.Namespace) -> dict[str, Any]:
    """Reject options that make no sense, or would be silently ignored.

    Returns:
        The options for the chosen way to translate; for a wide beam, also how many
        sentences to search for at once: fewer, so that memory does not grow with it.
    """
    search, draw = given(options, BEAM), given(options, SAMPLE)
    way = "--sample" if options.sample else "--score" if options.score else None
    if way and search:
        raise UsageError(f"{option(min(search))} is for beam search, not for {way}")
    if draw and not options.sample:
        raise UsageError(f"{option(min(draw))} is for sampling: add --sample")
    if options.precision and options.score:
        raise UsageError("--precision is for searching, not for --score")
    settings = search | draw
    beam_size = check_search(settings).beam_size
    if beam_size > USUAL.beam_size:
        settings["batch_size"] = max(1, CHUNK * USUAL.beam_size // beam_size)
    if options.precision:
        settings["precision"] = options.precision
    return settings


def _check_sentences(sentences: list[str]) -> None:
    for number, sentence in enumerate(sentences, start=1):
        if not sentence.strip():
            raise UsageError(
                f"sentence {number} is empty ({sentence!r}): give at least one word"
            )
        if sentence == "-":
            raise UsageError(
                f"sentence {number} is '-': for standard input give no sentence at all"
            )
        try:
            sentence.encode()
        except UnicodeEncodeError:
            raise UsageError(f"sentence {number} is not UTF-8: {sentence!r}") from None


def _check_lines(
    translator: Any, lines: list[str], options: argparse.Namespace, first: int
) -> int:
    """Find what cannot be translated before trying; return the number of lines."""
    for number, line in enumerate(lines, start=first + 1):
        try:
            if line.strip():
                for text in _pair(line) if options.score else [line]:
                    translator.encode(text)  # too long for the model, for instance
        except ValueError as error:
            raise UsageError(f"sentence {number}: {one_line(error)}") from error
    return len(lines)


def _pair(line: str) -> list[str]:
    """The English and the German of a line; further columns are ignored."""
    columns = line.split("\t")
    if len(columns) < 2:
        raise ValueError(
            f"there is no tab in {line[:40]!r}: --score needs English, a tab, German"
        )
    return columns[:2]


def _translate(
    translator: Any,
    lines: list[str],
    options: argparse.Namespace,
    settings: dict[str, Any],
    first: int,
) -> list[str]:
    """The lines to write for some lines, the first of them number ``first``."""
    full = [i for i, line in enumerate(lines) if line.strip()]  # blank ones stay blank
    texts = [lines[i] for i in full]
    if options.sample:
        from tformer.decode.choosing import STRIDE, row_seeds

        start = settings.get("seed", USUAL.seed) + STRIDE * first
        seeds = row_seeds(start, len(lines))
        settings = settings | {"seed": [seeds[i] for i in full]}
    found = _answers(translator, texts, options, settings)
    answers = dict(zip(full, found, strict=True))
    return [line for i in range(len(lines)) for line in answers.get(i, [""])]


def _answers(
    translator: Any,
    texts: list[str],
    options: argparse.Namespace,
    settings: dict[str, Any],
) -> list[list[str]]:
    """The lines to write for each text, in the way that the options request."""
    if options.score:
        english, german = zip(*map(_pair, texts), strict=True) if texts else ((), ())
        scores = translator.score(english, german)
        return [
            [f"{each.log_probability:.4f}\t{text}"]
            for each, text in zip(scores, german, strict=True)
        ]
    if options.n_best is not None:
        others = {name: each for name, each in settings.items() if name != "n_best"}
        lists = translator.n_best(texts, options.n_best, **others)
        return [
            [f"{each.score:.4f}\t{unbroken(each.text)}" for each in best]
            for best in lists
        ]
    way = translator.sample if options.sample else translator.translate
    return [[unbroken(text)] for text in way(texts, **settings)]
