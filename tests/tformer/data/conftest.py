"""A host that can be told how to misbehave, and where the corpora lie."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tformer.data import files


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, no folder of the reader's own, and no patience."""
    folder = tmp_path / "cache"
    monkeypatch.delenv("TFORMER_DATA", raising=False)
    monkeypatch.delenv("TFORMER_REQUIRE_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(files, "cache_folder", lambda: folder)
    monkeypatch.setattr(files, "TIMEOUT", 0.4)
    monkeypatch.setattr(files, "PAUSE", 0.01)
    return folder


class Host:
    """A server on the loopback; ``behaviours`` are used up request by request.

    Attributes:
        content: path → the right bytes.
        behaviours: what to do with the next requests; "good" when used up.
        requests: (path, Range header or None) of each request so far.
    """

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.behaviours: list[str] = []
        self.requests: list[tuple[str, str | None]] = []
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                host.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.stop = threading.Event()
        threading.Thread(
            target=self.server.serve_forever, args=(0.01,), daemon=True
        ).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        self.requests.append((handler.path, wanted))
        behaviour = self.behaviours.pop(0) if self.behaviours else "good"
        body = self.content.get(handler.path)
        handler.close_connection = True
        if behaviour in ("404", "500", "503") or body is None:
            handler.send_error(int(behaviour) if behaviour.isdigit() else 404)
            return
        if behaviour == "lies":  # right length, wrong bytes
            body = bytes(byte ^ 1 for byte in body)
        elif behaviour == "page":  # a captive portal: 200 and another thing
            body = b"<html>Please log in.</html>"
        elif behaviour == "endless":
            body = body + b"\0" * 5_000_000
        start = 0
        if wanted and behaviour != "ignores range":
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if behaviour == "416" or start >= len(body):
                handler.send_error(416)
                return
            handler.send_response(206)
            start += behaviour == "wrong range"
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/*")
        else:
            handler.send_response(200)
        rest = body[start:]
        handler.send_header("Content-Length", str(len(rest)))
        if behaviour == "drips headers":
            handler.flush_headers()
            self.drip(handler, b"X-More: " + b"x" * 600)
            return
        handler.end_headers()
        if behaviour == "drips":
            self.drip(handler, rest)
            return
        if behaviour in ("stalls", "breaks off"):
            handler.wfile.write(rest[: len(rest) // 2])
            handler.wfile.flush()
            if behaviour == "stalls":
                self.stop.wait(60)
            else:
                handler.connection.shutdown(socket.SHUT_RDWR)
            return
        with contextlib.suppress(OSError):  # the client may have had enough
            handler.wfile.write(rest)

    def drip(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        """Send a byte at a time: never silent, never done."""
        with contextlib.suppress(OSError):
            for byte in content:
                handler.wfile.write(bytes([byte]))
                handler.wfile.flush()
                if self.stop.wait(0.02):
                    return

    def close(self) -> None:
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()
