"""Interactive figures, and the training dashboard.

A figure is a folder: ``heads/`` holds the class `Heads`, the ES modules that draw it
and its style sheet. What figures share is in ``kit/``, the model that runs in the page
in ``engine/``. A new folder is a new figure; there is no list to maintain.

A module does all of its maths itself, so that the figure works on a page without a
kernel; in Colab and JupyterLab the same figure synchronises its state with Python.
The dashboard consists of plain ipywidgets and needs a kernel.

A figure is imported at its first use. Its base class imports ipywidgets, so
``import tformer`` imports none.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

# `some_figure`, a folder or a file, holds the class SomeFigure.
_HOMES = {
    "".join(part.capitalize() for part in each.name.split("_")): each.name
    for each in iter_modules(__path__)
    if not each.name.startswith("_")
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
