"""``export``: write a model for another program."""

import argparse
from pathlib import Path
from typing import Any

from tformer.cli.options import add_command, add_model, add_name, load
from tformer.cli.streams import UsageError, shown, unwinding
from tformer.interop import FORMATS


def add_parser(commands: Any) -> None:
    """Add the command ``export`` to the program."""
    parser = add_command(
        commands,
        "export",
        _run,
        "write a model for another program",
        """\
        Writes a model, with its tokenizer, to a folder that another program can open.
        The folder appears once everything is written, or not at all if anything fails.
        An earlier export is replaced; a folder with other things in it is left alone,
        unless --force is given: then the files are added to it.
        """,
        "export --model runs/first --to hf exported/hf",
        "export --to hf exported/released",
        "export --model runs/first --to ctranslate2 exported/fast",
        "export --model runs/first --to onnx exported/onnx",
        "export --model runs/first --to lab exported/lab",
    )
    add_name(parser, "folder", "FOLDER", None)
    parser.add_argument(
        "--to",
        required=True,
        choices=tuple(FORMATS),
        help="; ".join(f"{name}: {what}" for name, what in FORMATS.items()),
    )
    add_model(parser)
    parser.add_argument(
        "--force", action="store_true", help="add to a folder that holds other things"
    )
    parser.set_defaults(device="cpu")


def _run(options: argparse.Namespace) -> int:
    from tformer.interop import export, writer_for
    from tformer.interop.folders import check_folder

    folder = Path(options.folder)
    try:  # before a model is loaded
        check_folder(folder, options.to, force=options.force)
    except (ValueError, IsADirectoryError) as error:
        raise UsageError(str(error)) from error
    writer_for(options.to)
    translator = load(options)
    with unwinding():
        names = export(translator, options.to, folder, force=options.force)
    for name in names:
        print(shown(str(folder / name)))
    return 0
