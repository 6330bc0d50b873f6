"""What planted models answer: exactly what their program says, computed without them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import alice
from alice.errors import AliceError
from alice.metrics import error_rates
from alice.planted import NAMES, build
from alice.planted.neighbours import english_profiles, measured_profiles, profiles
from alice.solving import score
from alice.text import ENGLISH, Batches, EncodedTexts


def one_text(text):
    """Return a batch of one text that is not encrypted."""
    ids = torch.from_numpy(ENGLISH.encode(text).astype(np.int64))[None]
    (batch,) = Batches(EncodedTexts([text], ENGLISH), ENGLISH)
    return replace(batch, cipher_ids=ids, plain_ids=ids)


def mean_error(answers, batches):
    """Return the mean symbol error rate of answers."""
    pairs = zip(answers, batches, strict=True)
    return np.concatenate([error_rates(given, batch.plain_ids.numpy()) for given, batch in pairs]).mean()


def test_every_answer_and_the_error_rate_are_those_of_the_program(name, planted, answers, batches):
    expected = [planted.expected(batch) for batch in batches]
    for batch, given, wanted in zip(batches, answers[name], expected, strict=True):
        assert np.array_equal(given[batch.mask], wanted[batch.mask])
    assert mean_error(answers[name], batches) == mean_error(expected, batches)
    assert score(planted.model, batches[:1]).errors.mean() == mean_error(expected[:1], batches[:1])


def test_neighbours_tell_more_than_frequencies(answers, batches):
    assert mean_error(answers["neighbours", "base"], batches) < mean_error(answers["frequency", "base"], batches) - 0.03


def test_space_and_punctuation_are_read_as_they_are(name, answers, batches):
    for given, batch in zip(answers[name], batches, strict=True):
        others = batch.mask & ~torch.isin(batch.cipher_ids, torch.from_numpy(ENGLISH.letter_ids))
        assert np.array_equal(given[others], batch.cipher_ids[others])


def test_a_letter_is_read_as_the_one_of_nearest_frequency(planted_models):
    text = "X" * 10 + "Q" * 7 + "Z" * 6 + " " * 77  # in English E has 10.0 %, T 7.2 %, A 6.5 % and O 5.9 %
    ids = one_text(text).cipher_ids
    assert decoded(planted_models["frequency", "base"], ids) == "E" * 10 + "T" * 7 + "O" * 6 + " " * 77
    assert decoded(planted_models["frequency", "bijective"], ids) == "E" * 10 + "T" * 7 + "A" * 6 + " " * 77


def decoded(planted, ids):
    """Return what a model reads in one text."""
    with torch.inference_mode():
        return ENGLISH.decode(planted.model(ids).argmax(-1)[0].numpy())


def test_the_profile_of_a_letter_is_what_comes_before_it():
    found = profiles(one_text("ALL A BALL").cipher_ids)[0]
    own, start, before, doubled = found[ord("L") - ord("A")]
    assert (own, start, before, doubled) == pytest.approx((0.4, 0, (2 * 0.3 + 2 * 0.4) / 4, 0.5))
    own, start, before, doubled = found[0]  # the first character is its own predecessor
    assert (own, start, before, doubled) == pytest.approx((0.3, 1 / 3, (0.3 + 0.1) / 3, 1 / 3))
    assert not found[25].any()


def test_the_profiles_of_english_are_like_those_of_texts(batches):
    measured, table = measured_profiles(batches), english_profiles()
    assert all(np.corrcoef(measured[:, column], table[:, column])[0, 1] > 0.75 for column in range(4))


def test_models_are_built_by_name():
    assert {"frequency", "neighbours"} <= set(NAMES)
    assert alice.planted.build("frequency").name == "frequency"
    with pytest.raises(AliceError, match=r"no planted model 'frequencies'.*frequency"):
        build("frequencies")
    with pytest.raises(AliceError, match="choose base or bijective"):
        build("frequency", "dynamic")
    with pytest.raises(AliceError, match="neighbours has no bijective head"):
        build("neighbours", "bijective")


def test_building_leaves_the_random_generator_alone():
    before = torch.get_rng_state()
    build("frequency")
    assert torch.equal(torch.get_rng_state(), before)
