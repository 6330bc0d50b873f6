import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alice.errors import AliceError
from alice.text.alphabet import ENGLISH, LETTERS, LETTERS_AND_SPACE, PAD, Alphabet


def test_the_english_alphabet_has_37_ids_with_padding_first():
    assert ENGLISH.size == 37
    assert PAD == 0
    assert ENGLISH.encode('ABZ ."').tolist() == [1, 2, 26, 27, 28, 36]


def test_letters_and_space_have_28_ids():
    assert LETTERS_AND_SPACE.size == 28
    assert LETTERS_AND_SPACE.encode("A Z").tolist() == [1, 27, 26]


@given(st.text(alphabet=ENGLISH.symbols))
def test_decoding_undoes_encoding(text):
    assert ENGLISH.decode(ENGLISH.encode(text)) == text


def test_an_empty_text_has_no_ids():
    assert ENGLISH.encode("").shape == (0,)


def test_decoding_leaves_padding_out():
    assert ENGLISH.decode(np.array([8, 0, 9, 0, 0])) == "HI"


def test_letter_ids_stand_for_a_to_z_wherever_they_are_in_the_alphabet():
    alphabet = Alphabet(" ." + LETTERS[::-1])
    assert alphabet.decode(alphabet.letter_ids) == LETTERS
    assert alphabet.letter_ids.dtype == np.int64, "as in batches"


def test_foreign_characters_are_named_with_their_positions():
    with pytest.raises(AliceError, match=r"'é' at position 3, '7' at position 5; remove"):
        ENGLISH.encode("CAFé 7")


def test_only_the_first_five_foreign_characters_are_listed():
    with pytest.raises(AliceError, match=r"'4' at position 4 and 3 more;"):
        ENGLISH.encode("01234567")


def test_a_lone_surrogate_and_a_character_beyond_the_basic_plane_are_foreign():
    with pytest.raises(AliceError, match="position 1"):
        ENGLISH.encode("A\ud800")
    with pytest.raises(AliceError, match="position 0"):
        ENGLISH.encode("\U0001f600")


@pytest.mark.parametrize("ids", [[-1, 3], [37]])
def test_ids_outside_the_alphabet_are_an_error(ids):
    with pytest.raises(AliceError, match=r"do not fit an alphabet of 37 ids \(0 to 36\)"):
        ENGLISH.decode(np.array(ids))


def test_an_alphabet_that_repeats_a_symbol_is_an_error():
    with pytest.raises(AliceError, match="repeats a symbol"):
        Alphabet(LETTERS + "A")


def test_an_alphabet_without_all_letters_is_an_error():
    with pytest.raises(AliceError, match="lacks QZ"):
        Alphabet("ABCDEFGHIJKLMNOPRSTUVWXY ")


def test_an_alphabet_of_more_symbols_than_a_byte_can_number_is_an_error():
    with pytest.raises(AliceError, match="at most 255"):
        Alphabet(LETTERS + "".join(map(chr, range(0x100, 0x200))))
