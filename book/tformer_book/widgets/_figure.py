"""The base of every figure on a page.

A figure is a folder: its class, the ES modules that draw it, and its style sheet.
Chapter *Attention* has the first figure made this way.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from tformer import figures
from tformer_book.widgets._modules import module_text, style_text


class PageFigure(anywidget.AnyWidget):
    """A figure that does its own maths in the page: a kernel helps, but is not needed.

    A subclass in the folder ``some_figure`` is drawn by ``some_figure.js`` and
    ``some_figure.css`` from there, and by what they import.

    Attributes:
        figure: the folder's name, by which a page of the book finds those files; a
            notebook gets their text.
    """

    figure = traitlets.Unicode(read_only=True).tag(sync=True)

    _home: ClassVar[str] = ""
    _css: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        folder = Path(sys.modules[cls.__module__].__file__ or "").parent
        module = folder / f"{folder.name}.js"
        # (anywidget makes a class of its own for each figure, with _esm as a trait.)
        if "_esm" not in cls.__dict__ and module.exists():
            cls._home = folder.name
            cls._esm = module_text(module)
            cls._css = figures.tokens() + style_text(module.with_suffix(".css"))
        super().__init_subclass__(**options)

    @traitlets.default("figure")
    def _name_of_the_folder(self) -> str:
        return self._home
