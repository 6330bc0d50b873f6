"""Tests of the Bayesian references against enumeration."""

from itertools import permutations

import numpy as np
import pytest
from made_up_language import language

from alice.errors import AliceError
from alice.solving.bayes import GeneralSolver, PoolSolver, general_posterior, pool_posterior
from alice.solving.language_model import CharNgrams, symbols_of
from alice.text import LETTERS, Key, key_pool


@pytest.fixture(scope="module")
def ngrams():
    return CharNgrams.count([language(12, seed=seed) for seed in range(300)], 3)


@pytest.fixture(scope="module")
def soft():
    """Return bigrams of random texts, in which each letter may follow each other one."""
    rng = np.random.default_rng(0)
    after = rng.dirichlet(np.full(26, 0.3), size=26)
    texts = []
    for _ in range(200):
        letters = [int(rng.integers(26))]
        while len(letters) < 40:
            letters.append(int(rng.choice(26, p=after[letters[-1]])))
        texts.append("".join(LETTERS[letter] for letter in letters))
    return CharNgrams.count(texts, 2)


def log_probability(ngrams, text):
    """Return the log-probability of a text, straight from the table."""
    return float(ngrams.score(symbols_of(text, ngrams.order)))


def enumerated(ngrams, text):
    """Return the exact entries of the posterior over all keys, for the few letters of a text, (letters, 26)."""
    letters = sorted(set(text) & set(LETTERS))
    entries, total = np.zeros((len(letters), 26)), 0.0
    for meant in permutations(range(26), len(letters)):
        plain = text.translate(str.maketrans("".join(letters), "".join(LETTERS[letter] for letter in meant)))
        chance = np.exp(log_probability(ngrams, plain))
        entries[np.arange(len(letters)), meant] += chance
        total += chance
    return entries / total


def test_the_pool_posterior_is_bayes_rule(soft):
    pool = key_pool(5, 3)
    text = Key.from_array(pool[2]).encrypt("ROM")
    found = pool_posterior(soft, text, pool)
    assert 0.001 < found.probabilities.min() < found.probabilities.max() < 0.9  # a text that leaves several keys open
    logs = np.array([log_probability(soft, Key.from_array(key).decrypt(text)) for key in pool])
    chances = np.exp(logs) / np.exp(logs).sum()
    assert found.probabilities == pytest.approx(np.sort(chances)[::-1])
    row = LETTERS.index(text[0])
    wanted = np.zeros(26)
    for key, chance in zip(pool, chances, strict=True):
        wanted[LETTERS.index(Key.from_array(key).decrypt(text[0]))] += chance
    assert found.entries[row] == pytest.approx(wanted)
    assert found.error == 0


def test_the_entries_of_both_posteriors_are_doubly_stochastic(ngrams):
    text = language(6, seed=1)
    for found in (pool_posterior(ngrams, text, key_pool(50, 0)), general_posterior(ngrams, text, _rng())):
        assert found.entries.sum(0) == pytest.approx(np.ones(26))
        assert found.entries.sum(1) == pytest.approx(np.ones(26))
        assert found.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize("text", ["XQX QXY", "XXX"])  # 15,600 keys; and 26, among which the time at each decides
def test_the_general_posterior_agrees_with_enumeration_within_its_error(soft, text):
    found = general_posterior(soft, text, _rng(), chains=8, jumps=1000)
    exact = enumerated(soft, text)
    distance = np.abs(found.entries[found.present] - exact).sum(1).mean() / 2
    assert distance < 3 * found.error
    unlike = np.abs(np.full_like(exact, 1 / 26) - exact).sum(1).mean() / 2
    assert distance < unlike / 3  # far nearer than knowing nothing would be
    assert found.error < unlike / 3


def test_chains_that_do_not_reach_each_other_say_so(ngrams):
    text = "XQX QXY"  # trigrams of few syllables: hardly any swap leads from one reading to another
    found = general_posterior(ngrams, text, _rng(), chains=8, jumps=100)
    distance = np.abs(found.entries[found.present] - enumerated(ngrams, text)).sum(1).mean() / 2
    assert distance < 4 * found.error
    assert found.error > 0.05


def test_a_longer_sample_has_a_smaller_error(soft):
    short, long = (general_posterior(soft, "XQX QXY", _rng(), jumps=jumps) for jumps in (20, 500))
    assert long.error < short.error
    assert long.effective > short.effective


def test_another_naming_of_a_text_gives_the_same_posterior_under_other_names(ngrams):
    key = Key.random(np.random.default_rng(4))
    text = language(8, seed=5)
    own, renamed = (general_posterior(ngrams, one, _rng(), jumps=300) for one in (text, key.encrypt(text)))
    back = renamed.entries[key.to_array()]  # row of each plain letter
    assert np.abs(own.entries - back)[own.present].sum(1).mean() / 2 < 0.02


def test_letters_that_do_not_occur_share_what_is_left(ngrams):
    found = general_posterior(ngrams, "XQX QXY", _rng())
    absent = np.setdiff1d(np.arange(26), found.present)
    assert (found.entries[absent] == found.entries[absent[0]]).all()


def test_both_references_solve_and_the_pool_knows_only_its_keys(ngrams):
    plain, pool = language(20, seed=7), key_pool(20, 0)
    inside, outside = Key.from_array(pool[3]), Key.random(np.random.default_rng(9))
    assert PoolSolver(ngrams, pool)(inside.encrypt(plain)) == plain
    assert PoolSolver(ngrams, pool)(outside.encrypt(plain)) != plain
    assert GeneralSolver(ngrams)(outside.encrypt(plain)) == plain


def test_a_text_without_letters_says_nothing_about_the_key(ngrams):
    found = general_posterior(ngrams, "?!", _rng())
    assert found.entries == pytest.approx(np.full((26, 26), 1 / 26))


def test_a_sample_without_chains_is_refused(ngrams):
    with pytest.raises(AliceError, match="too small"):
        general_posterior(ngrams, "AB", _rng(), chains=0)


def _rng():
    return np.random.default_rng(0)
