"""A training learns, keeps to its budget, and never saves values that are not finite."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from trainings import RECIPE, carry_out, losses, same_weights, small_training, weights

from alice.errors import AliceError
from alice.model import Alice
from alice.solving.evaluate import score
from alice.text.alphabet import ENGLISH
from alice.text.batches import text_keys
from alice.text.cipher import key_pool
from alice.text.corpus import open_corpus
from alice.text.pieces import with_pieces
from alice.text.split import select, split_of
from alice.training.folder import Training, read_metrics
from alice.training.loop import Trainer
from alice.training.loss import Objective
from alice.training.recipe import Recipe
from alice.training.setup import training_stream, validation_batches
from alice.training.state import TrainingState


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_training_lowers_the_loss_and_leaves_a_checkpoint(corpus, tmp_path, variant):
    assert carry_out(small_training(tmp_path, corpus, variant=variant, steps=80))
    found = losses(tmp_path)
    assert found[-1] < 0.9 * found[0]
    assert Alice.from_pretrained(tmp_path).config.variant == variant
    rows = [row for row in read_metrics(tmp_path) if "ser" in row]
    assert [row["step"] for row in rows] == [15, 30, 45, 60, 75, 80]
    assert 0 <= rows[-1]["ser"]["all"] <= 1


def test_the_same_seed_gives_the_same_weights_and_another_does_not(corpus, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        carry_out(small_training(tmp_path / name, corpus, variant="bijective", seed=seed, steps=10))
    assert same_weights(tmp_path / "a", tmp_path / "b")
    assert not same_weights(tmp_path / "a", tmp_path / "c")


def test_a_budget_in_hours_ends_with_the_learning_rate_near_zero(corpus, tmp_path):
    training = small_training(tmp_path, corpus, steps=None, hours=2 / 3600, schedule="wsd", log_every=1)
    begun = time.monotonic()
    assert carry_out(training)
    rates = [row["lr"] for row in read_metrics(tmp_path) if "lr" in row]
    assert max(rates) == pytest.approx(3e-3)
    assert rates[-1] < 0.15 * max(rates)
    assert TrainingState.read(tmp_path).counters.seconds >= 2
    assert time.monotonic() - begun < 60


def test_a_loss_that_is_not_finite_stops_the_training_and_keeps_the_last_good_checkpoint(corpus, tmp_path):
    training = small_training(tmp_path, corpus, steps=200, lr=1e30, clip=0.0)
    with pytest.raises(AliceError, match=r"the loss became (nan|inf) at step \d+; the last checkpoint .* is intact"):
        carry_out(training)
    assert all(value.isfinite().all() for value in weights(tmp_path).values())


def test_a_gradient_that_is_not_finite_never_reaches_a_checkpoint(corpus, tmp_path, monkeypatch):
    clip = Trainer._clip

    def poisoned(self):
        if self.counters.step == 5:
            next(self.model.parameters()).grad.fill_(float("nan"))
        return clip(self)

    monkeypatch.setattr(Trainer, "_clip", poisoned)
    with pytest.raises(AliceError, match="the gradient became nan at step 6"):
        carry_out(small_training(tmp_path, corpus, save_minutes=0.0))
    assert TrainingState.read(tmp_path).counters.step == 5
    assert all(value.isfinite().all() for value in weights(tmp_path).values())


def test_the_average_of_the_weights_is_saved_and_does_not_change_the_training(corpus, trained, tmp_path):
    carry_out(small_training(tmp_path, corpus, steps=20, ema=0.9))
    last = TrainingState.read(tmp_path).group("weights")
    plain, kept = weights(trained), weights(tmp_path)
    assert all(torch.equal(last[name], plain[name]) for name in plain)
    assert not all(torch.equal(kept[name], plain[name]) for name in plain)


def test_a_training_can_start_from_the_weights_of_another(corpus, trained, tmp_path):
    start = str(trained)
    carry_out(replace(small_training(tmp_path / "second", corpus, steps=1, lr=1e-12), init=start))
    first, second = weights(trained), weights(tmp_path / "second")
    assert all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)
    with pytest.raises(AliceError, match=r"do not fit|has shape"):
        carry_out(replace(small_training(tmp_path / "third", corpus, model={"d_model": 32}), init=start))


def test_training_draws_keys_from_the_pool_and_validation_never_does(corpus):
    recipe = replace(Recipe(steps=1), cipher_pool=3)
    texts = open_corpus(str(corpus), alphabet=ENGLISH)
    pool = {tuple(key) for key in key_pool(3, recipe.seed).tolist()}
    batches = training_stream(texts, recipe).start()
    assert {tuple(key) for _ in range(5) for key in next(batches).keys.tolist()} == pool
    validation = [tuple(key) for batch in validation_batches(texts, recipe) for key in batch.keys.tolist()]
    assert not pool & set(validation)
    assert len(set(validation)) == len(validation)


def test_validation_measures_what_evaluate_does(corpus, trained):
    batches = validation_batches(open_corpus(str(corpus), alphabet=ENGLISH), Recipe(steps=1))
    keys = {int(number): key for batch in batches for number, key in zip(batch.index, batch.keys.tolist(), strict=True)}
    assert [keys[number] for number in sorted(keys)] == text_keys(len(keys), 0).tolist()
    logged = [row["ser"]["all"] for row in read_metrics(trained) if "ser" in row][-1]
    model = Alice.from_pretrained(trained, device="cpu")
    assert score(model, batches).means()["all"] == pytest.approx(logged, abs=1e-9)


def test_a_corpus_without_validation_texts_is_refused(tmp_path):
    lonely = next(text for text in (f"THIS IS LONELY TEXT {c}." for c in "ABCDEF") if split_of(text) == "train")
    (tmp_path / "few.txt").write_text(lonely + "\n")
    with pytest.raises(AliceError, match="no text in its validation split"):
        carry_out(small_training(tmp_path / "new", tmp_path / "few.txt"))


def test_a_device_that_cannot_be_used_is_refused(corpus, tmp_path):
    from alice.training.setup import train

    with pytest.raises(AliceError, match="cannot compute on the device 'nonsense'"):
        train(small_training(tmp_path / "new", corpus), device="nonsense")
    assert not (tmp_path / "new").exists()


def test_a_tracker_gets_every_number_and_a_missing_one_is_named(corpus, tmp_path, monkeypatch):
    logged = []
    monkeypatch.setattr("accelerate.Accelerator.log", lambda self, values, step: logged.append((step, values)))
    carry_out(small_training(tmp_path / "first", corpus, steps=5, eval_every=5))
    assert [step for step, _ in logged] == [5, 5]
    assert "loss" in logged[0][1]
    assert 0 <= logged[1][1]["ser/all"] <= 1
    monkeypatch.setattr("alice.training.setup.find_spec", lambda name: None)
    with pytest.raises(AliceError, match="pip install tensorboard"):
        carry_out(small_training(tmp_path / "other", corpus), trackers=["tensorboard"])


@pytest.mark.parametrize("weight", ["batch", "character", "text"])
def test_the_gradient_weighs_characters_as_the_recipe_says(corpus, tmp_path, weight):
    """Compare with the gradient of the hand-weighted loss of a batch of mixed lengths."""
    limits = {"batch_lengths": "mixed", "batch_tokens": None, "batch_texts": 7}
    training = small_training(tmp_path, corpus, loss_weight=weight, **limits)
    model = Alice(training.model).train()
    batch = next(training_stream(open_corpus(str(corpus), alphabet=ENGLISH), training.recipe).start())
    texts, lengths = select(open_corpus(str(corpus), alphabet=ENGLISH), "train"), batch.mask.sum(1)
    all_lengths = torch.tensor([len(text) for text in texts])
    batches = math.ceil(len(all_lengths) / 7)
    by_hand = {
        "batch": torch.full((7,), 1 / int(lengths.sum())),
        "character": torch.full((7,), batches / int(all_lengths.sum())),
        "text": batches / len(all_lengths) / lengths,
    }[weight]
    (Objective(model)(batch.cipher_ids, batch.plain_ids) * by_hand).sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    options = {"stream": None, "validation": None, "folder": tmp_path, "accelerator": Accelerator(cpu=True)}
    Trainer(model, training.recipe, **options)._backward(batch, int(batch.mask.sum()))
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-7)


def test_pieces_come_from_training_texts_only_and_are_the_same_when_resumed(corpus, tmp_path):
    recipe, texts = replace(RECIPE, pieces=2), open_corpus(str(corpus), alphabet=ENGLISH)
    train = list(select(texts, "train"))

    def read(pieces):
        stream, found = training_stream(texts, replace(recipe, pieces=pieces)).start(), []
        while len(found) < pieces * len(train):
            found += [ENGLISH.decode(row[row > 0].numpy()) for row in next(stream).plain_ids]
        return found

    found = read(2)
    pieces = [text for text in found if text not in train]
    assert pieces
    assert all(any(piece in text for text in train) for piece in pieces)
    assert read(2) == found
    assert {split_of(piece) for piece in with_pieces(train, 20, np.random.default_rng(0))} > {"train"}
    assert {split_of(piece) for piece in read(20)} == {"train"}
    assert not carry_out(small_training(tmp_path / "a", corpus, steps=12, pieces=2), stop=lambda: True)
    assert carry_out(Training.open(tmp_path / "a", {}), resume=True)
    assert carry_out(small_training(tmp_path / "b", corpus, steps=12, pieces=2))
    assert same_weights(tmp_path / "a", tmp_path / "b")
    assert carry_out(small_training(tmp_path / "c", corpus, steps=12))
    assert not same_weights(tmp_path / "b", tmp_path / "c")
