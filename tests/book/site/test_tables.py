"""Tables of words become cards on a phone; tables of numbers stay."""

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from tformer_book.site import tables

WORDS = """
.. list-table::
   :header-rows: 1

   * - Model
     - Asked for
     - Inside the layer
   * - BERT
     - gaps, and whether one sentence follows another
     - GELU
   * - GPT
     - the next piece
     -
"""
NUMBERS = """
.. list-table::
   :header-rows: 1

   * - heads
     - width
     - BLEU
   * - 1
     - 512
     - 24.9
"""
PAIR = """
.. list-table::
   :header-rows: 1

   * - The paper
     - This book
   * - adds what a sublayer makes to what came in, and norms afterwards
     - norms before, since that trains without a long warm-up
"""


def rows_of(text):
    table = next(publish_doctree(text).findall(nodes.table))
    return [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]


@pytest.mark.parametrize(
    ("text", "is_so"), [(WORDS, True), (NUMBERS, False), (PAIR, False)]
)
def test_cards_are_for_several_columns_with_sentences(text, is_so):
    assert tables.is_of_words(rows_of(text)) is is_so


def test_every_cell_but_the_title_begins_with_the_name_of_its_column():
    heads, bert, gpt = rows_of(WORDS)
    tables.name_columns(heads, bert)
    tables.name_columns(heads, gpt)
    assert bert[0].astext() == "BERT"
    assert bert[1].astext() == (
        "Asked for: gaps, and whether one sentence follows another"
    )
    assert bert[2][0][0]["classes"] == ["tf-label"]
    assert gpt[2].astext() == ""  # nothing to name
