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
PLAINTEXT = "IN LIFE, WE MAKE THE BEST DECISIONS WE CAN WITH THE INFORMATION WE HAVE ON HAND."
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


def graded(page: str) -> str:
    """Return what the page shows of `alice-interp grade`."""
    return page[page.index("alice-interp grade") :].split("```text\n")[1].split("```")[0]


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


def test_frequent_letters_settle_before_rare_ones(done):
    settled = dict(re.findall(r"^(\w): \d+ texts, median layer (\w+)", done[0], re.MULTILINE))
    assert set(settled) == set("ETK")
    assert settled["K"] == "None" or max(int(settled["E"]), int(settled["T"])) < int(settled["K"])


def test_a_probe_reads_nothing_from_the_embedding_and_the_letter_from_the_last_layer(done):
    verdicts = dict(re.findall(r"^letter +layer (\d): (\w+),", done[0], re.MULTILINE))
    assert verdicts["0"] == "absent"
    assert verdicts["8"] == "used"


def test_the_strongest_parts_exceed_their_controls_and_the_answer_needs_the_strongest_head(done):
    rows = re.findall(r"^L\d\S*.*: (\d+)% of the answer .* control (-?\d+)%$", done[0], re.MULTILINE)
    assert len(rows) == 4
    assert all(int(loss) > int(control) for loss, control in rows)
    (answer,) = re.findall(r"^without L\dH\d: (.+)$", done[0], re.MULTILINE)
    assert answer != PLAINTEXT


def test_the_letter_k_is_decided_by_the_word_that_has_it(done):
    assert re.search(r"^A is K, above all because of MAKE: ", done[0], re.MULTILINE)


def test_zero_ablation_does_worst_on_the_planted_model(done):
    grades = {way: float(score) for score, way in re.findall(r"^([\d.]+) .*: .*?(\w+)$", graded(done[0]), re.MULTILINE)}
    assert min(grades, key=grades.get) == "zero"


def test_the_search_reads_what_the_network_alone_does_not(done):
    assert "IN LIFE, WE MAKE THE BEST DECISIONS WE CAN\n" in done[0]
    assert re.search(r"network \w, search \w", done[0])


def test_the_first_text_has_f_for_e():
    (ciphertext,) = re.findall(r"^> ([A-Z ,.]+)$", PAGE, re.MULTILINE)
    assert [a == "F" for a in ciphertext] == [b == "E" for b in PLAINTEXT]


def test_the_analysis_of_the_page_has_its_reports(done):
    for model in ("base", "bijective"):
        (folder,) = (done[2] / "runs").glob(f"knows-{model}-*")
        assert (folder / "report.html").is_file()


@pytest.mark.parametrize("page", ["```sh\nrm x\n```\n", "```yaml\na: 1\n```\n", "```python\nraise OSError\n```\n"])
def test_what_cannot_be_run_is_not_passed_over(page, tmp_path):
    with pytest.raises((ValueError, OSError)):
        tool.run(page, tmp_path)
