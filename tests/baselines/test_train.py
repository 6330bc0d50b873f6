"""Trainings of the baselines: they learn, and all spend the same number of operations."""

from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner
from trainings import write_corpus

from alice.baselines import train as training
from alice.baselines.sequences import SequenceModel
from alice.baselines.shipped import NETWORKS, REFERENCE, load_network
from alice.model import ModelConfig, forward_flops
from alice.text import ENGLISH
from alice.training.folder import read_metrics

FLOPS = 4e9
SMALL = replace(training.RECIPE, batch_tokens=256, warmup_steps=2, max_length=100, eval_texts=20, log_every=1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A file with a few hundred made-up sentences."""
    return str(write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt"))


@pytest.mark.parametrize("name", [*NETWORKS, REFERENCE])
def test_a_short_training_lowers_the_loss_and_spends_its_budget(name, corpus, tmp_path):
    trainer = training.train(name, tmp_path, flops=FLOPS, data=corpus, settings=SMALL, preset="tiny")
    rows = read_metrics(tmp_path)
    losses = [row["loss"] for row in rows if "loss" in row]
    assert sum(losses[-3:]) / 3 < 0.95 * losses[0]
    largest = max(rows[i + 1]["flops"] - rows[i]["flops"] for i in range(len(rows) - 1))
    assert FLOPS - 2 * largest < trainer.counters.flops <= FLOPS
    again = training.train(name, tmp_path, flops=FLOPS, data=corpus, settings=SMALL, preset="tiny")
    assert again.counters.step == trainer.counters.step


def test_the_command_writes_a_network_in_half_precision_with_its_card(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "RECIPE", SMALL)
    done = CliRunner().invoke(
        training.main, ["causal-freq", "--out", str(tmp_path), "--flops", "1", "--data", corpus], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    assert "1 steps" in (tmp_path / "card.md").read_text()
    network = load_network("causal-freq", tmp_path)
    assert all(torch.equal(weight, weight.half().float()) for weight in network.parameters())


def test_hidden_letters_are_hidden_wherever_they_occur_and_other_characters_never():
    torch.manual_seed(0)
    model = SequenceModel(ModelConfig(d_model=16, n_layers=2, n_heads=2, d_mlp=24), NETWORKS["language-model"])
    plain = torch.randint(1, ENGLISH.size, (200, 60))
    hidden = training.hide_letters(plain, model)
    letters = torch.from_numpy(ENGLISH.letter_ids)
    assert torch.equal(hidden[~torch.isin(plain, letters)], plain[~torch.isin(plain, letters)])
    for before, after in zip(plain, hidden, strict=True):
        for letter in letters:
            assert len((after == -1)[before == letter].unique()) <= 1
    untouched = float((hidden == plain).all(1).float().mean())
    assert 0.35 < untouched < 0.65


def test_operations_are_those_of_alice_where_the_network_is_alike():
    config = ModelConfig(d_model=16, n_layers=4, n_heads=2, d_mlp=24)
    lengths = torch.tensor([10, 20])
    found = {name: SequenceModel(config, design).training_flops(lengths) for name, design in NETWORKS.items()}
    assert found["language-model"] == 3 * forward_flops(config, 30, (10 * 11 + 20 * 21) / 2)
    assert found["causal-freq"] == 3 * forward_flops(config, 60, (20 * 21 + 40 * 41) / 2)
    cross = 3 * 2 * (2 * 4 * 16**2 * 30 + 4 * 16 * 500)  # two blocks attend to the source
    half = ModelConfig(d_model=16, n_layers=2, n_heads=2, d_mlp=24)
    own = 3 * (forward_flops(half, 30, 500) + forward_flops(half, 30, (10 * 11 + 20 * 21) / 2))
    assert found["seq2seq-freq"] == own + cross
