"""Trainings of the package are named by `bundled:NAME`, from any folder."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from alice.cli.root import main
from alice.errors import AliceError
from alice.plugins.reproduce.plan import SHIPPED
from alice.training import bundled
from alice.training.bundled import PREFIX, bundled_trainings, locate_trainings
from alice.training.records import read_trainings, training_folders


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder, without plugins of other packages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")


def invoke(*arguments, code=0):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("name", SHIPPED.values())
def test_a_name_stands_for_all_trainings_in_its_folder(elsewhere, name):
    folder = bundled.RUN_SET / name
    written = {path.parent.name for path in folder.glob("*/training.json")}
    assert written
    assert {path.name for path in training_folders([Path(f"{PREFIX}{name}")])} == written
    assert {one.name for one in read_trainings([Path(f"{PREFIX}{name}")]).trainings} == written


def test_run_sets_are_small_and_the_trainings_have_no_weights():
    assert sum(path.stat().st_size for path in bundled.RUN_SET.rglob("*") if path.is_file()) < 3_000_000
    names = {path.name for name in SHIPPED.values() for path in (bundled.RUN_SET / name).rglob("*") if path.is_file()}
    assert names == {"training.json", "metrics.jsonl", "measures.jsonl"}


def test_a_training_named_twice_is_read_once(elsewhere):
    by_path = bundled.RUN_SET / "sizes"
    assert len(training_folders([Path("bundled:sizes"), by_path])) == len(training_folders([by_path]))


@pytest.mark.parametrize("name", ["bundled:pool", "bundled:", "bundled:../reproduce", "bundled:pools/pool-all-seed-0"])
def test_an_unknown_name_is_an_error_that_lists_the_names(name):
    with pytest.raises(AliceError) as caught:
        locate_trainings(Path(name))
    assert str(caught.value).startswith(f"there are no trainings {name!r}; the package has bundled:")
    assert all(known in str(caught.value) for known in bundled_trainings())


def test_a_package_without_trainings_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "RUN_SET", tmp_path / "gone")
    with pytest.raises(AliceError, match="the package has none"):
        locate_trainings(Path("bundled:pools"))


@pytest.mark.parametrize(("analysis", "name"), SHIPPED.items())
def test_the_help_of_an_analysis_names_its_trainings(analysis, name):
    assert f"{PREFIX}{name}" in invoke("run", analysis, "--help")
    assert f"{PREFIX}{name}" in bundled_trainings()


def test_a_report_on_them_names_no_path_and_can_be_verified(elsewhere, tmp_path):
    invoke("run", "scaling", "--trainings", "bundled:sizes", "--out", "runs")
    (run,) = (path.parent for path in (tmp_path / "runs").glob("*/result.json"))
    assert json.loads((run / "result.json").read_text())["provenance"]["options"]["trainings"] == ["bundled:sizes"]
    assert "the same" in invoke("verify", str(run))


def test_a_report_on_trainings_that_the_package_lost_cannot_be_verified(elsewhere, tmp_path, monkeypatch):
    invoke("run", "scaling", "--trainings", "bundled:sizes", "--out", "runs")
    (run,) = (path.parent for path in (tmp_path / "runs").glob("*/result.json"))
    monkeypatch.setattr(bundled, "RUN_SET", tmp_path / "gone")
    assert "'bundled:sizes', an input of scaling, is not here" in invoke("verify", str(run), code=2)
