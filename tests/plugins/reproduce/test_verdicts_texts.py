import numpy as np
import pytest

from alice.plugins.builtin.letter_frequency.frequencies import excess, fit_line, lewand
from alice.plugins.reproduce import verdicts_texts as claims_texts


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("means", "outcome"),
    [((0.9, 0.5, 0.1), "holds"), ((0.9, 0.1, 0.5), "does not hold"), ((0.9, 0.5, 0.5), "undecided")],
)
def test_error_falls_at_every_layer_or_it_does_not(means, outcome):
    errors = np.array(means) + 0.01 * rng().standard_normal((200, 3))
    found = claims_texts.error_falls(errors, rng())
    assert found.outcome == outcome
    assert found.value == pytest.approx(-np.diff(errors.mean(0)).max())
    assert found == claims_texts.error_falls(errors, rng())


@pytest.mark.parametrize(("texts", "outcome"), [(1, "undecided"), (2, "undecided"), (29, "undecided"), (30, "holds")])
def test_few_texts_decide_nothing(texts, outcome):
    errors = np.array([0.9, 0.5, 0.1]) + 0.001 * rng().standard_normal((texts, 3))
    assert claims_texts.error_falls(errors, rng()).outcome == outcome


def test_early_is_the_first_quarter():
    assert [claims_texts.early_layer(layers) for layers in (1, 4, 8, 12)] == [1, 1, 2, 3]


def draws_around(similarity):
    return similarity + 0.001 * rng().standard_normal((50, *similarity.shape))


def staircase(layers=8):
    """N-grams of length n are found at layer n, all at once, (layer, n)."""
    return np.array([[float(layer >= n) for n in range(1, layers + 1)] for layer in range(layers + 1)])


EARLY = (claims_texts.short_is_high_early, claims_texts.long_is_low_early)


def test_what_the_paper_says_of_ngrams_holds_for_a_staircase_and_not_where_long_ones_come_first():
    for found, outcome in ((staircase(), "holds"), (staircase()[:, ::-1], "does not hold")):
        assert [test(found, draws_around(found), texts=100).outcome for test in EARLY] == [outcome, outcome]


def test_one_text_has_draws_that_are_all_alike_and_decides_nothing():
    found = staircase()
    alike = np.repeat(found[None], 50, axis=0)
    assert [test(found, alike, texts=1).outcome for test in EARLY] == ["undecided", "undecided"]
    assert claims_texts.always_higher(found[-1] + 1, found[-1], alike[:, -1] + 1, alike[:, -1], texts=1).outcome == (
        "undecided"
    )


@pytest.mark.parametrize(
    ("interval", "texts", "outcome"),
    [
        ((0.8, 1.0), 100, "holds"),
        ((-1.0, -0.8), 100, "does not hold"),
        ((-0.1, 0.9), 100, "undecided"),
        ((1.0, 1.0), 29, "undecided"),
        ((None, None), 1, "undecided"),
    ],
)
def test_a_trend_is_judged_by_the_interval_that_ngram_gives(interval, texts, outcome):
    assert claims_texts.long_rises_later(0.9, interval, texts=texts).outcome == outcome


def test_the_share_is_that_of_the_last_value():
    similarity = np.array([[0.0, 0.0], [0.4, 0.1], [0.8, 0.8]])  # two layers: the first is early
    assert claims_texts.short_is_high_early(similarity, draws_around(similarity), texts=100).value == pytest.approx(0.5)
    assert claims_texts.long_is_low_early(similarity, draws_around(similarity), texts=100).value == pytest.approx(0.125)


def test_higher_means_higher_at_every_n():
    base, noise = np.array([0.9, 0.5]), 0.1 * rng().standard_normal((50, 2))  # the same reweightings for both
    for lead, outcome in (((0.05, 0.02), "holds"), ((0.05, -0.02), "does not hold")):
        draws = noise + 0.001 * rng().standard_normal((50, 2))
        found = claims_texts.always_higher(base + lead, base, base + lead + draws, base + noise, texts=100)
        assert (found.outcome, found.value) == (outcome, pytest.approx(min(lead)))


@pytest.mark.parametrize(("power", "outcome"), [(-1, "holds"), (1, "does not hold"), (0, "undecided")])
def test_the_slope_says_whether_frequent_letters_err_less(power, outcome):
    rates = 0.01 * (lewand() / lewand().mean()) ** power
    draws = rates * (1 + 0.1 * rng().standard_normal((50, 26)))
    found = claims_texts.frequent_letters_err_less(rates, draws, texts=100)
    line = fit_line(lewand(), excess(rates, lewand()))
    assert line is not None
    assert (found.outcome, found.value) == (outcome, pytest.approx(line.slope))


def test_without_an_error_there_is_no_slope():
    found = claims_texts.frequent_letters_err_less(np.zeros(26), np.zeros((50, 26)), texts=100)
    assert found.outcome == "undecided"


def error_rates(texts=400):
    return np.abs(0.2 * rng().standard_normal(texts))


@pytest.mark.parametrize(("more", "outcome"), [(0.05, "holds"), (-0.05, "does not hold"), (0.0, "undecided")])
def test_one_model_errs_more_than_another_on_the_same_texts(more, outcome):
    theirs = error_rates()
    ours = theirs + more + 0.01 * np.random.default_rng(1).standard_normal(400)
    assert claims_texts.errs_more(ours, theirs).outcome == outcome
    assert claims_texts.errs_more(ours[:29], theirs[:29]).outcome == "undecided"


def test_three_sigmas_are_those_of_two_independent_means():
    theirs = error_rates()
    sigma = np.sqrt(2 * theirs.var(ddof=1) / 400)
    for distance, outcome in ((1, "holds"), (-1, "holds"), (9, "does not hold"), (-9, "does not hold")):
        ours = theirs + distance * sigma  # on the same texts the distance is then known exactly
        found = claims_texts.within_sigmas(ours, theirs)
        assert (found.outcome, found.value) == (outcome, pytest.approx(abs(distance)))
    independent = np.random.default_rng(1).permutation(theirs) + 2.9 * sigma
    assert claims_texts.within_sigmas(independent, theirs).outcome == "undecided"
    assert claims_texts.within_sigmas(theirs[:29], theirs[:29]).outcome == "undecided"


def test_models_without_any_error_are_as_near_as_can_be():
    none = np.zeros(50)
    assert claims_texts.within_sigmas(none, none).outcome == "holds"
    assert claims_texts.within_sigmas(none + 0.1, none).outcome == "does not hold"
