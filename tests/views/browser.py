"""A headless Chromium, driven through its DevTools protocol over a pair of pipes."""

import base64
import json
import os
import subprocess
import time

CHROMIUM = "chromium-headless-shell"


class Browser:
    """One page of a browser. Collects what the console says and which addresses are asked for."""

    def __init__(self, folder, width=1280, height=900):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def use_pipes():
            # The protocol is spoken on 3 and 4; go through high numbers, since ours may be those two.
            os.dup2(to_browser, 103)
            os.dup2(from_browser, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
             f"--window-size={width},{height}", "about:blank"],
            preexec_fn=use_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.last_id, self.session = b"", 0, None
        self.console, self.requests, self.events = [], [], []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)

    def receive(self):
        while b"\0" not in self.buffer:
            data = os.read(self.read_end, 1 << 16)
            assert data, "the browser ended"
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append((params["type"], [a.get("value") for a in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(("exception", params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.console.append((params["entry"]["level"], params["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        if method:
            self.events.append(method)
        return message

    def send(self, method, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last_id:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, path):
        """Loads a page; the seconds until it is loaded."""
        self.events.clear()
        start = time.monotonic()
        self.send("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in self.events:
            self.receive()
        return time.monotonic() - start

    def evaluate(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def frame(self):
        """Lets the page draw what it has put off."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.frame()
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frame()

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
