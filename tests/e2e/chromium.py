# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven over its DevTools protocol by a pair of pipes: opens a page, evaluates
expressions in it, clicks and types as a person would."""

import json
import os
import select
import shutil
import subprocess
import time

BOUND = 60


def find():
    return shutil.which("chromium")


class Browser:
    def __init__(self, directory):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        arguments = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                     "--disable-dev-shm-usage", "--remote-debugging-pipe",
                     "--disable-background-networking", "--window-size=1200,1000",
                     f"--user-data-dir={directory}/profile", "about:blank"]

        def place():  # where --remote-debugging-pipe looks for them
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._log = open(f"{directory}/chromium.log", "wb")
        self._process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, preexec_fn=place,
            close_fds=False, env={**os.environ, "HOME": directory})
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._number = 0
        self._session = None
        self.requests = []  # addresses that the page asked for
        self.problems = []  # what its console said

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._log.close()

    def _message(self, end):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
            part = os.read(self._in, 1 << 20) if ready else b""
            if not part:
                raise AssertionError("the browser does not answer")
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event):
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown",
                                   "Page.javascriptDialogOpening"):
            self.problems.append(event["params"])

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + BOUND
        while True:
            answer = self._message(end)
            self._note(answer)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path, dark=False, scripts=True):
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Log", "Runtime", "Page"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.requests.clear()
        self.call("Page.navigate", url=f"file://{path}")
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression,
                         returnByValue=True)["result"].get("value")

    def until(self, expression):
        end = time.monotonic() + BOUND
        while not self.value(expression):
            if time.monotonic() > end:
                raise AssertionError(f"never came true: {expression}")
            time.sleep(0.02)

    def click(self, element):
        """`element`: an expression."""
        x, y = self.value(f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}}); const b = "
                          "e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)
