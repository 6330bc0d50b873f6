"""The probe analysis against models in which it is known what can be read where."""

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from tiny import tiny
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.model.config import VARIANTS
from alice.plugins.builtin.probe import Probe, Target
from alice.plugins.builtin.probe.measure import measure, random_twin
from alice.plugins.conformance import tiny_context
from alice.plugins.store_room import FOLDER_VARIABLE
from alice.probes.tasks import tasks
from alice.text.alphabet import ENGLISH

QUICK = {"samples": 24, "epochs": 2, "hidden": 8}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))


def show_all():
    """Return a model whose embedding holds the symbol and whose blocks add nothing."""
    model = tiny("base", d_model=64)
    with torch.no_grad():
        for weight in model.blocks.parameters():
            weight.zero_()
        model.embed.weight.copy_(torch.eye(37, 64))
    return model


def test_a_model_that_shows_the_symbol_answers_the_control_and_nothing_else():
    found = measure(tiny_context(show_all(), texts=60), {"linear": ("letter", "vowel")}, hidden=8, epochs=20)
    for name in ("letter", "vowel"):
        reading = found.find("linear", name)
        assert reading.letters.shape == reading.control.shape == (3, 15)
        assert np.ptp(reading.letters, axis=0).max() == 0  # the layers are all the same
        assert reading.control.mean() > 0.98
        assert reading.letters.mean() < 0.75
    letter = found.find("linear", "letter")
    punctuation = letter.characters - letter.letters
    assert punctuation.mean() > 0.05  # spaces and stops are never encrypted, so their probe is always right


def test_the_most_frequent_answer_is_that_of_the_training_texts():
    ctx = tiny_context(tiny("base"), texts=24)
    found = measure(ctx, {"linear": ("vowel",)}, hidden=8, epochs=1)
    rate = np.zeros(24)
    for batch in ctx.batches:
        labels = tasks(ENGLISH)["vowel"].labels(batch)
        rate[batch.index.numpy()] = (labels == 0).sum(1) / (labels >= 0).sum(1)
    assert found.find("linear", "vowel").majority == pytest.approx(rate[found.held_out])


def test_training_and_test_texts_are_apart():
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
    rows = [dict(zip(result.tables["probes"].columns, row, strict=True)) for row in result.tables["probes"].rows]
    kinds = [("linear", target) for target in get_args(Target)] + [("mlp", "letter")]
    assert [(row["kind"], row["target"], row["layer"]) for row in rows] == [
        (*one, layer) for one in kinds for layer in range(3)
    ]
    for row in rows:
        assert row["selectivity"] == pytest.approx(row["accuracy"] - row["control accuracy"], abs=1e-6)
        assert (row["all characters"] is None) == (row["target"] != "letter")
        assert row["texts"] == 6
        shares = result.arrays[f"accuracy-{row['kind']}-{row['target']}"]
        assert row["accuracy"] == pytest.approx(shares[row["layer"]].mean())
    assert list(result.figures) == ["letter-by-layer", "other-targets-1", "other-targets-2", "selectivity-by-layer"]
    drawn = [trace.name for trace in result.figures["letter-by-layer"].figure.data if trace.mode == "lines+markers"]
    assert len(drawn) == 5
    assert result.headline_metric()[0] == "plaintext letter, linear probe: accuracy at the last layer"


def test_the_targets_of_the_command_are_those_of_the_probes():
    assert list(get_args(Target)) == list(tasks(ENGLISH))


@pytest.mark.parametrize(
    ("options", "jobs"),
    [
        ({"kind": "linear", "target": ("vowel", "rank", "vowel")}, {"linear": ("vowel", "rank")}),
        ({"kind": "mlp"}, {"mlp": get_args(Target)}),
        ({}, {"linear": get_args(Target), "mlp": ("letter",)}),
        ({"target": ("rank",)}, {"linear": ("rank",), "mlp": ("rank",)}),
    ],
)
def test_options_choose_kinds_and_targets(options, jobs):
    assert Probe(**options).jobs == jobs


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"samples": 1}, "cannot be split"),
        ({"hidden": 0}, "hidden=0"),
        ({"epochs": -1}, "epochs=-1"),
        ({"target": ("colour",)}, "colour is unknown"),
        ({"target": ()}, "choose from letter"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Probe(**options)


def test_it_keeps_the_rules_of_an_analysis(check_analysis):
    check_analysis(Probe, epochs=1, kind="linear", target=("vowel",))


def test_it_runs_from_the_command_line(tmp_path):
    ckpt, texts = save_checkpoint(tmp_path / "model"), save_texts(tmp_path / "texts.txt")
    with pytest.raises(SystemExit) as end:
        main(
            [
                *("run", "probe", "--ckpt", str(ckpt), "--data", str(texts), "--split", "all", "--samples", "12"),
                *("--target", "vowel", "--kind", "linear", "--epochs", "1", "--out", str(tmp_path / "runs")),
            ]
        )
    assert not end.value.code
    (stored,) = (tmp_path / "runs").glob("*/result.json")
    assert list(json.loads(stored.read_text())["result"]["figures"]) == ["other-targets-1", "selectivity-by-layer"]
