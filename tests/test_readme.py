"""The first page works: each command and each piece of code on it runs, and its figures are those of the cards."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from alice.checkpoint.folder import bundled
from alice.cli import main
from alice.plugins.manager import build
from alice.plugins.paper import MEAN_SER
from alice.reports import read_report

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
LINES = [line for kind, source in BLOCKS if not kind for line in source.splitlines() if line.strip()]
COMMANDS = [shlex.split(line, comments=True) for line in LINES if line.startswith("alice-interp ")]
(PLUGIN,) = (source for kind, source in BLOCKS if kind == "python")
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
SHORTER = {
    "early-exit": ["--samples", "8"],
    "probe": ["--samples", "8", "--repeats", "1", "--epochs", "1", "--target", "vowel"],
    "ablation": ["--samples", "4", "--pairs", "0", "--permutations", "10"],
}
"""Options added to those of the page to save time, by analysis."""
QUESTIONS = (
    "Try it",
    "What does each layer say?",
    "Where is it?",
    "Why this answer?",
    "Can I trust it?",
    "How did it come to be?",
    "Solve",
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder with its own activation store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))


def invoke(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def shortened(arguments):
    name, *rest = arguments
    if name == "verify":  # the report that the page names is an example
        return [name, "--help"]
    if name == "grade":
        return [*arguments, "--planted", "frequency", "--trials", "1"]
    if name == "run" and "--trainings" in rest:
        return arguments
    return [*arguments, *SHORTER.get(rest[0], [])]


def test_the_commands_are_found():
    names = [command[1] for command in COMMANDS]
    assert names == ["explore", "run", "run", "run", "grade", "verify", "run", "solve"]
    assert {line.split()[1] for line in LINES if line.startswith("make ")} == {"demo", "test"}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_runs(command):
    assert invoke(*shortened(command[1:]))


@pytest.mark.parametrize("target", ["demo", "test", "figures"])
def test_the_targets_are_in_the_makefile(target):
    assert re.search(rf"^{target}: ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_plugin_runs_with_the_command_below_it():
    Path("norms.py").write_text(PLUGIN)
    (command,) = re.findall(r"`alice-interp (run stream-norm [^`]+)`", README)
    page = invoke(*command.split(), "--samples", "8").splitlines()[-1]
    rows = read_report(Path(page).parent).tables["norms"].records(model="base")
    assert [row["block"] for row in rows] == list(range(8))
    assert all(row["norm"] > 0 for row in rows)


def numbers_of(card):
    """Return the numbers of a model's card by the columns of the table, as they are printed."""
    means = dict(re.findall(r"^\| (\S+) \| [\d,]+ \| ([\d.]+) ± ", card, re.MULTILINE))
    return {
        "parameters": re.search(r"([\d,]+) parameters", card)[1],
        "core hours": re.search(r"([\d.]+) core hours", card)[1],
        "test texts": re.search(r"^\| all \| ([\d,]+) \|", card, re.MULTILINE)[1],
        **means,
    }


@pytest.mark.parametrize("page", [README, INDEX], ids=["README.md", "docs/index.md"])
@pytest.mark.parametrize("name", bundled())
def test_every_number_of_a_model_is_the_one_on_its_card(page, name):
    table = re.search(r"<!-- cards -->.*?<!-- end of cards -->", page, re.DOTALL)[0]
    header, row = (
        re.search(rf"^\| {start} \|(.*)\|$", table, re.MULTILINE)[1].split("|") for start in ("model", f"`{name}`")
    )
    shown = {column.strip(): cell.strip() for column, cell in zip(header, row, strict=True)}
    on_card = numbers_of((bundled()[name] / "card.md").read_text(encoding="utf-8"))
    assert len(shown) == 10
    assert shown == {column: on_card.get(column, "") for column in shown}


def test_the_numbers_of_the_paper_are_the_printed_ones():
    printed = [f"{one.mean:.2f}" for one in MEAN_SER["base"]]
    for page in (README, INDEX):
        row = re.search(r"^\| paper, base \|(.*)\|$", page, re.MULTILINE)[1]
        assert [cell.strip() for cell in row.split("|")][-2:] == printed


def test_every_other_number_is_measured_where_the_page_says():
    sources = [ROOT / "docs" / "solving.md", ROOT / "benchmarks" / "README.md", ROOT / "constraints.txt"]
    known = set(re.findall(r"\d+\.\d+", "".join(source.read_text(encoding="utf-8") for source in sources)))
    for page in (README, INDEX):
        without_table = re.sub(r"<!-- cards -->.*?<!-- end of cards -->", "", page, flags=re.DOTALL)
        shown = set(re.findall(r"\b\d+\.\d+\b", without_table))
        assert not shown - known - {"3.11", "1.9", "2.0"}  # Python, the size of the installation, the licence


def test_the_version_of_torch_to_install_is_the_one_of_the_constraints():
    (pinned,) = re.findall(r"^torch==\S+", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    for page in (README, INDEX):
        assert re.findall(r"torch==\S+", page) == [pinned]


def test_the_error_rates_of_the_guided_search_are_those_of_its_page():
    solving = (ROOT / "docs" / "solving.md").read_text(encoding="utf-8")
    rates = {
        solver: re.findall(rf"^\| `{solver}`[^|]*\|(.*)\|$", solving, re.MULTILINE)[-1].split("|")[5:7]
        for solver in ("guided", "beam")
    }
    assert re.findall(r"On ([\d,]+) texts this makes", README) == re.findall(r"^All ([\d,]+) test texts", solving, re.M)
    (shown,) = re.findall(r"makes ([\d.]+) % errors below 128 characters and ([\d.]+) % from there on", README)
    assert list(shown) == [cell.strip() for cell in rates["guided"]]
    (shown,) = re.findall(r"a beam search without the network makes\s+([\d.]+)\s+and ([\d.]+) %", README)
    assert list(shown) == [cell.strip() for cell in rates["beam"]]


def test_the_ratio_is_that_of_the_benchmark():
    (measured, command) = re.search(
        r"takes (1\.\d+) times as long as one\s.*?\((`alice-interp bench .+?`)\)", README
    ).groups()
    benchmarks = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in benchmarks if line.startswith(f"| {command} |"))
    assert line.split(" | ")[-1].startswith(measured)


def test_the_questions_come_in_their_order_on_both_pages():
    headings = re.findall(r"^## (.+)$", README, re.MULTILINE)
    assert headings == [*QUESTIONS, "Ask your own question", "Install", "Models"]
    assert tuple(re.findall(r"^\| \*\*(.+?)\*\*", INDEX, re.MULTILINE)) == QUESTIONS


def test_the_first_picture_is_the_explorer():
    for page in (README, INDEX):
        assert re.search(r"!\[.*?\]\((.*?)\)", page)[1].endswith("images/explorer.png")


def test_every_analysis_is_linked():
    linked = re.findall(r"\[`([a-z-]+)`\]\(docs/analyses/\1\.md\)", README)
    assert sorted(linked) == sorted(build(third_party=False).analyses)


def test_the_page_is_short():
    assert len(README.splitlines()) < 150
