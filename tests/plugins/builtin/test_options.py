"""Options that several analyses share are checked in the same way."""

import math
from types import SimpleNamespace

import pytest

from alice.errors import AliceError
from alice.plugins.builtin.attention import Attention
from alice.plugins.builtin.early_exit import EarlyExit
from alice.plugins.builtin.errors_by_length import ErrorsByLength
from alice.plugins.builtin.key_recovery import KeyRecovery
from alice.plugins.builtin.letter_frequency import LetterFrequency
from alice.plugins.builtin.options import check_minimum
from alice.plugins.builtin.relabelling import Relabelling

SHOWING = (Attention, EarlyExit, KeyRecovery, Relabelling)
"""Analyses that show single texts."""


def example(cls, number):
    """Return the option that chooses a text to show."""
    return {"examples": (number,)} if cls is EarlyExit else {"example": number}


@pytest.mark.parametrize("cls", [*SHOWING, ErrorsByLength, LetterFrequency])
def test_there_must_be_a_text_to_measure(cls):
    with pytest.raises(AliceError, match="samples=0 leaves no text to measure on"):
        cls(samples=0)


@pytest.mark.parametrize("cls", SHOWING)
def test_contradictory_options_are_errors(cls):
    for number, samples in ((2, 2), (-1, 5)):
        with pytest.raises(AliceError, match=f"no example {number} among {samples} samples"):
            cls(samples=samples, **example(cls, number))
    with pytest.raises(AliceError, match="nothing to encrypt"):
        cls(encrypt=True)


@pytest.mark.parametrize("cls", SHOWING)
def test_an_example_beyond_the_corpus_is_an_error(cls, run_context):
    with pytest.raises(AliceError, match="no example 50 among 24 texts"):
        cls(samples=100, **example(cls, 50)).run(run_context)


@pytest.mark.parametrize(("value", "fine"), [(2, True), (None, True), (1, False), (math.nan, False)])
def test_a_number_below_its_minimum_is_an_error(value, fine):
    options = SimpleNamespace(rounds=value)
    if fine:
        check_minimum(options, rounds=2)
        return
    with pytest.raises(AliceError, match=f"rounds={value} is too small; give 2 or more"):
        check_minimum(options, rounds=2)


def test_relabellings_need_something_to_compare():
    with pytest.raises(AliceError, match="relabellings=1 is too small; give 2 or more"):
        Relabelling(relabellings=1)
