"""The options that several commands share, and how a parser gets them."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any, NoReturn

from tformer.cli.streams import UsageError, say

PROGRAM = "python -m tformer"
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


class Parser(argparse.ArgumentParser):
    """Argparse that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Say it, and where to read more; status 2."""
        command = self.prog.removeprefix(PROGRAM).strip()
        hint = f"{PROGRAM} {command} --help" if command else f"{PROGRAM} --help"
        say(f"tformer: error: {message} (see `{hint}`)")
        raise SystemExit(2)


def add_command(
    commands: Any, name: str, run: Any, summary: str, text: str, *lines: str
) -> argparse.ArgumentParser:
    """A command's parser; ``run`` gets its options and returns the exit status."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=textwrap.dedent(text),
        epilog=examples(*lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_model_and_search(parser: argparse.ArgumentParser) -> None:
    """Which model, how wide a search, and where."""
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
    add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def add_device(parser: argparse.ArgumentParser) -> None:
    """Where to compute."""
    parser.add_argument(
        "--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default: auto)"
    )


def add_table(group: Any, table: list[tuple[str, str, Any, Any, str]]) -> None:
    """The options of a table such as `CONFIG_OPTIONS`."""
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


def examples(*commands: str) -> str:
    """The end of a help text."""
    return "examples:\n" + "\n".join(f"  {PROGRAM} {command}" for command in commands)


def given(
    options: argparse.Namespace, table: list[tuple[str, str, Any, Any, str]]
) -> dict[str, Any]:
    """The values that the user gave; the rest is left to the package's defaults."""
    values = {field: getattr(options, field) for _, field, *_ in table}
    return {field: value for field, value in values.items() if value is not None}


def load(options: argparse.Namespace) -> Any:
    """The translator that the options ask for."""
    from tformer.pretrained import load_pretrained
    from tformer.train import choose_device

    return load_pretrained(options.model, device=choose_device(options.device))


def check_search(options: argparse.Namespace) -> None:
    """Refuse a search that makes no sense before a model is loaded for it."""
    if options.beam_size is not None and options.beam_size < 1:
        raise UsageError(f"--beam-size {options.beam_size} must be at least 1")
    penalty = options.length_penalty
    if penalty is not None and not penalty >= 0:
        raise UsageError(f"--length-penalty {penalty} must not be negative")


def option(name: str) -> str:
    """How a field is written on the command line."""
    return "--" + name.replace("_", "-")
