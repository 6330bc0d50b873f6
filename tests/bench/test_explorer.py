"""The benchmark of the explorer page, without a browser."""

import numpy as np
import pytest

from alice.bench.browser import Computed
from alice.bench.explorer import difference, texts_of_all_lengths
from alice.errors import AliceError
from alice.text import ENGLISH, LETTERS_AND_SPACE


def computed(*, shift=0.0, letter=1):
    scores, letters = np.zeros((2, 4, 4), np.float32), np.ones((2, 4), np.int64)
    scores[1, 2, 3], letters[1, 2] = shift, letter
    return Computed(scores, letters, np.zeros((2, 26, 26), np.float32))


def test_the_difference_is_the_largest_among_the_symbols_of_the_text():
    assert difference(computed(shift=0.5), computed(), [1, 2], case="base") == 0.5
    assert difference(computed(shift=0.5), computed(), [1, 3], case="base") == 0.0


def test_another_answer_of_any_layer_is_an_error_that_names_the_text():
    with pytest.raises(AliceError, match=r"base: the browser answers differently at layers \[1\] for the ids \[1, 2\]"):
        difference(computed(letter=3), computed(), [1, 2], case="base")
    assert difference(computed(letter=3), computed(), [1], case="base") == 0.0


@pytest.mark.parametrize("alphabet", [ENGLISH, LETTERS_AND_SPACE], ids=["english", "letters"])
def test_the_texts_have_all_lengths(alphabet):
    texts = texts_of_all_lengths(100, alphabet, longest=600)
    assert len(texts) == 100
    assert (min(map(len, texts)), max(map(len, texts))) == (1, 600)
    assert {id_ for text in texts for id_ in text} <= set(range(1, alphabet.size))
