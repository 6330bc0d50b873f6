"""The list of benchmarks, their targets, the report and the command."""

import json
from importlib import import_module
from inspect import signature

import pytest
from click.testing import CliRunner

from alice.bench.measuring import Ratio
from alice.bench.suite import BENCHMARKS, Bench, Benchmark, find, report
from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext

SMALL = Benchmark("small", "a / b", "time", 1.5)
LARGE = Benchmark("large", "c / d", "share", 0.6, at_most=False)
WITHOUT_TARGET = Benchmark("growth", "e / f", "exponent")


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_every_benchmark_is_a_module_of_its_name(benchmark):
    module = import_module(f"alice.bench.{benchmark.name.replace('-', '_')}")
    assert list(signature(module.measure).parameters) == ["quick"]
    assert module.__doc__


def test_a_target_is_an_upper_or_a_lower_limit():
    low, high = Ratio.exactly("x", 0.5), Ratio.exactly("x", 2.0)
    assert (SMALL.is_met(low), SMALL.is_met(high)) == (True, False)
    assert (LARGE.is_met(low), LARGE.is_met(high)) == (False, True)
    assert (SMALL.goal(), LARGE.goal()) == ("<= 1.5", ">= 0.6")
    assert (WITHOUT_TARGET.is_met(high), WITHOUT_TARGET.goal()) == (None, "-")


def test_an_unknown_benchmark_is_an_error_that_suggests_the_nearest():
    with pytest.raises(AliceError, match=r"there is no benchmark 'hoks'; did you mean 'hooks'"):
        find(("hoks",))
    assert [benchmark.name for benchmark in find(("exits", "hooks", "exits"))] == ["exits", "hooks"]
    assert find(()) == tuple(benchmark for benchmark in BENCHMARKS if benchmark.possible)


def test_a_benchmark_without_its_program_is_left_out_of_all_and_refused_by_name(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "explorer" not in {benchmark.name for benchmark in find(())}
    assert len(find(())) == len(BENCHMARKS) - 1
    with pytest.raises(AliceError, match="the benchmark explorer needs chromedriver; install it"):
        find(("explorer",))


def test_the_report_counts_the_targets_reached_and_names_the_missed_ones():
    measured = [
        (SMALL, Ratio("one", 1.2, 1.1, 1.3)),
        (LARGE, Ratio.exactly("two", 0.3, "why")),
        (WITHOUT_TARGET, Ratio.exactly("three", 1.0)),
    ]
    result = report(measured, quick=False)
    assert (result.metric("targets-reached").value, result.metric("targets").value) == (1, 2)
    assert result.summary == "1 of 2 ratios reach their target. Missed: large."
    rows = result.tables["ratios"].records()
    assert [row["met"] for row in rows] == ["yes", "no", "-"]
    assert [row["quartiles"] for row in rows] == ["1.1 to 1.3", "", ""]
    # 1.2 with an upper limit of 1.5; 0.3 with a lower limit of 0.6 counts as twice the target.
    shares = [row["ratio_to_target"] for row in result.figures["targets"].data.records()]
    assert shares == pytest.approx([0.8, 2.0])


def test_the_cache_holds_the_streams_and_nothing_else():
    (found,) = Bench(only=("cache-memory",)).measured(RunContext(seed=0))
    assert found[1].value == 1.0


def test_the_gallery_benchmark_publishes_among_few_and_among_many_reports(monkeypatch):
    gallery = import_module("alice.bench.gallery")
    monkeypatch.setattr(gallery, "MANY", 30)
    (found,) = gallery.measure(quick=True)
    assert found.case == "30 reports / 10"
    assert found.value > 0


def test_the_command_prints_a_table_and_stores_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr("alice.bench.startup._run", lambda arguments: "")
    arguments = ["bench", "cache-memory", "startup", "--quick", "--out", str(tmp_path)]
    shown = CliRunner().invoke(main, arguments)
    assert shown.exit_code == 0, shown.output
    assert "cache-memory" in shown.output
    (folder,) = tmp_path.glob("bench-*")
    stored = json.loads((folder / "result.json").read_text())
    assert (folder / "report.html").exists()
    assert stored["provenance"]["options"] == {"only": ["cache-memory", "startup"], "quick": True}
    as_json = CliRunner().invoke(main, [*arguments[:2], "--json", "--quick", "--out", str(tmp_path)])
    assert json.loads(as_json.stdout)["ratios"][0]["met"] == "yes"


def test_the_command_refuses_an_unknown_name_before_it_measures(tmp_path):
    shown = CliRunner().invoke(main, ["bench", "hooks", "memry", "--out", str(tmp_path / "runs")])
    assert shown.exit_code == 1
    assert "did you mean 'memory'" in shown.stderr
    assert not (tmp_path / "runs").exists()
