#!/usr/bin/env python3
"""Chats on the page of `metal-bridge serve`, in a headless Chromium that is told what to do over a pipe.

Usage: tests/page/chat.py PROGRAM MODEL [SCREENSHOT.png]
"""

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

KEY = "sk-secret"
TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models/tiny-stories/chat.jinja")
# What nothing here takes, on any machine.
PATIENCE = 300


class Browser:
    """Chromium with one page. Messages of its protocol end with a zero."""

    def __init__(self, folder):
        to_browser, self.out = os.pipe()
        self.inside, from_browser = os.pipe()

        def wire():
            # Chromium reads commands from 3, and writes answers to 4.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        self.process = subprocess.Popen(
            ["chromium", *flags, "about:blank"],
            preexec_fn=wire,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.held, self.number, self.events = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def read(self):
        while b"\0" not in self.held:
            piece = os.read(self.inside, 1 << 16)
            assert piece, "Chromium has ended"
            self.held += piece
        message, self.held = self.held.split(b"\0", 1)
        return json.loads(message)

    def run(self, script):
        """The value of an expression on the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, script):
        end = time.monotonic() + PATIENCE
        while not self.run(script):
            assert time.monotonic() < end, f"never came: {script}"
            time.sleep(0.05)

    def complaints(self):
        """What the page did wrong."""
        texts = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                texts.append(json.dumps(parameters))
            if event.get("method") == "Log.entryAdded" and parameters["entry"]["source"] == "security":
                texts.append(parameters["entry"]["text"])
        return texts

    def requests(self):
        """The addresses that the page asked for."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]


def ask(address, messages):
    """The answer without the page."""
    body = {"messages": messages, "max_tokens": 12}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(f"{address}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def check(browser, address, screenshot):
    send = "part('text').value = {}; part('ask').requestSubmit(); true"
    idle = "!part('send').hidden"
    last = "part('chat').lastElementChild?.textContent"
    browser.call("Page.navigate", url=f"{address}/")
    browser.wait("document.readyState == 'complete' && typeof part == 'function'")

    # Without the key there is no answer, and the question stays.
    browser.run(send.format(json.dumps("Once")))
    browser.wait(idle)
    assert "API key" in browser.run("part('state').textContent")
    assert browser.run("part('text').value") == "Once"
    assert browser.run("messages.length") == 0
    browser.run(f"part('new').click(); part('key').value = '{KEY}'; part('key').dispatchEvent(new Event('change')); true")
    browser.wait("document.title.startsWith('tiny-stories')")

    # The answers are those of the server, with the system prompt and with what was said before.
    browser.run("part('most').value = 12; part('system').value = 'A long time ago'; true")
    messages = [{"role": "system", "content": "A long time ago"}]
    for text in ["there was a <b>cat</b>", "<img src=x onerror='document.title = 1'>"]:
        messages.append({"role": "user", "content": text})
        messages.append({"role": "assistant", "content": ask(address, messages)})
        browser.run(send.format(json.dumps(text)))
        browser.wait(idle)
        assert browser.run(last) == messages[-1]["content"], browser.run(last)
        assert " tokens, " in browser.run("part('state').textContent")
    said = browser.run("[...part('chat').children].map((child) => child.textContent)")
    assert said == [message["content"] for message in messages[1:]], said
    assert browser.run("part('chat').querySelectorAll('b, img').length") == 0
    if screenshot:
        picture = browser.call("Page.captureScreenshot")["data"]
        with open(screenshot, "wb") as file:
            file.write(base64.b64decode(picture))

    # The temperature reaches the server, which refuses this one.
    browser.run("part('temperature').value = -1; true")
    browser.run(send.format(json.dumps("more")))
    browser.wait(idle)
    assert "temperature" in browser.run("part('state').textContent")
    browser.run("part('temperature').value = ''; part('most').value = ''; true")

    # An answer without an end is stopped, and what came of it stays.
    browser.run("part('new').click(); true")
    assert browser.run("part('chat').childElementCount") == 0
    browser.run(send.format(json.dumps("Once upon a time")))
    browser.wait(f"({last} || '').length > 3")
    browser.run("part('stop').click(); true")
    browser.wait(idle)
    assert browser.run("part('state').textContent") == "stopped"
    assert browser.run("messages.length") == 2

    assert browser.complaints() == [], browser.complaints()
    foreign = [url for url in browser.requests() if not url.startswith((address, "about:"))]
    assert foreign == [], foreign
    # The policy holds: the page may neither ask another server nor run what is written into it.
    refused = browser.run("fetch('http://127.0.0.1:1/').then(() => 'asked', (error) => error.name)")
    assert refused == "TypeError", refused
    browser.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'messages = 7'})); true")
    assert browser.run("typeof messages") == "object"
    assert len(browser.complaints()) >= 2, "the policy does not hold"


def main():
    program, model, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--port", "0", "--template", TEMPLATE]
        # Each token takes some milliseconds more, so that an answer can be stopped.
        environment = {**os.environ, "METAL_BRIDGE_API_KEY": KEY, "SOFTWARE_METAL_DELAY": "20000"}
        server = subprocess.Popen(
            [program, "serve", "-m", model, *options], stdout=subprocess.PIPE, text=True, env=environment
        )
        browser = None
        try:
            address = server.stdout.readline().split(" at ")[1].strip()
            browser = Browser(os.path.join(folder, "chromium"))
            check(browser, address, rest[0] if rest else None)
        finally:
            for process in [server, browser and browser.process]:
                if process:
                    process.kill()
                    process.wait()
    print("the page chats")


if __name__ == "__main__":
    main()
