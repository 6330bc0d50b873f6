"""Rules that hold for every built-in analysis: those of the kit for authors, and how results are named."""

import re
from itertools import count

import pytest
from training_folders import write_training

from alice import timing
from alice.plugins.analysis import checkpoints_of
from alice.plugins.conformance import check, tiny_context, tiny_model
from alice.plugins.context import RunContext
from alice.plugins.manager import build
from alice.plugins.runner import compute
from alice.probes import linear
from alice.reports.names import model_slug
from alice.solving import guided
from alice.solving.hill_climbing import swapped

ANALYSES = build(third_party=False).analyses
EVERY_VARIANT = ("base", "bijective", "dynamic")
QUICK = {
    "early-exit": {"examples": (0,)},
    "errors-by-length": {"solver_texts": 3},
    "evidence": {"steps": 2, "draws": 1},
    "lens": {"training_texts": 8, "directions": 3, "causal_samples": 2},
    "features": {"training": 24, "fitting": 8, "seeds": 2, "shown": 2, "expansion": 2, "active": 4},
    "probe": {"repeats": 1, "kind": "linear", "target": ("vowel",)},
    "ngram": {"epochs": 1, "hidden": 8, "longest": 2},
    "speed": {"rounds": 1, "seconds": 1e6, "classical": 0},
    "relabelling": {"relabellings": 3},
    "circuit": {"steps": 1, "samples": 8},
    "borg": {"relabellings": 3},
    "disagreement": {"beam": 2, "training_texts": 8},
    "ablation": {"pairs": 2, "permutations": 50},
    "patching": {"map_samples": 2, "kind": ("relabel-two",)},
}
"""Options that keep an analysis short."""
FEW_VARIANTS = {
    "ngram": ("dynamic", "base"),
    "speed": ("bijective", "base"),
    "probe": ("base",),
    "ablation": ("dynamic",),
    "features": ("base",),
    "disagreement": ("base",),
    "patching": ("dynamic",),
}
"""Variants to test a slow analysis with; its own tests cover the others."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files that some analyses need, by analysis and option."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "cipher.txt").write_text("4mm4 m44\nq4m,,\nmm4 .\n")
    (folder / "plain.txt").write_text("Elle lee cel lle")
    losses = [(10 * step, 3 / step) for step in range(1, 40)]
    for pool, last in ((10, 0.7), (None, 0.04)):
        errors = [(100, 0.9), (200, 0.8), (390, last)]
        write_training(folder / "trainings" / f"pool-{pool}", losses=losses, errors=errors, pool=pool)
    return {
        "borg": {"file": folder / "cipher.txt", "plain": folder / "plain.txt"},
        "generalization": {"trainings": (folder / "trainings",)},
        "scaling": {"trainings": (folder / "trainings",)},
    }


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by a second at each look, so that measured times repeat."""
    ticks = count()
    monkeypatch.setattr(timing, "now", lambda: float(next(ticks)))
    monkeypatch.setattr(timing, "processor_now", lambda: float(next(ticks)))
    monkeypatch.setattr(timing, "cores", lambda: 1)


@pytest.fixture(autouse=True)
def short_searches(monkeypatch):
    """The guided search improves the network's key by one swap of a few, which is quick; its own tests search fully."""
    monkeypatch.setattr(guided, "CLIMBS", 1)
    monkeypatch.setattr(guided, "swapped", lambda key: swapped(key)[:3])
    monkeypatch.setattr(guided._Search, "run", lambda *_, **__: None)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """Linear probes keep no activations: what they keep has a limit, but with few texts it looks like growth."""
    monkeypatch.setattr(linear, "MEMORY", 0)


def options_of(name, files):
    return QUICK.get(name, {}) | files.get(name, {})


@pytest.mark.parametrize("name", ANALYSES)
def test_it_keeps_the_rules_of_an_analysis(name, files, clock):
    check(ANALYSES[name], FEW_VARIANTS.get(name, EVERY_VARIANT), options_of(name, files))


@pytest.mark.parametrize("name", ANALYSES)
def test_names_are_stable_and_models_are_set(name, files, clock, tmp_path, monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path))
    cls = ANALYSES[name]
    several = checkpoints_of(cls) == "several"
    models = {"base", "bijective"} if several else {"base"}
    ctx = RunContext() if checkpoints_of(cls) == "none" else tiny_context(*map(tiny_model, sorted(models)), texts=24)
    result = compute(cls(**options_of(name, files)), ctx)
    assert result.caveats
    for metric in result.metrics:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", metric.name), metric
        assert metric.name != "ser" or metric.unit == "%"
        assert not any(model in metric.label for model in models), metric
    for key in (*result.tables, *result.figures, *result.arrays):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*(@[A-Za-z0-9_.-]+)?", key), key
        assert not any(model_slug(model) in key.split("@")[0] for model in models), key
    tables = [*result.tables.items(), *((key, figure.data) for key, figure in result.figures.items() if figure.data)]
    for key, table in tables:
        assert all(re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", column) for column in table.columns), (key, table.columns)
        assert "model" not in table.columns[1:], key
        for place, column in enumerate(table.columns):
            assert not column.endswith("_error") or table.columns[place - 1] == column.removesuffix("_error"), key
