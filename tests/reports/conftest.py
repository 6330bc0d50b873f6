"""Results to draw, and a real browser to draw them in: headless Chromium, driven by selenium."""

import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.reports import Figure, Metric, Report, Result, Table, figures
from alice.reports.gallery import write_gallery
from alice.reports.publish import publish

MISSING = "no Chromium here: install the Debian packages chromium and chromium-driver, and selenium from PyPI"
PATIENCE = 20
LETTERS = [chr(ord("a") + place) for place in range(26)]


@pytest.fixture(scope="session")
def provenance():
    return {
        "analysis": "early-exit",
        "checkpoints": [{"name": "tiny", "sha256": "ab" * 32}],
        "data": [{"model": "tiny", "source": "quotes", "split": "test", "texts": 20, "sha256": "cd" * 32}],
        "seed": 7,
        "options": {"samples": 20, "layers": [0, 1], "nothing": None},
        "time": "2026-11-16T07:30:00+00:00",
        "machine": "a laptop",
        "duration": 1.5,
    }


@pytest.fixture(scope="session")
def result():
    """A result with one of every kind of figure, and the values that are hard to store."""
    rng = np.random.default_rng(0)
    error = {"base": np.linspace(0.9, 0.1, 5), "bijective": np.linspace(0.8, 0.0, 5)}
    matrices = {str(layer): figures.heatmap(np.eye(4) * layer, x_labels="abcd", y_labels="wxyz") for layer in range(3)}
    return Result(
        "Early exit — ünïcode",
        "A paragraph.\n\nAnother.",
        caveats=["Small samples.", "Untrained exits."],
        metrics=[
            Metric("ser", 2.14, 0.42, unit="%", model="base", label="symbol error rate"),
            Metric("ser", 1.9, 0.4, unit="%", model="bijective", label="symbol error rate"),
            Metric("gap", 0.24, interval=(-0.1, 0.58)),
            Metric("layers", 5),
            Metric("zero", -0.0),
            Metric("none", float("nan")),
            Metric("name", "tiny"),
            Metric("good", True),
        ],
        headline="ser",
        tables={
            "texts": Table(["layer", "text"], [[0, "abc"], [1, None], [2, "<b>"]], "Texts.", monospace=["text"]),
            "ser": Table(
                ["model", "ser", "ser_error"],
                [["base", 2.14, 0.42], ["bijective", 1.9, None]],
                labels={"ser": "SER, %"},
            ),
        },
        figures={
            "error": Figure(figures.layer_curve(error, errors={"base": np.full(5, 0.1)}), "Error by layer."),
            "key": Figure(figures.slider(matrices, start=1), "The key."),
            "effect": figures.heatmap(rng.normal(size=(3, 4)), diverging=True),
            "letters": figures.bars({"base": rng.random(26)}, labels=LETTERS),
            "rank": figures.scatter_with_fit(np.arange(9.0), np.arange(9.0) ** 2),
            "own": Figure(go.Figure(go.Scatter(y=[1, 2])), data=Table(["a"], [[1.5]])),
        },
        arrays={"file": np.arange(6, dtype=">i2").reshape(2, 3), "text": np.array(["ä", "bc"])},
    )


@pytest.fixture(scope="session")
def published(tmp_path_factory, result, provenance):
    """A folder with a gallery of two reports; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("published") / "runs"
    one = publish(Report(result, provenance), folder)
    two = publish(Report(Result("Depth", metrics=[Metric("depth", 12)]), {**provenance, "analysis": "depth"}), folder)
    for stored, name in ((one, "one"), (two, "two")):
        stored.folder.rename(folder / name)
    write_gallery(folder)
    return folder


@pytest.fixture
def runs(published, tmp_path):
    """A copy of the gallery, for one test."""
    return Path(shutil.copytree(published, tmp_path / "runs", ignore=shutil.ignore_patterns("plotly.min.js")))


def chromium_or_skip():
    """Return selenium, the browser and its driver; without them the tests are skipped, but fail in CI."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        webdriver = None
    if webdriver and binary and driver:
        return webdriver, binary, driver
    if os.environ.get("CI") or os.environ.get("ALICE_REQUIRE_BROWSER"):
        pytest.fail(MISSING)
    return pytest.skip(MISSING)


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    webdriver, binary, path = chromium_or_skip()
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.add_argument("--window-size=1280,900")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(path)) as running:
        yield running


@pytest.fixture
def browser(driver, tmp_path):
    folder = tmp_path / "downloads"
    folder.mkdir()
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    return Browser(driver, folder)


class Browser:
    """What the tests do with a browser."""

    LOCAL = ("file:", "data:", "blob:", "about:", "chrome:", "devtools:")

    def __init__(self, driver, downloads):
        self.driver, self.downloads = driver, downloads

    def open(self, address):
        """Open a file or an address and wait until every figure is drawn."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(address if isinstance(address, str) else address.as_uri())
        self.wait_for(lambda: self.js("return document.readyState") == "complete")
        self.wait_for(lambda: self.js("return !document.querySelector('.plot:not([data-drawn])')"))

    def visit(self, address):
        """Open a page unless it is open, for tests that leave it as it is."""
        if self.driver.current_url != address.as_uri():
            self.open(address)

    def wait_for(self, condition):
        """Wait until a condition holds, and fail if it does not in time."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the page did not get there in time"
            time.sleep(0.02)

    def js(self, script, *arguments):
        """Run a script in the page and return what it returns."""
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        """Return the first element, in the middle of the window."""
        element = self.driver.find_element("css selector", selector)
        self.js("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        return element

    def complaints(self):
        """Return the errors and warnings of the console since the page was opened or since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Return the addresses outside this machine that the page requested and its policy did not block."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        of = {name: [event["params"] for event in events if event["method"] == f"Network.{name}"] for name in NETWORK}
        stopped = {event["requestId"] for event in of["loadingFailed"] if event.get("blockedReason") == "csp"}
        sent = [event["request"]["url"] for event in of["requestWillBeSent"] if event["requestId"] not in stopped]
        return [url for url in sent if not url.startswith(self.LOCAL)]

    def downloaded(self, name):
        """Wait for a download and return its content."""
        self.wait_for(lambda: (self.downloads / name).exists() and not list(self.downloads.glob("*.crdownload")))
        return (self.downloads / name).read_bytes()


NETWORK = ("requestWillBeSent", "loadingFailed")
