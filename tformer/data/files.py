"""Files of a corpus: found in the reader's folder, in the cache, or downloaded.

Each file has a pinned address and a SHA-256. A download or a cached file is used only
if its checksum matches. The folder that ``TFORMER_DATA`` names comes first; files there
are taken as they are, and their checksums reported. Chapter *Data*.
"""

import contextlib
import hashlib
import http.client
import os
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tformer.common.locks import locked
from tformer.data.corpus import DataError, DataUnavailable

TIMEOUT = 30.0  # seconds without a byte
ALLOWANCE = 120.0  # seconds for a file of any size, all attempts together
SLOWEST = 5_000  # bytes per second: a file's size adds time to that
ATTEMPTS = 3
PAUSE = 1.0  # seconds before the second attempt, twice that before the third
CHUNK = 1 << 16


@dataclass(frozen=True)
class Remote:
    """One file of a corpus, as its host has it.

    Attributes:
        name: path below the corpus' folder, with "/" between parts.
        url: pinned address.
        size: bytes.
        sha256: hexadecimal.
        optional: the corpus can be read without it.
    """

    name: str
    url: str
    size: int
    sha256: str
    optional: bool = False


def own_folder() -> Path | None:
    """The reader's own folder, ``TFORMER_DATA``, if it is set.

    Raises:
        DataError: it is set to something that is not a folder.
    """
    value = os.environ.get("TFORMER_DATA", "").strip()
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"TFORMER_DATA={value!r} is not a folder; correct it or unset it."
        )
    return folder


def cache_folder() -> Path:
    """Where downloads are kept: the user's cache, ``…/tformer``."""
    try:
        import platformdirs
    except ImportError:  # a bare machine: the usual place on Linux
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(base) / "tformer"
    return Path(platformdirs.user_cache_dir("tformer", appauthor=False))


def sha256(path: Path) -> str:
    """SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def obtain(
    corpus: str, files: Sequence[Remote], *, terms: str
) -> tuple[dict[str, Path], dict[str, str]]:
    """Find every file of a corpus, downloading what is missing.

    Args:
        corpus: the corpus' folder name.
        files: its files. Optional ones are downloaded only along with others, and
            omitted if that fails.
        terms: licence text, printed to stderr once if something is downloaded.

    Returns:
        paths: name → where the file is.
        checksums: "corpus/name" → SHA-256 of the bytes found there.

    Raises:
        DataUnavailable: a file is nowhere to be found and its host unreachable.
        DataError: the host sent something else, or an error.
    """
    own, cache = own_folder(), cache_folder() / corpus
    paths: dict[str, Path] = {}
    checksums: dict[str, str] = {}
    missing: list[Remote] = []
    for file in files:
        if own is not None and (own / corpus / file.name).is_file():
            path = paths[file.name] = own / corpus / file.name
            try:
                checksums[f"{corpus}/{file.name}"] = sha256(path)
            except OSError as error:
                raise DataError(f"cannot read {path}: {error.strerror}.") from error
        elif _is_right(cache / file.name, file):
            paths[file.name] = cache / file.name
            checksums[f"{corpus}/{file.name}"] = file.sha256
        else:
            missing.append(file)
    if any(not file.optional for file in missing):
        _download_all(corpus, missing, cache, terms)
        for file in missing:
            if (cache / file.name).is_file():
                paths[file.name] = cache / file.name
                checksums[f"{corpus}/{file.name}"] = file.sha256
    return paths, checksums


def _is_right(path: Path, file: Remote) -> bool:
    """Whether the file is there, complete and unchanged."""
    try:
        return path.stat().st_size == file.size and sha256(path) == file.sha256
    except OSError:
        return False


def _download_all(
    corpus: str, files: Sequence[Remote], folder: Path, terms: str
) -> None:
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder))
        except OSError as error:
            raise DataError(
                f"cannot write to the cache {folder} ({error.strerror or error}); make "
                f"it writable, or put {_names(files)} into FOLDER/{corpus} and set "
                "TFORMER_DATA=FOLDER."
            ) from error
        # Another process may have fetched some while this one waited for the lock.
        files = [file for file in files if not _is_right(folder / file.name, file)]
        if not files:
            return
        total = sum(file.size for file in files)
        print(
            f"Downloading {corpus} ({total / 1e6:.1f} MB) to {folder}\n{terms}",
            file=sys.stderr,
        )
        advance = stack.enter_context(_progress(corpus, total))
        for file in files:
            try:
                _download(file, folder, advance)
            except DataError as error:
                if file.optional:
                    continue
                raise type(error)(
                    f"{error}. Put {_names(files)} into {folder} yourself (or into "
                    f"FOLDER/{corpus}, with TFORMER_DATA=FOLDER), or try again later."
                ) from None


def _names(files: Sequence[Remote]) -> str:
    return ", ".join(file.name for file in files if not file.optional)


@contextlib.contextmanager
def _progress(label: str, total: int) -> Iterator[Callable[[int], object]]:
    """A bar on stderr; nothing if stderr is not a terminal or tqdm is missing."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda n: None
        return
    with tqdm(
        total=total, desc=label, unit="B", unit_scale=True, disable=None
    ) as progress:
        yield progress.update


def _download(file: Remote, folder: Path, advance: Callable[[int], object]) -> None:
    """Fetch one file into the folder: complete and correct, or not at all."""
    target = folder / file.name
    with _writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    trouble, kind = "", DataError
    allowed = ALLOWANCE + file.size / SLOWEST
    deadline = time.monotonic() + allowed
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            _receive(file, part, advance, deadline)
        except _TooSlowError:
            have = part.stat().st_size if part.is_file() else 0
            raise DataUnavailable(
                f"cannot download {file.url}: it came too slowly, {have} of "
                f"{file.size} bytes in {allowed:.0f} seconds (what came is kept, and "
                "the next attempt continues from there)"
            ) from None
        except urllib.error.HTTPError as error:
            with error:
                trouble = f"the host answered {error.code} {error.reason}"
            if error.code == 416:  # our part does not match the host's file
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                kind = DataError
                break
            kind = DataUnavailable
            continue
        except urllib.error.URLError as error:  # no network: waiting does not help
            raise DataUnavailable(
                f"cannot reach the host of {file.url} ({error.reason})"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            # Stalled, reset or cut off: keep the part, request the rest.
            trouble, kind = str(error) or type(error).__name__, DataUnavailable
            continue
        size = part.stat().st_size
        if _is_right(part, file):
            with _writing(target):
                os.replace(part, target)
            return
        if size < file.size:
            trouble = f"it was cut off after {size} of {file.size} bytes"
            kind = DataUnavailable
            continue
        kind = DataError
        trouble = (
            f"it is not the file it should be and was not used: {size} bytes with "
            f"SHA-256 {sha256(part)} came instead of {file.size} with {file.sha256}"
        )
        part.unlink()
    raise kind(f"cannot download {file.url}: {trouble}")


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Tell a full disk from a network that fails; another attempt would not help."""
    try:
        yield
    except OSError as error:
        name = str(path).removesuffix(".part")
        raise DataError(f"cannot write {name}: {error.strerror}") from error


class _TooSlowError(Exception):
    """The deadline has passed while the host was still sending."""


def _answer(request: urllib.request.Request, deadline: float) -> Any:
    """The host's answer, or an error if its headers drip in past the deadline.

    ``urlopen`` alone would wait as long as a byte arrives now and then.
    """
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(urllib.request.urlopen(request, timeout=TIMEOUT))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        raise _TooSlowError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _receive(
    file: Remote, part: Path, advance: Callable[[int], object], deadline: float
) -> None:
    """Append to ``part`` what is still missing from the file."""
    have = part.stat().st_size if part.is_file() else 0
    if have >= file.size:  # left over from something else, or wrong
        have = 0
    headers = {"User-Agent": "tformer", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(file.url, headers=headers)
    with _answer(request, deadline) as response:
        continued = response.status == 206
        if continued:
            sent = response.headers.get("Content-Range", "")
            if not sent.startswith(f"bytes {have}-"):
                part.unlink(missing_ok=True)
                raise OSError(f"asked for bytes {have}-, the host sent {sent!r}")
        else:
            have = 0
        with _writing(part):
            out = part.open("ab" if continued else "wb")
        with out:
            # One byte more than expected shows that a file is too long; the rest of an
            # endless answer is never read.
            while have <= file.size:
                chunk = response.read1(min(CHUNK, file.size + 1 - have))
                if not chunk:
                    break
                with _writing(part):
                    out.write(chunk)
                    out.flush()
                have += len(chunk)
                advance(len(chunk))
                if have < file.size and time.monotonic() > deadline:
                    raise _TooSlowError
