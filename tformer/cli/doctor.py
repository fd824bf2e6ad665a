"""``doctor``: examine a Transformer that stands in a Python file of the user's."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import math
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tformer.cli.options import add_command, add_name
from tformer.cli.streams import UsageError, check_output_is_open, shown

FOUND = 1  # the exit status if there is a finding


def add_parser(commands: Any) -> None:
    """Add the command ``doctor`` to the program."""
    parser = add_command(
        commands,
        "doctor",
        _run,
        "examine a Transformer of your own, and say what is wrong",
        """\
        Runs your file, takes the model from it, and tries what must hold for every
        sound Transformer: that the future cannot change the past, that padding counts
        nowhere, and so on. NAME is an nn.Module, or a class or function without
        required arguments that makes one. The model is called as model(source, target)
        or model(ids), batch first; for anything else, name a dictionary in the same
        file that has the arguments of tformer.doctor.examine (forward, loss, batches,
        decode, …). FILE may be a notebook, whose cells are run in order. Nothing is
        changed. Exit status: 0 = nothing found, 1 = findings, 2 = the model could not
        be examined.
        """,
        "doctor model.py:Net",
        "doctor model.py:Net --pad-id none --bos-id none --eos-id none",
        "doctor model.py:make_model --with doctor --pad-id 3",
    )
    add_name(parser, "model", "FILE:NAME", "a Python file, and the model in it")
    text = "a dictionary in the file, or a function of the model that makes one"
    add_name(parser, "--with", "NAME", text, dest="arguments")
    for name in ("pad", "bos", "eos"):
        parser.add_argument(
            f"--{name}-id",
            type=_id,
            metavar="N",
            default=argparse.SUPPRESS,
            help="the id, or none if there is none",
        )
    parser.add_argument(
        "--accept",
        metavar="CODE",
        nargs="+",
        default=argparse.SUPPRESS,
        help="findings that are meant, such as layers-shared",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        default=argparse.SUPPRESS,
        help="how long it may compute (default: 30)",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--vocab-size",
        type=int,
        metavar="N",
        default=argparse.SUPPRESS,
        help="number of ids (default: as many as there are logits)",
    )


def _id(text: str) -> int | None:
    if text == "none":
        return None
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no id: give a number, or none")
    return number


def _run(options: argparse.Namespace) -> int:
    file, colon, name = options.model.rpartition(":")
    if not colon or not file or not name.isidentifier():
        raise UsageError(
            f"{options.model!r} must be FILE:NAME, such as model.py:Net: a Python "
            "file, and the name of a model in it"
        )
    if not Path(file).is_file():
        raise UsageError(f"{file}: there is no such file")
    check_output_is_open("the report goes there; send it to /dev/null")
    seconds = getattr(options, "seconds", 1.0)
    if not 0 < seconds < math.inf:
        raise UsageError(f"--seconds {seconds} must be positive and finite")
    given = {
        key: getattr(options, key)
        for key in ("pad_id", "bos_id", "eos_id", "vocab_size", "accept", "seconds")
        if hasattr(options, key)
    }
    with redirect_stdout(sys.stderr):  # what the user's own code prints
        report = _examined(options, file, name, given)
    as_json = options.json
    text = json.dumps(report.as_dict(), ensure_ascii=False) if as_json else str(report)
    print(text if as_json else shown(text))
    sys.stdout.flush()
    return 0 if report else FOUND


def _examined(
    options: argparse.Namespace, file: str, name: str, given: dict[str, Any]
) -> Any:
    """The report on the model that a file defines under a name."""
    from torch import nn

    from tformer import doctor

    names = _names(file)
    model = _found(names, file, name)
    if not isinstance(model, nn.Module):
        model = _called(model, f"{file}:{name}")
    if not isinstance(model, nn.Module):
        raise UsageError(
            f"{options.model} gives something of type {type(model).__name__}, not an "
            "nn.Module"
        )
    _check_vocab_size(model, given.get("vocab_size", 0))
    settings: Any = {}
    if options.arguments:
        settings = _found(names, file, options.arguments)
        if callable(settings):
            settings = _called(settings, f"{file}:{options.arguments}", model)
        if not isinstance(settings, dict):
            raise UsageError(
                f"{file}:{options.arguments} is of type {type(settings).__name__}, not "
                "a dictionary of arguments"
            )
    try:
        return doctor.examine(model, **(settings | given))
    except SystemExit as end:
        raise UsageError(f"{options.model} ended the program, by {end!r}") from end
    except doctor.CannotExamine as reason:
        if options.arguments:
            raise
        raise UsageError(
            f"{reason}. From the command line: put such arguments in a dictionary in "
            "the file, and name it with --with"
        ) from reason


def _check_vocab_size(model: Any, vocab_size: int) -> None:
    """Refuse more ids than any table of the model has rows, before they take memory."""
    from torch.nn.parameter import is_lazy

    tables = [*model.parameters(), *model.buffers()]
    if not tables or any(map(is_lazy, tables)):
        return
    largest = max((size for each in tables for size in each.shape), default=0)
    if vocab_size > largest:
        raise UsageError(
            f"--vocab-size {vocab_size} is more ids than the model can tell apart: the "
            f"largest side of its tables is {largest}"
        )


def _names(file: str) -> dict[str, Any]:
    """What the file defines; it is imported, or its cells are, if it is a notebook."""
    path = Path(file).resolve()
    root, name = _package(path)
    sys.path.insert(0, str(root))
    try:
        spec = importlib.util.spec_from_loader(
            name, loader=None, origin=str(path), is_package=False
        )
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        module.__file__ = str(path)
        sys.modules[name] = module  # dataclasses look there for what they belong to
        for text in _cells(path) if path.suffix == ".ipynb" else [path.read_bytes()]:
            exec(compile(text, str(path), "exec"), module.__dict__)
        return module.__dict__
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{file} stopped with {_said(error, path)}") from error


def _package(path: Path) -> tuple[Path, str]:
    """Where imports of the file start, and its full name, for relative imports."""
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        root, parts = root.parent, [root.name, *parts]
    is_taken = len(parts) == 1 and (
        parts[0] in sys.modules or not parts[0].isidentifier()
    )
    return root, f"doctor_of_{path.stem}" if is_taken else ".".join(parts)


def _cells(path: Path) -> list[str]:
    """The code of a notebook, without the lines that only a notebook understands."""
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path.name} is no notebook: {error}") from error
    texts = ["".join(e["source"]) for e in cells if e.get("cell_type") == "code"]
    return [
        "\n".join(
            "" if line.lstrip().startswith(("%", "!")) else line
            for line in text.splitlines()
        )
        for text in texts
        if not text.startswith("%%")
    ]


def _found(names: dict[str, Any], file: str, name: str) -> Any:
    if name not in names:
        theirs = ", ".join(sorted(each for each in names if not each.startswith("_")))
        raise UsageError(f"{file} has no {name!r}: it has {theirs or 'nothing'}")
    return names[name]


def _called(made: Any, name: str, *arguments: Any) -> Any:
    if not callable(made):
        return made
    if not arguments and _wants_some(made):
        raise UsageError(
            f"{name}{inspect.signature(made)} needs arguments: write a function "
            "without arguments that makes the model, and name that"
        )
    try:
        return made(*arguments)
    except (Exception, SystemExit) as error:
        wants = "the model" if arguments else "no arguments"
        raise UsageError(
            f"{name}, called with {wants}, stopped with {_said(error)}"
        ) from error


def _wants_some(made: Any) -> bool:
    """Whether it can't be called without arguments."""
    try:
        inspect.signature(made).bind()
    except TypeError:
        return True
    except ValueError:  # what it wants isn't known
        return False
    return False


def _said(error: BaseException, path: Path | None = None) -> str:
    """An error in one line, with the line of the user's file where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [e.lineno for e in frames if path is None or e.filename == str(path)]
    theirs = [e for e in frames if "tformer" not in Path(e.filename).parts]
    at = lines[-1] if path and lines else theirs[-1].lineno if theirs else None
    if isinstance(error, SyntaxError):
        at = error.lineno
        error = SyntaxError(error.msg)
    where = f" (line {at})" if at else ""
    return f"{type(error).__name__}: {error}{where}"
