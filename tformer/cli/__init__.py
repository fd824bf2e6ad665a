"""The command line: ``python -m tformer train|translate|evaluate|export|doctor``.

For people without notebooks. A user's mistake gives one line on standard error and exit
status 2, never a traceback; Ctrl-C exits with 130. Results go to standard output,
messages about them to standard error.

Each command has a module; nothing heavy is imported before the arguments are parsed.
Chapter *Training*.
"""

from tformer.cli.program import main

__all__ = ["main"]
