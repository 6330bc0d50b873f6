"""The same command twice gives the same result, bit for bit.

With two threads here; with one thread it follows from tests/plugins/builtin/test_every_analysis.py, and the long form
tests both.
"""

import json

import pytest
import torch
from click.testing import CliRunner
from robustness.killing import LONG
from training_folders import write_training
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.plugins.analysis import checkpoints_of
from alice.plugins.manager import build
from alice.reports.archive import VOLATILE
from alice.timing import using_threads

ANALYSES = build().analyses
MEASURES_TIME = {"speed"}
"""Analyses whose results are times, which differ."""
OPTIONS = {
    "probe": ["--repeats", "1", "--epochs", "1", "--hidden", "16", "--target", "vowel"],
    "ngram": ["--epochs", "1", "--hidden", "16", "--longest", "2"],
    "errors-by-length": ["--solver-texts", "2"],
    "relabelling": ["--samples", "6", "--relabellings", "3"],
    "borg": ["--file", "{place}/cipher.txt", "--relabellings", "3"],
    "ablation": ["--samples", "4", "--pairs", "2", "--permutations", "50"],
    "patching": ["--samples", "4", "--map-samples", "2"],
    "lens": ["--samples", "8", "--training-texts", "8", "--directions", "3", "--causal-samples", "2"],
    "features": ["--samples", "8", "--training", "8", "--fitting", "4", "--seeds", "1", "--expansion", "2"],
    "disagreement": ["--samples", "3", "--beam", "5"],
    "generalization": ["--trainings", "{place}/trainings"],
    "scaling": ["--trainings", "{place}/trainings"],
}
"""Options that make an analysis quick, or that it needs."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model wide enough that torch shares its products among threads, texts, a cipher, and logs of trainings."""
    folder = tmp_path_factory.mktemp("place")
    save_checkpoint(folder / "model", d_model=64, d_mlp=256, n_layers=1 + LONG, init_std=0.1)
    save_texts(folder / "texts.txt", count=80 if LONG else 20)
    (folder / "cipher.txt").write_text("RJ HRIF YF QDAF SEF BFVS KFTRVRNJV YF TDJ " * 4)
    for pool, final in ((10, 2.0), (20, 1.0), (40, 0.5)):
        losses = [(step, 3.0 - (3.0 - final) * step / 60) for step in range(1, 61)]
        write_training(folder / "trainings" / f"pool-{pool}", losses=losses, errors=[(60, final / 4)], pool=pool)
    return folder


def written_by(name, place, out, threads):
    """Run an analysis and return everything that it writes except for volatile provenance."""
    data = ["--ckpt", f"{place}/model", "--data", f"{place}/texts.txt", "--split", "all"]
    options = [word.format(place=place) for word in OPTIONS.get(name, [])]
    arguments = ["run", name, *(data if checkpoints_of(ANALYSES[name]) != "none" else []), *options, "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch, using_threads(threads):
        patch.setenv("ALICE_INTERP_CACHE", str(out / "cache"))
        result = CliRunner().invoke(main, arguments)
        assert torch.get_num_threads() == threads
    assert result.exit_code == 0, result.output
    (file,) = out.glob(f"{name}-*/result.json")
    document = json.loads(file.read_text())
    assert document["provenance"].keys() >= set(VOLATILE)
    document["provenance"] = {key: value for key, value in document["provenance"].items() if key not in VOLATILE}
    return document, (file.parent / "arrays.npz").read_bytes()


@pytest.mark.parametrize("threads", [1, 2] if LONG else [2])
@pytest.mark.parametrize("name", [name for name in ANALYSES if name not in MEASURES_TIME])
def test_the_same_command_gives_the_same_result(place, tmp_path, name, threads):
    first, second = (written_by(name, place, tmp_path / number, threads) for number in ("first", "second"))
    assert first == second


def test_only_analyses_that_measure_time_are_exempt():
    assert ANALYSES.keys() >= MEASURES_TIME
