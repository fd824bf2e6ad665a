"""The program: understand the arguments, run a command, say what went wrong."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tformer.cli import evaluate, train, translate
from tformer.cli.options import INTERRUPTED, PROGRAM, Parser, examples
from tformer.cli.streams import UsageError, one_line, say, use_utf8

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status.

    Args:
        arguments: without the program's name; those of the process unless given.

    Returns:
        0 = done, 2 = wrong input (one line on standard error), 130 = Ctrl-C, 143 =
        SIGTERM.
    """
    use_utf8()
    try:
        options = build_parser().parse_args(arguments)
        return int(options.run(options))
    except SystemExit as end:  # argparse: --help, --version or a mistake
        return end.code if isinstance(end.code, int) else 2
    except KeyboardInterrupt:
        say("tformer: interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (
        UsageError,
        ValueError,
        TypeError,
        ArithmeticError,
        MemoryError,
        OSError,
        ImportError,
    ) as error:
        if os.environ.get("TFORMER_TRACEBACK") == "1":
            raise
        say(f"tformer: error: {one_line(error)}")
        return 2


def build_parser() -> argparse.ArgumentParser:
    """All commands with their options; torch is not needed for it."""
    parser = Parser(
        prog=PROGRAM,
        description="Train a Transformer that translates English into German, "
        "translate with it, and score it.",
        epilog=examples(
            'translate "A man is riding a horse."',
            "train --corpus multi30k --steps 300 --out runs/first",
            "evaluate --model runs/first --test test_2016_flickr",
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    for command in (train, translate, evaluate):
        command.add_parser(commands)
    return parser
