"""The explorer page: texts, keys, layers, and input that cannot be solved."""

import re

from alice.reports.server import serving

CRYPTOGRAM = "RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV YF TDJ MRAF."


def encrypted(text, key):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return text.translate(str.maketrans(letters + letters.lower(), key + key.lower()))


def test_the_page_opens_on_an_example_without_error_and_without_network(explorer, model):
    assert explorer.cipher == encrypted(explorer.find("#plain").get_property("value"), explorer.key)
    assert explorer.texts("#layers p") == model.answers(explorer.cipher)
    assert explorer.answer == model.answers(explorer.cipher)[-1]
    assert re.match(r"(\d+ errors? in|Solved: no error in) \d+ characters", explorer.words)
    loaded = explorer.js("return performance.getEntriesByType('resource').map(one => one.name)")
    assert [url for url in loaded if not url.startswith(("blob:", "data:"))] == []
    assert explorer.requests() == []
    assert explorer.complaints() == []


NOISY = """<!doctype html>
<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'; style-src 'none'">
<body data-ready="yes"><script>console.error("said"); console.warn("warned");</script><script>gone();</script>
<style>p { color: red; }</style><img src="http://127.0.0.1:64999/picture.png">"""


def test_errors_and_requests_of_a_page_are_noticed_in_every_browser(explorer, tmp_path):
    (tmp_path / "noisy.html").write_text(NOISY)
    explorer.open(page=tmp_path / "noisy.html")
    heard = []

    def all_heard():
        heard.extend(explorer.complaints())
        return all(any(part in one for one in heard) for part in ("said", "warned", "gone", "style-src"))

    explorer.wait_for(all_heard)
    explorer.wait_for(lambda: explorer.requests() == ["http://127.0.0.1:64999/picture.png"])
    explorer.open()


def test_the_page_runs_when_it_is_served_with_the_reports(explorer, model, page):
    with serving(page.parent) as server:
        explorer.open(page=f"{server.url}{page.name}")
        assert explorer.answer == model.answers(explorer.cipher)[-1]
        assert [url for url in explorer.requests() if not url.startswith(server.url)] == []
        assert explorer.complaints() == []
        explorer.driver.get("about:blank")


def test_a_typed_cryptogram_is_read_by_every_layer(explorer, model):
    explorer.click("[name=mode][value=cipher]")
    explorer.type("#cipher", CRYPTOGRAM)
    assert explorer.cipher == CRYPTOGRAM
    assert explorer.texts("#layers p") == model.answers(CRYPTOGRAM)
    assert explorer.words.startswith(f"{len(CRYPTOGRAM)} characters read")
    last, before = model.answers(CRYPTOGRAM)[-1], model.answers(CRYPTOGRAM)[-2]
    marked = "".join(explorer.texts("#layers li:last-child mark"))
    assert marked == "".join(one for one, other in zip(last, before, strict=True) if one != other)


def test_a_typed_text_is_encrypted_and_its_errors_are_counted(explorer, model):
    plain = "Nobody reads this, not even you and me."
    explorer.type("#plain", plain)
    assert explorer.cipher == encrypted(plain, explorer.key)
    answer = model.answers(explorer.cipher)[-1]
    errors = sum(one != other for one, other in zip(answer, plain, strict=True))
    assert errors > 1  # so that there is something to count
    assert explorer.words == f"{errors} errors in {len(plain)} characters ({100 * errors / len(plain):.1f} %)."
    key = explorer.key
    explorer.click("#shuffle")
    assert sorted(explorer.key) == sorted(key) != list(explorer.key)
    assert explorer.key != key
    assert explorer.cipher == encrypted(plain, explorer.key)
    assert explorer.answer == model.answers(explorer.cipher)[-1]


def test_an_example_is_chosen_from_the_menu(explorer, model):
    explorer.choose("#examples", "1")
    assert explorer.find("#plain").get_property("value").startswith("All that glitters")
    assert explorer.answer == model.answers(explorer.cipher)[-1]


def test_a_solution_can_be_given_for_a_cryptogram(explorer):
    explorer.click("[name=mode][value=cipher]")
    explorer.type("#cipher", "ABC ABC")
    explorer.click("#solution-box summary")
    explorer.type("#solution", "THE THE")
    assert re.match(r"\d errors? in 7 characters|Solved", explorer.words)
    explorer.type("#solution", "THE")
    assert "another length" in explorer.text("#text-note")


def test_the_slider_and_the_rows_choose_a_layer(explorer, model):
    from selenium.webdriver import Keys

    answers = model.answers(explorer.cipher)
    explorer.find("#layer").send_keys(Keys.ARROW_LEFT)
    assert explorer.answer == answers[3]
    assert explorer.find("#layer").get_attribute("aria-valuetext") == "layer 3 of 4"
    explorer.click("[data-layer='1']")
    assert explorer.answer == answers[1]
    assert explorer.js("return document.activeElement.dataset.layer") == "1"
    assert explorer.find("#layer").get_property("value") == "1"
    explorer.wait_for(lambda: "layer%22%3A1" in explorer.driver.current_url)


STOP_AFTER_A_STEP = """
const [layer, play] = ["layer", "play"].map((id) => document.getElementById(id));
if (play.textContent === "Stop") play.click();
return Number(layer.value);
"""


def test_the_animation_begins_at_the_embedding_and_can_be_stopped(explorer, model):
    answers = model.answers(explorer.cipher)
    first = "document.getElementById('play').click(); return document.getElementById('answer-words').textContent"
    assert explorer.js(first) == f"Answer: {answers[0]}"
    explorer.wait_for(lambda: explorer.js("return document.getElementById('layer').value") != "0")
    layer = explorer.js(STOP_AFTER_A_STEP)
    assert explorer.answer == answers[layer]
    assert explorer.text("#play") == "Play"
    assert explorer.find("#undo").get_attribute("aria-disabled") == "true"  # looking is no change


PASTE = """
const field = document.getElementById(arguments[0]);
field.value = arguments[1];
field.dispatchEvent(new Event("input", { bubbles: true }));
"""


def test_a_cryptogram_pasted_over_another_has_not_its_solution(explorer):
    plain = explorer.find("#plain").get_property("value")
    explorer.click("[name=mode][value=cipher]")
    assert explorer.find("#solution").get_property("value") == plain
    explorer.js(PASTE, "cipher", CRYPTOGRAM)
    explorer.settle()
    assert explorer.find("#solution").get_property("value") == ""
    assert explorer.text("#text-note") == ""
    explorer.click("#undo")
    assert explorer.find("#solution").get_property("value") == plain


UNSOLVABLE = {
    "": "There is no text yet: type one, or choose an example.",
    "12, 34.": "There is no letter to solve; a cryptogram is in the letters A to Z.",
    "AB " * 400: "The text has 1,200 characters, and the network reads at most 1,024; shorten it.",
}


def test_a_text_that_cannot_be_solved_gets_a_sentence(explorer, model):
    explorer.click("[name=mode][value=cipher]")
    for text, sentence in UNSOLVABLE.items():
        explorer.js(PASTE, "cipher", text)
        explorer.settle()
        assert explorer.text("#problem") == sentence
        assert explorer.find("#problem").is_displayed()
    explorer.type("#cipher", CRYPTOGRAM)  # the page goes on
    assert explorer.answer == model.answers(CRYPTOGRAM)[-1]
    assert not explorer.find("#problem").is_displayed()


def test_one_letter_is_answered_with_a_warning(explorer, model):
    explorer.click("[name=mode][value=cipher]")
    explorer.type("#cipher", "Q")
    assert explorer.answer == model.answers("Q")[-1]
    assert "With 1 letter there is more than one solution" in explorer.text("#text-note")


def test_characters_outside_the_alphabet_stay_and_are_marked(explorer, model):
    explorer.click("[name=mode][value=cipher]")
    explorer.type("#cipher", "RJ 42 HRIF é YF <b>QDAF</b>")
    answer = model.answers("RJ  HRIF  YF bQDAFb")[-1]  # without them, as the model reads the text
    assert explorer.texts("#answer .outside b") == ["4", "2", "é", "<", ">", "<", "/", ">"]
    assert explorer.answer == f"{answer[:3]}42{answer[3:9]}é{answer[9:13]}<{answer[13]}>{answer[14:18]}</{answer[18]}>"
    assert "The network does not know these characters, which stay as written: 4 2 é < > /" in explorer.text(
        "#text-note"
    )


def test_a_character_that_cannot_be_seen_is_named_by_its_number(explorer):
    explorer.click("[name=mode][value=cipher]")
    explorer.js(PASTE, "cipher", "RJ HRIF\u202e YF \u200dQDAF \u5b57")
    explorer.settle()
    assert explorer.text("#text-note").endswith("which stay as written: U+202E U+200D \u5b57")


def test_a_text_that_may_be_too_long_for_what_the_network_learned_gets_a_warning(explorer):
    explorer.js(PASTE, "plain", "Nobody reads this. " * 27)  # 513 characters of 1,024
    explorer.settle()
    assert "This is a long text." in explorer.text("#text-note")
    explorer.js(PASTE, "plain", ("Nobody reads this. " * 27)[:512])
    explorer.settle()
    assert explorer.text("#text-note") == ""


def test_there_is_nothing_to_try_without_a_text(explorer):
    explorer.js(PASTE, "plain", "")
    explorer.settle()
    assert explorer.find("#scan").get_attribute("aria-disabled") == "true"
    explorer.click("#undo")
    assert explorer.find("#scan").get_attribute("aria-disabled") == "false"
