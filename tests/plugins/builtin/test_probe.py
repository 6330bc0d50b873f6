"""The probe analysis on models for which it is known what can be read where."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from tiny import tiny

from alice.errors import AliceError
from alice.model.config import VARIANTS
from alice.plugins.builtin.probe import Probe, Target
from alice.plugins.builtin.probe.measure import jobs, measure
from alice.plugins.builtin.random_twin import random_twin
from alice.plugins.conformance import tiny_context
from alice.plugins.context.store import FOLDER_VARIABLE
from alice.probes.tasks import tasks
from alice.text.alphabet import ENGLISH

QUICK = {"samples": 24, "epochs": 2, "hidden": 8}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))


def show_all():
    """Return a model whose embedding encodes the symbol and whose blocks add nothing."""
    model = tiny("base", d_model=64)
    with torch.no_grad():
        for weight in model.blocks.parameters():
            weight.zero_()
        model.embed.weight.copy_(torch.eye(37, 64))
    return model


def test_a_model_that_encodes_the_symbol_solves_only_the_control_task():
    found = measure(tiny_context(show_all(), texts=32), {"linear": ("letter", "vowel")}, hidden=8, epochs=8)
    for name in ("letter", "vowel"):
        reading = found.find("linear", name)
        assert reading.letters.shape == reading.control.shape == (3, 8)
        assert np.ptp(reading.letters, axis=0).max() == 0  # the layers are all the same
        assert reading.control.mean() > 0.98
        assert reading.letters.mean() < 0.75
    letter = found.find("linear", "letter")
    punctuation = letter.characters - letter.letters
    assert punctuation.mean() > 0.05  # spaces and stops are never encrypted, so their probe is always right


def test_the_most_frequent_answer_comes_from_the_training_texts():
    ctx = tiny_context(tiny("base"), texts=24)
    found = measure(ctx, {"linear": ("vowel",)}, hidden=8, epochs=1)
    rate = np.zeros(24)
    for batch in ctx.batches:
        labels = tasks(ENGLISH)["vowel"].labels(batch)
        rate[batch.index.numpy()] = (labels == 0).sum(1) / (labels >= 0).sum(1)
    assert found.find("linear", "vowel").majority == pytest.approx(rate[found.held_out])


def test_training_and_held_out_texts_do_not_overlap():
    found = measure(tiny_context(tiny("base"), texts=24), {"linear": ("vowel",)}, hidden=8, epochs=1)
    assert sorted([*found.trained_on, *found.held_out]) == list(range(24))
    assert len(found.held_out) == 6


def test_the_random_twin_has_the_configuration_but_not_the_weights():
    ctx = tiny_context(tiny("base"), texts=3)
    twin, again, other = random_twin(ctx), random_twin(ctx), random_twin(replace(ctx, seed=1))
    assert twin.model.config == ctx.model.config
    prints = {one.named_model.fingerprint for one in (ctx, twin, other)}
    assert len(prints) == 3
    assert again.named_model.fingerprint == twin.named_model.fingerprint
    assert not twin.model.training


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_report_has_every_target_and_layer(variant):
    result = Probe(**QUICK).run(tiny_context(tiny(variant), texts=24))
    rows = result.tables["probes"].records(model=variant)
    kinds = [("linear", target) for target in get_args(Target)] + [("mlp", "letter")]
    assert [(row["kind"], row["target"], row["layer"]) for row in rows] == [
        (*one, layer) for one in kinds for layer in range(3)
    ]
    for row in rows:
        name = f"{row['kind']}-{row['target']}"
        assert row["selectivity"] == pytest.approx(row["accuracy"] - row["control"], abs=1e-6)
        assert (row["all_characters"] is None) == (row["target"] != "letter")
        assert row["texts"] == 6
        assert row["accuracy"] == pytest.approx(result.array(f"accuracy-{name}", model=variant)[row["layer"]].mean())
        metric = result.metric(f"{row['target']}-{row['kind']}-accuracy", model=variant)
        if row["layer"] == 2:
            assert (metric.value, metric.error) == (row["accuracy"], row["accuracy_error"])
    names = ["letter-by-layer", "other-targets-1", "other-targets-2", "selectivity-by-layer"]
    assert list(result.figures) == [f"{name}@{variant}" for name in names]
    letters = result.figure("letter-by-layer", model=variant).figure
    assert len([trace for trace in letters.data if trace.mode == "lines+markers"]) == 5
    assert result.headline_metric().name == "letter-linear-accuracy"
    over_all = result.metric("letter-linear-accuracy-all-characters").value
    assert over_all == result.tables["probes"].records(kind="linear", target="letter", layer=2)[0]["all_characters"]
    assert (result.metric("training-texts").value, result.metric("held-out-texts").value) == (18, 6)


def test_the_targets_of_the_command_are_those_of_the_probes():
    assert list(get_args(Target)) == list(tasks(ENGLISH))


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"kind": "linear", "target": ("vowel", "rank", "vowel")}, {"linear": ("vowel", "rank")}),
        ({"kind": "mlp"}, {"mlp": get_args(Target)}),
        ({}, {"linear": get_args(Target), "mlp": ("letter",)}),
        ({"target": ("rank",)}, {"linear": ("rank",), "mlp": ("rank",)}),
    ],
)
def test_options_choose_kinds_and_targets(options, asked):
    probe = Probe(**options)
    assert jobs(probe.kind, probe.targets) == asked


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"samples": 1}, "samples=1 is too small; give 2 or more"),
        ({"hidden": 0}, "hidden=0"),
        ({"epochs": -1}, "epochs=-1"),
        ({"target": ("colour",)}, "colour is unknown"),
        ({"target": ()}, "choose from letter"),
    ],
)
def test_invalid_options_are_refused(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Probe(**options)
