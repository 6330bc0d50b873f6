import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from training_runs import carry_out, small_run, write_corpus

from alice.checkpoint.export import export, shippable
from alice.errors import AliceError
from alice.model import Alice
from alice.solving.evaluate import Scores
from alice.training.folder import Run


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt")


ERRORS = Scores(np.array([20, 25, 150]), np.array([0.5, 0.25, 0.125])).table(np.random.default_rng(0))


def ship(folder, out):
    model = shippable(folder)
    export(folder, out, model, name="tiny", errors=ERRORS, command="alice-interp evaluate --ckpt tiny")
    return model


def test_an_export_is_half_as_large_and_says_what_went_into_it(corpus, tmp_path):
    run = small_run(tmp_path / "run", corpus, steps=12)
    carry_out(run)
    model = ship(run.folder, tmp_path / "out")
    assert all(map(torch.equal, Alice.from_pretrained(tmp_path / "out").parameters(), model.parameters()))
    weights = Alice.from_pretrained(run.folder).state_dict()
    assert all(torch.equal(value, weights[name].half().float()) for name, value in model.state_dict().items())
    about = json.loads((tmp_path / "out" / "training.json").read_text())
    assert about["data"] == "texts.txt"
    assert about["totals"]["steps"] == 12
    assert (tmp_path / "out" / "metrics.jsonl").read_text() == (run.folder / "metrics.jsonl").read_text()


def test_totals_add_up_over_runs_that_start_from_an_export(corpus, tmp_path):
    first = small_run(tmp_path / "first", corpus, steps=10)
    carry_out(first)
    ship(first.folder, tmp_path / "shipped")
    second = replace(small_run(tmp_path / "second", corpus, steps=7), init=str(tmp_path / "shipped"))
    carry_out(second)
    assert Run.open(second.folder, {}).totals().steps == 17
    assert carry_out(Run.open(second.folder, {"steps": 9}), resume=True)
    assert Run.open(second.folder, {}).totals().steps == 19
    assert first.totals().tokens < second.totals().tokens


def test_totals_count_the_run_that_a_run_started_from_and_the_card_names_it(corpus, tmp_path):
    carry_out(small_run(tmp_path / "first", corpus, steps=3))
    second = replace(small_run(tmp_path / "second", corpus, steps=2), init=str(tmp_path / "first"))
    carry_out(second)
    assert second.totals().steps == 5
    ship(second.folder, tmp_path / "out")
    card = (tmp_path / "out" / "card.md").read_text()
    assert "- 5 steps" in card
    assert "those of `first`, from whose weights it started, included" in card
    assert json.loads((tmp_path / "out" / "training.json").read_text())["started_from"] == "first"
    assert str(tmp_path) not in (tmp_path / "out" / "training.json").read_text()


def test_the_card_shows_the_measured_figures_and_the_command(corpus, tmp_path):
    run = small_run(tmp_path / "run", corpus, steps=2)
    carry_out(run)
    ship(run.folder, tmp_path / "out")
    card = (tmp_path / "out" / "card.md").read_text()
    assert "over 3 test texts" in card
    assert "- Symbols: A-Z, space and `.,!?-;:'\"`." in card
    assert "`alice-interp evaluate --ckpt tiny`" in card
    assert "| [0,32) | 2 | 37.50 ± " in card
    assert "| [128,256) | 1 | 12.50 | 12.50 (12.50-12.50) |" in card
    assert "[32,64)" not in card
    assert "2 steps" in card


def test_a_run_is_not_exported_onto_itself(corpus, tmp_path):
    carry_out(small_run(tmp_path, corpus, steps=2))
    with pytest.raises(AliceError, match="export to another folder"):
        ship(tmp_path, tmp_path)


def test_the_card_of_a_run_with_few_keys_says_so(corpus, tmp_path):
    run = small_run(tmp_path / "run", corpus, steps=2, cipher_pool=5, batch_tokens=None, batch_texts=8)
    carry_out(run)
    ship(run.folder, tmp_path / "out")
    card = (tmp_path / "out" / "card.md").read_text()
    assert "a pool of 5 keys" in card
    assert "batches of 8 texts at most" in card
