"""The command line: ``python -m tformer train|translate|evaluate|export``.

For people without notebooks. What the user got wrong ends in one line on standard
error and exit status 2, never in a traceback; Ctrl-C ends with 130. Results go to
standard output, everything said about them to standard error.

A module for each command; nothing heavy is imported before arguments are understood.
Chapter *Training*.
"""

from tformer.cli.program import main

__all__ = ["main"]
