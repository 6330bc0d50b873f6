"""The first page works: each command and each piece of code on it runs, and its figures are those of the cards."""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from alice.checkpoint.folder import bundled
from alice.cli import main
from alice.model.config import VARIANTS
from alice.plugins.manager import build
from alice.reports import read_report

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
LINES = [line for kind, source in BLOCKS if not kind for line in source.splitlines() if line.strip()]
COMMANDS = [shlex.split(line, comments=True) for line in LINES if line.startswith("alice-interp ")]
FRONT_DOOR, PLUGIN = (source for kind, source in BLOCKS if kind == "python")
SHORTER = {
    "run": ["--samples", "8"],
    "train": ["--hours", "0.0005", "--threads", "1", "--eval-texts", "4"],
}
"""Options added to those of the page to save time."""


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
    name = arguments[0]
    if name == "view" or arguments[:2] == ["run", "all"]:  # one waits for Ctrl-C, the other takes minutes
        return [*arguments, "--help"]
    return [*arguments, *SHORTER.get(name, [])]


def test_the_commands_are_found():
    assert [command[1] for command in COMMANDS] == ["explore", "solve", "run", "run", "view", "train"]
    assert {line.split()[1] for line in LINES if line.startswith("make ")} == {"demo", "test"}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_runs(command):
    assert invoke(*shortened(command[1:]))


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_targets_are_in_the_makefile(target):
    assert re.search(rf"^{target}: ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_plugin_runs_with_the_command_below_it():
    Path("norms.py").write_text(PLUGIN)
    (command,) = re.findall(r"`alice-interp (run stream-norm [^`]+)`", README)
    page = invoke(*command.split(), "--samples", "8").splitlines()[-1]
    rows = read_report(Path(page).parent).tables["norms"].records(model="base")
    assert [row["block"] for row in rows] == list(range(8))
    assert all(row["norm"] > 0 for row in rows)


def test_the_python_code_runs_and_its_early_exit_ends_in_the_models_answer():
    printed, names = StringIO(), {}
    quicker = FRONT_DOOR.replace("samples=500", "samples=8")
    assert quicker != FRONT_DOOR
    with redirect_stdout(printed):
        exec(compile(quicker, "README.md", "exec"), names)  # noqa: S102  (the page's own code)
    model, output = names["model"], names["output"]
    (answer,) = model.to_string(output.argmax(-1))
    assert printed.getvalue().splitlines()[-1] == f"{model.config.n_layers} {answer}"
    assert not names["changed"].equal(output)
    assert list(names["frame"].columns) == ["model", "layer", "ser", "ser_error"]
    assert len(list(Path("runs").glob("early-exit-base+bijective-*/report.html"))) == 1


def test_the_error_rates_are_those_of_the_cards():
    for name in VARIANTS:
        folder = bundled()[name]
        row = re.search(rf"^\| `{name}` \|([\d.| ]+)\|$", README, re.MULTILINE)
        assert row, f"README.md has no error rates of {name}"
        card = (folder / "card.md").read_text(encoding="utf-8")
        means = dict(re.findall(r"^\| (\S+) \| [\d,]+ \| ([\d.]+) ± ", card, re.MULTILINE))
        parts = ("[0,32)", "[32,64)", "[64,128)", "[128,256)", "[256,)", "<128", ">=128")
        shown = [float(cell) for cell in row[1].split("|")]
        assert shown == pytest.approx([float(means[part]) for part in parts], abs=0.051), name


def test_the_error_rate_of_the_multilingual_model_is_that_of_its_card():
    card = (bundled()["multilingual"] / "card.md").read_text(encoding="utf-8")
    texts, mean = re.search(r"^\| all \| ([\d,]+) \| ([\d.]+) ± ", card, re.MULTILINE).groups()
    assert f"{float(mean):.1f} % over {texts} segments" in README


def test_the_ratios_are_those_of_the_benchmarks():
    rows = re.findall(r"takes (1\.\d+) times as long as one forward pass \((`alice-interp bench .+?`)\)", README)
    assert rows
    benchmarks = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").splitlines()
    for measured, command in rows:
        (line,) = (line for line in benchmarks if line.startswith(f"| {command} |"))
        assert line.split(" | ")[-1].startswith(measured), command


def test_every_analysis_is_listed_and_the_parts_come_in_their_order():
    listed = re.findall(r"^\| \[`([a-z-]+)`\]\(docs/analyses/\1\.md\) \|", README, re.MULTILINE)
    assert sorted(listed) == sorted(build(third_party=False).analyses)
    parts = (
        "![",
        "make demo",
        "alice-interp solve",
        "import alice",
        "class StreamNorm",
        "How accurate, how fast",
        "Where the checkpoints",
        "please cite the paper",
    )
    places = [README.index(part) for part in parts]
    assert places == sorted(places)


def test_the_page_is_short():
    assert len(README.splitlines()) <= 150
