"""The explorer page of a small trained model in headless Chromium and, where it is installed, in Firefox."""

from dataclasses import dataclass

import pytest
import torch
from firefox import FirefoxKeeper, UnresponsiveError, wait_for

from alice.bench.browser import compute, hooks_of
from alice.checkpoint.packed import pack
from alice.model import Alice
from alice.plugins.conformance import trained_model
from alice.reports.explorer.write import write

PATIENCE = 20
WINDOW = (1280, 900)
SELECT_ALL, BACKSPACE, TAB = "\ue009a", "\ue003", "\ue004"
CHOOSE = """
const [menu, value] = arguments;
menu.value = value;
for (const kind of ["input", "change"]) menu.dispatchEvent(new Event(kind, { bubbles: true }));
"""


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A model that solves long texts, in half precision as on the page."""
    folder = tmp_path_factory.mktemp("explored") / "small"
    trained_model().save_pretrained(folder, dtype=torch.float16)
    return Explored(folder, Alice.from_pretrained(folder, device="cpu"))


@pytest.fixture(scope="session")
def page(model):
    path = model.folder.parent / "explore.html"
    packed = pack(model.folder)
    write(path, packed.header, packed.weights)
    return path


@pytest.fixture(scope="session")
def firefoxes(tmp_path_factory):
    """What starts Firefox; without one the tests are skipped."""
    keeper = FirefoxKeeper(lambda: tmp_path_factory.mktemp("firefox"))
    yield keeper
    keeper.close()


REPEATED = pytest.mark.flaky(reruns=2, only_rerun=UnresponsiveError.__name__)
"""A page that makes Firefox hang does so each time, and any other failure is not repeated."""


@pytest.fixture(params=["chromium", pytest.param("firefox", marks=REPEATED)])
def explorer(request, page):
    """The page, opened on its first example."""
    if request.param == "firefox":
        driver = request.getfixturevalue("firefoxes").driver()
        found = Explorer(driver, page, driver.complaints, driver.requests)
    else:
        browser = request.getfixturevalue("browser")
        found = Explorer(browser.driver, page, browser.complaints, browser.requests)
    found.open()
    yield found
    assert found.complaints() == []


@pytest.fixture
def chromium(explorer, request):
    """The page in Chromium, for what only its protocol can set."""
    if "firefox" in request.node.name:
        pytest.skip("set through the protocol of Chromium")
    yield explorer
    explorer.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.fixture
def narrow(explorer, request):
    """The page in a window of 360 pixels, in Chromium with fingers."""
    driver, width, height = explorer.driver, 360, 740
    if "firefox" in request.node.name:
        driver.set_window_size(width, height)
    else:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    explorer.open()
    yield explorer
    if "firefox" in request.node.name:
        driver.set_window_size(*WINDOW)
    else:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@dataclass(frozen=True)
class Explored:
    """The model of the page in PyTorch, which knows what the page must show."""

    folder: object
    model: Alice

    def answers(self, text, interventions=(), second=None):
        """Return the answer of each layer to a text, with the letters in the case of the text."""
        alphabet = self.model.alphabet
        ids = alphabet.encode(text.upper())
        other = None if second is None else alphabet.encode(second.upper())
        letters = compute(self.model, ids, hooks_of(self.model, interventions, other)).letters
        return [self._written(text, row[ids]) for row in letters]

    def _written(self, text, ids):
        """Return a text as the page writes an answer: a space that stands for something else is an open box."""
        symbols = ["·", *self.model.config.symbols.replace(" ", "␣")]
        own = self.model.alphabet.encode(text.upper())
        pairs = zip(text, ids, own, strict=True)
        plain = [symbols[read] if character.isalpha() or read != same else character for character, read, same in pairs]
        return "".join(p.lower() if c.islower() else p for c, p in zip(text, plain, strict=True))


class Explorer:
    """What the tests do with the page, and what they see on it."""

    def __init__(self, driver, page, complaints, requests=list):
        self.driver, self.page, self.complaints, self.requests = driver, page, complaints, requests

    def open(self, fragment="", page=None):
        """Load the page anew, with the end of an address."""
        self.driver.get("about:blank")
        self.complaints()
        self.requests()
        self.driver.get((page if isinstance(page, str) else (page or self.page).as_uri()) + fragment)
        self.settle()

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait_for(self, condition):
        wait_for(condition, PATIENCE)

    def settle(self):
        """Wait until the page shows what was asked of it."""
        self.wait_for(lambda: self.js("return document.body.dataset.ready === 'yes'"))

    def find(self, selector):
        element = self.driver.find_element("css selector", selector)
        for _ in range(2):  # the page first, which moves the panel that sticks; then inside the panel
            self.js("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        return element

    def click(self, selector):
        self.find(selector).click()
        self.settle()

    def press(self, selector):
        """Click by script: a pointer may miss what the page is still moving."""
        self.js("arguments[0].click()", self.find(selector))
        self.settle()

    def switch(self, *part):
        """Click the switch of a part, such as ("head", 0, 1)."""
        self.click(f"[data-part='{part_name(part)}']")

    def type(self, selector, text):
        """Replace the text of a field by typing."""
        field = self.find(selector)
        for keys in (SELECT_ALL, BACKSPACE, text):  # apart, since the control key is held
            field.send_keys(keys)
        self.wait_for(lambda: field.get_property("value") == text)
        field.send_keys(TAB)
        self.settle()

    def choose(self, selector, value):
        """Choose an entry of a menu, with the events that a browser sends: the menu itself is no part of the page."""
        self.js(CHOOSE, self.find(selector), value)
        self.settle()

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0]).textContent", selector).replace("\xa0", " ")

    def texts(self, selector):
        found = self.js("return [...document.querySelectorAll(arguments[0])].map(one => one.textContent)", selector)
        return [text.replace("\xa0", " ") for text in found]

    @property
    def answer(self):
        return "".join(self.texts("#answer .cell b"))

    @property
    def cipher(self):
        return "".join(self.texts("#answer .cell small"))

    @property
    def changed(self):
        """Positions of the letters that are marked as changed by the reader."""
        return self.js(
            "return [...document.querySelectorAll('#answer .cell')]"
            ".flatMap((cell, place) => cell.classList.contains('changed') ? [place] : [])"
        )

    @property
    def key(self):
        return "".join(self.texts("#key b"))

    @property
    def words(self):
        return self.text("#dock-words")


def part_name(part):
    return '["head",{},{}]'.format(*part[1:]) if part[0] == "head" else '["{}",{}]'.format(*part)
