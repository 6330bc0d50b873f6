"""The guided search: it finds known keys, takes advice, and knows how sure it is."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from click.testing import CliRunner
from made_up_language import language
from tiny import tiny

from alice.front_door import solve
from alice.solving import GuidedSearch, GuidedSolver
from alice.solving import solve as solve_texts
from alice.solving.fitting import calibrate, fit, letters_of, main, search_all
from alice.solving.guided import FLOOR, Candidates, Weights
from alice.solving.guided_solver import Opinion, changes, opinions
from alice.solving.language import Languages, learn
from alice.solving.solution import read
from alice.statistics import reliability
from alice.text import LETTERS, N_LETTERS, Key


@pytest.fixture(scope="module")
def search():
    return GuidedSearch(learn([language(12, seed=seed) for seed in range(400)]))


def uniform():
    return np.full((N_LETTERS, N_LETTERS), -np.log(N_LETTERS), dtype=np.float32)


def advice(key, sure=0.9):
    """A network that gives the right letter of each cipher letter this probability."""
    logs = np.full((N_LETTERS, N_LETTERS), np.log((1 - sure) / (N_LETTERS - 1)), dtype=np.float32)
    right = Key.from_array(key).inverse()
    logs[np.arange(N_LETTERS), [LETTERS.index(right.encrypt(letter)) for letter in LETTERS]] = np.log(sure)
    return logs


def encrypted(words, seed):
    key = np.random.default_rng(seed).permutation(N_LETTERS)
    plain = language(words, seed=seed + 5000)
    return plain, Key.from_array(key).encrypt(plain), key


def decrypted(found):
    return "".join((LETTERS + " ")[symbol] for symbol in found.keys[0][found.cipher]).strip()


@pytest.mark.parametrize("seed", range(3))
def test_a_long_text_needs_no_network(search, seed):
    plain, cipher, _ = encrypted(20, seed)
    assert decrypted(search.find(cipher, uniform())) == plain


def test_advice_decides_where_the_language_does_not(search):
    plain, cipher, key = encrypted(1, 7)
    alone = search.find(cipher, uniform())
    advised = search.find(cipher, advice(key, 0.999))
    assert decrypted(alone) != plain
    assert decrypted(advised) == plain


def test_a_network_that_is_sure_and_wrong_does_not_ruin_a_long_text(search):
    plain, cipher, _ = encrypted(30, 1)
    wrong = np.random.default_rng(3).permutation(N_LETTERS)
    assert decrypted(search.find(cipher, advice(wrong, 0.9999))) == plain


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_a_short_text_that_stays_unusual_is_searched_without_the_network_in_the_lead(search, seed):
    plain, cipher, _ = encrypted(6, seed)
    wrong = np.random.default_rng(seed + 3).permutation(N_LETTERS)
    small = GuidedSearch(search.languages, narrow=(2, 4), wide=(20, 4))
    assert decrypted(small.find(cipher, advice(wrong, 0.9999))) == plain


def test_keys_are_permutations_ranked_by_probability_and_each_is_there_once(search):
    _, cipher, key = encrypted(4, 2)
    found = search.find(cipher, advice(key, 0.3))
    assert (np.sort(found.keys[:, :N_LETTERS], axis=1) == np.arange(N_LETTERS)).all()
    assert (np.diff(found.probabilities) <= 0).all()
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-5)
    assert len(np.unique(found.keys[:, found.present], axis=0)) == len(found.keys)
    by_hand = [found.probabilities[found.keys[:, letter] == found.keys[0, letter]].sum() for letter in found.present]
    assert found.confidence() == pytest.approx(by_hand, abs=1e-6)


def test_keys_of_several_languages_share_one_distribution(search):
    _, cipher, key = encrypted(3, 2)
    twice = GuidedSearch(Languages((search.languages.main, search.languages.main)))
    strange = GuidedSearch(Languages((replace(search.languages.main, usual=0.0, share=0.5),) * 2))
    for several in (twice, strange):  # the second searches in both, as every text seems unusual
        one, both = search.find(cipher, advice(key, 0.3)), several.find(cipher, advice(key, 0.3))
        assert len(np.unique(both.keys[:, both.present], axis=0)) == len(both.keys)
        assert both.probabilities.sum() == pytest.approx(1, abs=1e-5)
        assert decrypted(both) == decrypted(one)


def test_a_network_without_numbers_counts_as_one_without_an_opinion(search):
    plain, cipher, _ = encrypted(20, 4)
    assert decrypted(search.find(cipher, np.full((N_LETTERS, N_LETTERS), np.nan, dtype=np.float32))) == plain


@pytest.mark.parametrize("text", ["A", "A A A", "AB, BA!", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "Q" * 300])
def test_any_text_with_a_letter_has_candidates(search, text):
    found = search.find(text, uniform())
    assert set(found.present.tolist()) == {LETTERS.index(letter) for letter in text if letter in LETTERS}
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-5)


def test_changes_name_the_letters_of_which_the_network_thought_otherwise(search):
    _, cipher, key = encrypted(20, 5)
    logs = advice(key)
    letter = int(search.find(cipher, logs).present[0])
    right, wrong = int(logs[letter].argmax()), (int(logs[letter].argmax()) + 1) % N_LETTERS
    logs[letter, [right, wrong]] = FLOOR, 0.0
    (found,) = changes(search, search.find(cipher, logs), Opinion(logs, logs.argmax(1)))
    assert (found.cipher, found.network, found.found) == (LETTERS[letter], LETTERS[wrong], LETTERS[right])
    assert found.nats > 0


def test_a_change_is_one_of_the_networks_own_answer_not_of_its_most_probable_letters(search):
    _, cipher, key = encrypted(20, 5)
    logs = advice(key)
    found = search.find(cipher, logs)
    own = logs.argmax(1)
    first, second = found.present[:2]
    own[[first, second]] = own[[second, first]]
    assert {one.cipher for one in changes(search, found, Opinion(logs, own))} == {LETTERS[first], LETTERS[second]}


@pytest.mark.parametrize("variant", ["base", "bijective"])
def test_the_networks_own_answer_is_that_of_the_model(variant):
    model = tiny(variant)
    (said,) = opinions(model, [model.alphabet.encode("SOME TEXT TO READ")])
    key = solve("SOME TEXT TO READ", model=model).key
    letters = {cipher: plain for cipher, plain in key.items() if plain in LETTERS}
    assert {cipher: LETTERS[said.answer[LETTERS.index(cipher)]] for cipher in letters} == letters
    assert letters
    assert said.logs.shape == (N_LETTERS, N_LETTERS)


def test_texts_solved_together_are_solved_as_one_by_one_and_keep_what_is_no_letter(search):
    solver = GuidedSolver(tiny("bijective"), search.languages)
    texts = ["Qui na, tav!", "123", "HAN HAN (lom)", "x" * 2000]
    together = list(solver.solutions(texts))
    assert [one.plaintext for one in together] == [solver(text) for text in texts]
    assert together[0].plaintext[3:4] + together[0].plaintext[-1] == " !"
    assert together[0].plaintext[0].isupper()
    assert together[0].candidates[0].plaintext == together[0].plaintext
    assert set(together[0].confidence) == set(together[0].key) == set("QUINATV")
    assert together[1].note.startswith("there is no letter")
    assert "reads at most" in together[3].note


@pytest.mark.parametrize("solve_all", [solve_texts, lambda model, texts: GuidedSolver(model, None).solutions(texts)])
def test_the_first_of_many_texts_is_answered_before_all_are_read(solve_all, monkeypatch):
    lines = []

    def noted(text, alphabet):
        lines.append(text)
        return read(text, alphabet)

    monkeypatch.setattr("alice.solving.decoding.TEXTS_AT_ONCE", 2)
    for module in ("decoding", "guided_solver"):
        monkeypatch.setattr(f"alice.solving.{module}.read", noted)
    found = solve_all(tiny("bijective"), ["1", "2", "3", "4", "5"])
    assert next(found).ciphertext == "1"
    assert lines == ["1", "2"]
    assert [one.ciphertext for one in found] == ["2", "3", "4", "5"]


def likelihood(found, weights):
    """The mean log-probability of the right key, where it was found."""
    rows = [(one.scores @ np.array(astuple(weights)), right.all(1)) for one, right in found if right.all(1).any()]
    return np.mean([logs[right][0] - np.logaddexp.reduce(logs) for logs, right in rows])


@pytest.mark.parametrize(("arguments", "complaint"), [(["--data", "nope"], "nope"), (["--texts", "0"], "0 is not in")])
def test_the_command_that_fits_complains_in_one_line(arguments, complaint):
    result = CliRunner().invoke(main, ["--data", "quotes", *arguments])
    assert result.exit_code
    assert complaint in result.stderr.splitlines()[-1]


def test_weights_are_fitted_to_right_keys_and_right_letters_are_counted(search):
    texts = [language(4, seed=seed) for seed in range(7000, 7010)]
    found = search_all(search, tiny("bijective"), texts, seed=0)
    assert likelihood(found, fit(found)) > likelihood(found, Weights())
    confidence, right = letters_of(found, Weights())
    assert confidence == pytest.approx(np.concatenate([one.confidence() for one, _ in found]))
    assert right.tolist() == np.concatenate([letters[0] for _, letters in found]).tolist()


def test_weights_are_scaled_down_where_the_search_is_too_sure():
    cipher = np.array([0, 1])
    keys = np.array([[0, 1, *range(2, 27)], [1, 0, *range(2, 27)]])
    one = Candidates(
        None, cipher, cipher, keys, np.array([[2.0, 0, 0], [0, 0, 0]]), np.array([2.0, 0]) * Weights().chars
    )
    wrong, right = np.array([[False] * 2, [True] * 2]), np.array([[True] * 2, [False] * 2])
    found = [(one, right)] * 2 + [(one, wrong)]
    scaled = calibrate(found, Weights(chars=1, words=1, network=1))
    assert scaled.chars == pytest.approx(np.log(2) / 2, abs=2e-3)  # two thirds are right, and that sure it should be
    assert scaled.chars == scaled.words == scaled.network
    rows = reliability(np.array([0.4, 0.6, 0.65, 1.0]), np.array([True, False, True, True]))
    assert [row[2] for row in rows] == [1, 2, 1]
    assert rows[1][3:] == (pytest.approx(0.625), 0.5)
