"""``train``: learn a tokenizer and a model from pairs of sentences."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tformer.cli import streams
from tformer.cli.options import (
    CONFIG,
    FIELDS_FOR,
    PROGRAM,
    RECIPE,
    add_command,
    add_corpus,
    add_fields,
    add_machine,
    add_name,
    columns,
    given,
    written,
)
from tformer.cli.streams import (
    UsageError,
    handling,
    say,
    say_at_once,
    shown,
    unwind,
)
from tformer.common.recipe import Recipe
from tformer.config import TransformerConfig

if TYPE_CHECKING:
    from tformer.train import Event
    from tformer.train.ranks import Ranks

RELEASED = "released"  # the name that --from takes for the model in the package


def add_parser(commands: Any) -> None:
    """Add the command ``train`` to the program."""
    parser = add_command(
        commands,
        "train",
        _run,
        "learn a tokenizer and a model from pairs of sentences",
        """\
        Learns a tokenizer and a model from a corpus and writes both, with the history
        of the training, to a run folder. If the folder already holds a run, that run
        resumes from its last checkpoint, with its own settings. Ctrl-C and SIGTERM stop
        after a few steps and keep the checkpoint. Settings that are not given get the
        package's defaults; the vocabulary grows with the corpus (a piece for every
        hundred words, from 600 to 8,000; for grammar, with its few words, 800).

        On several GPUs, start it with torchrun, one process per GPU:
          torchrun --nproc-per-node 2 -m tformer train --corpus multi30k ...
        They share the work of every step, which remains the step of one process, so a
        run may resume with a different number of them.
        """,
        "train --corpus multi30k --steps 300 --out runs/first",
        "train --corpus multi30k --minutes 30 --patience 5 --out runs/longer",
        "train --corpus my-pairs.tsv --steps 2000 --out runs/mine",
        "train --corpus my-pairs.tsv --from released --steps 500 --out runs/tuned",
    )
    add_corpus(
        parser,
        "multi30k, tatoeba, grammar, a mixture such as multi30k+tatoeba, a file "
        "of tab-separated pairs, English first, or two files, one sentence per line: "
        "mine.en,mine.de (default: multi30k)",
    )
    add_name(parser, "--out", "RUN", "the run folder", required=True)
    add_name(
        parser,
        "--from",
        "RUN",
        "start from the weights, the pieces and the sizes of another run, or of "
        "the released model (write: released)",
        dest="start",
    )
    parser.add_argument("--steps", type=int, help="stop after this many updates")
    parser.add_argument(
        "--minutes", type=float, help="stop after this long (or --steps if sooner)"
    )
    parser.add_argument(
        "--restart", action="store_true", help="start over in a folder that holds a run"
    )
    add_machine(parser)
    add_fields(parser.add_argument_group("the model"), TransformerConfig, CONFIG)
    add_fields(parser.add_argument_group("the recipe"), Recipe, RECIPE)


def _run(options: argparse.Namespace) -> int:
    if options.steps is options.minutes is options.last_step is None:
        raise UsageError("train needs a budget: give --steps N or --minutes M")
    folder = Path(options.out)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder} is a file: name a folder for the run")

    from tformer.train.ranks import joined

    ranks = None
    try:
        with joined(options.device) as ranks:
            return _train(options, folder, ranks)
    except Exception as error:
        is_lonely = ranks is None and isinstance(error, ConnectionError)
        if ranks is not None and not ranks.fails_first():  # another process says why
            raise SystemExit(2) from error
        if ranks is not None or is_lonely:
            streams.speak()
        raise


def _train(options: argparse.Namespace, folder: Path, ranks: Ranks) -> int:
    from tformer import data, load_pretrained
    from tformer.train import fit
    from tformer.train.checkpoints import saved_settings

    start = None
    if options.start:
        start = load_pretrained(None if options.start == RELEASED else options.start)
    saved = {} if options.restart else saved_settings(folder)
    name = options.corpus or saved.get("corpus", "multi30k")
    fields = saved.get("config", {}) or FIELDS_FOR.get(name, {})
    if start is not None:
        fields = start.model.config.to_dict()
        theirs = start.tokenizer.algorithm
        if options.tokenizer not in (None, theirs):
            raise UsageError(
                f"--tokenizer {options.tokenizer} is for a run that learns its pieces; "
                f"this one takes those of {options.start}, which are {theirs}"
            )
    config = TransformerConfig.from_dict(fields | given(options, CONFIG))
    recipe = Recipe(**saved.get("recipe", {}) | given(options, RECIPE))
    try:
        with ranks.first_ahead():
            corpus = data.load(name, columns=columns(options))
    except ValueError as error:
        if options.corpus or "corpus" not in saved:
            raise
        raise UsageError(
            f"{folder} holds a run on {name!r}, which cannot be found: give its "
            "--corpus again"
        ) from error
    if not fields and options.vocab_size is None:
        config = replace(config, vocab_size=data.vocabulary_for(corpus))
    if not options.quiet:
        say(f"{corpus.attribution}\n{corpus.licence}".strip())

    shows_bar = sys.stderr.isatty() and not options.quiet
    with _stop_on_signals() as stop:

        def listen(event: Event) -> bool:
            stop.may_wait = True
            if not shows_bar and not options.quiet:
                _report(event)
            return bool(stop.signal)

        run = fit(
            config,
            corpus,
            steps=options.steps,
            minutes=options.minutes,
            device=options.device,
            folder=folder,
            restart=options.restart,
            recipe=recipe,
            start=start,
            progress="bar" if shows_bar else "none",
            on_event=listen,
        )
    if stop.signal:
        say(
            f"tformer: interrupted at step {run.report['steps']}; the checkpoint is "
            f"kept in {folder}: run the same command again to resume"
        )
        return 128 + stop.signal
    if not ranks.is_first:
        return 0
    last = run.report
    print(shown(f"run: {folder}"))
    print(
        f"{last['steps']} steps, {last['seconds']:.0f} s on {last['device']}, "
        f"validation loss {last['valid_loss']:.3f} (stopped: {last['stopped']})"
    )
    print("next:")
    model, on_corpus = written("--model", folder), written("--corpus", name)
    if options.columns:
        on_corpus += f" --columns {shlex.join(options.columns)}"
    print(f'  {PROGRAM} translate {model} "A man is riding a horse."')
    print(f"  {PROGRAM} evaluate {model} {on_corpus}")
    return 0


def _report(event: Event) -> None:
    """One line per evaluation: for logs, where a bar would be noise."""
    if event["kind"] == "start":
        say(
            f"{event['corpus']}\n{event['n_parameters']:,} parameters, "
            f"{event['device']}, {event['precision']}; from step {event['step']}"
        )
    elif event["kind"] == "evaluate":
        sample = event["samples"][0]["translation"] if event["samples"] else ""
        say(
            f"step {event['step']}  train {event['train_loss']:.3f}  "
            f"valid {event['valid_loss']:.3f}  "
            f"{event['tokens_per_second']:,.0f} tokens/s  {sample}"
        )


class _Stop:
    signal = 0  # the one that told us to stop
    may_wait = False  # is there something to keep before we end?


@contextmanager
def _stop_on_signals() -> Iterator[_Stop]:
    """Let Ctrl-C and SIGTERM stop a run with its checkpoint; a second ends it at once.

    So does the first, if training has not begun.
    """
    stop = _Stop()

    def ask(signum: int, frame: Any) -> None:
        if stop.signal and streams.is_supervised():  # torchrun passes signals on again
            return
        if stop.signal or not stop.may_wait:
            unwind(signum, frame)
        stop.signal = signum
        say_at_once("\ntformer: stopping after a few steps (Ctrl-C again: at once)")

    with handling(ask, "SIGINT", "SIGTERM", "SIGHUP"):
        yield stop
