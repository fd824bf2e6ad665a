"""``make serve``: shows the site, and says in one line what keeps it from doing so."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import urllib.request

import pytest

from tformer_book.press import serve


@pytest.fixture
def built(tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("<p>the book</p>" * 100_000)
    monkeypatch.setattr(serve, "HTML", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "port",
    ["99999", "65536", "-1", "9" * 5000, "many", "", "80.5", "1e3", "٨٠٠٠", "8000 "],
)
def test_what_is_no_port_is_refused_in_one_line(port, built, capsys):
    with pytest.raises(SystemExit) as ended:
        serve.main(["--no-browser", f"--port={port}"])
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "is no port: give a number from 1 to 65535" in line


def test_a_port_that_is_taken_is_named(built, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert serve.main(["--no-browser", "--port", str(port)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"serve: port {port}: Address already in use; try PORT=")


def test_without_a_site_it_says_how_to_build_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(serve, "HTML", tmp_path)
    assert serve.main([]) == 2
    assert capsys.readouterr().err == "serve: nothing is built yet; run: make book\n"


def test_the_site_is_served_and_a_browser_that_goes_away_does_no_harm(built):
    code = (
        "import sys; from pathlib import Path; from tformer_book.press import serve;"
        "serve.HTML = Path(sys.argv[1]);"
        "sys.exit(serve.main(['--port', '0', '--no-browser']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code, str(built)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = process.stdout.readline().split()[0]
    port = int(address.rstrip("/").rpartition(":")[2])
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", port)) as rude:
            rude.sendall(b"GET / HTTP/1.0\r\n\r\n")
            now = struct.pack("ii", 1, 0)  # close with a reset, at once
            rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as page:
        assert b"the book" in page.read()
    process.terminate()
    _, errors = process.communicate(timeout=30)
    assert errors == ""
