"""From arrays and labels to figures, without any knowledge of models.

There are two kinds: static ones (a matplotlib ``Figure``) and interactive charts (a
Plotly ``Figure``). Every function returns its figure and shows nothing; each figure has
an alternative text and, if there are numbers behind it, a table of these numbers.
`tformer_book.show.figure` puts all three on the page.
"""

from tformer.figures._drawing import (
    INK,
    PALETTE,
    SERIES,
    WEIGHT_STOPS,
    Table,
    alternative,
    describe,
    ink_on,
    signed_colours,
    style,
    themed,
    weight_colours,
)
from tformer.figures._tokens import by_day, day, tokens
from tformer.figures.charts import bars, curves, lines, training_curves
from tformer.figures.maps import heat_map
from tformer.figures.planes import mixture

__all__ = [
    "INK",
    "PALETTE",
    "SERIES",
    "WEIGHT_STOPS",
    "Table",
    "alternative",
    "bars",
    "by_day",
    "curves",
    "day",
    "describe",
    "heat_map",
    "ink_on",
    "lines",
    "mixture",
    "signed_colours",
    "style",
    "themed",
    "tokens",
    "training_curves",
    "weight_colours",
]
