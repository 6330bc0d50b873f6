"""Firefox without a window, driven by WebDriver BiDi, which Firefox speaks itself: no geckodriver is needed."""

import contextlib
import itertools
import json
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field

import pytest

MISSING = "no Firefox here: install the Debian package firefox-esr, and selenium from PyPI"
ANSWER = 90
"""Seconds in which Firefox must start and answer a command, on a busy machine."""
MODIFIERS = "\ue008\ue009\ue00a\ue03d"
OFFLINE = 'user_pref("services.settings.server", "data:,");'
"""Setting of Firefox: do not ask for updates of its own data."""
REPORT_POLICY = "() => addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective))"
"""Firefox tells the console of its own window what the policy of a page blocked, which tests do not see."""
SCRIPT = """async (...given) => JSON.stringify(await (async function () { %s
}).apply(null, given.map((one) => (typeof one === "string" ? JSON.parse(one) : one))))"""
"""Calls a script as selenium does; all arguments but elements come as JSON, and so does the result."""


class UnresponsiveError(Exception):
    """Firefox has died or does not answer, which happens now and then: the test may be repeated in a new one."""


class FirefoxKeeper:
    """Starts Firefox for the first test that asks for it, and again after it has stopped answering."""

    def __init__(self, make_profile):
        self._make_profile, self._stack, self._driver = make_profile, contextlib.ExitStack(), None

    def driver(self):
        if self._driver is None or self._driver.lost:
            self.close()
            self._driver = self._stack.enter_context(running_firefox(self._make_profile()))
        return self._driver

    def close(self):
        self._stack.close()
        self._driver = None


@contextlib.contextmanager
def running_firefox(profile):
    """Start Firefox with an empty folder as its profile; skip the test if there is none."""
    binary = shutil.which("firefox-esr") or shutil.which("firefox")
    websocket = pytest.importorskip("websocket", reason=MISSING)  # selenium brings it along
    if not binary:
        pytest.skip(MISSING)
    (profile / "user.js").write_text(OFFLINE)
    command = [binary, "--headless", "--remote-debugging-port=0", "--profile", str(profile)]
    with (profile / "said").open("w") as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
        try:
            address = wait_for(lambda: re.search(r"ws://\S+", (profile / "said").read_text()), ANSWER)[0]
            socket = websocket.create_connection(f"{address}/session", timeout=ANSWER, suppress_origin=True)
            faults = (OSError, websocket.WebSocketException, json.JSONDecodeError)  # the last message is empty
            try:
                yield Firefox(socket, faults)
            finally:
                socket.shutdown()  # `close` leaves a lost connection as it is
        finally:
            end(process)


def end(process):
    """End a process, also one that does not react when asked to."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()


class Firefox:
    """A window of Firefox, with those methods of selenium that the tests use."""

    LOCAL = ("file:", "data:", "blob:", "about:", "resource:", "chrome:")

    def __init__(self, socket, faults):
        self._socket, self._faults, self._numbers, self._events = socket, faults, itertools.count(), []
        self.lost = False
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.call("script.addPreloadScript", functionDeclaration=REPORT_POLICY)
        self.context = self.call("browsingContext.create", type="window")["context"]  # the first window has no focus
        self.set_window_size(1280, 900)

    def call(self, method, **values):
        """Send a command and return its result; events that come before it are kept."""
        number = next(self._numbers)
        try:
            self._socket.send(json.dumps({"id": number, "method": method, "params": values}))
            while (answer := json.loads(self._socket.recv())).get("id") != number:
                self._events.append(answer)
        except self._faults as error:
            self.lost = True
            raise UnresponsiveError(f"{method}: {error}") from error
        assert answer["type"] == "success", answer
        return answer["result"]

    def set_window_size(self, width, height):
        self.call("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def get(self, address):
        self.call("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, function, *arguments):
        """Call a function of the page with JSON or elements, and return the remote value."""
        given = [
            one.reference if isinstance(one, Element) else {"type": "string", "value": json.dumps(one)}
            for one in arguments
        ]
        found = self.call(
            "script.callFunction",
            functionDeclaration=function,
            arguments=given,
            target={"context": self.context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found["exceptionDetails"]["text"]
        return found["result"]

    def execute_script(self, script, *arguments):
        found = self.evaluate(SCRIPT % script, *arguments).get("value")
        return None if found is None else json.loads(found)

    def find_element(self, by, selector):
        found = self.evaluate("(selector) => document.querySelector(JSON.parse(selector))", selector)
        assert found["type"] == "node", f"the page has no {selector}"
        return Element(self, found["sharedId"])

    @property
    def switch_to(self):
        return self

    @property
    def active_element(self):
        return Element(self, self.evaluate("() => document.activeElement")["sharedId"])

    @property
    def current_url(self):
        return self.execute_script("return location.href")

    def act(self, kind, *actions, **more):
        self.call(
            "input.performActions",
            context=self.context,
            actions=[{"type": kind, "id": kind, "actions": actions, **more}],
        )

    def _heard(self, method):
        """Return what the events of one kind said since the last call."""
        self.execute_script("")  # events that are under way come before its answer
        found = [event["params"] for event in self._events if event["method"] == method]
        self._events = [event for event in self._events if event["method"] != method]
        return found

    def complaints(self):
        return [entry["text"] for entry in self._heard("log.entryAdded") if entry["level"] in ("warn", "error")]

    def requests(self):
        sent = [event["request"]["url"] for event in self._heard("network.beforeRequestSent")]
        return [url for url in sent if not url.startswith(self.LOCAL)]


@dataclass(frozen=True)
class Element:
    """An element of a page in Firefox."""

    driver: Firefox = field(compare=False)
    name: str

    @property
    def reference(self):
        return {"type": "node", "sharedId": self.name}

    def click(self):
        origin = {"type": "element", "element": self.reference}
        button = {"button": 0}
        move = {"type": "pointerMove", "x": 0, "y": 0, "origin": origin}
        self.driver.act("pointer", move, {"type": "pointerDown", **button}, {"type": "pointerUp", **button})

    def send_keys(self, *texts):
        """Type into the element; a modifier is held to the end."""
        self.driver.execute_script("arguments[0].focus()", self)
        actions, held = [], []
        for key in "".join(texts):
            actions.append({"type": "keyDown", "value": key})
            (held if key in MODIFIERS else actions).append({"type": "keyUp", "value": key})
        self.driver.act("key", *actions, *held)

    def get_property(self, name):
        return self.driver.execute_script("return arguments[0][arguments[1]]", self, name)

    def get_attribute(self, name):
        return self.driver.execute_script("return arguments[0].getAttribute(arguments[1])", self, name)

    def is_displayed(self):
        return self.driver.execute_script("return arguments[0].checkVisibility()", self)


def wait_for(condition, seconds):
    """Return the first value of a condition that holds; fail if none does in time."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "the browser did not get there in time"
        time.sleep(0.02)
    return found
