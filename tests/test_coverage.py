"""Whether intervals hold the truth as often as they say, on the error rates of real texts.

The rates were measured with `alice-interp run errors-by-length --ckpt base --samples 4000` on the test side of a corpus
of quotes, and rounded. They are skewed: most texts have few errors, and three long texts have a tenth of all.
"""

import numpy as np
import pytest

from alice.statistics import PairedBootstrap

# fmt: off
SHORT = {
    0: 623, 1: 321, 2: 285, 3: 216, 4: 144, 5: 139, 6: 89, 7: 72, 8: 65, 9: 43, 10: 58, 11: 45, 12: 41, 13: 32, 14:
    32, 15: 27, 16: 18, 17: 22, 18: 17, 19: 21, 20: 49, 25: 51, 30: 44, 35: 19, 40: 14, 45: 15, 50: 12, 55: 8, 60:
    6, 65: 6, 70: 4, 75: 5, 80: 1, 85: 1,
}
"""Number of texts below 128 characters by SER in percent."""
LONG = {
    0: 763, 0.5: 280, 1: 120, 1.5: 98, 2: 67, 2.5: 34, 3: 22, 3.5: 16, 4: 17, 4.5: 7, 5: 1, 5.5: 6, 6: 1, 7: 4, 7.5:
    2, 8.5: 1, 9.5: 1, 10: 2, 10.5: 3, 11: 1, 14.5: 1, 16.5: 1, 17.5: 1, 18.5: 1, 22.5: 1, 26: 1, 33.5: 1, 39.5: 1,
    62.5: 1,
}
"""Number of texts from 128 characters on."""
# fmt: on
POPULATIONS = {"short": SHORT, "long": LONG}
SAMPLES = 3000


def population(name: str) -> np.ndarray:
    texts = POPULATIONS[name]
    return np.repeat(np.array(list(texts)), list(texts.values()))


def samples(of: np.ndarray, texts: int) -> np.ndarray:
    return of[np.random.default_rng(texts).integers(len(of), size=(texts, SAMPLES))]


def coverage(ends: np.ndarray, truth: float) -> float:
    return float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())


@pytest.mark.parametrize("texts", [100, 300])
@pytest.mark.parametrize("name", POPULATIONS)
def test_intervals_hold_the_mean_of_real_error_rates(name, texts):
    rates = population(name)
    found = PairedBootstrap(samples(rates, texts), np.random.default_rng(0))
    assert 0.93 <= coverage(found.interval(), rates.mean()) < 0.99


def test_percentiles_of_weightings_would_hold_it_less_often():
    rates = population("long")
    found = PairedBootstrap(samples(rates, 100), np.random.default_rng(0), draws=400)
    assert coverage(np.percentile(found.draws, [2.5, 97.5], axis=0).T, rates.mean()) < 0.9


def test_an_interval_of_normal_values_is_little_wider_than_students():
    values = np.random.default_rng(1).normal(size=(100, SAMPLES))
    found = PairedBootstrap(values, np.random.default_rng(0))
    assert 0.94 <= coverage(found.interval(), 0.0) < 0.98
    assert np.median(np.diff(found.interval()) / (2 * 1.984 * found.error[:, None])) < 1.2


def test_the_error_is_that_of_the_mean_over_new_texts():
    rates = population("short")
    found = PairedBootstrap(samples(rates, 30), np.random.default_rng(0))
    assert np.sqrt(np.mean(found.error**2)) == pytest.approx(found.mean.std(), rel=0.05)
