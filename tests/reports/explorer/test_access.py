"""The explorer page for everybody: names for a screen reader, contrast, narrow windows, fingers, and no motion."""

import pytest
from firefox import UnresponsiveError, running_firefox

CONTROLS = "button, input, select, textarea, summary, [tabindex], [role=grid]"
NAMELESS = """
const named = (one) => one.getAttribute("aria-label") || one.textContent.trim() && !one.matches("select, textarea")
  || [...(one.labels ?? [])].some((label) => label.textContent.trim())
  || document.getElementById(one.getAttribute("aria-labelledby"))?.textContent.trim();
const nameless = [...document.querySelectorAll(arguments[0])].filter((one) => !named(one));
return nameless.map((one) => one.outerHTML.slice(0, 100));
"""
NAME = """
const nameOf = (one) => one.name && one.type === "radio" ? one.name
  : one.id || one.dataset.part || one.dataset.layer || one.className || `${one.tagName} ${one.textContent}`;
"""
REACHABLE = (
    NAME
    + """
const usable = (one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0;
return [...document.querySelectorAll(arguments[0])].filter(usable).map(nameOf);
"""
)
FOCUSED = (
    NAME
    + """
const one = document.activeElement;
const { left, right, top, bottom } = one.getBoundingClientRect();
const seen = document.elementFromPoint((left + right) / 2, Math.min(bottom, top + innerHeight / 2) - 3);
return [nameOf(one), one === document.body || !seen || one.contains(seen) || seen.contains(one)];
"""
)
SMALL = """
const targets = "button, select, .segments label, input[type=range], input[type=text], textarea, summary";
const small = ({ width, height }) => Math.min(width, height) < 24;
const found = [...document.querySelectorAll(targets)].filter((one) => one.checkVisibility());
return found.filter((one) => small(one.getBoundingClientRect())).map((one) => one.outerHTML.slice(0, 100));
"""
FAINT = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
canvas.canvas.width = canvas.canvas.height = 1;
const seen = new Map();
function parsed(colour) {
  if (!seen.has(colour)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    seen.set(colour, [red, green, blue, alpha / 255]);
  }
  return seen.get(colour);
}
const over = (top, alpha, below) => [0, 1, 2].map((channel) => top[channel] * alpha + below[channel] * (1 - alpha));
function behind(element) {
  if (!element) return [255, 255, 255];
  const colour = parsed(getComputedStyle(element).backgroundColor);
  return colour[3] === 1 ? colour : over(colour, colour[3], behind(element.parentElement));
}
function light(colour) {
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = colour.map((value) => linear(value / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function opacity(element) {
  return element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1;
}
const faint = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const away = element.closest("script, noscript, title, option, :disabled, [aria-disabled=true], .skip, " +
    ".hidden-label");
  if (away || !walker.currentNode.data.trim() || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const below = behind(element);
  const ink = parsed(element.closest("svg") ? style.fill : style.color);
  const [high, low] = [light(over(ink, ink[3] * opacity(element), below)), light(below)].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  if (ratio < 4.5) faint.push(`${element.outerHTML.slice(0, 80)}: ${ratio.toFixed(2)}`);
}
return faint;
"""


def change_much(explorer):
    """Bring every kind of mark on the page: changed and wrong letters, pins, scaled and patched parts."""
    for tool, part in ((None, '["mlp",1]'), ("scale", '["head",2,0]'), ("patch", '["head",3,0]')):
        if tool:
            explorer.press(f"[name=tool][value={tool}]")
        explorer.press(f"[data-part='{part}']")
    explorer.choose("#pin-plain", "Q")
    explorer.press("#pin")


def test_every_control_has_a_name(explorer):
    change_much(explorer)
    assert explorer.js(NAMELESS, CONTROLS) == []
    assert explorer.js("return [...document.querySelectorAll('#matrix [tabindex=\"0\"]')].length") == 1
    live = explorer.js("return [...document.querySelectorAll('[role=status], [role=alert]')].map(one => one.id)")
    assert {"dock-words", "problem", "notice", "scan-note"} <= set(live)


STATES = """
const buttons = [...document.querySelectorAll("#play, .switch")];
return buttons.map((one) => [one.ariaLabel ?? one.textContent, one.ariaPressed]);
"""


def test_a_button_whose_name_tells_its_state_is_not_pressed_as_well(explorer):
    change_much(explorer)
    states = explorer.js(STATES)
    assert {pressed for _, pressed in states} == {None}
    names = {name for name, _ in states}
    assert {"Play", "Block 0, head 0: on", "Block 1, MLP: off", "Block 2, head 0: times 0.5"} <= names
    assert "Block 3, head 0: patched" in names


def test_the_tab_key_reaches_every_control_and_nothing_covers_it(chromium):
    from selenium.webdriver import Keys

    change_much(chromium)
    chromium.js("document.documentElement.style.scrollBehavior = 'auto'")
    missed, covered = set(chromium.js(REACHABLE, CONTROLS)), []
    chromium.js("document.querySelector('.skip').focus()")
    for _ in range(len(missed)):
        chromium.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, shown = chromium.js(FOCUSED, CONTROLS)
        missed.discard(name)
        if not shown:
            covered.append(name)
    assert missed == set()
    assert covered == []


def test_all_text_has_contrast_in_both_themes(explorer):
    change_much(explorer)
    for view in ("now", "difference"):
        explorer.click(f"[name=key-view][value={view}]")
        for _ in ("one theme", "the other"):
            assert explorer.js(FAINT) == []
            explorer.click(".theme-toggle")


def test_the_page_fits_360_pixels_and_fingers(narrow):
    change_much(narrow)
    root = "document.documentElement"
    inner, free, wide, body = narrow.js(
        f"return [innerWidth, {root}.clientWidth, {root}.scrollWidth, document.body.scrollWidth]"
    )
    assert (inner, wide, body) == (360, free, free)  # the scroll bar of Firefox takes some of the width
    assert narrow.js(SMALL) == []


def test_an_example_is_seen_whole_in_its_field(chromium, narrow):
    hidden = "const field = document.getElementById('plain'); return field.scrollHeight - field.clientHeight"
    assert narrow.js(hidden) <= 0
    chromium.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert chromium.js(hidden) <= 0


PLAY_AND_LISTEN = """
document.getElementById("play").click();
return document.getElementById("dock-words").getAttribute("aria-live");
"""


def test_nothing_moves_by_itself_where_motion_is_not_wanted(chromium):
    reduced = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    chromium.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", reduced)
    chromium.open()
    assert chromium.js("return getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    assert chromium.text("#play") == "Play"  # only the reader starts it
    last = chromium.find("#layer").get_property("value")
    assert chromium.js(PLAY_AND_LISTEN) == "off"
    chromium.wait_for(lambda: chromium.text("#play") == "Play")
    assert chromium.find("#layer").get_property("value") == last
    assert chromium.find("#dock-words").get_attribute("aria-live") == "polite"


def test_without_firefox_tests_are_skipped_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="no Firefox here: install"), running_firefox(tmp_path):
        pass


def test_a_firefox_that_has_died_is_replaced(firefoxes):
    first = firefoxes.driver()
    assert firefoxes.driver() is first
    first.call("browser.close")
    with pytest.raises(UnresponsiveError):
        first.execute_script("")
    assert firefoxes.driver().execute_script("return 1") == 1
