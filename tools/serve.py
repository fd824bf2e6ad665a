"""Serve the built site on this machine: ``python tools/serve.py [--port N]``."""

from __future__ import annotations

import argparse
import functools
import http.server
import sys
import webbrowser

from chapters import HTML


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    if not (HTML / "index.html").exists():
        print("serve: nothing is built yet; run: make book", file=sys.stderr)
        return 2
    handler = functools.partial(Handler, directory=str(HTML))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), handler)
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
