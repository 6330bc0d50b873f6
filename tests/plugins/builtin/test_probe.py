"""The probe analysis on models for which it is known what can be read where."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from tiny import tiny
from torch.nn.functional import one_hot

from alice.cache import FOLDER_VARIABLE
from alice.errors import AliceError
from alice.plugins.builtin.probe import DEFAULT_TARGETS, Probe, Target
from alice.plugins.builtin.probe.measure import jobs, measure
from alice.plugins.builtin.probe.use import measure_use
from alice.plugins.builtin.probe.verdict import exceeds, over_splits
from alice.plugins.builtin.random_twin import random_twin
from alice.plugins.conformance import tiny_context
from alice.probes.linear import IGNORED
from alice.probes.tasks import Task, tasks
from alice.statistics import Estimate
from alice.text.alphabet import ENGLISH
from alice.text.batches import Batches, EncodedTexts

QUICK = {"samples": 24, "epochs": 1, "hidden": 8, "repeats": 2}
TEXTS = ("THE QUICK BROWN FOX JUMPS", "OVER THE LAZY DOGS, HENCE", "PACK MY BOX WITH FIVE JUGS")
SMALL = {"hidden": 8, "epochs": 1, "repeats": 2, "erasures": 1}


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
    found = measure(tiny_context(show_all(), texts=32), {"linear": ("letter", "vowel")}, **SMALL)
    for name in ("letter", "vowel"):
        reading = found.find("linear", name)
        assert reading.letters.shape == reading.control.shape == (2, 3, 16)
        assert (np.isnan(reading.letters).sum(0) == 1).all()  # each text is held out once
        assert np.nanmax(np.ptp(np.nan_to_num(reading.letters), axis=1)) == 0  # the layers are all the same
        assert np.nanmean(reading.control) > 0.98
        assert np.nanmean(reading.letters) < 0.75
    letter = found.find("linear", "letter")
    punctuation = letter.characters - letter.letters
    assert np.nanmean(punctuation) > 0.05  # spaces and stops are never encrypted, so their probe is always right


def test_the_most_frequent_answer_comes_from_the_training_texts():
    ctx = tiny_context(tiny("base"), texts=24)
    found = measure(ctx, {"linear": ("vowel",)}, **SMALL)
    rate = np.zeros(24)
    for batch in ctx.batches:
        labels = tasks(ENGLISH)["vowel"].labels(batch)
        rate[batch.index.numpy()] = (labels == 0).sum(1) / (labels >= 0).sum(1)
    assert np.nanmean(found.find("linear", "vowel").majority, 0) == pytest.approx(rate[found.held_out])


def test_the_random_twin_has_the_configuration_but_not_the_weights():
    ctx = tiny_context(tiny("base"), texts=3)
    twin, again, other = random_twin(ctx), random_twin(ctx), random_twin(replace(ctx, seed=1))
    assert twin.model.config == ctx.model.config
    prints = {one.named_model.fingerprint for one in (ctx, twin, other)}
    assert len(prints) == 3
    assert again.named_model.fingerprint == twin.named_model.fingerprint
    assert random_twin(ctx, draw=1).named_model.fingerprint == other.named_model.fingerprint
    assert not twin.model.training


def test_the_report_has_every_target_and_layer():
    probe = Probe(**QUICK, target=("letter", "rank", "vowel"))
    result = probe.run(tiny_context(tiny("base"), texts=24))
    rows = result.tables["probes"].records(model="base")
    kinds = [("linear", target) for target in probe.targets] + [("mlp", "letter")]
    assert [(row["kind"], row["target"], row["layer"]) for row in rows] == [
        (*one, layer) for one in kinds for layer in range(3)
    ]
    for row in rows:
        kind, layer = row["kind"], row["layer"]
        selectivity = row["selectivity_over_symbol_identity"]
        assert selectivity == pytest.approx(row["accuracy"] - row["control"], abs=1e-6)
        assert (row["all_characters"] is None) == (row["target"] != "letter")
        assert row["texts"] == (12 if kind == "linear" else 6)
        shares = result.array(f"accuracy-{kind}-{row['target']}", model="base")[:, layer]
        assert row["accuracy"] == pytest.approx(np.nanmean(shares), abs=1e-6)
        assert (row["converged"], row["bits"] is None) == ((True, False) if kind == "linear" else (None, True))
        if layer == 2:
            metric = result.metric(f"{row['target']}-{kind}-accuracy", model="base")
            assert (metric.value, metric.error) == (row["accuracy"], row["accuracy_error"])
    assert next(iter(result.figures)) == "letter-by-layer@base"
    assert result.headline_metric().name == "letter-linear-accuracy"
    assert (result.metric("training-texts").value, result.metric("held-out-texts").value) == (18, 12)


def test_the_verdicts_come_first_and_are_the_findings():
    probe = Probe(**QUICK, kind="linear", target=("letter", "symbol"))
    result = probe.run(tiny_context(show_all(), texts=24))
    assert result.unlisted("tables") == ["verdicts"]
    assert not result.unlisted("figures")
    found = {(one.concept, one.layer): one for one in probe.findings(result).concepts}
    assert len(found) == 6
    assert {found["letter", layer].verdict for layer in range(3)} == {"absent"}
    assert all(found["symbol", layer].score > 0.8 for layer in range(3))
    rows = {row["target"]: row for row in result.tables["verdicts"].records()}
    assert rows["symbol"]["layer_2"] == found["symbol", 2].verdict
    assert "letter: absent in layers 0 to 2." in result.summary
    mlps = Probe(**QUICK, kind="mlp", target=("vowel",))
    assert mlps.findings(mlps.run(tiny_context(tiny("base"), texts=24))).concepts == ()


class WithDecoy:
    """Texts in plain, with streams that encode a random label where no head reads."""

    width = 40

    def __init__(self, model):
        self.batches = [Batches(EncodedTexts([text] * 6, ENGLISH), ENGLISH, seed=(0,))[0] for text in TEXTS]
        for number, batch in enumerate(self.batches):
            batch.keys[:], batch.cipher_ids[:], batch.index[:] = (
                torch.arange(26),
                batch.plain_ids,
                batch.index + 6 * number,
            )
        self.model = model

    @staticmethod
    def labels(batch):
        drawn = torch.randint(
            5, batch.cipher_ids.shape, generator=torch.Generator().manual_seed(int(batch.index.sum()))
        )
        return drawn.where(batch.mask, IGNORED)

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, number):
        batch = self.batches[number]
        stream = self.model.embed(batch.cipher_ids).detach()
        stream[..., self.width : self.width + 5] = 0.5 * one_hot(self.labels(batch).clamp(min=0), 5).float()
        return batch, {"hook_embed": stream}


def test_erasing_a_decoy_costs_nothing_and_erasing_what_the_head_reads_costs_much():
    model = show_all()
    with torch.no_grad():
        model.head.unembed.weight.copy_(0.5 * torch.eye(37, 64))
        model.head.unembed.bias.zero_()
    shards, ctx = WithDecoy(model), tiny_context(model, texts=4)
    asked = [Task("decoy", "decoy", 5, WithDecoy.labels), tasks(ENGLISH)["symbol"]]
    train = np.arange(6 * len(TEXTS)) % 2 == 0
    use = measure_use(ctx, shards, ["hook_embed"], asked, train=train, held=~train, draws=2)
    lost = (use.clean - use.without)[:, 0, :, :, 0].mean(-1)  # (task, way)
    decoy, symbol = lost
    assert use.clean[:, 1].max() == 0  # the model is always right
    assert decoy[0] < decoy[1]
    assert decoy[0] < 0.05
    assert symbol[0] > symbol[1] + 1
    assert use.rank[0, 0] == 4


def test_only_what_is_read_and_missed_beyond_random_directions_counts_as_used():
    certain, small = Estimate(0.3, 0.01, 50), Estimate(0.011, 0.01, 50)
    assert exceeds(certain, 0.01) < 1e-6
    assert exceeds(small, 0.01) == pytest.approx(0.46, abs=0.01)
    assert exceeds(Estimate(0.3, 0.0, 5), 0.01) == 0.0
    assert exceeds(Estimate(0.3, float("nan"), 1), 0.01) == 1.0


def test_errors_include_what_splits_vary_beyond_their_texts():
    rng = np.random.default_rng(0)
    values = np.full((3, 1, 300), np.nan)
    for split in range(3):
        values[split, 0, 100 * split : 100 * split + 100] = rng.normal(size=100)
    (alike,) = over_splits(values)
    assert alike.error == pytest.approx(1 / np.sqrt(300), rel=0.25)
    (apart,) = over_splits(values + np.array([-1.0, 0.0, 1.0])[:, None, None])
    assert apart.error == pytest.approx(np.sqrt(1 / 3), rel=0.15)
    assert apart.count == alike.count == 300


def test_the_targets_of_the_command_are_those_of_the_probes():
    assert list(get_args(Target)) == list(tasks(ENGLISH))


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"kind": "linear", "target": ("vowel", "rank", "vowel")}, {"linear": ("vowel", "rank")}),
        ({"kind": "mlp"}, {"mlp": DEFAULT_TARGETS}),
        ({}, {"linear": DEFAULT_TARGETS, "mlp": ("letter",)}),
        ({"kind": "linear", "target": ("symbol", "previous", "next")}, {"linear": ("symbol", "previous", "next")}),
        ({"target": ("rank",)}, {"linear": ("rank",), "mlp": ("rank",)}),
    ],
)
def test_options_choose_kinds_and_targets(options, asked):
    probe = Probe(**options)
    assert jobs(probe.kind, probe.targets) == asked


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"samples": 1}, "samples=1 is too small; give 4 or more"),
        ({"repeats": 0}, "repeats=0"),
        ({"hidden": 0}, "hidden=0"),
        ({"epochs": -1}, "epochs=-1"),
        ({"target": ("colour",)}, "colour is unknown"),
        ({"target": ()}, "choose from letter"),
    ],
)
def test_invalid_options_are_refused(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Probe(**options)
