"""Standard streams and signals: real processes, as a shell would start them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tformer import cli, load_pretrained

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX streams and signals")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this")

BUFFERED = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
ENVIRONMENT = BUFFERED | {
    "PYTHONPATH": str(Path(cli.__file__).parents[2]),
    "OMP_NUM_THREADS": "1",
    "PYTHON": sys.executable,
}


def shell(line: str, folder: Path, **options) -> subprocess.CompletedProcess:
    """A line of Bash in a folder; ``tformer`` is the program, ``run`` a model."""
    if "/dev/full" in line and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full, as on macOS")
    begin = 'set -o pipefail; tformer() { "$PYTHON" -m tformer "$@"; }\n'
    return subprocess.run(
        ["bash", "-c", begin + line],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=120,
        **options,
    )


@pytest.fixture
def folder(tmp_path, run, pairs_file) -> Path:
    shutil.copytree(run, tmp_path / "run")
    shutil.copy(pairs_file, tmp_path)
    (tmp_path / "lines.txt").write_text("one\ntwo\n" * 100)
    (tmp_path / "old.txt").write_text("old\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tformer translate --model run <&-", "standard input is closed: give sent"),
        ("tformer translate --model run 0> o", "standard input: .*"),
        ("tformer translate --model run one >&-", "standard output is closed: name a"),
        ("tformer evaluate --model run --corpus grammar >&-", "standard output is clo"),
        ("tformer translate --model run one > /dev/full", "standard output: No space"),
        (
            "tformer translate --model run < lines.txt > /dev/full",
            "standard outp.*No s",
        ),
        ("tformer --help > /dev/full", "standard output: No space left on device"),
        ("tformer translate --model run one 1< lines.txt", "standard output: .*"),
        ("tformer translate --model run one --output /dev/full", "/dev/full: No space"),
    ],
)
def test_a_stream_that_does_not_work_is_named_in_one_line(line, message, folder):
    done = shell(line, folder)
    assert done.returncode == 2
    [said] = done.stderr.decode().splitlines()
    assert re.match(f"tformer: error: {message}", said), said
    assert (folder / "lines.txt").read_text() == "one\ntwo\n" * 100


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("tformer fly 2>&-", 2),
        ("tformer fly 2> /dev/full", 2),
        ("tformer fly 2>&- >&- <&-", 2),
        ("tformer translate --model run one --output new.txt >&- <&-", 0),
        ("tformer translate --model run one --output new.txt 2>&-", 0),
        ("tformer translate --model run one 2> /dev/full", 0),
        ("tformer translate --model run one <&-", 0),
        ("tformer --help <&-", 0),
        ("tformer train --help | true", (0, 141)),
        ("tformer translate --model run < lines.txt | head -n 1", 141),
        ("tformer translate --model run < lines.txt 2>&1 | head -n 1", 141),
        ("tformer translate --model run < /dev/null", 0),
        ("tformer translate --model run --input <(echo one)", 0),
        ("echo one | tformer translate --model run --output >(cat)", 0),
        ("tformer translate --model run one --output /dev/null", 0),
    ],
)
def test_where_a_stream_is_not_needed_nothing_is_said(line, status, folder):
    done = shell(line, folder)
    assert done.returncode in (status if isinstance(status, tuple) else (status,))
    assert done.stderr == b""
    if "new.txt" in line:
        assert (folder / "new.txt").read_text().count("\n") == 1
    assert not list(folder.glob(".*"))


def test_a_closed_streams_number_goes_to_no_file_of_ours(folder):
    """Else what a library prints would end up in a model's weights."""
    code = (
        "import sys; from tformer import cli\n"
        "assert cli.main(['translate', '--model', 'run', 'one', '--output', 'a']) == 0"
        "\nassert open('a').fileno() > 2"
    )
    done = shell(f'"$PYTHON" -c "{code}" <&- >&-', folder)
    assert done.stderr == b""
    assert done.returncode == 0


@LINUX
def test_names_that_are_not_utf_8_work_like_any_others(folder):
    name = os.fsdecode(b"caf\xe9")
    shutil.move(folder / "run", folder / name)
    (folder / f"{name}.txt").write_text("one\n")
    one = load_pretrained(folder / name).translate("one")
    files = ["--input", f"{name}.txt", "--output", f"{name}.out"]
    translate = ["translate", "--model", name, *files]
    evaluate = ["evaluate", "--model", name, "--corpus", "numbers.tsv"]
    for arguments in (translate, [*evaluate, "--json", f"{name}.json", "--limit", "2"]):
        done = subprocess.run(
            [sys.executable, "-m", "tformer", *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
    assert (folder / f"{name}.out").read_text() == f"{one}\n"
    assert b'"model": "caf\\udce9"' in (folder / f"{name}.json").read_bytes()


def test_standard_output_may_be_named_and_keeps_what_went_there_before(folder):
    line = "tformer evaluate --model run --corpus numbers.tsv --limit 2 --json"
    done = shell(f"echo begin > log; {line} /dev/fd/1 >> log; echo end >> log", folder)
    assert done.stderr == b""
    lines = (folder / "log").read_text().splitlines()
    assert (lines[0], lines[-1]) == ("begin", "end")
    assert lines[1].startswith("test: 2 sentences")
    assert '  "corpus": "numbers",' in lines


def test_an_output_file_that_is_a_pipe_or_a_link_stays_one(folder):
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("old.txt")
    line = "tformer translate --model run one --output"
    done = shell(f"cat pipe > got & {line} pipe && wait && {line} link", folder)
    assert done.stderr == b""
    assert done.returncode == 0
    assert (folder / "pipe").is_fifo()
    assert (folder / "link").is_symlink()
    assert (folder / "got").read_text() == (folder / "old.txt").read_text() != "old\n"


def test_a_file_may_be_translated_into_itself(folder):
    before = load_pretrained(folder / "run").translate(["one", "two"])
    line = "tformer translate --model run --input lines.txt --output lines.txt"
    done = shell(line, folder)
    assert done.returncode == 0, done.stderr
    expected = "".join(f"{each}\n" for each in before * 100)
    assert (folder / "lines.txt").read_text() == expected


def as_from_a_terminal() -> None:
    """Hear every signal, even if tests run under ``nohup`` or in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


def start(folder: Path, *arguments: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "tformer", *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=as_from_a_terminal,
        **options,
    )


@LINUX
def test_endless_input_is_translated_as_it_comes_in_bounded_memory(folder):
    """What ``yes one | tformer translate`` does."""
    process = start(folder, "translate", "--model", "run", stdin=subprocess.PIPE)

    def feed() -> None:
        try:
            while True:
                process.stdin.write(b"one two three\n" * 5000)
        except (BrokenPipeError, ValueError):
            pass

    threading.Thread(target=feed, daemon=True).start()
    sizes = []
    for number in range(1, 2401):
        assert process.stdout.readline()
        if number in (400, 2400):
            status = Path(f"/proc/{process.pid}/status").read_text()
            sizes.append(int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]))
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait(timeout=60) == 141
    assert errors == b""
    assert sizes[1] - sizes[0] < 30_000  # kB; what came in is more with every line


def test_each_line_is_answered_though_more_may_come(folder):
    process = start(folder, "translate", "--model", "run", stdin=subprocess.PIPE)
    for word in (b"one\n", b"two\n"):
        process.stdin.write(word)
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors == b""


def test_a_line_without_an_end_does_not_fill_the_memory(folder):
    done = shell("tr '\\0' x < /dev/zero | tformer translate --model run", folder)
    assert b"standard input, line 1 has more than" in done.stderr
    assert done.returncode in (2, 141)  # tr finds its reader gone


@pytest.mark.parametrize("after", [0.15, 0.3, 0.6, 0.9, 1.2, 1.6, 2.0])
def test_ctrl_c_at_the_start_ends_at_once(after, folder):
    process = start(folder, "translate", "--model", "run", stdin=subprocess.PIPE)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - asked < 5
    assert process.returncode == 130
    assert errors in (b"", b"tformer: interrupted\n")


@pytest.mark.parametrize(
    ("name", "status"),
    [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)],
)
@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_what_is_stopped_midway_keeps_the_old_file_and_leaves_no_other(
    command, name, status, folder
):
    options = {
        "translate": ["--output", "old.txt"],
        "evaluate": ["--corpus", "grammar", "--test", "random", "--json", "old.txt"],
    }
    arguments = [command, "--model", "run", *options[command]]
    process = start(folder, *arguments, stdin=subprocess.PIPE)
    if command == "translate":
        process.stdin.write(b"one two three\n" * 20)
        process.stdin.flush()
    deadline = time.monotonic() + 60
    while not list(folder.glob(".old.txt.*")):  # it is at work
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(getattr(signal, name))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert b"Traceback" not in errors
    assert (folder / "old.txt").read_text() == "old\n"
    assert not list(folder.glob(".*"))


def test_ctrl_c_inside_exec_gives_the_status_of_ctrl_c(tmp_path):
    """Importing a dataclass calls exec, where Python marks a KeyboardInterrupt."""
    (tmp_path / "program.py").write_text(
        """
import signal, sys
from tformer.cli import streams
with streams.unwinding():
    try:
        exec("signal.raise_signal(signal.SIGINT)")
    except KeyboardInterrupt:
        sys.exit(130)
"""
    )
    command = [sys.executable, "-m", "program"]  # -c would pass in any case
    assert subprocess.run(command, cwd=tmp_path, timeout=60).returncode == 130


def test_ctrl_c_in_the_middle_of_a_message_stops_training_like_any_other(tmp_path):
    """Python's stream lets nobody print while it is printing, not even a handler."""
    (tmp_path / "program.py").write_text(
        """
import sys
from tformer.cli.streams import say
from tformer.cli.train import _stop_on_signals
with _stop_on_signals() as stop:
    stop.may_wait = True
    say("x" * 1_000_000)
sys.exit(128 + stop.signal)
"""
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "program"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        preexec_fn=as_from_a_terminal,
    )
    process.stderr.read(1)  # the pipe is full now, and the message half out
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"stopping after a few steps" in errors


def test_what_was_started_to_ignore_ctrl_c_ignores_it(folder):
    """As ``nohup`` and a shell's background jobs are."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tformer", "translate", "--model", "run"],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    process.stdin.write(b"one\n")
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_help_waits_for_no_library():
    code = "import sys; from tformer import cli; cli.main(['train', '--help']); "
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
