"""Stored reports of tiny models, made as the command line makes them."""

from pathlib import Path

import pytest
from workbench import save_checkpoint, save_texts

from alice.cli.run import open_context
from alice.front_door import build_analysis
from alice.plugins.manager import build
from alice.plugins.runner import run_analysis


@pytest.fixture(scope="session")
def plugins():
    return build(third_party=False)


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """A folder with a checkpoint, `model`, and texts, `texts.txt`."""
    folder = tmp_path_factory.mktemp("bench")
    save_checkpoint(folder / "model")
    save_texts(folder / "texts.txt", count=40)
    return folder


@pytest.fixture(scope="session")
def make_report(bench, plugins, tmp_path_factory):
    """A function that runs an analysis on the bench and stores its report."""

    def make(name, **options):
        cls, plugin = plugins.find(name)
        ctx = open_context([bench / "model"], plugins, data=str(bench / "texts.txt"), split="all", seed=3)
        return run_analysis(build_analysis(cls, options), ctx, out=tmp_path_factory.mktemp("runs"), plugin=plugin)

    return make


@pytest.fixture(scope="session")
def early_exit(make_report):
    return make_report("early-exit", samples=8, examples=(0,))


@pytest.fixture(scope="session")
def ablation(make_report):
    return make_report("ablation", samples=4, pairs=2, permutations=50)


@pytest.fixture
def here(monkeypatch, tmp_path) -> Path:
    """An empty folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
