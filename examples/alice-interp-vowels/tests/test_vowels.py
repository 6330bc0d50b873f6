"""Tests of the plugin; the fixtures come with alice-interp."""

import numpy as np
import pytest
import torch
from alice.plugins import RunContext

from alice_interp_vowels import Vowels


def test_it_keeps_the_rules_of_an_analysis(check_analysis):
    check_analysis(Vowels)


def test_a_model_that_always_answers_e_takes_everything_for_a_vowel(tiny_alice):
    with torch.no_grad():
        tiny_alice.head.unembed.weight.zero_()
        tiny_alice.head.unembed.bias.zero_()
        tiny_alice.head.unembed.bias[tiny_alice.to_single_token("E")] = 1
    ctx = RunContext.open(tiny_alice, data=["BEE, AND AN EEL."], split="all")
    result = Vowels().run(ctx)
    assert float(result.metric("vowel-error-rate")) == pytest.approx(100 * 2 / 6)
    assert float(result.metric("consonant-error-rate")) == 100
    vowels_wrong, consonants_wrong = 2, 5
    assert np.array_equal(result.array("wrong", "base")[-1], [[0, consonants_wrong], [0, vowels_wrong]])
