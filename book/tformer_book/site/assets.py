"""Files of the extension that are published on the site as they are."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx


def publish(app: Sphinx, room: Path, names: Iterable[str]) -> Path:
    """Copy files of a room to the folder of its name in ``_static``; return that."""
    place = Path(app.outdir) / "_static" / room.name
    place.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copyfile(room / name, place / name)
    return place
