import pytest

from alice.model.config import ModelConfig
from alice.training import precision

CONFIG = ModelConfig(d_model=16, n_heads=2, d_mlp=32)


@pytest.mark.parametrize(
    ("fp32", "bf16", "chosen"),
    [(55.0, 1.5, "fp32"), (55.0, 60.0, "fp32"), (55.0, 90.0, "bf16"), (55.0, None, "fp32"), (None, None, "fp32")],
)
def test_bf16_is_chosen_only_if_it_is_clearly_faster(monkeypatch, fp32, bf16, chosen):
    monkeypatch.setattr(precision, "_rate", lambda kind, *rest: {"fp32": fp32, "bf16": bf16}[kind])
    choice = precision.choose(CONFIG, "cpu", 64)
    assert choice.precision == chosen
    assert choice.reason


def test_the_trial_measures_a_speed():
    assert precision._rate("fp32", "cpu", 64, CONFIG) > 0


def test_a_trial_that_crashes_counts_as_impossible(monkeypatch):
    monkeypatch.setattr(precision, "_TRIAL", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert precision._rate("bf16", "cpu", 64, CONFIG) is None
