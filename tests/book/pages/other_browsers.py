"""Firefox and WebKit, the engine of Safari, as Debian's packages have them.

Playwright drives neither: it wants builds of its own. Both speak WebDriver themselves:
WebKit by a driver over HTTP, Firefox by the same commands in frames of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

PATIENCE = 120  # seconds; a busy machine is slow, not wrong
SIZE = (1300, 1000)
MINI_BROWSER = "usr/lib/*/webkit2gtk-4.1/MiniBrowser"
PACKAGES = {
    "firefox": "firefox-esr",
    "webkit": "webkit2gtk-driver xvfb",
}
PREFERENCES = {
    "marionette.port": 0,  # any that is free; it writes which
    "browser.shell.checkDefaultBrowser": False,
}
# A function's body, as the page sees it: what it returns, or what went wrong.
RUN = """const done = arguments[arguments.length - 1];
(async (...given) => { %s })(...arguments)
  .then((value) => done({value}), (error) => done({error: `${error}`}));"""


class WrongError(RuntimeError):
    """A command that the browser, or a script that the page, did not carry out."""


class Window:
    """One window of a browser: opened on a page, asked by scripts, shut at the end."""

    def __init__(self, send, name):
        self._send, self.name = send, name
        self._send("timeouts", {"script": PATIENCE * 1000, "pageLoad": PATIENCE * 1000})
        width, height = SIZE
        self._send("window/rect", {"x": 0, "y": 0, "width": width, "height": height})

    def open(self, address):
        """Open a page; it has loaded, and its scripts have run, when this returns."""
        self._send("url", {"url": address})
        # WebKit's driver may come back while the page before is still leaving.
        _until(lambda: self._check_place(address.partition("#")[0]), address)

    def _check_place(self, address):
        place = "return document.readyState + location.href.split('#')[0]"
        if self.run(place) != f"complete{address}":
            raise ValueError(address)

    def run(self, script, *given):
        """Run the body of an async function in the page; return what it returns."""
        answer = self._send("execute/async", {"script": RUN % script, "args": given})
        if "error" in answer:
            raise WrongError(f"{self.name}: {answer['error']}")
        return answer.get("value")

    def printed(self):
        """Return the page as a PDF, in base 64; Firefox alone prints for its driver."""
        return self._send("print", {})


def missing(name):
    """Return what is not here of what a browser needs, or an empty text."""
    there = {
        "firefox": [_firefox_itself()],
        "webkit": [_mini_browser(), *map(shutil.which, ("WebKitWebDriver", "Xvfb"))],
    }
    return "" if all(there[name]) else f"apt-get install {PACKAGES[name]}"


def _firefox_itself():
    return shutil.which("firefox-esr") or shutil.which("firefox")


def _mini_browser():
    found = sorted(Path("/").glob(MINI_BROWSER))
    return str(found[0]) if found else None


@contextlib.contextmanager
def started(name, folder):
    """Start a browser, which keeps what it keeps in this folder; yields its window."""
    with {"firefox": _firefox, "webkit": _webkit}[name](folder) as send:
        yield Window(send, name)


@contextlib.contextmanager
def _running(command, **options):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **{**quiet, **options})
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until(made, what):
    """Return the first thing that `made` makes; it makes none until it is time."""
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        with contextlib.suppress(OSError, ValueError, WrongError):
            return made()
        time.sleep(0.05)
    raise WrongError(f"{what} did not start in {PATIENCE} seconds")


@contextlib.contextmanager
def _firefox(folder):
    """Marionette: [0, number, command, parameters] and [1, number, error, result]."""
    lines = [
        f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items()
    ]
    (folder / "user.js").write_text("\n".join(lines))
    names = {
        "timeouts": "WebDriver:SetTimeouts",
        "window/rect": "WebDriver:SetWindowRect",
        "url": "WebDriver:Navigate",
        "execute/async": "WebDriver:ExecuteAsyncScript",
        "print": "WebDriver:Print",
    }
    command = [
        _firefox_itself(),
        "--headless",
        "--no-remote",
        "--marionette",
        "--profile",
        folder,
    ]
    with _running(command, env={**os.environ, "HOME": str(folder)}):
        written = folder / "MarionetteActivePort"
        port = _until(lambda: int(written.read_text()), "Firefox")
        with (
            socket.create_connection(("127.0.0.1", port), PATIENCE * 2) as line,
            line.makefile("rb") as answers,
        ):
            numbers = itertools.count(1)

            def read():
                size = b"".join(iter(lambda: answers.read(1), b":"))
                return json.loads(answers.read(int(size)))

            def call(name, parameters):
                message = json.dumps([0, next(numbers), name, parameters]).encode()
                line.sendall(b"%d:%s" % (len(message), message))
                _, _, error, result = read()
                if error:
                    raise WrongError(f"firefox: {error['message']}")
                return result.get("value", result)

            read()  # it introduces itself
            call("WebDriver:NewSession", {})
            yield lambda command, given: call(names[command], given)


@contextlib.contextmanager
def _webkit(folder):
    """WebDriver over HTTP; the browser has a screen that nobody sees."""
    reading, writing = os.pipe()
    screen = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1400x1100x24"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(_running(screen, pass_fds=[writing]))
        os.close(writing)
        with open(reading) as said:
            display = said.readline().strip()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {**os.environ, "HOME": str(folder), "DISPLAY": f":{display}"}
        command = ["WebKitWebDriver", f"--port={port}"]
        stack.enter_context(_running(command, env=environment))

        def call(method, path, given=None):
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}",
                method=method,
                data=None if given is None else json.dumps(given).encode(),
                headers={"Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE * 2) as answer:
                    return json.load(answer)["value"]
            except urllib.error.HTTPError as problem:
                said = json.load(problem)["value"]
                raise WrongError(f"webkit: {said['message']}") from problem

        options = {"binary": _mini_browser(), "args": ["--automation"]}
        wanted = {
            "capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        }
        _until(lambda: call("GET", "/status"), "WebKit's driver")
        session = f"/session/{call('POST', '/session', wanted)['sessionId']}"
        try:
            yield lambda command, given: call("POST", f"{session}/{command}", given)
        finally:
            call("DELETE", session)
