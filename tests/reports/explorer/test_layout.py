"""The explorer page: what stands beside what, and that nothing moves or is cut off."""

import json
from urllib.parse import quote

import pytest
from selenium.webdriver import Keys

LONG = "The network counts letters first, then it notices the short words. " * 9
BOX = "const { left, top, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();"


def box(explorer, selector):
    found = explorer.js(f"{BOX} return {{ left, top, width, height }};", selector)
    return {name: round(size) for name, size in found.items()}


def test_a_switch_stays_in_its_place_whatever_it_does(explorer):
    switch, beside = ("[data-part='[\"head\",1,0]']", "[data-part='[\"head\",1,1]']")
    for tool in ("off", "scale", "patch"):
        explorer.click(f"[name=tool][value={tool}]")
        explorer.switch("head", 1, 0)
        explorer.find(switch)
        one, other = box(explorer, switch), box(explorer, beside)
        assert (one["top"], one["height"], one["width"]) == (other["top"], other["height"], other["width"]), tool


def test_the_answer_keeps_its_height_at_every_layer(explorer):
    explorer.switch("mlp", 3)
    assert explorer.changed != []
    heights = set()
    for layer in range(5):
        explorer.click(f"[data-layer='{layer}']")
        heights.add(box(explorer, "#answer")["height"])
    assert len(heights) == 1


def test_the_map_of_a_long_text_leaves_room_for_words(chromium):
    chromium.open("#s=" + quote(json.dumps({"plain": LONG})))
    assert chromium.find("#map").get_property("width") == len(LONG)
    shown, words = box(chromium, "#map"), box(chromium, "#attention-words")
    assert shown["width"] == shown["height"] < 400
    assert 0 < words["left"] - shown["left"] - shown["width"] < 60
    assert words["width"] > 500


def test_the_board_and_the_rows_of_controls_fit_360_pixels(narrow):
    narrow.click("[name=tool][value=patch]")
    narrow.switch("resid", 2)
    hidden = "const box = document.querySelector('.board-scroll'); return box.scrollWidth - box.clientWidth"
    assert narrow.js(hidden) <= 0
    assert box(narrow, "#pin")["top"] == box(narrow, "#pin-cipher")["top"]
    tops = "return [...document.querySelectorAll('#key-views label')].map(one => one.getBoundingClientRect().top)"
    assert len(set(narrow.js(tops))) == 1


def test_the_numbers_of_the_panels_are_round(narrow):
    size = "const { width, height } = one.getBoundingClientRect(); return width - height"
    off = narrow.js(f"return [...document.querySelectorAll('.step')].map((one) => {{ {size} }})")
    assert off == pytest.approx([0] * 5, abs=0.1)


def test_the_notes_beside_a_letter_have_room_in_a_window_of_middle_width(chromium):
    size = {"width": 800, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    chromium.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    widths = chromium.js(
        "return [...document.querySelectorAll('#confidence .others')].map((one) => one.getBoundingClientRect().width)"
    )
    chromium.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert min(widths) > 130


def test_a_tap_of_a_finger_does_what_a_click_does(chromium, narrow):
    switch = "[data-part='[\"mlp\",3]']"
    narrow.find(switch)
    place = box(narrow, switch)
    at = {"x": place["left"] + place["width"] / 2, "y": place["top"] + place["height"] / 2}
    command = chromium.driver.execute_cdp_cmd
    command("Emulation.setTouchEmulationEnabled", {"enabled": True})
    command("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
    command("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    command("Emulation.setTouchEmulationEnabled", {"enabled": False})
    narrow.wait_for(lambda: narrow.texts("#changes button") == ["L3 MLP off \u00d7"])
    narrow.settle()


def test_a_letter_of_the_answer_is_chosen_for_a_pin(explorer):
    letter = explorer.find("#answer [data-letter]").get_attribute("data-letter")
    explorer.click("#answer [data-letter]")
    assert explorer.find("#pin-cipher").get_property("value") == letter
    explorer.driver.switch_to.active_element.send_keys("Q")
    explorer.wait_for(lambda: explorer.find("#pin-plain").get_property("value") == "Q")
    explorer.driver.switch_to.active_element.send_keys(Keys.TAB)
