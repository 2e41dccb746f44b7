# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Chromium of the system without a window, steered over its DevTools protocol: no driver has to be of one version."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import websocket
from ansible_collections.gitops.fleet.tools.browser import HOW, NoBrowser, found

PATIENCE = 120.0
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    "--no-default-browser-check",
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--disable-sync"),
    *("--disable-extensions", "--force-color-profile=srgb", "--remote-debugging-port=0", "--remote-allow-origins=*"),
    *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",),
)  # fmt: skip
Answer = dict[str, t.Any]


@dataclass
class Browser:
    """One process with one page. ``errors`` is what the console and the page complained of since the last ``open``,
    ``asked`` every address that the page asked for."""

    process: subprocess.Popen[bytes]
    socket: websocket.WebSocket
    session: str = ""
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    _number: int = 0
    _loaded: bool = False

    def call(self, method: str, **parameters: t.Any) -> Answer:
        """The answer of the browser; what it says meanwhile is noted."""
        self._number += 1
        message: Answer = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            said = self._heard()
            if said.get("id") == self._number:
                assert "error" not in said, f"{method}: {said['error']}"
                return t.cast(Answer, said["result"])

    def _heard(self) -> Answer:
        said: Answer = json.loads(self.socket.recv())
        method, told = said.get("method", ""), said.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(each.get("value", each.get("description"))) for each in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.errors.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        return said

    def open(self, path: Path, width: int = 1440, height: int = 900, dark: bool = False, page: str = "") -> None:
        """Opens a report from its file, and waits until it has drawn itself."""
        self.errors.clear()
        self.asked.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self._loaded = False
        self.call("Page.navigate", url=f"{path.as_uri()}{'#' + page if page else ''}")
        self.until("document.documentElement?.dataset.ready === 'true'")
        self.settled()

    def settled(self) -> None:
        """Two frames later everything that was asked for is drawn."""
        self.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
        )

    def run(self, script: str) -> t.Any:
        """What an expression comes to; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        thrown = answer.get("exceptionDetails")
        assert thrown is None, f"{script[:200]}: {thrown}"
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Waits for the expression to be true."""
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            assert time.monotonic() < end, f"never so: {condition}; the page says {self.errors}"
            time.sleep(0.02)

    def key(self, key: str) -> None:
        """One press of a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=CODES.get(key, 0), **text
            )

    def picture(self, path: Path, whole: bool = True) -> None:
        """A PNG of the page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole: bool) -> Answer:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}


CODES = {
    "Enter": 13,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Tab": 9,
    "End": 35,
    "Home": 36,
    "PageDown": 34,
}


@contextlib.contextmanager
def chromium(folder: Path) -> t.Iterator[Browser]:
    """A browser with a profile of its own in the folder; it ends with the block."""
    path = found()
    if not path:
        raise NoBrowser(f"no Chromium is here: {HOW}")
    command = [path, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    environment = {**os.environ, "HOME": str(folder)}
    log = (folder / "chromium.log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
    browser = None
    try:
        browser = _joined(process, folder)
        yield browser
    finally:
        if browser is not None:
            with contextlib.suppress(Exception):
                browser.session = ""
                browser.call("Browser.close")
            browser.socket.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        log.close()


def _joined(process: subprocess.Popen[bytes], folder: Path) -> Browser:
    told = folder / "profile" / "DevToolsActivePort"
    end = time.monotonic() + PATIENCE
    while not (told.exists() and len(told.read_text().splitlines()) == 2):
        output = (folder / "chromium.log").read_text(errors="replace")
        assert process.poll() is None, f"Chromium ended with {process.returncode}: {output[-2000:]}"
        assert time.monotonic() < end, f"Chromium does not start: {output[-2000:]}"
        time.sleep(0.05)
    port, place = told.read_text().splitlines()
    socket = websocket.create_connection(f"ws://127.0.0.1:{port}{place}", timeout=PATIENCE, max_size=None)
    browser = Browser(process, socket)
    targets = browser.call("Target.getTargets")["targetInfos"]
    page = next(each["targetId"] for each in targets if each["type"] == "page")
    browser.session = browser.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    return browser
