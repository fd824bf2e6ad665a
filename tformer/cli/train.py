"""``train``: learn a tokenizer and a model from pairs of sentences."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tformer.cli.options import (
    CONFIG_OPTIONS,
    FIELDS_FOR,
    INTERRUPTED,
    PROGRAM,
    RECIPE_OPTIONS,
    add_command,
    add_device,
    add_table,
    given,
)
from tformer.cli.streams import UsageError, say


def add_parser(commands: Any) -> None:
    """Give the program its command ``train``."""
    parser = add_command(
        commands,
        "train",
        _run,
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
    add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    add_table(parser.add_argument_group("the model"), CONFIG_OPTIONS)
    add_table(parser.add_argument_group("the recipe"), RECIPE_OPTIONS)


def _run(options: argparse.Namespace) -> int:
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
    config = TransformerConfig.from_dict(fields | given(options, CONFIG_OPTIONS))
    recipe = Recipe(**saved.get("recipe", {}) | given(options, RECIPE_OPTIONS))
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
        say(f"{corpus.attribution}\n{corpus.licence}".strip())

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
        say(
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
        say("\ntformer: stopping after a few steps (Ctrl-C again: at once)")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
