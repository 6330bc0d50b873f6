"""`verify` from the command line: what it prints, and its exit codes."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts, write_plugin

from alice.cli import main


def call(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)], prog_name="alice-interp")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A folder with a checkpoint, texts, a plugin and a report of it."""
    folder = tmp_path_factory.mktemp("bench")
    save_checkpoint(folder / "model")
    save_texts(folder / "texts.txt")
    write_plugin(folder / "count.py")
    inputs = ("--ckpt", folder / "model", "--data", folder / "texts.txt", "--split", "all")
    made = call("run", "count", "--plugin", folder / "count.py", *inputs, "--out", folder / "runs")
    assert made.exit_code == 0, made.output
    return folder


@pytest.fixture
def run(bench, tmp_path):
    """A copy of the report folder."""
    (folder,) = (bench / "runs").glob("count-*")
    return Path(shutil.copytree(folder, tmp_path / "runs" / folder.name))


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "verify.md").read_text(encoding="utf-8")
"""The page of the documentation."""


def test_the_example_of_an_edited_page_is_found_with_the_words_of_the_documentation(tmp_path):
    (command,) = re.findall(r"^\$ alice-interp (run early-exit .+)$", PAGE, re.MULTILINE)
    ((old, new),) = re.findall(r"^\$ sed 's/(.+?)/(.+?)/' sent\.html > edited\.html$", PAGE, re.MULTILINE)
    (shown,) = re.findall(r"(?ms)^\$ alice-interp verify edited\.html --page-only\n(.+?)```$", PAGE)
    made = call(*command.split(), "--out", tmp_path / "runs")
    sent, edited = tmp_path / "sent.html", tmp_path / "edited.html"
    call("report", Path(made.stdout.splitlines()[-1]).parent, "--standalone", "--out", sent)
    edited.write_text(re.sub(old, new, sent.read_text(encoding="utf-8")), encoding="utf-8")
    done = call("verify", edited, "--page-only")
    assert (done.exit_code, done.stdout) == (1, shown)


def test_a_report_is_the_same_in_three_stages_and_one_last_line(bench, run):
    for path in (run, run / "report.html"):
        done = call("verify", path, "--plugin", bench / "count.py")
        assert done.exit_code == 0, done.output
        stages = [line.split()[0] for line in done.stdout.splitlines()]
        assert stages == ["page", "inputs", "run", "the"]
        assert done.stdout.splitlines()[-1] == "the same"


def test_an_edited_page_is_different_whether_or_not_it_is_run(bench, run):
    page = run / "report.html"
    page.write_text(re.sub(r">5</dd>", ">6</dd>", page.read_text(), count=1))
    done = call("verify", page, "--page-only")
    assert done.exit_code == 1
    assert "metrics: the page has '6', the data give '5'" in done.stdout
    assert done.stdout.splitlines()[-1] == "different: the page in 1 part"
    assert call("verify", page, "--plugin", bench / "count.py").exit_code == 1


def test_a_page_alone_is_verified_and_an_edited_one_is_not(bench, run, tmp_path):
    alone = tmp_path / "sent" / "page.html"
    alone.parent.mkdir()
    shutil.copy(run / "report.html", alone)
    assert call("verify", alone, "--plugin", bench / "count.py").exit_code == 0
    alone.write_text(re.sub(r">5</dd>", ">6</dd>", alone.read_text()))
    assert call("verify", alone, "--page-only").exit_code == 1


def test_a_forged_report_is_found_by_running_again(bench, run):
    file = run / "result.json"
    file.write_text(file.read_text().replace('"value": 5', '"value": 6'))
    assert call("report", run).exit_code == 0
    assert call("verify", run, "--page-only").exit_code == 0
    done = call("verify", run, "--plugin", bench / "count.py")
    assert done.exit_code == 1
    assert "metric texts: 6 before, 5 now" in done.stdout


def forged_texts(texts, folder):
    """Return the entry of a provenance that names the first texts, as the program describes them."""
    from alice.plugins import RunContext

    ctx = RunContext.open(folder / "model", data=folder / "texts.txt", split="all").sample(texts)
    assert len(ctx.plaintexts) == texts
    return {"model": "model", **ctx.texts.provenance()}


def test_a_report_that_names_more_texts_than_it_read_is_found_by_running_again(bench, run):
    file = run / "result.json"
    document = json.loads(file.read_text())
    (entry,) = document["provenance"]["data"]
    assert entry["texts"] == 5
    assert forged_texts(5, bench) == entry
    document["provenance"]["data"] = [forged_texts(8, bench)]
    file.write_text(json.dumps(document))
    assert call("report", run).exit_code == 0
    done = call("verify", run, "--plugin", bench / "count.py")
    assert done.exit_code == 1
    assert "texts of model: the report names 8 texts, and the analysis reads 5 texts" in done.stdout


def test_the_last_line_says_that_scripts_of_another_version_were_not_compared(bench, run):
    file = run / "result.json"
    document = json.loads(file.read_text())
    document["provenance"]["versions"]["alice-interp"] = "0.0.1"
    file.write_text(json.dumps(document))
    assert call("report", run).exit_code == 0
    page = run / "report.html"
    page.write_text(page.read_text().replace("</body>", "<script>document.body.textContent = '0 %'</script></body>"))
    done = call("verify", run, "--plugin", bench / "count.py")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "the same; design and scripts of the page not compared"
    done = call("verify", run, "--page-only")
    assert done.stdout.splitlines()[-1].endswith("not run again; design and scripts of the page not compared")


def test_a_plugin_that_is_absent_is_a_sentence_and_its_own_exit_code(run):
    done = call("verify", run)
    assert done.exit_code == 2
    assert "the analysis 'count' is not here" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("the page shows its data; not run again: ")


def test_what_is_no_report_is_one_sentence(tmp_path):
    for path in (tmp_path, tmp_path / "missing.html"):
        done = call("verify", path)
        assert done.exit_code == 2
        assert done.stdout == ""
        assert done.stderr.startswith("alice-interp: error: ")
        assert len(done.stderr.splitlines()) == 1


def test_json_has_everything_for_programs(bench, run, tmp_path):
    done = call("verify", run, "--json", "--vary", "1", "--plugin", bench / "count.py")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["verdict"], found["page"]["same"], found["run"]["exact"]) == (
        0,
        "the same",
        True,
        True,
    )
    assert found["verdicts"] == []
    assert json.loads(call("verify", tmp_path / "missing", "--json").stdout)["verdict"] == "not verified"


def test_nothing_is_repeated_where_no_verdict_could_flip(bench, run):
    done = call("verify", run, "--vary", "2", "--plugin", bench / "count.py")
    assert done.exit_code == 0, done.output
    assert "repeating with" not in done.stderr
    assert "run     equal to the last bit: 1 metric" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "the same; the page states no verdict that could flip"


FLIPPING = '''
    from dataclasses import dataclass
    from alice.plugins import Metric, Result, hookimpl

    @dataclass(frozen=True)
    class Parity:
        """Whether the seed is even."""
        name = "parity"
        checkpoints = "none"

        def run(self, ctx):
            return Result("Parity", metrics=[Metric("even", ctx.seed % 2 == 0), Metric("steady", "yes")])

    @hookimpl
    def register_analyses():
        return [Parity]
'''


def test_vary_and_page_only_exclude_each_other(run):
    done = call("verify", run, "--page-only", "--vary", "2")
    assert done.exit_code == 2
    assert "leave out one of them" in done.output


def test_vary_marks_each_verdict_that_flips(tmp_path):
    plugin = write_plugin(tmp_path / "parity.py", source=FLIPPING)
    made = call("run", "parity", "--plugin", plugin, "--out", tmp_path / "runs")
    done = call("verify", Path(made.stdout.splitlines()[-1]).parent, "--plugin", plugin, "--vary", "3")
    assert done.exit_code == 0, done.output
    table = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert "inputs  parity reads no checkpoint and no texts" in done.stdout.splitlines()
    assert table[0][:5] == ["flips", "even", "1", "of", "3"]
    assert done.stdout.splitlines()[-3].endswith("1 of 3  yes; no with seed 1, seed 3")
    assert table[1][:5] == ["stays", "steady", "3", "of", "3"]
    assert done.stdout.splitlines()[-1] == "the same; 1 of 2 verdicts flip"


def test_a_verdict_that_no_repeat_has_is_not_said_to_stay(tmp_path):
    """Only the first seed states `steady`."""
    source = FLIPPING.replace('Metric("steady", "yes")', '*([Metric("steady", "yes")] if ctx.seed == 0 else ())')
    plugin = write_plugin(tmp_path / "parity.py", source=source)
    made = call("run", "parity", "--plugin", plugin, "--out", tmp_path / "runs")
    done = call("verify", Path(made.stdout.splitlines()[-1]).parent, "--plugin", plugin, "--vary", "1")
    assert [line.split()[:2] for line in done.stdout.splitlines()[-3:-1]] == [["flips", "even"], ["alone", "steady"]]
    assert done.stdout.splitlines()[-1] == "the same; 1 of 2 verdicts flip, no repeat says anything of 1"


SAMPLING = '''
    from dataclasses import dataclass
    from random import SystemRandom
    from alice.plugins import Metric, Result, hookimpl

    @dataclass(frozen=True)
    class Coins:
        """Share of heads, thrown anew in each run."""
        name = "coins"
        checkpoints = "none"

        def run(self, ctx):
            heads = sum(SystemRandom().random() < 0.5 for _ in range(10_001))
            share = heads / 10_001
            return Result("Coins", metrics=[Metric("heads", share, ERRORS * (share * (1 - share) / 10_001) ** 0.5)])

    ERRORS = 5  # stated widely enough that two runs agree

    @hookimpl
    def register_analyses():
        return [Coins]
'''


def test_an_analysis_that_samples_anew_is_the_same_within_its_stated_error(tmp_path):
    plugin = write_plugin(tmp_path / "coins.py", source=SAMPLING)
    made = call("run", "coins", "--plugin", plugin, "--out", tmp_path / "runs")
    report = Path(made.stdout.splitlines()[-1]).parent
    last = [call("verify", report, "--plugin", plugin) for _ in range(2)]  # both equal by chance: 1 in 30,000
    assert [done.exit_code for done in last] == [0, 0]
    assert "the same within stated error" in [done.stdout.splitlines()[-1] for done in last]
    plugin.write_text(plugin.read_text().replace("< 0.5", "< 0.6"))
    done = call("verify", report, "--plugin", plugin)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (1, "different: the run in 1 part")
