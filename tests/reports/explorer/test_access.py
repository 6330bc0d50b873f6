"""The explorer page for everybody: names for a screen reader, contrast, narrow windows, fingers, and no motion."""

import pytest

CONTROLS = "button, input, select, textarea, summary, [tabindex], [role=grid]"
NAMELESS = """
const named = (one) => one.getAttribute("aria-label") || one.textContent.trim() && !one.matches("select, textarea")
  || [...(one.labels ?? [])].some((label) => label.textContent.trim())
  || document.getElementById(one.getAttribute("aria-labelledby"))?.textContent.trim();
const nameless = [...document.querySelectorAll(arguments[0])].filter((one) => !named(one));
return nameless.map((one) => one.outerHTML.slice(0, 100));
"""
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


@pytest.fixture
def chromium(explorer, request):
    """The page in Chromium, for what only its protocol can set."""
    if "firefox" in request.node.name:
        pytest.skip("set through the protocol of Chromium")
    yield explorer
    explorer.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    explorer.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def change_much(explorer):
    """Bring every kind of mark on the page: changed and wrong letters, pins, scaled and patched parts."""
    explorer.switch("mlp", 1)
    explorer.click("[name=tool][value=scale]")
    explorer.switch("head", 2, 0)
    explorer.click("[name=tool][value=patch]")
    explorer.switch("head", 3, 0)
    explorer.choose("#pin-plain", "Q")
    explorer.click("#pin")


def test_every_control_has_a_name_and_can_be_reached(explorer):
    change_much(explorer)
    assert explorer.js(NAMELESS, CONTROLS) == []
    assert explorer.js("return [...document.querySelectorAll('#matrix [tabindex=\"0\"]')].length") == 1
    live = explorer.js("return [...document.querySelectorAll('[role=status], [role=alert]')].map(one => one.id)")
    assert {"dock-words", "problem", "notice", "scan-note"} <= set(live)


def test_all_text_has_contrast_in_both_themes(explorer):
    change_much(explorer)
    for view in ("now", "difference"):
        explorer.click(f"[name=key-view][value={view}]")
        for _ in ("one theme", "the other"):
            assert explorer.js(FAINT) == []
            explorer.click(".theme-toggle")


def test_the_page_fits_360_pixels_and_fingers(chromium):
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    chromium.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chromium.open()
    change_much(chromium)
    assert chromium.js("return [document.documentElement.scrollWidth, document.body.scrollWidth]") == [360, 360]
    assert chromium.js(SMALL) == []


def test_nothing_moves_by_itself_where_motion_is_not_wanted(chromium):
    reduced = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    chromium.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", reduced)
    chromium.open()
    assert chromium.js("return getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    assert chromium.find("#play").get_attribute("aria-pressed") == "false"  # only the reader starts it
    last = chromium.find("#layer").get_property("value")
    chromium.find("#play").click()
    assert chromium.find("#dock-words").get_attribute("aria-live") == "off"
    chromium.wait_for(lambda: chromium.text("#play") == "Play")
    assert chromium.find("#layer").get_property("value") == last
    assert chromium.find("#dock-words").get_attribute("aria-live") == "polite"
