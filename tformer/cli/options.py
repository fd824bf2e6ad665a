"""The options that several commands share, and where they come from.

The settings of a model, a recipe and a search are declared by their dataclasses: names,
types, defaults and choices by the fields, the help by the docstring. Here each field
becomes an option; ranges are checked where the dataclass checks them.
"""

import argparse
import os
import re
import shlex
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from inspect import getdoc
from typing import Any, NoReturn

from tformer.cli.streams import UsageError, say, told_to_stdout
from tformer.common.recipe import Recipe
from tformer.common.search import USUAL, SearchSettings
from tformer.common.text import visible
from tformer.config import TransformerConfig

PROGRAM = "python -m tformer"

# The configuration's special ids are left out: the tokenizer has them.
CONFIG = [each for each in fields(TransformerConfig) if not each.name.endswith("_id")]
RECIPE = list(fields(Recipe))
BEAM, SAMPLE = (
    [each for each in fields(SearchSettings) if each.metadata.get("of") == search]
    for search in ("beam", "sample")
)
NAMED = {  # what stands for a name in the help
    "CORPUS": "a corpus",
    "FILE": "a file",
    "FILE:NAME": "a file",
    "FOLDER": "a folder",
    "NAME": "a dictionary",
    "RUN": "a folder",
}
FIELDS_FOR: dict[str, dict[str, Any]] = {"grammar": {"vocab_size": 800}}


class Parser(argparse.ArgumentParser):
    """Argparse that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Report it, and where to read more; exit with status 2."""
        command = self.prog.removeprefix(PROGRAM).strip()
        hint = f"{PROGRAM} {command} --help" if command else f"{PROGRAM} --help"
        say(f"tformer: error: {' '.join(message.split())} (see `{hint}`)")
        raise SystemExit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse ``--option=--``, of which older versions of argparse make a list."""
        for word in sys.argv[1:] if args is None else args:
            if word == "--":
                break
            if re.fullmatch("--[a-z-]+=--", word):
                self.error(f"{word}: '--' is no value; name such a file './--'")
        return super().parse_known_args(args, namespace)

    def print_help(self, file: Any = None) -> None:
        """Print it, or fail: argparse itself ignores a full disk."""
        with told_to_stdout():
            print(self.format_help(), end="", file=file, flush=True)


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    text: str,
    *lines: str,
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


def add_fields(group: Any, owner: type, chosen: Iterable[Field[Any]]) -> None:
    """Add an option for each field of a dataclass; those not given stay None."""
    texts = _described(owner)
    for each in chosen:
        text, default = texts.get(each.name, "").replace("%", "%%"), each.default
        shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
        kind = _kind(each.type)
        details: dict[str, Any] = {"dest": each.name, "default": None}
        if kind is bool:
            details["action"] = argparse.BooleanOptionalAction
            shown = "yes" if default else "no"
        elif "choices" in each.metadata:
            details["choices"] = each.metadata["choices"]
        else:
            details |= {"type": kind, "metavar": "N" if kind is int else "X"}
        if isinstance(default, tuple):
            details["nargs"] = len(default)
        if default is not None:
            text += f" (default: {shown})"
        group.add_argument(option(each.name), help=text.lstrip(), **details)


def given(options: argparse.Namespace, chosen: Iterable[Field[Any]]) -> dict[str, Any]:
    """The values that the user gave; the rest get the package's defaults."""
    values = {each.name: getattr(options, each.name) for each in chosen}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }


def option(name: str) -> str:
    """How a field is written on the command line; ``n_heads`` is ``--heads``."""
    return "--" + re.sub("^n_(?=.*s$)", "", name).replace("_", "-")


def written(option: str, value: object) -> str:
    """An option with its value, as a shell has to be given it."""
    text = str(value)
    if visible(text) != text:
        return f"{option}=$'{''.join(map(_in_quotes, text))}'"
    words = [f"{option}={text}"] if text.startswith("-") else [option, text]
    return shlex.join(words)


def _in_quotes(character: str) -> str:
    """A character inside of ``$'…'``, where a shell reads escapes."""
    if character in "\\'":
        return f"\\{character}"
    if visible(character) == character:
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def _kind(annotation: Any) -> type:
    """The type of one value of a field: int for ``int | None``, float for a pair."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation):
        annotation = typing.get_args(annotation)[0]
    return annotation


def _described(owner: type) -> dict[str, str]:
    """What a dataclass's docstring says about each of its fields, in one line.

    Nothing under ``python -OO``, which drops docstrings.
    """
    about = (getdoc(owner) or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
    entries = re.split(r"^    (\w+): ", about, flags=re.MULTILINE)[1:]
    return {
        name: " ".join(text.split()).removesuffix(".")
        for name, text in zip(entries[::2], entries[1::2], strict=True)
    }


def add_name(
    parser: Any, option: str, metavar: str, text: str | None, **details: Any
) -> None:
    """Add an option whose value is the name of something in `NAMED`; never empty."""

    def checked(name: str) -> str:
        if not name.strip():
            raise argparse.ArgumentTypeError(
                f"{name!r} is not the name of {NAMED[metavar]}"
            )
        if name == "-":
            raise argparse.ArgumentTypeError(
                "'-' is no name here: for a standard stream leave the option out, or "
                "name a file './-'"
            )
        return name

    parser.add_argument(option, metavar=metavar, type=checked, help=text, **details)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the option for the model."""
    add_name(parser, "--model", "RUN", "a run folder (default: the released model)")


def add_model_and_search(parser: argparse.ArgumentParser) -> None:
    """Add the options for the model, the width of the search, and the device."""
    add_model(parser)
    add_fields(parser, SearchSettings, [each for each in BEAM if each.name != "n_best"])
    add_machine(parser)


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options for the device and for what the terminal shows."""
    parser.add_argument(
        "--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default: auto)"
    )
    parser.add_argument("--quiet", action="store_true", help="no bar, no warnings")


def add_corpus(parser: argparse.ArgumentParser, text: str, **details: Any) -> None:
    """Add the options for the corpus, and for where its sentences are."""
    add_name(parser, "--corpus", "CORPUS", text, **details)
    parser.add_argument(
        "--columns",
        nargs=2,
        metavar=("ENGLISH", "GERMAN"),
        help="where they are in a file of tab-separated columns: numbers from 1, or "
        "names from its first line (default: 1 2)",
    )


def columns(options: argparse.Namespace) -> Any:
    """The columns that were requested, as `tformer.data.load` takes them."""
    if options.columns is None:
        return None
    are_numbers = all(re.fullmatch("-?[0-9]{1,99}", each) for each in options.columns)
    return tuple(int(each) if are_numbers else each for each in options.columns)


def check_search(settings: dict[str, Any]) -> SearchSettings:
    """Reject an impossible search before a model is loaded for it."""
    beam_size = settings.get("beam_size", USUAL.beam_size)
    if "beam_size" not in settings and "n_best" in settings:
        beam_size = max(beam_size, settings["n_best"])
    try:
        return SearchSettings(**settings | {"beam_size": beam_size})
    except (TypeError, ValueError) as error:
        names = "|".join(each.name for each in fields(SearchSettings))
        raise UsageError(
            re.sub(rf"\b({names})=", lambda found: option(found[1]) + " ", str(error))
        ) from None


def load(options: argparse.Namespace) -> Any:
    """The translator that the options ask for."""
    from tformer.pretrained import load_pretrained
    from tformer.train import choose_device

    return load_pretrained(options.model, device=choose_device(options.device))


def examples(*commands: str) -> str:
    """The end of a help text."""
    return "examples:\n" + "\n".join(f"  {PROGRAM} {command}" for command in commands)
