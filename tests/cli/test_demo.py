from pathlib import Path

import pytest
from click.testing import CliRunner
from workbench import save_checkpoint

from alice.checkpoint.folder import bundled
from alice.cli import demo as demo_module
from alice.cli import main
from alice.cli.demo import ANALYSES, CRYPTOGRAMS, Cryptogram, Small
from alice.plugins.analysis import checkpoints_of, is_for_all
from alice.plugins.manager import build

LAYERS = ["layer 0", "layer 1", "layer 2"]
KNOWN = build(third_party=False).analyses


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A demo of one cryptogram and two analyses, with a tiny random model."""
    ckpt = str(save_checkpoint(tmp_path / "model"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo_module, "CRYPTOGRAMS", (Cryptogram("ONE TEXT THAT NOBODY HAS SOLVED.", ckpt, 1),))
    options = {"samples": 5, "solver_texts": 0}
    jobs = (Small("errors-by-length", (ckpt,), options), Small("key-recovery", (ckpt,), {"samples": 5}))
    monkeypatch.setattr(demo_module, "ANALYSES", jobs)
    return ckpt


def run(*arguments):
    return CliRunner().invoke(main, ["demo", *arguments])


@pytest.mark.parametrize("one", ANALYSES, ids=lambda one: f"{one.name}-{'+'.join(one.ckpt)}")
def test_every_analysis_of_the_demo_is_there_and_takes_its_options(one):
    cls = KNOWN[one.name]
    cls(**one.options)
    assert set(one.ckpt) <= set(bundled())
    assert len(one.ckpt) == 1 or checkpoints_of(cls) == "several"


def test_the_demo_leaves_out_no_built_in_analysis_that_needs_only_a_checkpoint():
    assert {one.name for one in ANALYSES} == {name for name, cls in KNOWN.items() if is_for_all(cls)}
    assert {ckpt for one in ANALYSES for ckpt in one.ckpt} == {"base", "bijective"}


def test_the_cryptograms_are_for_bundled_models_and_long_enough_to_have_one_solution():
    for cryptogram in CRYPTOGRAMS:
        assert cryptogram.ckpt in bundled()
        assert sum(map(str.isalpha, cryptogram.plaintext)) > 50


def test_the_demo_solves_runs_and_ends_with_the_gallery(small):
    result = run("--out", "my reports", "--device", "cpu")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"$ alice-interp solve --solver model --layers --ckpt {small} ")
    assert "ONE TEXT" not in lines[0]
    assert [line[:9].strip() for line in lines[1:4]] == LAYERS
    gallery = "gallery: my reports/index.html; open it in a browser, or run: alice-interp view 'my reports'"
    explorer = "explorer: my reports/explore-model.html; open it in a browser to ask the model itself"
    assert lines[-2:] == [explorer, gallery]
    assert Path("my reports/explore-model.html").is_file()
    assert Path("my reports/index.html").is_file()
    assert not Path("runs").exists()
    assert sum(line.endswith("report.html") and Path(line).is_file() for line in lines) == 2
    assert "[1/2] errors-by-length (model): " in result.stderr
    assert "[2/2] key-recovery (model): " in result.stderr


def test_a_failing_analysis_stops_no_other_and_makes_the_demo_fail(small, monkeypatch):
    broken = Small("early-exit", (small,), {"samples": 0})
    monkeypatch.setattr(demo_module, "ANALYSES", (broken, demo_module.ANALYSES[1]))
    result = run()
    assert result.exit_code == 1
    assert "early-exit failed: samples=0" in result.stderr
    assert result.stderr.splitlines()[-1].startswith(
        "alice-interp: error: 1 of 2 analyses failed: early-exit (samples=0"
    )
    assert result.stdout.count("report.html") == 1
    assert result.stdout.splitlines()[-1] == (
        "gallery: runs/index.html; open it in a browser, or run: alice-interp view"
    )


def test_the_verdict_counts_wrong_letters():
    assert demo_module._verdict("ABC, D", "ABC, D") == "all 4 letters are right"
    assert demo_module._verdict("ABX, D", "ABC, D") == "1 of 4 letters are wrong; it was: ABC, D"


def test_the_key_of_a_cryptogram_follows_from_its_seed(small, monkeypatch):
    monkeypatch.setattr(demo_module, "ANALYSES", ())
    assert run().stdout == run().stdout
