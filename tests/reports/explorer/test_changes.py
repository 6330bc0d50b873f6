"""The explorer page: switching off, scaling, patching, pinning, undo, and links that bring it all back."""

import json
from itertools import product
from urllib.parse import quote, unquote

import pytest

from alice.checkpoint.packed import pack
from alice.reports.explorer.write import write

SECOND = "QFL ZDK MS KDD SD TKSC, XNL QFL YNJ MS SFL JMEFQ."


def fragment(state):
    return "#s=" + quote(json.dumps(state))


def differing(one, other):
    return [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]


def off(block, head):
    return {"kind": "scale", "part": "head", "block": block, "head": head, "factor": 0}


@pytest.fixture
def weak_head(explorer, model):
    """A head without which the answer changes, as (block, head), and the answer without it."""
    whole = model.answers(explorer.cipher)[-1]
    for block, head in product(range(4), range(2)):
        answer = model.answers(explorer.cipher, [off(block, head)])[-1]
        if answer != whole:
            return (block, head), answer
    return pytest.fail("no head matters for the example")


def test_a_head_that_is_switched_off_changes_the_answer_as_in_pytorch(explorer, model, weak_head):
    (block, head), wanted = weak_head
    whole = explorer.answer
    explorer.switch("head", block, head)
    assert explorer.answer == wanted
    assert explorer.changed == differing(wanted, whole)
    assert "".join(explorer.texts("#answer .changed s")) == "".join(whole[place] for place in explorer.changed)
    assert explorer.words.startswith("With your changes: errors ")
    assert explorer.texts("#changes button") == [f"L{block}H{head} off ×"]
    switch = explorer.find(f"[data-part='[\"head\",{block},{head}]']")
    assert switch.get_attribute("aria-label") == f"Block {block}, head {head}: off"
    pairs = zip(explorer.cipher, whole, wanted, strict=True)
    letters = {pair for pair in pairs if pair[0].isalpha() and pair[1] != pair[2]}
    shown = {tuple(text.upper().replace("→", " ").split()) for text in explorer.texts(".key-changes li")}
    assert shown == {tuple(symbol.upper() for symbol in one) for one in letters}
    explorer.click("#changes button")
    assert (explorer.answer, explorer.changed) == (whole, [])


def test_undo_and_redo_walk_through_the_changes(explorer, weak_head):
    (block, head), wanted = weak_head
    whole = explorer.answer
    explorer.switch("head", block, head)
    explorer.switch("mlp", 3)
    explorer.click("#undo")
    assert explorer.answer == wanted
    explorer.click("#undo")
    assert explorer.answer == whole
    assert explorer.find("#undo").get_attribute("aria-disabled") == "true"
    explorer.click("#redo")
    assert explorer.answer == wanted
    explorer.click("#reset")
    assert explorer.answer == whole
    explorer.js("document.activeElement.blur()")
    explorer.find("body").send_keys("\ue009z")
    explorer.settle()
    assert explorer.answer == wanted


def test_typing_is_one_step_of_undo(explorer):
    before = explorer.cipher
    explorer.type("#plain", "One two three four five.")
    explorer.click("#undo")
    assert explorer.cipher == before


def test_a_part_is_scaled_by_the_slider(explorer, model):
    from selenium.webdriver import Keys

    explorer.click("[name=tool][value=scale]")
    explorer.find("#factor").send_keys(Keys.END)
    explorer.switch("mlp", 3)
    change = {"kind": "scale", "part": "mlp", "block": 3}
    assert explorer.answer == model.answers(explorer.cipher, [{**change, "factor": 3}])[-1]
    explorer.find("#factor").send_keys(Keys.HOME)
    explorer.settle()
    assert explorer.texts("#changes button") == ["L3 MLP × 0 ×"]
    assert explorer.answer == model.answers(explorer.cipher, [{**change, "factor": 0}])[-1]


BY_ENGINE = """
const [text, second, interventions] = arguments;
const runner = ExplorerRunner.start(document);
const [first, other] = [text, second].map((one) => ExplorerText.read(one, runner.header.config.symbols));
const result = await runner.run(first.ids, { interventions, second: other.ids });
return ExplorerText.writeBack(first, result.answer.at(-1), runner.header.config.symbols).join("");
"""
"""What the engine, which test_engine.py holds to Python, makes of interventions."""


def test_parts_are_patched_from_a_second_text(explorer, model):
    explorer.click("[name=tool][value=patch]")
    explorer.type("#second", SECOND)
    explorer.switch("resid", 2)
    explorer.switch("head", 3, 1)
    alone = f"Alone it is read as: {model.answers(SECOND)[-1]}"
    explorer.wait_for(lambda: explorer.text("#second-answer") == alone)
    patches = [
        {"kind": "patch", "part": "resid", "layer": 2, "positions": None},
        {"kind": "patch", "part": "head", "block": 3, "head": 1, "positions": None},
    ]
    wanted = model.answers(explorer.cipher, patches, SECOND)[-1]
    assert explorer.answer == wanted != model.answers(explorer.cipher)[-1]
    assert f"parts are patched at the {len(SECOND)} that both have" in explorer.text("#second-note")
    explorer.type("#places", "1-3, 5")
    places = [{**one, "positions": [0, 1, 2, 4]} for one in patches]
    assert explorer.answer == model.answers(explorer.cipher, places, SECOND)[-1] != wanted
    explorer.type("#places", "")
    explorer.choose("#by", "symbol")
    by_symbol = explorer.js(BY_ENGINE, explorer.cipher, SECOND, [{**one, "by": "symbol"} for one in patches])
    assert explorer.answer == by_symbol != wanted
    explorer.wait_for(lambda: "by%22%3A%22symbol" in explorer.driver.current_url)
    assert "Errors (SER)" in explorer.text("#comparison-body")
    explorer.type("#second", "\u2603")
    assert explorer.text("#change-problem") == "A patch needs a second text with letters; type one."
    assert explorer.text("#comparison-body") == ""  # it was about the text before


def test_the_same_message_in_other_letters_is_carried_over_by_letter(explorer, model):
    explorer.click("[name=tool][value=patch]")
    assert explorer.find("#by").get_property("value") == "position"
    explorer.click("#second-swap")
    assert explorer.find("#by").get_property("value") == "symbol"
    assert explorer.text("#second-note") == ""
    explorer.switch("resid", 4)
    patch = {"kind": "patch", "part": "resid", "layer": 4, "positions": None, "by": "symbol"}
    second = explorer.find("#second").get_property("value")
    wanted = explorer.js(BY_ENGINE, explorer.cipher, second, [patch])
    assert explorer.answer == wanted != model.answers(explorer.cipher)[-1]
    explorer.choose("#by", "position")
    assert explorer.text("#second-note").startswith("Both texts are the same message")
    explorer.click("#second-other")
    assert explorer.text("#second-note") == ""


def test_the_answer_to_an_earlier_second_text_is_not_shown_for_a_new_one(explorer):
    explorer.open(fragment({"text": SECOND, "second": SECOND[::-1], "patch": [["resid", 2]]}))
    explorer.wait_for(lambda: explorer.text("#second-answer").startswith("Alone it is read as: "))
    explorer.type("#second", "")
    assert explorer.text("#second-answer") == ""


def test_a_patched_stream_is_taken_back_whatever_a_switch_does(explorer):
    explorer.open(fragment({"text": SECOND, "second": SECOND[::-1], "patch": [["resid", 2]]}))
    explorer.click("[name=tool][value=off]")
    explorer.switch("resid", 2)
    assert explorer.texts("#changes button") == []
    assert explorer.text("#change-problem") == ""


def test_each_of_several_changes_of_a_part_is_taken_back_alone(explorer):
    explorer.open(fragment({"text": SECOND, "off": [["mlp", 3]], "scale": [["mlp", 3, 2], ["head", 0, 1, 0.5]]}))
    assert explorer.texts("#changes button") == ["L3 MLP off ×", "L3 MLP × 2 ×", "L0H1 × 0.5 ×"]
    explorer.click("#changes button")
    assert explorer.texts("#changes button") == ["L3 MLP × 2 ×", "L0H1 × 0.5 ×"]


def test_a_difference_that_rounds_to_nothing_has_no_sign(explorer):
    explorer.open(fragment({"plain": SECOND, "scale": [["head", 0, 0, 1.0001]]}))
    explorer.click("[name=key-view][value=difference]")
    amounts = explorer.js("return [...document.querySelectorAll('#matrix td[aria-label]')].map(one => one.ariaLabel)")
    assert {label.partition(": ")[2].partition(",")[0].replace("\xa0", " ") for label in amounts} == {"0.0 %"}
    assert explorer.texts("#comparison-body .numbers td:last-child") == ["0.0", "0.0"]


def test_places_that_cannot_be_read_get_a_sentence_and_long_ranges_end_with_the_text(explorer):
    explorer.open(fragment({"text": SECOND, "second": SECOND[::-1], "patch": [["resid", 2]]}))
    for wrong in ("abc", "9-3", "0", "1 2"):
        explorer.type("#places", wrong)
        assert explorer.text("#places-problem").startswith(f'"{wrong}" names no character of this text')
    explorer.type("#places", "3, 40-100000")
    assert explorer.text("#places-problem") == ""
    wanted = ", ".join(str(place) for place in (3, *range(40, len(SECOND) + 1)))
    assert explorer.find("#places").get_property("value") == wanted


def test_characters_that_a_shorter_text_does_not_have_are_told(explorer):
    state = {"text": "RJ HRIF", "second": SECOND, "patch": [["resid", 2]], "by": "symbol"}
    explorer.open(fragment({**state, "places": [2, 7, 500]}))
    assert explorer.text("#second-note") == "The text has 7 characters, so 2 of the 3 chosen ones cannot be patched."
    explorer.open(fragment({**state, "places": [2, 6]}))
    assert explorer.text("#second-note") == ""


def test_a_pinned_letter_is_read_as_it_was_pinned(explorer):
    first = explorer.cipher[0].upper()
    explorer.choose("#pin-cipher", first)
    explorer.choose("#pin-plain", "Q")
    explorer.click("#pin")
    pairs = set(zip(explorer.cipher.upper(), explorer.answer.upper(), strict=True))
    assert {plain for cipher, plain in pairs if cipher == first} == {"Q"}
    assert {cipher for cipher, plain in pairs if plain == "Q"} == {first}
    assert explorer.texts("#changes button") == [f"{first} is Q ×"]
    explorer.click("#pin")  # a double click must not take it back
    assert explorer.texts("#changes button") == [f"{first} is Q ×"]


def test_the_key_is_walked_by_arrow_keys_and_pins_a_cell(explorer):
    from selenium.webdriver import Keys

    explorer.js("document.querySelector('#matrix td[tabindex=\"0\"]').focus()")
    explorer.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    cell = explorer.driver.switch_to.active_element
    assert cell.get_attribute("aria-label").startswith("C stands for B: ")
    cell.send_keys(Keys.ENTER)
    explorer.settle()
    assert explorer.texts("#changes button") == ["C is B ×"]
    assert explorer.driver.switch_to.active_element == cell
    assert "pinned" in cell.get_attribute("aria-label")
    cell.send_keys(Keys.ENTER)
    explorer.settle()
    assert explorer.texts("#changes button") == []


def test_each_part_is_tried_alone(explorer, model, weak_head):
    (block, head), answer = weak_head
    share = len(differing(answer, explorer.answer)) / len(answer)
    explorer.find("#scan").click()
    explorer.wait_for(lambda: explorer.js("return document.body.dataset.scanned") == "yes")
    label = explorer.find(f"[data-part='[\"head\",{block},{head}]']").get_attribute("aria-label")
    assert (
        label.replace("\xa0", " ") == f"Block {block}, head {head}: on, alone changes {100 * share:.1f} % of the answer"
    )


IN_THE_MIDDLE = """
const [first, then] = arguments;
document.querySelector(first).click();
setTimeout(() => document.querySelector(then).click(), 0);  // the computation has begun, and its answer is another task
"""


@pytest.mark.parametrize("then", ["#scan", "[name=tool][value=patch]"])
def test_a_computation_under_way_is_finished_whatever_is_chosen(explorer, model, then):
    text = "RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV YF TDJ MRAF."
    explorer.open(fragment({"text": text, "second": SECOND}))
    explorer.js(IN_THE_MIDDLE, "[data-part='[\"mlp\",3]']", then)
    explorer.wait_for(lambda: explorer.words.startswith("With your changes"))
    explorer.settle()
    part = {"kind": "scale", "part": "mlp", "block": 3, "factor": 0}
    assert explorer.answer == model.answers(text, [part])[-1]
    if then != "#scan":
        alone = f"Alone it is read as: {model.answers(SECOND)[-1]}"
        explorer.wait_for(lambda: explorer.text("#second-answer") == alone)


STATE = {
    "text": "Rj hrif, yf qdaf sef bfvs kftrvrnjv.",
    "plain": "In life, we have the best decisions.",
    "layer": 3,
    "head": [2, 1],
    "off": [["head", 0, 1], ["mlp", 2]],
    "scale": [["head", 1, 0, 0.5]],
    "patch": [["resid", 1]],
    "second": SECOND,
    "places": [0, 4],
    "pin": [["R", "E"]],
}


def shown(explorer):
    return {
        "answer": explorer.answer,
        "changes": explorer.texts("#changes button"),
        "head": [
            explorer.find("#attention-block").get_property("value"),
            explorer.find("#attention-head").get_property("value"),
        ],
        "second": explorer.find("#second").get_property("value"),
        "places": explorer.find("#places").get_property("value"),
    }


def test_a_link_brings_everything_back(explorer, tmp_path, model):
    explorer.open(fragment(STATE))
    first = shown(explorer)
    assert first["changes"] == ["L0H1 off ×", "L2 MLP off ×", "L1H0 × 0.5 ×", "stream of layer 1 patched ×", "R is E ×"]
    assert (first["head"], first["second"], first["places"]) == (["2", "1"], SECOND, "1, 5")
    explorer.find("#link").click()
    explorer.wait_for(lambda: "ink" in explorer.words)
    link = explorer.driver.current_url
    assert json.loads(unquote(link.partition("#s=")[2])) == STATE
    explorer.open("#" + link.partition("#")[2])
    assert shown(explorer) == first
    packed = pack(model.folder)
    write(tmp_path / "opened.html", packed.header, packed.weights, STATE)
    explorer.open(page=tmp_path / "opened.html")
    assert shown(explorer) == first


def test_a_changed_address_changes_the_page_and_can_be_undone(explorer):
    before = explorer.answer
    explorer.js("location.hash = arguments[0]", fragment({"text": STATE["text"]}))
    explorer.wait_for(lambda: explorer.cipher == STATE["text"])
    explorer.click("#undo")
    assert explorer.answer == before


BAD = (
    *("#s=%", "#s=%7B", "#s=[]"),
    fragment({"off": [["head", 99, 0]]}),
    fragment({"key": "ABC"}),
    fragment({"scale": [["head", 0, 0, "much"]]}),
    fragment({"unknown": 1}),
    fragment({"pin": [["<b>", "E"]]}),
)


def test_a_damaged_link_is_explained_and_an_example_is_shown(explorer, model):
    explorer.open(BAD[0])
    assert explorer.text("#notice").endswith("The page begins with an example instead.")
    assert explorer.answer == model.answers(explorer.cipher)[-1]


def test_a_damaged_address_leaves_the_page_as_it_is(explorer):
    before = explorer.answer
    for bad in BAD:
        explorer.js("document.getElementById('notice').textContent = ''; location.hash = arguments[0]", bad)
        explorer.wait_for(lambda: explorer.text("#notice").endswith("The page stays as it is."))
        assert explorer.answer == before
