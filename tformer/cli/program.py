"""The program: parse the arguments, run a command, report what went wrong."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from tformer.cli import doctor, evaluate, export, streams, train, translate
from tformer.cli.options import PROGRAM, Parser, examples
from tformer.cli.streams import UsageError, one_line, say

WRONG = 2
INTERRUPTED = 130  # the shell's status of a command that Ctrl-C ended
UNHEARD = 141  # … and of one whose reader went away
MISTAKES = (UsageError, ValueError, TypeError, ArithmeticError, OSError, ImportError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status.

    Args:
        arguments: without the program's name; those of the process by default.

    Returns:
        0 = done, 1 = the doctor has findings, 2 = wrong input (one line on standard
        error), and as shells have it:
        130 = Ctrl-C, 141 = the reader of the output went away, 143 = SIGTERM.
    """
    streams.prepare()
    with ExitStack() as stack:
        if arguments is None:  # we are the program, not called by another
            stack.enter_context(streams.ending_at_once())
        try:
            status = _run(arguments)
            with streams.told_to_stdout():
                return status
        except KeyboardInterrupt:
            say("tformer: interrupted")
            return INTERRUPTED
        except BrokenPipeError:  # `| head`
            streams.abandon(sys.stdout)
            return UNHEARD
        except (*MISTAKES, MemoryError, RuntimeError) as error:
            if os.environ.get("TFORMER_TRACEBACK") == "1" or _is_ours(error):
                raise
            say(f"tformer: error: {_told(error)}")
            streams.abandon(sys.stdout)
            return WRONG


def _is_ours(error: Exception) -> bool:
    """Whether it is our fault: a RuntimeError, unless memory ran out."""
    if isinstance(error, (*MISTAKES, MemoryError)):
        return False
    from tformer.train.devices import NO_MEMORY

    return not any(each in str(error).lower() for each in NO_MEMORY)


def _told(error: Exception) -> str:
    """What the user reads: the error's own message, or a remedy if memory ran out."""
    message = one_line(error)
    if isinstance(error, MISTAKES) or message.startswith("out of memory: "):
        return message
    return "out of memory: lower --beam-size, give shorter lines, or use another device"


def _run(arguments: Sequence[str] | None) -> int:
    try:
        options = build_parser().parse_args(arguments)
        with streams.telling_warnings(getattr(options, "quiet", False)):
            return int(options.run(options))
    except SystemExit as end:  # argparse: --help, --version or a mistake; a signal
        return end.code if isinstance(end.code, int) else WRONG


def build_parser() -> argparse.ArgumentParser:
    """All commands with their options; this needs no torch."""
    parser = Parser(
        prog=PROGRAM,
        description="Train a Transformer that translates English into German, "
        "translate with it, score it, export it to other programs, and examine one "
        "of your own.",
        epilog=examples(
            'translate "A man is riding a horse."',
            "train --corpus multi30k --steps 300 --out runs/first",
            "evaluate --model runs/first --test test_2016_flickr",
            "export --model runs/first --to hf exported/hf",
            "doctor model.py:Net",
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    for command in (train, translate, evaluate, export, doctor):
        command.add_parser(commands)
    return parser
