"""A headless Chromium on a pipe: open a page at a width, ask it things, take its picture.

Only what these tests need of the DevTools protocol, so that no driver has to be installed.
Run ``python tests/report/browser.py PAGE.html OUT`` to get pictures of the first screen and of
each section's start at three widths, in both colour schemes.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WIDTHS = (390, 820, 1400)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

_PATIENCE_S = 60
# The protocol speaks on the child's descriptors 3 and 4.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A context manager; a page is open after `open`."""

    def __enter__(self) -> Browser:
        self._profile = tempfile.mkdtemp()
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        # Above 4, so that moving one there does not close the other.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_child, from_child)]
        command = [str(CHROMIUM), *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, *map(str, ends), *command],
            pass_fds=ends,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_child, from_child, *ends):
            os.close(end)
        self._number, self._rest, self._session = 0, b"", None
        self.requests: list[str] = []
        """Addresses the page asked for."""
        self.errors: list[str] = []
        """What scripts threw, and what the console shows as an error."""
        try:
            self._attach()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop()

    def _attach(self) -> None:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        answer = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = answer["sessionId"]
        self.call("Page.enable")
        self.call("Network.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, page: Path, width: int, *, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.resolve().as_uri())
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def ask(self, script: str) -> Any:
        """Return what a script, or the promise it returns, comes to."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until a script says something true; pages draw their charts after they load."""
        until = time.monotonic() + _PATIENCE_S
        while not self.ask(script):
            assert time.monotonic() < until, f"never true: {script}"
            time.sleep(0.05)

    def point(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and let go a key of the keyboard."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text,
                windowsVirtualKeyCode=code,
            )  # fmt: skip

    def picture(self, file: Path, top: int = 0, height: int | None = None) -> None:
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0, "y": top, "width": size["width"],
            "height": height or size["height"] - top, "scale": 1,
        }  # fmt: skip
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], _PATIENCE_S)
            assert ready, f"Chromium has said nothing for {_PATIENCE_S} s"
            part = os.read(self._in, 1 << 16)
            assert part, "Chromium has gone away"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(message["params"]["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded":
            entry = message["params"]["entry"]
            self.errors += [str(entry)] * (entry["level"] == "error")
        elif message.get("method") == "Runtime.consoleAPICalled":
            said = message["params"]
            self.errors += [str(said["args"])] * (said["type"] in ("error", "warning"))
        return message


def main(page: Path, out: Path) -> None:
    """Save one window of each section: a whole page is too long to look at."""
    out.mkdir(parents=True, exist_ok=True)
    places = (
        "[['first', 0], ...[...document.querySelectorAll('main section, figure')].map("
        "(e) => [e.id, Math.round(e.getBoundingClientRect().top + scrollY - 12)])]"
    )
    with Browser() as browser:
        for width in WIDTHS:
            for dark in (False, True):
                since = time.monotonic()
                browser.open(page, width, dark=dark)
                browser.wait("document.querySelector('#chart').dataset.drawn")
                browser.wait("!document.querySelector('img[data-packed]')")
                took = time.monotonic() - since
                scheme = "dark" if dark else "light"
                for name, top in browser.ask(places):
                    browser.picture(out / f"{width}-{scheme}-{name}.png", top, 900)
                print(f"{width} {scheme}: opened and drawn in {took:.2f} s")
        inside = ("file:", "data:", "blob:")
        outside = [url for url in browser.requests if not url.startswith(inside)]
        print(f"errors: {browser.errors or 'none'}; requests outside: {outside or 'none'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
