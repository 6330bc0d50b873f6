import json
from importlib import import_module
from inspect import signature

import pytest
from click.testing import CliRunner

from alice.bench.analysis import Bench, report
from alice.bench.ratio import Benchmark, Ratio
from alice.bench.suite import BENCHMARKS, find
from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext

SMALL = Benchmark("small", "a / b", "time", 1.5)
LARGE = Benchmark("large", "c / d", "share", 0.6, at_most=False)


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_every_benchmark_has_its_module(benchmark):
    module = import_module(f"alice.bench.{benchmark.name.replace('-', '_')}")
    assert list(signature(module.measure).parameters) == ["quick"]
    assert module.__doc__


def test_a_target_is_reached_from_its_own_side():
    low, high = Ratio.exactly("x", 0.5), Ratio.exactly("x", 2.0)
    assert (SMALL.is_met(low), SMALL.is_met(high)) == (True, False)
    assert (LARGE.is_met(low), LARGE.is_met(high)) == (False, True)
    assert (SMALL.goal(), LARGE.goal()) == ("<= 1.5", ">= 0.6")
    without = Benchmark("growth", "e / f", "exponent")
    assert (without.is_met(high), without.goal()) == (None, "-")


def test_a_misspelt_benchmark_is_told_with_the_nearest():
    with pytest.raises(AliceError, match=r"there is no benchmark 'hoks'; did you mean 'hooks'"):
        find(("hoks",))
    assert [benchmark.name for benchmark in find(("exits", "hooks", "exits"))] == ["exits", "hooks"]
    assert find(()) == BENCHMARKS


def test_the_report_counts_what_reaches_its_target_and_names_what_does_not():
    measured = [
        (SMALL, Ratio("one", 1.2, 1.1, 1.3)),
        (LARGE, Ratio.exactly("two", 0.3, "why")),
        (Benchmark("growth", "e / f", "exponent"), Ratio.exactly("three", 1.0)),
    ]
    result = report(measured, quick=False)
    assert result.metrics["targets reached"] == 1
    assert result.summary == "1 of 2 figures reach their target. Missed: large."
    table = result.tables["ratios"]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["met"] for row in rows] == ["yes", "no", "-"]
    assert [row["quartiles"] for row in rows] == ["1.1 to 1.3", "", ""]
    # 1.2 of 1.5 at most; 0.3 where at least 0.6 is wanted counts as twice too much.
    shares = [row[2] for row in result.figures["targets"].data.rows]
    assert shares == pytest.approx([0.8, 2.0])


def test_the_cache_holds_the_streams_and_nothing_else():
    (found,) = Bench(only=("cache-memory",)).measured(RunContext(seed=0))
    assert found[1].value == 1.0


def test_the_command_prints_a_table_and_stores_a_report(tmp_path):
    arguments = ["bench", "cache-memory", "startup", "--quick", "--out", str(tmp_path)]
    shown = CliRunner().invoke(main, arguments)
    assert shown.exit_code == 0, shown.output
    assert "cache-memory" in shown.output
    (run,) = tmp_path.glob("bench-*")
    stored = json.loads((run / "result.json").read_text())
    assert (run / "report.html").exists()
    assert stored["provenance"]["options"] == {"only": ["cache-memory", "startup"], "quick": True}
    as_json = CliRunner().invoke(main, [*arguments[:2], "--json", "--quick", "--out", str(tmp_path)])
    assert json.loads(as_json.stdout)["ratios"][0]["met"] == "yes"


def test_the_command_refuses_an_unknown_name_before_it_measures(tmp_path):
    shown = CliRunner().invoke(main, ["bench", "hooks", "memry", "--out", str(tmp_path / "runs")])
    assert shown.exit_code == 1
    assert "did you mean 'memory'" in shown.stderr
    assert not (tmp_path / "runs").exists()
