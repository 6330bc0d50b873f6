import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alice.errors import AliceError
from alice.text.alphabet import ENGLISH, LETTERS, PAD, Alphabet
from alice.text.cipher import Key, encrypt_ids, invert, key_pool, random_keys

keys = st.permutations(LETTERS).map(lambda letters: Key("".join(letters)))
CAESAR = Key("DEFGHIJKLMNOPQRSTUVWXYZABC")


def test_a_shift_by_three_gives_the_known_ciphertext():
    assert CAESAR.encrypt("A ZEBRA, OR TWO?") == "D CHEUD, RU WZR?"


@given(keys, st.text(alphabet=ENGLISH.symbols))
def test_decrypting_undoes_encrypting(key, text):
    assert key.decrypt(key.encrypt(text)) == text


@given(keys, st.text(alphabet=ENGLISH.symbols))
def test_the_inverse_key_encrypts_back(key, text):
    assert key.inverse().encrypt(key.encrypt(text)) == text


@given(st.lists(st.tuples(keys, st.text(alphabet=ENGLISH.symbols, max_size=20)), min_size=1, max_size=5))
def test_encrypting_ids_is_encrypting_the_text_row_by_row(rows):
    plain = np.full((len(rows), 20), PAD, dtype=np.uint8)
    for row, (_, text) in zip(plain, rows, strict=True):
        row[: len(text)] = ENGLISH.encode(text)
    arrays = np.stack([key.to_array() for key, _ in rows])
    cipher = encrypt_ids(plain, arrays, ENGLISH)
    assert [ENGLISH.decode(row) for row in cipher] == [key.encrypt(text) for key, text in rows]
    assert ((cipher == PAD) == (plain == PAD)).all()
    assert (encrypt_ids(cipher, invert(arrays), ENGLISH) == plain).all()


def test_ids_follow_an_alphabet_that_starts_with_other_symbols():
    alphabet = Alphabet(". " + LETTERS)
    cipher = encrypt_ids(alphabet.encode("A B.")[None], CAESAR.to_array()[None], alphabet)
    assert alphabet.decode(cipher[0]) == "D E."


@given(keys)
def test_a_key_survives_the_way_through_its_array(key):
    assert Key.from_array(key.to_array()) == key


def test_inverting_works_on_any_number_of_leading_axes():
    keys = random_keys(6, np.random.default_rng(0)).reshape(2, 3, 26)
    assert (np.take_along_axis(keys, invert(keys), axis=-1) == np.arange(26)).all()


def test_random_keys_come_from_the_generator_that_was_passed_in():
    assert Key.random(np.random.default_rng(5)) == Key.random(np.random.default_rng(5))
    assert Key.random(np.random.default_rng(5)) != Key.random(np.random.default_rng(6))


def test_every_letter_is_equally_likely_in_every_place():
    keys = random_keys(26_000, np.random.default_rng(0))
    counts = np.stack([np.bincount(keys[:, place], minlength=26) for place in range(26)])
    assert np.abs(counts - 1000).max() < 200  # more than six standard deviations


def test_a_pool_has_different_keys_and_a_smaller_one_is_its_beginning():
    pool = key_pool(500, seed=3)
    assert pool.shape == (500, 26)
    assert len({key.tobytes() for key in pool}) == 500
    assert (key_pool(20, seed=3) == pool[:20]).all()
    assert not (key_pool(20, seed=4) == pool[:20]).all()


@pytest.mark.parametrize("letters", ["", "ABC", LETTERS.lower(), LETTERS[:-1] + "A", LETTERS + "A"])
def test_what_is_not_a_permutation_is_no_key(letters):
    with pytest.raises(AliceError, match="not a permutation of A-Z"):
        Key(letters)
