"""Drives a headless Chromium by WebDriver, with Python's own library alone.

Debian's packages chromium and chromium-driver. A browser that is missing is an error: these tests are
never skipped.
"""
import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--force-device-scale-factor=1", "--font-render-hinting=none", "--force-color-profile=srgb",
         "--no-first-run", "--disable-extensions", "--disable-background-networking"]


class Browser:
    def __init__(self, port, profile):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        options = {"args": [*FLAGS, f"--user-data-dir={profile}"], "binary": shutil.which("chromium")}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = "/session/" + answer["sessionId"]

    def _call(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                {"Content-Type": "application/json"})
        value = json.loads(self.connection.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{value['error']}: {value['message']}")
        return value

    def _post(self, path, **body):
        return self._call("POST", self.session + path, body)

    def close(self):
        self._call("DELETE", self.session)

    def open(self, path, fragment="", settled=True):
        """A file. The console is empty afterwards, as far as this page is concerned."""
        self._post("/url", url="about:blank")
        self.console()
        self._post("/url", url=f"file://{path}{fragment}")
        if settled:
            self.run("return document.fonts.ready.then(() => 0)")

    def run(self, script, *arguments):
        """What a function with this body returns."""
        return self._post("/execute/sync", script=script, args=list(arguments))

    def devtools(self, command, **parameters):
        return self._post("/goog/cdp/execute", cmd=command, params=parameters)

    def console(self):
        """The messages since the last call."""
        return [entry["message"] for entry in self._post("/se/log", type="browser")]

    def media(self, scheme="light", kind=""):
        self.devtools("Emulation.setEmulatedMedia", media=kind,
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def size(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=False)

    def scripts(self, are_allowed):
        self.devtools("Emulation.setScriptExecutionDisabled", value=not are_allowed)

    def picture(self, clip=None):
        """PNG bytes of the viewport, or of a rectangle of the page: x, y, width, height."""
        more = {}
        if clip:
            more = {"clip": dict(zip(("x", "y", "width", "height"), clip), scale=1), "captureBeyondViewport": True}
        return base64.b64decode(self.devtools("Page.captureScreenshot", format="png", **more)["data"])

    def print(self):
        """PDF bytes."""
        return base64.b64decode(self.devtools("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"])

    def click(self, selector):
        """As a mouse does, in the middle of the element."""
        x, y = self.run("const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'});"
                        "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]", selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.devtools("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


@contextlib.contextmanager
def browser():
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            raise RuntimeError(f"{name} is missing: run scripts/setup.sh (Debian's chromium and chromium-driver)")
    with tempfile.TemporaryDirectory() as profile:
        environment = {**os.environ, "HOME": profile, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        driver = subprocess.Popen([shutil.which("chromedriver"), "--port=0"], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL, env=environment)
        try:
            for line in driver.stdout:
                started = re.search(r"started successfully on port (\d+)", line)
                if started:
                    break
            else:
                raise RuntimeError("chromedriver did not start")
            one = Browser(int(started.group(1)), profile)
            try:
                yield one
            finally:
                one.close()
        finally:
            driver.terminate()
            driver.wait(timeout=30)


class Picture:
    """The pixels of a PNG of 8 bits a channel, as browsers write it."""

    def __init__(self, png):
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        at, data = 8, b""
        while at < len(png):
            size, kind = struct.unpack(">I4s", png[at:at + 8])
            body = png[at + 8:at + 8 + size]
            if kind == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
                assert depth == 8 and colour in (2, 6) and not interlaced
                self.channels = 3 if colour == 2 else 4
            elif kind == b"IDAT":
                data += body
            at += 12 + size
        self.rows = list(self._rows(zlib.decompress(data)))

    def _rows(self, data):
        step, width = self.channels, self.channels * self.width
        before = bytearray(width)
        for y in range(self.height):
            kind = data[y * (width + 1)]
            row = bytearray(data[y * (width + 1) + 1:(y + 1) * (width + 1)])
            if kind == 1:
                for i in range(step, width):
                    row[i] = (row[i] + row[i - step]) & 255
            elif kind == 2:
                for i in range(width):
                    row[i] = (row[i] + before[i]) & 255
            elif kind == 3:
                for i in range(width):
                    row[i] = (row[i] + ((row[i - step] if i >= step else 0) + before[i]) // 2) & 255
            elif kind == 4:
                for i in range(width):
                    a, b, c = (row[i - step] if i >= step else 0), before[i], (before[i - step] if i >= step else 0)
                    p = a + b - c
                    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                    row[i] = (row[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
            yield row
            before = row

    def pixel(self, x, y):
        return tuple(self.rows[y][x * self.channels:x * self.channels + 3])

    def share(self, is_wanted):
        """The share of the pixels whose colour is wanted."""
        found = sum(is_wanted(self.pixel(x, y)) for y in range(self.height) for x in range(self.width))
        return found / (self.width * self.height)

    def shrunk(self, block):
        """The mean colour of each block of so many pixels, in rows."""
        means = []
        for top in range(0, self.height - block + 1, block):
            row = []
            for left in range(0, self.width - block + 1, block):
                sums = [0, 0, 0]
                for y in range(top, top + block):
                    part = self.rows[y][left * self.channels:(left + block) * self.channels]
                    for channel in range(3):
                        sums[channel] += sum(part[channel::self.channels])
                row.append(tuple(one / block ** 2 for one in sums))
            means.append(row)
        return means
