"""What the commands read and write, and what they say about it.

Results go to standard output, messages about them to standard error.
"""

import os
import signal
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from tformer.common import launch
from tformer.common.files import open_atomically
from tformer.common.text import visible

CHUNK = 64  # lines translated at once
LONGEST_LINE = 1 << 20  # bytes: far more than any sentence
READ_SIZE = 1 << 16  # bytes asked for at once
PACKAGE = Path(__file__).parents[1]
STDERR = 2  # the number of standard error, which `prepare` holds open


class UsageError(Exception):
    """Something the user can put right; its text is the one line they see."""


# --- standard streams --------------------------------------------------------------


def prepare() -> None:
    """Make the standard streams able to print German, and closed ones harmless.

    German needs more than ASCII, whatever the locale says; a file's name that is not
    UTF-8 comes out as it went in. The number of a closed stream would go to the next
    file that is opened, and what others print would end up there.
    """
    speak(launch.speaks())
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (to the end of the program)
    ways = {
        sys.stdin: "strict",
        sys.stdout: "surrogateescape",
        sys.stderr: "backslashreplace",
    }
    for stream, errors in ways.items():
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)


def check_output_is_open(instead: str) -> None:
    """Refuse to compute what nobody would see.

    Args:
        instead: what to do if standard output is closed.
    """
    if sys.stdout is None:
        raise UsageError(f"standard output is closed: {instead}")


@contextmanager
def told_to_stdout() -> Iterator[None]:
    """Write to standard output inside; errors name standard output."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        raise UsageError(f"standard output: {error.strerror}") from error


def abandon(stream: Any) -> None:
    """Give up a stream that accepts nothing, or Python would fail on exit."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except AttributeError:  # it was closed from the beginning
        pass


def is_supervised() -> bool:
    """Whether torchrun started us, perhaps as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ


_speaks = True  # of several processes, only one does


def speak(yes: bool = True) -> None:
    """Choose whether to print messages from here on."""
    global _speaks
    _speaks = yes


def say(message: str) -> None:
    """Print a message that is not a result; of several processes, only one does."""
    if not _speaks:
        return
    try:
        print(visible(message), file=sys.stderr, flush=True)
    except OSError:  # nobody is there to be told
        abandon(sys.stderr)


def shown(text: str) -> str:
    """A result for standard output: as it is, unless a terminal would obey it."""
    return visible(text) if sys.stdout.isatty() else text


@contextmanager
def telling_warnings(quiet: bool) -> Iterator[None]:
    """Let a warning of ours be one line; those of libraries are for programmers.

    Whoever asks Python for warnings gets them all, as Python writes them.

    Args:
        quiet: tell none.
    """
    if sys.warnoptions:
        yield
        return

    told: set[str] = set()

    def tell(
        message: Any,
        category: Any,
        filename: str,
        lineno: int,
        file: Any = None,
        line: Any = None,
    ) -> None:
        # A library's word about how we call it, a deprecation say, names our file, too.
        is_ours = category is UserWarning and Path(filename).is_relative_to(PACKAGE)
        text = one_line(message)
        if is_ours and not quiet and text not in told:
            told.add(text)
            say(f"tformer: warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = tell
        yield


def say_at_once(message: str) -> None:
    """Say it from a signal's handler, which may stand inside a print to the stream."""
    if _speaks:
        with suppress(OSError):  # nobody is there to be told
            os.write(STDERR, f"{message}\n".encode(errors="backslashreplace"))


def one_line(error: BaseException) -> str:
    """What an error says, in one line."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return where + error.strerror
    text = " ".join(str(error).split())
    return text or type(error).__name__


# --- lines in ----------------------------------------------------------------------


@contextmanager
def open_input(path: str) -> Iterator[BinaryIO]:
    """A file of lines, or a pipe that has a name."""
    if not os.path.exists(path):
        raise UsageError(f"--input {path}: there is no such file")
    if os.path.isdir(path):
        raise UsageError(f"--input {path} is a folder: name a file")
    with open(path, "rb") as file:
        yield file


def standard_input() -> Any:
    """Standard input as bytes."""
    if sys.stdin is None:
        raise UsageError("standard input is closed: give sentences or --input FILE")
    return sys.stdin.buffer


def chunks(file: BinaryIO, name: str) -> Iterator[list[str]]:
    """The lines of a file or a pipe, a few at a time, as they arrive.

    No more is held than was asked for, however much there is, and lines that have
    arrived do not wait for those that have not.

    Args:
        file: UTF-8; a byte-order mark and Windows line endings do no harm.
        name: what messages call it.

    Raises:
        UsageError: not text, or a line without an end; its number is named.
    """
    n_lines, rest = 0, b""
    while data := _read(file, name):
        *lines, rest = (rest + data).split(b"\n")
        for start in range(0, len(lines), CHUNK):
            chunk = lines[start : start + CHUNK]
            yield [_text(line, name, n_lines + i) for i, line in enumerate(chunk, 1)]
            n_lines += len(chunk)
        if len(rest) > LONGEST_LINE:
            raise UsageError(
                f"{name}, line {n_lines + 1} has more than {LONGEST_LINE:,} bytes: "
                "give one sentence per line"
            )
    if rest:
        yield [_text(rest, name, n_lines + 1)]


def _read(file: Any, name: str) -> bytes:
    try:
        data: bytes = file.read1(READ_SIZE)
        return data
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from error


def _text(line: bytes, name: str, number: int) -> str:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name}, line {number} is not UTF-8 (byte {line[error.start]:#04x}): "
            "convert it"
        ) from error
    if "\0" in text:
        raise UsageError(f"{name}, line {number} holds a zero byte: give a text file")
    return text.removesuffix("\r")


# --- files out ---------------------------------------------------------------------


def check_writable(path: str, option: str) -> None:
    """Reject an impossible output file now, not after an hour's work."""
    if path.endswith("/") and not os.path.isdir(path):
        raise UsageError(f"{option} {path} is the name of a folder: name a file")
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{option} {path} is a folder: name a file")
        if not os.access(path, os.W_OK):
            raise UsageError(f"{option} {path} cannot be written: permission denied")
        if not stat.S_ISREG(mode):
            return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"{option} {path}: its folder cannot be written: permission denied"
        )


@contextmanager
def writer(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears only when complete."""
    if path is None:
        with told_to_stdout():
            yield sys.stdout
        return
    with unwinding(), open_atomically(path) as file:
        text = TextIOWrapper(file, "utf-8", "backslashreplace", newline="\n")
        yield text
        text.detach()


def unbroken(text: str) -> str:
    """A translation as one line and one column: it may hold any character."""
    return " ".join(text.splitlines()).replace("\t", " ")


def bar(total: int | None, out: TextIO, quiet: bool) -> Any:
    """A progress bar, if somebody is watching and the results go elsewhere."""
    from tqdm import tqdm

    is_short = total is not None and total <= CHUNK
    hidden = quiet or is_short or not sys.stderr.isatty() or out.isatty()
    return tqdm(total=total, unit="line", desc="translating", disable=hidden)


# --- signals -----------------------------------------------------------------------


def _end_at_once(signum: int, frame: Any) -> None:
    say_at_once("tformer: interrupted")
    os._exit(128 + signum)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, as an exception of our own.

    A plain `KeyboardInterrupt` that passes through ``exec`` or ``eval``, which every
    dataclass calls while it is imported, makes Python end itself by SIGINT on exit
    instead of returning our status, even if it was handled.
    """


def unwind(signum: int, frame: Any) -> None:
    """Handle a signal by an exception that ends the program."""
    if signum == signal.SIGINT:
        raise Interrupted
    raise SystemExit(128 + signum)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the program inside, even in the middle of an import."""
    with handling(_end_at_once, "SIGINT"):
        yield


@contextmanager
def unwinding() -> Iterator[None]:
    """Let signals that end the program clean up what is open inside."""
    with handling(unwind, "SIGINT", "SIGTERM", "SIGHUP"):
        yield


@contextmanager
def handling(handler: Callable[[int, Any], None], *names: str) -> Iterator[None]:
    """Handle signals inside, except those that the program inherited as ignored."""
    before = {}
    with suppress(ValueError):  # outside the main thread nobody gets signals
        for name in names:
            number = getattr(signal, name, None)  # Windows lacks some
            if number and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
