"""States of the explorer, links that open it on one, and reports that have such links."""

import json

import pytest
from tiny import tiny

from alice.checkpoint.packed import pack_weights
from alice.errors import AliceError
from alice.reports import Report, Result, Trial, read_report
from alice.reports.explorer.beside import file_name, model_of, pages_in
from alice.reports.explorer.state import check, fragment, parse
from alice.reports.explorer.write import render, write
from alice.reports.html import write_report

CONFIG = {"n_layers": 2, "n_heads": 2, "n_ctx": 128}
STATE = {
    "plain": 'A caf\u00e9\'s "sign" & <b>more</b> #1 + 50 %',
    "key": "QWERTYUIOPASDFGHJKLZXCVBNM",
    "layer": 2,
    "head": [1, 0],
    "off": [["head", 0, 1], ["mlp", 1]],
    "scale": [["head", 1, 1, 2.5], ["mlp", 0, -1]],
    "pin": [["Q", "E"], ["E", "Q"]],
    "second": "XYZ",
    "patch": [["resid", 2], ["head", 0, 0]],
    "by": "symbol",
    "places": [0, 127],
}
BAD = {
    "no object": [],
    "an unknown field": {"texts": "A"},
    "no text": {"text": 1},
    "a key with a letter twice": {"key": "A" * 26},
    "a layer that is not there": {"layer": 3},
    "a layer that is no number": {"layer": True},
    "a head that is not there": {"off": [["head", 0, 2]]},
    "a stream switched off": {"off": [["resid", 0]]},
    "a part that is no part": {"off": [["tail", 0]]},
    "a part twice": {"off": [["mlp", 0], ["mlp", 0]]},
    "a part scaled twice": {"scale": [["mlp", 0, 2], ["mlp", 0, 3]]},
    "a part patched twice": {"patch": [["resid", 0], ["resid", 0]]},
    "no factor": {"scale": [["mlp", 0]]},
    "a huge factor": {"scale": [["mlp", 0, 1e9]]},
    "a pin of three letters": {"pin": [["A", "B", "C"]]},
    "a pin of small letters": {"pin": [["a", "b"]]},
    "a cipher letter pinned twice": {"pin": [["Q", "E"], ["Q", "T"]]},
    "a plain letter pinned twice": {"pin": [["Q", "E"], ["X", "E"]]},
    "a strange way": {"by": "magic"},
    "a place beyond the text": {"places": [128]},
    "a long text": {"text": "A" * 20_001},
    "a long list": {"places": [0] * 2001},
}
JUDGE = """
const [header, fragments] = arguments;
return fragments.map((fragment) => ExplorerState.fromFragment(fragment, header));
"""


@pytest.fixture(scope="module")
def packed():
    model = tiny("base")
    return pack_weights("a <b> model", model.config, model.state_dict(), where="model")


def test_a_state_survives_a_link():
    link = fragment(STATE)
    for given in (f"explore.html{link}", link, link.removeprefix("#"), json.dumps(STATE)):
        assert check(parse(given), CONFIG) == STATE
    assert not set(link) & set(' "<>%'[:-1])


@pytest.mark.parametrize("name", BAD)
def test_a_state_that_does_not_fit_is_one_sentence(name):
    with pytest.raises(AliceError, match="state of the explorer") as found:
        check(BAD[name], CONFIG)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("given", ["", "x", "#s=", "#s=%7B", "{", '{"a": NaN}', "[" * 10**5])
def test_what_is_no_state_is_one_sentence(given):
    with pytest.raises(AliceError, match="this is no state of the explorer; copy the link"):
        parse(given)


def test_the_page_judges_links_as_python_does(driver, tmp_path, packed):
    write(tmp_path / "explore.html", packed.header, packed.weights)
    driver.get((tmp_path / "explore.html").as_uri())
    header = {"name": "tiny", "config": CONFIG}
    damaged = ["#s=%7B", "#x", "#s=%E0%A4%A", "#s=1"]
    links = [fragment(STATE), *(fragment(state) if state else "#s=[]" for state in BAD.values()), *damaged, "", "#"]
    first, *others, empty, hash_alone = driver.execute_script(JUDGE, header, links)
    assert first == {"state": STATE, "problem": ""}
    for link, found in zip(links[1:-2], others, strict=True):
        assert found["state"] == {}, link
        assert found["problem"].endswith("."), link
    assert empty == hash_alone == {"state": {}, "problem": ""}


def test_a_page_tells_its_model_and_other_files_have_none(tmp_path, packed):
    write(tmp_path / file_name("a <b> model"), packed.header, packed.weights)
    (tmp_path / "explore-other.html").write_text("<p>Something else.</p>")
    assert pages_in(tmp_path) == {"a <b> model": "explore-a-b-model.html"}
    assert model_of(tmp_path / "explore-other.html") is model_of(tmp_path / "gone.html") is None


def test_a_page_runs_its_own_scripts_and_connects_to_nothing(packed):
    source = render(packed.header, packed.weights, STATE)
    policy = source.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    assert "default-src &#39;none&#39;" in policy
    assert policy.endswith("; worker-src blob:")
    assert "unsafe-eval" not in policy
    assert "connect-src" not in policy
    assert "<b>more</b>" not in source


def report_with_a_trial(out):
    trial = Trial("Switch off `L0H1`", "base", {"text": "AB", "off": [["head", 0, 1]]})
    return Report(Result("Parts", trials=[trial]), {"analysis": "parts"}).save(out)


def test_a_report_links_to_the_explorer_only_if_it_lies_beside_it(tmp_path, packed):
    stored = report_with_a_trial(tmp_path)
    assert "Try it" not in (stored.stored_in / "report.html").read_text()
    write(tmp_path / file_name("base"), {**packed.header, "name": "base"}, packed.weights)
    link = '<a href="../explore-base.html#s=%7B%22off%22%3A%5B%5B%22head%22%2C0%2C1%5D%5D%2C%22text%22%3A%22AB%22%7D">'
    again = read_report(stored.stored_in)
    assert link in write_report(again).read_text()
    assert "Try it" not in write_report(again, standalone=True).read_text()


def test_trials_are_stored_and_checked(tmp_path):
    assert read_report(report_with_a_trial(tmp_path).stored_in).result.trials == (
        Trial("Switch off `L0H1`", "base", {"text": "AB", "off": [["head", 0, 1]]}),
    )
    with pytest.raises(AliceError, match="has no field 'of'; did you mean 'off'"):
        Trial("Try", "base", {"of": []})
    with pytest.raises(AliceError, match="trials holds 'x'; give a list of alice"):
        Result("Parts", trials=["x"])
