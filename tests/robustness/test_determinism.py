"""The same command twice gives the same result, bit for bit, with one thread and with two."""

import json

import pytest
import torch
from click.testing import CliRunner
from training_folders import write_training
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.plugins.analysis import checkpoints_of
from alice.plugins.manager import build
from alice.timing import using_threads

ANALYSES = build().analyses
MEASURES_TIME = {"speed"}
"""What a clock says is not the same twice."""
SMALLER = {
    "probe": ["--epochs", "1", "--hidden", "16"],
    "ngram": ["--epochs", "1", "--hidden", "16"],
    "errors-by-length": ["--solver-texts", "2"],
    "relabelling": ["--samples", "6", "--relabellings", "3"],
    "borg": ["--file", "{place}/cipher.txt", "--relabellings", "3"],
    "generalization": ["--runs", "{place}/trainings"],
    "scaling": ["--runs", "{place}/trainings"],
}
"""Options that make an analysis quick, or say what it cannot do without."""
DIFFERS = {"time", "machine", "duration"}
"""What a result says of the place and the moment."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model wide enough that its products are shared among threads, texts, a cipher, and the logs of trainings."""
    folder = tmp_path_factory.mktemp("place")
    save_checkpoint(folder / "model", d_model=64, d_mlp=256, init_std=0.1)
    save_texts(folder / "texts.txt", count=80)
    (folder / "cipher.txt").write_text("RJ HRIF YF QDAF SEF BFVS KFTRVRNJV YF TDJ " * 4)
    for pool, final in ((10, 2.0), (20, 1.0), (40, 0.5)):
        losses = [(step, 3.0 - (3.0 - final) * step / 60) for step in range(1, 61)]
        write_training(folder / "trainings" / f"pool-{pool}", losses=losses, errors=[(60, final / 4)], pool=pool)
    return folder


def told(place, name, out, threads):
    """Run an analysis and return all it writes but for the moment and the machine."""
    data = ["--ckpt", f"{place}/model", "--data", f"{place}/texts.txt", "--split", "all"]
    options = [word.format(place=place) for word in SMALLER.get(name, [])]
    words = ["run", name, *(data if checkpoints_of(ANALYSES[name]) != "none" else []), *options, "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch, using_threads(threads):
        patch.setenv("ALICE_INTERP_CACHE", str(out / "cache"))
        result = CliRunner().invoke(main, words)
        assert torch.get_num_threads() == threads
    assert result.exit_code == 0, result.output
    (file,) = out.glob(f"{name}-*/result.json")
    document = json.loads(file.read_text())
    assert document["provenance"].keys() >= DIFFERS
    document["provenance"] = {key: value for key, value in document["provenance"].items() if key not in DIFFERS}
    return document, (file.parent / "arrays.npz").read_bytes()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", [name for name in ANALYSES if name not in MEASURES_TIME])
def test_the_same_command_gives_the_same_result(place, tmp_path, name, threads):
    first, second = (told(place, name, tmp_path / number, threads) for number in ("first", "second"))
    assert first == second


def test_only_what_measures_time_is_exempt():
    assert ANALYSES.keys() >= MEASURES_TIME
