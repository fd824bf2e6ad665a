"""How much memory it takes to load pairs from a file, and to write them as ids.

    python benchmarks/loading_memory.py --lines 2000000

A file of random words is made in a temporary folder, each line 4 to 14 words of 2 to 9
letters on either side. Prints megabytes: the file, the process before, what it holds
after each step, and the most it ever held.
"""

import argparse
import os
import random
import resource
import sys
import tempfile
from pathlib import Path

from tformer import data
from tformer.data import encode_pairs
from tformer.tokenization import Tokenizer


def main() -> int:
    """Measure one file of so many lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=200_000, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.tsv"
        write(path, options.lines)
        print(f"file {path.stat().st_size / 2**20:,.0f} MB, {options.lines:,} lines")
        tell("before")
        corpus = data.load(path)
        tell("loaded")
        sentences = (side for pair in corpus.train[:10_000] for side in pair)
        tokenizer = Tokenizer.train(sentences, 4000)
        encoded = encode_pairs(corpus.train, tokenizer, 256)
        tell(f"{len(encoded):,} pairs written as ids")
    return 0


def write(path: Path, n_lines: int) -> None:
    """Random words: nearly every sentence is a new one, which is the worst case."""
    draw = random.Random(0)
    letters = "abcdefghijklmnop"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(9999)]
    with path.open("w", encoding="utf-8") as file:
        for _ in range(n_lines):
            sides = (draw.choices(words, k=draw.randint(4, 14)) for _ in range(2))
            print(*map(" ".join, sides), sep="\t", file=file)


def tell(what: str) -> None:
    """What the process holds, and the most that it has held."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    now = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"{what}: {now:,.0f} MB, at most {most:,.0f} MB")


if __name__ == "__main__":
    sys.exit(main())
