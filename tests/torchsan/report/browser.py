"""A headless Chromium that is spoken to over two pipes, in the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --hide-scrollbars --remote-debugging-pipe"
).split()
_SECONDS = 60


class Browser:
    """One page of a browser of its own; ends with the block.

    Attributes:
        said: what the console and the page's policy had to complain of.
    """

    def __init__(self, folder):
        self._folder, self._id, self._rest, self.said = folder, 0, b"", []

    def __enter__(self):
        (to_read, self._to), (self._from, to_write) = os.pipe(), os.pipe()

        def fixed():  # the browser reads its pipe 3 and writes its pipe 4
            first, second = os.dup(to_read), os.dup(to_write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [shutil.which(CHROMIUM), *FLAGS, f"--user-data-dir={self._folder / 'profile'}"], preexec_fn=fixed, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log"):
            self.call(f"{part}.enable")
        return self

    def __exit__(self, *error):
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(self, method, **parameters):
        """What a method answers."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._id:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path):
        """Load a file, and wait until it is there."""
        self.call("Page.navigate", url=path.as_uri())
        end = time.monotonic() + _SECONDS
        while self.ask("document.readyState") != "complete":
            assert time.monotonic() < end

    def ask(self, expression):
        """The value of an expression of JavaScript in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def size(self, width, height=1200):
        """Make the window that wide, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self):
        """The page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def mouse(self, *events):
        """Send mouse events, each (type, x, y)."""
        for kind, x, y in events:
            held = 0 if kind == "mouseMoved" and not self._held else 1
            self._held = kind == "mousePressed" or self._held and kind != "mouseReleased"
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=held, clickCount=1, pointerType="mouse")

    _held = False

    def key(self, key):
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def _next(self):
        while b"\0" not in self._rest:
            assert select.select([self._from], [], [], _SECONDS)[0], "the browser says nothing"
            more = os.read(self._from, 1 << 16)
            assert more, "the browser ended"
            self._rest += more
        told, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(told)
        if message.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.said.append(message["params"])
        return message
