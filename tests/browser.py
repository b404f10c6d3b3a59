"""Headless Chromium, driven over a pipe by the DevTools protocol."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from running import kill, start

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")


class Page:
    """One page of a browser: its commands, and what a user does on it."""

    def __init__(self, requests, answers) -> None:
        self._requests, self._answers, self._number = requests, answers, 0
        self._session: dict[str, str] = {}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        self.errors: list[str] = []
        self.addresses: list[str] = []
        for domain in ("Page", "Runtime", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **values: object) -> dict:
        """The answer to a command; errors of the page and its requests are noted on the way."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": values, **self._session}
        self._requests.write(json.dumps(command).encode() + b"\0")
        self._requests.flush()
        while (said := self._next()).get("id") != self._number:
            if said.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(said["params"]))
            if said.get("method") == "Network.requestWillBeSent":
                self.addresses.append(said["params"]["request"]["url"])
        assert "error" not in said, said
        return said["result"]

    def _next(self) -> dict:
        letters = bytearray()
        while (letter := self._answers.read(1)) != b"\0":
            assert letter, "the browser has ended"
            letters += letter
        return json.loads(letters)

    def value(self, expression: str) -> object:
        """The value of an expression on the page, awaited if it is a promise."""
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        found = self.ask("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, address: str, width: int = 1280, height: int = 900) -> None:
        """Load a page, also if only the fragment of the address differs, and wait for it."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=address)
        self.value(
            "new Promise(done => document.readyState === 'complete' ? done() : onload = done)"
        )

    def drag(self, *points: tuple[float, float]) -> None:
        """Press the mouse at the first point, move over the others, release at the last."""
        kinds = ["mousePressed", *["mouseMoved"] * (len(points) - 1), "mouseReleased"]
        for kind, (x, y) in zip(kinds, [*points, points[-1]], strict=True):
            press = {"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
            self.ask("Input.dispatchMouseEvent", **press)

    def click(self, selector: str) -> None:
        """Click in the middle of an element."""
        middle = (
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.drag(tuple(self.value(middle)))

    def key(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A page of a new browser, whose profile is in ``folder``; skips where there is no Chromium."""
    names = ("chromium", "google-chrome", "chromium-browser")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium")
    (taken, requests), (answers, given) = os.pipe(), os.pipe()
    pipes = f'exec "$0" "$@" 3<&{taken} 4>&{given}'
    command = ["bash", "-c", pipes, program, *FLAGS, f"--user-data-dir={folder}"]
    quiet = {"stdout": -3, "stderr": -3}  # subprocess.DEVNULL: nobody reads them
    process = start(command, pass_fds=(taken, given), **quiet)
    os.close(taken)
    os.close(given)
    with os.fdopen(requests, "wb") as sent, os.fdopen(answers, "rb") as received:
        try:
            yield Page(sent, received)
        finally:
            kill(process)
