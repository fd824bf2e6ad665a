"""Multi30k, task 1: 29,000 English captions of photographs, with German translations.

The raw text of the WMT multimodal task, at one commit of its authors' repository.
Source: Elliott et al. 2016 and 2017. Chapter *Data*.
"""

import gzip
import zlib
from pathlib import Path

from tformer.data.corpus import Corpus, DataError
from tformer.data.files import Remote, obtain

COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
BASE_URL = f"https://raw.githubusercontent.com/multi30k/dataset/{COMMIT}/data/task1"
TEST_SETS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
LICENCE = (
    "Multi30k has no licence file. Its authors provide it for non-commercial research "
    "and education; it derives in part from Flickr30K, whose pictures are under the "
    "Flickr Terms of Use. Do not redistribute it."
)
ATTRIBUTION = (
    "Multi30k: Elliott, Frank, Sima'an, Specia 2016 (W16-3210); test sets of 2017: "
    "Elliott, Frank, Barrault, Bougares, Specia 2017 (W17-4718)."
)
_RAW = """
568929 d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f train.en.gz
637044 726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6 train.de.gz
21650 14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28 val.en.gz
24681 f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a val.de.gz
21077 611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9 \
test_2016_flickr.en.gz
22890 9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8 \
test_2016_flickr.de.gz
19138 76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074 \
test_2017_flickr.en.gz
21471 a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee \
test_2017_flickr.de.gz
8844 aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58 \
test_2017_mscoco.en.gz
10230 799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338 \
test_2017_mscoco.de.gz
"""
_TOKENISED = """
77273 97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00 \
tok/val.lc.norm.tok.de
71917 c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4 \
tok/test_2016_flickr.lc.norm.tok.de
65228 02067e4a9402786a4fcb8c1b6f4307e4a5073ced64800abead5273b54f5f31f6 \
tok/test_2017_flickr.lc.norm.tok.de
30464 e2825990b8a4e5289d2cdba801d57c187810bab9b4f5d87a30c35800a0d871b6 \
tok/test_2017_mscoco.lc.norm.tok.de
"""


def remotes() -> list[Remote]:
    """Every file, with its pinned address, size and checksum."""
    found = []
    for table, folder, optional in ((_RAW, "/raw", False), (_TOKENISED, "", True)):
        for line in table.split("\n"):
            if line:
                size, digest, name = line.split()
                url = f"{BASE_URL}{folder}/{name}"
                found.append(Remote(name, url, int(size), digest, optional))
    return found


def load() -> Corpus:
    """Read Multi30k: train 29,000 pairs, valid 1,014, tests 1,000 + 1,000 + 461.

    Raises:
        DataError: a file is unavailable or damaged.
    """
    paths, checksums = obtain("multi30k", remotes(), terms=f"{LICENCE}\n{ATTRIBUTION}")

    def pairs(name: str) -> list[tuple[str, str]]:
        english = _lines(paths[f"{name}.en.gz"])
        german = _lines(paths[f"{name}.de.gz"])
        if len(english) != len(german):
            raise DataError(
                f"{paths[f'{name}.en.gz']} has {len(english)} lines and "
                f"{paths[f'{name}.de.gz']} has {len(german)}; they must be parallel."
            )
        return list(zip(english, german, strict=True))

    return Corpus(
        name="multi30k",
        train=pairs("train"),
        valid=pairs("val"),
        test={name: pairs(name) for name in TEST_SETS},
        licence=LICENCE,
        attribution=ATTRIBUTION,
        checksums=checksums,
        tokenised_references={
            name: _lines(paths[f"tok/{name}.lc.norm.tok.de"])
            for name in TEST_SETS
            if f"tok/{name}.lc.norm.tok.de" in paths
        },
    )


def _lines(path: Path) -> list[str]:
    """The lines of a text, gzipped or plain, without spaces at their ends.

    Split on line feeds only: captions contain characters that ``splitlines`` would
    take for line ends.
    """
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} is damaged ({error}); replace or remove it."
        ) from error
    return [line.strip() for line in text.removesuffix("\n").split("\n")]
