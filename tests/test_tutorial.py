"""The tutorial works: everything on it runs, prints what it shows, and supports its conclusions."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
SHARE_ALIKE = 0.97
"""Words that must agree; another processor may change a letter that is nearly a tie."""
NEAR = 5
"""Numbers, mostly percentages, may differ by less than this."""
STALE = "stale; run: python docs/run_tutorial.py"


def load_tool():
    """Import docs/run_tutorial.py."""
    spec = importlib.util.spec_from_file_location("run_tutorial", DOCS / "run_tutorial.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool()
PAGE = (DOCS / "tutorial.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The page with what it printed, the variables of its code, and the folder that it ran in."""
    folder = tmp_path_factory.mktemp("tutorial")
    return *tool.run(PAGE, folder), folder


def outputs(page: str) -> list[str]:
    """Return the words that a page shows as printed."""
    return " ".join(block["source"] for block in tool.BLOCK.finditer(page) if block["kind"] == "text").split()


def alike(shown: str, printed: str) -> bool:
    return shown == printed or (
        all(re.fullmatch(r"\d+%?[;,.]?", word) for word in (shown, printed))
        and abs(int(re.findall(r"\d+", shown)[0]) - int(re.findall(r"\d+", printed)[0])) < NEAR
    )


def test_the_page_shows_what_is_printed(done):
    shown, printed = outputs(PAGE), outputs(done[0])
    assert len(shown) == len(printed) > 100, STALE
    different = [pair for pair in zip(shown, printed, strict=True) if not alike(*pair)]
    assert len(different) < (1 - SHARE_ALIKE) * len(shown), f"{STALE}; {different}"


def test_an_answer_comes_out_and_the_probe_has_it_no_later_than_the_head(done):
    variables = done[1]
    assert variables["by_head"] is not None
    assert 0 < variables["by_probe"] <= variables["by_head"] < len(variables["answers"])


def test_layer_0_knows_nothing(done):
    variables = done[1]
    of_e = variables["truth"] == variables["E"]
    for answers in (variables["answers"], variables["probes"].predict(variables["vectors"])):
        assert (answers[0][of_e] == variables["E"]).float().mean() < 0.3


def test_frequent_letters_settle_before_rare_ones(done):
    rows = {row["letter"]: row for row in done[1]["found"].tables["settling"].records()}
    for rare in "KQ":
        assert rows[rare]["median_layer"] is None or rows["E"]["median_layer"] < rows[rare]["median_layer"]
        assert rows["E"]["wrong_at_end"] < rows[rare]["wrong_at_end"]


def test_the_first_text_has_f_for_e(done):
    (ciphertext,) = re.findall(r'^ +"([A-Z ,.]+)"$', PAGE, re.MULTILINE)
    plaintext = "IN LIFE, WE MAKE THE BEST DECISIONS WE CAN WITH THE INFORMATION WE HAVE ON HAND."
    assert [a == "F" for a in ciphertext] == [b == "E" for b in plaintext]


def test_the_analysis_of_the_page_has_its_reports(done):
    for model in ("base", "bijective"):
        (folder,) = (done[2] / "runs").glob(f"knows-{model}-*")
        assert (folder / "report.html").is_file()


@pytest.mark.parametrize("page", ["```sh\nrm x\n```\n", "```yaml\na: 1\n```\n", "```python\nraise OSError\n```\n"])
def test_what_cannot_be_run_is_not_passed_over(page, tmp_path):
    with pytest.raises((ValueError, OSError)):
        tool.run(page, tmp_path)
