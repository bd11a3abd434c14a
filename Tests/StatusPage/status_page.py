# SPDX-License-Identifier: Apache-2.0
"""Looks at the relay's status page with a real browser, while real programs make each state that it can show.

Run by deploy/test-status-page.sh, which puts the programs into PATH. SCREENSHOTS names a folder for what was seen.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from playwright.sync_api import sync_playwright

KEY = "page-key"
HOSTILE = "<img src=x onerror=document.title='owned'>"
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
CONTRACT = "deploy/samples/contract.json5"


class Program:
    """A program that says on stdout where it listens, or on stderr in a line of its log."""

    def __init__(self, folder, name, *arguments, pattern):
        self.output = folder / f"{name}-{time.monotonic_ns()}.log"
        with self.output.open("w") as output:
            self.process = subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT)
        self.address = self.wait(pattern)

    def wait(self, pattern):
        def found():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.process.args} ended: {self.output.read_text()}")
            return re.search(pattern, self.output.read_text())

        return until(found, f"{pattern} in {self.output}").group(1)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)


def until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def envelope(number, **changes):
    event = {
        "event": "screen_viewed", "event_id": f"page-{number}", "occurred_at": int(time.time()),
        "anonymous_id": f"anon-{number % 7}", "session_id": "session-1", "app_version": "4.2.0",
        "build_number": "812", "platform": "ios", "schema_version": 1, "properties": {"name": "home"},
    }
    event.update(changes)
    return event


class Site:
    """A spool with an endpoint, a stand-in for GraphJSON and a relay."""

    def __init__(self, folder, *stub):
        self.folder = folder
        listening = r"listening on (\S+)"
        self.stub = Program(
            folder, "stub", "graphjson-stub", "--key", KEY, "--poison", "page-poison", *stub, pattern=listening
        )
        self.endpoint = Program(
            folder, "endpoint", "sluice-endpoint", "serve", "--spool", str(folder / "spool"), "--contract", CONTRACT,
            "--listen", "127.0.0.1:0", "--admin", "off", pattern=listening,
        )
        self.relay = Program(
            folder, "relay", "sluice-relay", "run", "--spool", str(folder / "spool"), "--admin", "127.0.0.1:0",
            "--graphjson-url", f"http://{self.stub.address}", pattern=r'"admin.address":"([^"]+)"',
        )
        self.url = f"http://{self.relay.address}/"

    def send(self, events):
        for start in range(0, len(events), 100):
            body = json.dumps({"events": events[start:start + 100]}).encode()
            request = urllib.request.Request(
                f"http://{self.endpoint.address}/api/mobile-events", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request) as answer:
                taken = json.load(answer)
                assert not taken["rejected"], taken

    def close(self):
        for program in (self.relay, self.endpoint, self.stub):
            program.stop()


# Light and dark text must stand out from what is behind it: WCAG 2.1, 1.4.3.
CONTRAST = """() => {
    const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    const luminance = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
    const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
    const ground = (one) => {
        for (; one; one = one.parentElement) {
            const colour = numbers(getComputedStyle(one).backgroundColor);
            if (colour.length < 4 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
    };
    const weak = [];
    for (const one of document.querySelectorAll('body *')) {
        if (!one.checkVisibility() || ![...one.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        const [a, b] = [luminance(numbers(getComputedStyle(one).color)), luminance(ground(one))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) weak.push(`${one.tagName} ${one.className} ${ratio.toFixed(2)}: ${one.textContent.slice(0, 40)}`);
    }
    return weak;
}"""


class Look:
    """One way of looking: a width, light or dark; notes whatever the browser complains of."""

    def __init__(self, browser, url, size, scheme, javascript=True):
        self.context = browser.new_context(
            viewport={"width": SIZES[size][0], "height": SIZES[size][1]}, color_scheme=scheme,
            java_script_enabled=javascript, reduced_motion="reduce",
        )
        self.page = self.context.new_page()
        self.name = f"{size}-{scheme}"
        self.complaints = []
        self.requests = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        answer = self.page.goto(url)
        assert answer.status == 200, answer.status
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        self.origin = url

    def shows(self, *texts):
        body = self.page.inner_text("body").replace("\u202f", "")
        for text in texts:
            assert text in body, f"{self.name}: no {text!r} in:\n{body}"

    def close(self, scene):
        page = self.page
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{scene}, {self.name}: {wide} px wider than the screen"
        weak = page.evaluate(CONTRAST)
        assert not weak, f"{scene}, {self.name}: too little contrast: {weak}"
        if os.environ.get("SCREENSHOTS"):
            page.screenshot(path=f"{os.environ['SCREENSHOTS']}/{scene}-{self.name}.png", full_page=True)
        assert not self.complaints, f"{scene}, {self.name}: {self.complaints}"
        foreign = [url for url in self.requests if not url.startswith((self.origin, "data:"))]
        assert not foreign, f"{scene}, {self.name}: it loads {foreign}"
        self.context.close()


def looks(browser, url, scene, *texts):
    for size in SIZES:
        for scheme in ("light", "dark"):
            look = Look(browser, url, size, scheme)
            look.shows(*texts)
            look.close(scene)
    print(f"ok   {scene}: phone and desktop, light and dark")


def status(site):
    """The books as the page tells them; it reads them at most every five seconds."""
    with urllib.request.urlopen(site.url) as answer:
        return answer.read().decode().replace("\u202f", "")


def an_empty_spool(browser, folder):
    site = Site(folder)
    looks(browser, site.url, "empty", "Idle", "nothing waits", "Balanced", "Nothing is in quarantine.")
    keyboard(browser, site)
    refresh(browser, site)
    without_scripts(browser, site)
    foreign_hosts(site)
    stale(browser, site)
    site.close()


def a_delivery_with_bad_records(browser, folder):
    site = Site(folder)
    good = [
        envelope(n, properties={"name": "home", "referrer_url": "x", **({HOSTILE: 1} if n % 3 == 0 else {})})
        for n in range(1200)
    ]
    site.send(good + [envelope(1200, event_id="page-poison"), envelope(1201, event="not_listed")])
    until(lambda: "<b>1202</b> accepted" in status(site) and "<b>0</b> pending" in status(site), "all is delivered")
    looks(
        browser, site.url, "delivered", "Idle", "1202 accepted", "1200 delivered", "2 quarantined", "upstream_rejected",
        "referrer_url\t1200", f"{HOSTILE}\t400", "Balanced",
    )
    assert "anon-" not in status(site) and "page-poison" not in status(site), "identifiers are shown"
    site.close()


def a_backlog_behind_a_closed_gate(browser, folder):
    site = Site(folder, "--fail", "429:1000", "--retry-after", "900")
    site.send([envelope(n) for n in range(3000)])
    until(lambda: "Waiting" in status(site) and "<b>3000</b> pending" in status(site), "the gate is closed")
    looks(browser, site.url, "waiting", "Waiting", "next try is in", "429", "3000", "closed")
    site.close()


def a_halted_relay(browser, folder):
    site = Site(folder, "--unauthorized-until", str(folder / "authorized"))
    site.send([envelope(n) for n in range(500)])
    until(lambda: "Halted" in status(site) and "<b>500</b> pending" in status(site), "the relay is halted")
    looks(browser, site.url, "halted", "Halted", "401", "500", "one request at a time")
    site.close()


def unbalanced_books(browser, folder):
    site = Site(folder, "--fail", "429:1000", "--retry-after", "900")
    site.send([envelope(n) for n in range(50)])
    until(lambda: "<b>50</b> pending" in status(site), "a segment waits")
    site.relay.stop()
    segment = until(lambda: list((folder / "spool/ready").iterdir()), "it is back in ready/")[0]
    segment.unlink()
    site.relay = Program(
        folder, "relay", "sluice-relay", "run", "--spool", str(folder / "spool"), "--admin", "127.0.0.1:0",
        "--graphjson-url", f"http://{site.stub.address}", pattern=r'"admin.address":"([^"]+)"',
    )
    site.url = f"http://{site.relay.address}/"
    looks(browser, site.url, "unbalanced", "Unbalanced", "Not balanced", "neither in the spool nor finished")
    site.close()


def keyboard(browser, site):
    look = Look(browser, site.url, "desktop", "light")
    page = look.page
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent"))
        ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        if reached[-1] in ("Figures of the chart", "metrics", "readiness", "liveness"):
            assert ring == "solid", f"no focus ring on {reached[-1]}"
    for place in ("Figures of the chart", "metrics", "readiness", "liveness"):
        assert place in reached, f"{place} cannot be reached by keyboard: {reached}"
    page.focus("summary")
    page.keyboard.press("Enter")
    assert page.locator("details").evaluate("one => one.open"), "Enter does not open the figures"
    look.close("keyboard")
    print("ok   keyboard: every link and the figures are reached, with a ring")


def refresh(browser, site):
    look = Look(browser, site.url, "desktop", "light")
    page = look.page
    page.focus("summary")
    page.keyboard.press("Enter")
    before = page.inner_text("time")
    page.wait_for_function("text => document.querySelector('time').textContent !== text", arg=before, timeout=20000)
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY", "the focus is lost when the page loads anew"
    assert page.locator("details").evaluate("one => one.open"), "what was open is closed when the page loads anew"
    look.close("refreshed")
    print("ok   refresh: new figures, the same focus")


def without_scripts(browser, site):
    look = Look(browser, site.url, "phone", "light", javascript=False)
    assert look.page.locator("main h1").count() == 1
    assert '<meta http-equiv="refresh" content="5">' in status(site)
    look.context.close()
    print("ok   without scripts: complete, and loads anew")


def stale(browser, site):
    look = Look(browser, site.url, "desktop", "light")
    site.relay.stop()
    look.page.wait_for_selector("#stale:visible", timeout=20000)
    look.context.close()  # the browser complains of the lost connection, and should
    print("ok   a relay that ended: the page says so")


def foreign_hosts(site):
    for host, wanted in (("evil.example", 421), ("rebind.example:80", 421), (site.relay.address, 200)):
        request = urllib.request.Request(site.url, headers={"Host": host})
        try:
            with urllib.request.urlopen(request) as answer:
                code = answer.status
        except urllib.error.HTTPError as error:
            code = error.code
        assert code == wanted, f"Host {host}: {code}"
    for method in ("POST", "PUT", "DELETE"):
        try:
            urllib.request.urlopen(urllib.request.Request(site.url, method=method, data=b""))
            raise AssertionError(f"{method} is taken")
        except urllib.error.HTTPError as error:
            assert error.code == 405, f"{method}: {error.code}"
    print("ok   foreign hosts and other methods are refused")


def main():
    os.environ["GRAPHJSON_API_KEY"] = KEY
    for name in [name for name in os.environ if name.startswith("SLUICE_")]:
        del os.environ[name]
    os.environ["SLUICE_RATE_LIMIT_ADDRESS"] = "0"
    scenes = [
        an_empty_spool, a_delivery_with_bad_records, a_backlog_behind_a_closed_gate, a_halted_relay, unbalanced_books,
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
        for scene in scenes:
            with tempfile.TemporaryDirectory() as folder:
                scene(browser, pathlib.Path(folder))
        browser.close()


main()
