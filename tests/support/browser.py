"""A headless Chromium, driven by chromedriver: WebDriver is JSON over HTTP, so nothing else is needed."""

import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from urllib.request import Request, urlopen

INSTALLED = all(map(shutil.which, ("chromium", "chromedriver")))

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


class Browser:
    """One window."""

    def __init__(self, address):
        self.address = address

    def ask(self, path, body=None, method="POST"):
        """Send one command of the protocol and return its value."""
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = Request(f"{self.address}{path}", data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, page, *, width=1280, height=800):
        """Open a file in a window of this size."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.ask("/url", {"url": page.as_uri()})

    def run(self, script):
        """Return what a script returns."""
        return self.ask("/execute/sync", {"script": script, "args": []})

    def devtools(self, command, **parameters):
        """Send a command of the DevTools protocol."""
        return self.ask("/goog/cdp/execute", {"cmd": command, "params": parameters})


@contextmanager
def browser(folder):
    """Start a browser with a new profile in a folder, and end it."""
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        port = next(found[1] for line in driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        starter = Browser(f"http://127.0.0.1:{port}")
        options = {"args": [*_FLAGS, f"--user-data-dir={folder / 'profile'}"]}
        asked = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        session = starter.ask("/session", asked)["sessionId"]
        window = Browser(f"{starter.address}/session/{session}")
        try:
            yield window
        finally:
            window.ask("", method="DELETE")
    finally:
        driver.terminate()
        driver.wait(timeout=30)
        driver.stdout.close()
