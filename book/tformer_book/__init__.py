"""What only the book needs: its figures, graders and claims, its site and its editions.

It imports `tformer`, and never the other way round.

- ``widgets``: the figures to play with; ``show``: sources, figures, tables in a cell;
- ``check``: graders of the problems; ``claims``: the claims, and their verdicts;
- ``site``: the Sphinx extension; ``press``: executes chapters, builds and serves pages;
- ``course``, ``editions``: what else is made of the chapters.
"""
