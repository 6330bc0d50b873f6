"""The explorer page of a small trained model in headless Chromium and, where it is installed, in Firefox."""

import shutil
import time
from dataclasses import dataclass

import pytest
import torch

from alice.bench.browser import compute, hooks_of
from alice.checkpoint.packed import pack
from alice.model import Alice
from alice.plugins.conformance import trained_model
from alice.reports.explorer.write import write

NO_FIREFOX = "no Firefox here: install firefox-esr, geckodriver (a binary on the PATH) and selenium from PyPI"
PATIENCE = 20
SELECT_ALL, BACKSPACE = "\ue009a", "\ue003"


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
def firefox(tmp_path_factory):
    """Return a running Firefox and the list in which its console messages arrive; without one the tests are skipped."""
    binary, path = shutil.which("firefox-esr") or shutil.which("firefox"), shutil.which("geckodriver")
    webdriver = pytest.importorskip("selenium.webdriver", reason=NO_FIREFOX)
    if not (binary and path):
        pytest.skip(NO_FIREFOX)
    options = webdriver.FirefoxOptions()
    options.binary_location, options.enable_bidi = binary, True
    options.add_argument("-headless")
    said = []
    with webdriver.Firefox(options=options, service=webdriver.FirefoxService(path)) as running:
        running.script.add_console_message_handler(lambda entry: said.append(entry.text))
        running.script.add_javascript_error_handler(lambda entry: said.append(entry.text))
        running.set_window_size(1280, 900)
        yield running, said


@pytest.fixture(params=["chromium", "firefox"])
def explorer(request, page):
    """The page, opened on its first example."""
    if request.param == "firefox":
        driver, said = request.getfixturevalue("firefox")
        found = Explorer(driver, page, lambda: [said.pop() for _ in said[:]])
    else:
        browser = request.getfixturevalue("browser")
        found = Explorer(browser.driver, page, browser.complaints, browser.requests)
    found.open()
    yield found
    assert found.complaints() == []


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
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the page did not get there in time"
            time.sleep(0.02)

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

    def switch(self, *part):
        """Click the switch of a part, such as ("head", 0, 1)."""
        self.click(f"[data-part='{part_name(part)}']")

    def type(self, selector, text):
        """Replace the text of a field by typing."""
        field = self.find(selector)
        for keys in (SELECT_ALL, BACKSPACE, text):  # apart, since Firefox would hold the control key
            field.send_keys(keys)
        self.wait_for(lambda: field.get_property("value") == text)  # Firefox hands the keys over later
        self.js("arguments[0].blur()", field)
        self.settle()

    def choose(self, selector, value):
        """Choose an entry of a menu."""
        self.find(f"{selector} option[value='{value}']").click()
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
