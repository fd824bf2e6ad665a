"""Serve the built site on this machine: ``make serve``."""

from __future__ import annotations

import argparse
import functools
import http.server
import sys
import webbrowser
from collections.abc import Sequence
from typing import Any, NoReturn

from tformer_book.press.chapters import HTML


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging each request; modules need their MIME type."""

    extensions_map = {  # noqa: RUF012
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".woff2": "font/woff2",
    }

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Does not mind a browser that goes on before it has the whole page."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Parser(argparse.ArgumentParser):
    """Argparse that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        print(f"serve: {message}", file=sys.stderr)
        raise SystemExit(2)


def port(text: str) -> int:
    """Read a port: a whole number that a port can have; 0 for any that is free."""
    if not text.isascii() or not text.isdigit() or int(text[:9]) > 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no port: give a number from 1 to 65535, such as PORT=8001"
        )
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(description=__doc__)
    parser.add_argument("--port", type=port, default=8000)
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args(arguments)
    if not (HTML / "index.html").exists():
        print("serve: nothing is built yet; run: make book", file=sys.stderr)
        return 2
    handler = functools.partial(Handler, directory=str(HTML))
    try:
        server = Server(("127.0.0.1", options.port), handler)
    except OSError as error:
        print(
            f"serve: port {options.port}: {error.strerror}; try PORT=8001",
            file=sys.stderr,
        )
        return 2
    address = f"http://localhost:{server.server_port}/"
    print(f"{address}  (Ctrl-C ends it)", flush=True)
    if not options.no_browser:
        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
