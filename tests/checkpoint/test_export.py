import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from trainings import carry_out, small_training, write_corpus

from alice.checkpoint.export import export, round_to_half
from alice.model import Alice
from alice.solving.evaluate import Scores
from alice.training.folder import Training

TABLE = Scores(np.array([20, 24, 160]), np.array([0.5, 0.25, 0.125])).table(np.random.default_rng(0))
ERRORS = {part: (TABLE.mean[part], TABLE.median[part], TABLE.per_character[part]) for part in TABLE.mean}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt")


@pytest.fixture(scope="module")
def first(corpus, tmp_path_factory):
    """A training of 10 steps."""
    training = small_training(tmp_path_factory.mktemp("trainings") / "first", corpus, steps=10)
    carry_out(training)
    return training


def ship(training, out):
    """Export a training; return the model and the card."""
    model = round_to_half(Alice.from_pretrained(training.folder))
    log = (training.folder / "metrics.jsonl").read_bytes()
    command = "alice-interp evaluate --ckpt tiny"
    export(out, model, name="tiny", training=training.summary(), log=log, errors=ERRORS, command=command)
    return model, (out / "card.md").read_text()


def test_an_export_has_half_precision_and_says_how_it_was_trained(first, tmp_path):
    model, _ = ship(first, tmp_path)
    assert all(map(torch.equal, Alice.from_pretrained(tmp_path).parameters(), model.parameters()))
    weights = Alice.from_pretrained(first.folder).state_dict()
    assert all(torch.equal(value, weights[name].half().float()) for name, value in model.state_dict().items())
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (tmp_path, first.folder)]
    assert sizes[0] < 0.7 * sizes[1]
    described = json.loads((tmp_path / "training.json").read_text())
    assert described["data"] == "texts.txt"
    assert described["totals"]["steps"] == 10
    assert (tmp_path / "metrics.jsonl").read_text() == (first.folder / "metrics.jsonl").read_text()


def test_the_card_says_that_the_model_renames_letters(corpus, tmp_path):
    training = small_training(tmp_path / "training", corpus, steps=1, model={"relabel": "recurrence"})
    carry_out(training)
    assert "; the model renames the letters of each text by first appearance.\n" in ship(training, tmp_path / "out")[1]


def test_the_card_shows_the_measured_error_rates_and_the_command(first, tmp_path):
    _, card = ship(first, tmp_path)
    assert "over 3 test texts" in card
    assert "- Symbols: A-Z, space and `.,!?-;:'\"`." in card
    assert "`alice-interp evaluate --ckpt tiny`" in card
    assert "| [0,32) | 2 | 37.50 ± " in card
    assert "| [128,256) | 1 | 12.50 | 12.50 (12.50-12.50) | 12.50 |" in card
    assert "The mean is over texts. Per character, as in the authors' training script, long texts count more." in card
    assert "[32,64)" not in card
    assert "- 10 steps" in card
    assert "whose weights it started from" not in card
    assert "pieces" not in card
    assert "batches of at most 512 characters" in card


def test_the_card_says_when_the_texts_were_changed(first, tmp_path):
    _, card = ship(replace(first, earlier_data=({"data_sha256": "0" * 64, "until": 1200},)), tmp_path)
    assert "the texts were changed after step 1,200." in card


def test_totals_include_the_export_that_a_training_started_from(first, corpus, tmp_path):
    ship(first, tmp_path / "shipped")
    second = replace(small_training(tmp_path / "second", corpus, steps=7), init=str(tmp_path / "shipped"))
    carry_out(second)
    assert second.totals().steps == 17
    assert carry_out(Training.open(second.folder, {"steps": 9}), resume=True)
    assert Training.open(second.folder, {}).totals().steps == 19
    assert first.totals().tokens < second.totals().tokens


def test_the_card_of_a_model_trained_further_speaks_of_an_earlier_one_of_its_name(corpus, tmp_path):
    first, second = (small_training(tmp_path / part / "tiny", corpus, steps=2) for part in ("a", "b"))
    carry_out(first)
    carry_out(second := replace(second, init=str(first.folder)))
    assert "2 of these steps are those of an earlier `tiny`," in ship(second, tmp_path / "out")[1]


def test_the_card_names_the_training_that_another_started_from_and_no_path(first, corpus, tmp_path):
    pool = {"cipher_pool": 5, "batch_tokens": None, "batch_texts": 8, "pieces": 3}
    second = replace(small_training(tmp_path / "second", corpus, steps=2, **pool), init=str(first.folder))
    carry_out(second)
    _, card = ship(second, tmp_path / "out")
    assert card.startswith("# tiny\n")
    assert "- 12 steps" in card
    assert "of these steps are those of `first`, whose weights it started from" in card
    assert "the lengths of texts and the recipe are those of the steps since then" in card
    assert "up to 3 short pieces of each" in card
    assert json.loads((tmp_path / "out" / "training.json").read_text())["started_from"] == "first"
    assert str(tmp_path) not in (tmp_path / "out" / "training.json").read_text()
    assert "a pool of 5 keys" in card
    assert "batches of at most 8 texts" in card
