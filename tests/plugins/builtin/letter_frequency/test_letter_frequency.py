"""The letter-frequency analysis on models that confuse known letters."""

import numpy as np
import pytest
from handmade import leave_letters_alone, reader
from tiny import tiny

from alice.model.config import VARIANTS
from alice.plugins import RunContext
from alice.plugins.builtin.letter_frequency import LetterFrequency
from alice.plugins.builtin.letter_frequency.frequencies import fit_line
from alice.plugins.builtin.letter_frequency.measure import Measured, measure
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.statistics import RatioBootstrap
from alice.text import lewand
from alice.text.alphabet import LETTERS

A, B, E, Q = (LETTERS.index(letter) for letter in "ABEQ")


def context(*models, texts=("ABBA", "BEE. E")):
    return RunContext.open(*models, data=list(texts), split="all")


def test_a_model_that_reads_b_as_a_is_wrong_in_every_b(monkeypatch):
    leave_letters_alone(monkeypatch)
    found = measure(context(reader(B="A")))
    assert found.confusion[A, A] == 2
    assert found.confusion[B, A] == 3
    assert found.confusion[E, E] == 3
    assert found.confusion.sum() == 8
    assert found.mistakes.sum() == 3
    assert found.wrong.ratio[[A, B, E]].tolist() == [0, 1, 0]
    assert np.isnan(found.wrong.ratio[Q])
    # All errors are B's, whatever the frequencies.
    for frequencies, (excess, _) in ((lewand(), found.excess(lewand())), (found.frequencies, found.excess())):
        assert excess[B] == pytest.approx(1 - frequencies[B])
        assert excess[A] == pytest.approx(-frequencies[A])
    assert np.isnan(found.excess(lewand())[1][B])  # the same in every text that has it
    drawn = found.wrong.whole_draws[:, B] / found.wrong.whole_draws.sum(1)  # its frequency is uncertain, too
    assert found.excess()[1][B] == pytest.approx(np.sqrt(3) * drawn.std(ddof=1))  # corrected for two texts
    assert np.isnan(found.excess()[1][A])  # only one text contains it
    assert found.frequencies[[A, B, E]].tolist() == [2 / 8, 3 / 8, 3 / 8]


def test_an_answer_may_be_something_other_than_a_letter(monkeypatch):
    leave_letters_alone(monkeypatch)
    found = measure(context(reader(B=" ")))
    assert found.confusion[B, 26] == 3
    result = LetterFrequency().run(context(reader(B=" ")))
    assert result.tables["mistakes"].rows == (("base", "B", "none", 3, 100.0, 100.0),)


def test_the_papers_figure_by_hand(monkeypatch):
    leave_letters_alone(monkeypatch)
    # A and B are always wrong, C and E never: their errors are shared as Lewand's frequencies of A and B.
    result = LetterFrequency().run(context(reader(A="C", B="C"), texts=["ABBACCEE"]))
    rows = {row["letter"]: row for row in result.tables["letters"].records(model="base")}
    assert rows["A"]["excess"] == pytest.approx(100 * 8.167 / (8.167 + 1.492) - 8.167)
    assert rows["B"]["excess"] == pytest.approx(100 * 1.492 / (8.167 + 1.492) - 1.492)
    assert rows["E"]["excess"] == pytest.approx(-12.702)
    assert rows["A"]["corpus_excess"] == rows["B"]["corpus_excess"] == pytest.approx(25)
    assert rows["Q"]["ser"] is rows["Q"]["excess"] is None
    points, line = result.figure("excess-lewand", model="base").figure.data
    assert points.text == ("A", "B", "C", "E")
    slope = (line.y[1] - line.y[0]) / (line.x[1] - line.x[0])
    assert slope == pytest.approx(float(result.metric("slope")))
    assert result.metric("letters-wrong-share").value == 50
    assert "4 of 8 letters wrong" in result.summary


def test_a_model_without_errors_has_nothing_to_compare(monkeypatch):
    leave_letters_alone(monkeypatch)
    result = LetterFrequency().run(context(reader()))
    assert result.metric("letters-wrong").value == 0
    assert "slope" not in {metric.name for metric in result.metrics}
    assert "nothing to compare" in result.summary
    assert result.tables["best-fit"].rows[0][2:] == (None,) * 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_letters_are_counted_as_they_stand_in_the_texts(variant):
    found = measure(tiny_context(tiny(variant), texts=12))
    counts = [sum(text.count(letter) for text in tiny_texts(12)) for letter in LETTERS]
    assert found.characters.tolist() == counts
    model = tiny_context(tiny(variant), texts=12)
    wrong = 0
    for batch in model.batches:
        letters = batch.plain_ids <= 26  # A to Z are the first 26 ids
        wrong += int(((model.model(batch.cipher_ids).argmax(-1) != batch.plain_ids) & letters & batch.mask).sum())
    assert found.mistakes.sum() == wrong > 0
    if variant == "bijective":
        assert found.confusion[:, 26].sum() == 0


def test_several_models_have_a_figure_each():
    result = LetterFrequency().run(tiny_context(tiny("base"), tiny("bijective"), texts=5))
    assert {"excess-lewand@base", "excess-corpus@bijective", "confusion@bijective"} <= result.figures.keys()
    assert [row[:2] for row in result.tables["best-fit"].rows][::2] == [
        ("base", "lewand"),
        ("bijective", "lewand"),
    ]


def test_the_error_of_the_slope_is_its_spread_over_samples_of_texts():
    rng = np.random.default_rng(0)
    found = [slope_of(rng) for _ in range(60)]
    slopes, errors = np.array(found).T
    assert errors.mean() == pytest.approx(slopes.std(ddof=1), rel=0.25)


def slope_of(rng):
    """Return the slope and its error for 200 texts in which a letter is wrong everywhere with chance 0.1."""
    counts = rng.multinomial(100, lewand() / lewand().sum(), size=200)
    wrong = RatioBootstrap(rng, 26, draws=300)
    wrong.add(counts * (rng.random((200, 26)) < 0.1), counts)
    confusion = np.zeros((26, 27), dtype=np.int64)
    confusion[:, 0] = wrong.whole
    one = Measured("mine", 200, confusion, wrong)
    return fit_line(lewand(), one.excess(lewand())[0]).slope, one.slope_error(lewand())
