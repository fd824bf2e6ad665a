"""Download the corpora, once, and print where they lie: ``TFORMER_DATA=FOLDER``.

Usage: ``python tools/corpora.py >> "$GITHUB_ENV"``, as the workflows do: tests read
corpora from that folder, and from nowhere else.
"""

from __future__ import annotations

import sys

from tformer import data
from tformer.data.files import cache_folder


def main() -> int:
    for name in ("multi30k", "tatoeba"):
        data.load(name)
    sys.stdout.reconfigure(newline="\n")  # Bash on Windows keeps a carriage return
    print(f"TFORMER_DATA={cache_folder()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
