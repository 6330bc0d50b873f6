"""Ciphertexts to measure on: the first of the test side of the bundled quotations."""

from itertools import islice

from alice.solving.decoding import LIMIT
from alice.text.alphabet import ENGLISH
from alice.text.batches import Batches, BatchLimit, EncodedTexts
from alice.text.corpus import QUOTES, open_corpus
from alice.text.split import select


def first_texts(count: int) -> list[str]:
    """Return the first texts of the test side."""
    return list(islice(select(open_corpus(QUOTES), "test"), count))


def batches(count: int, limit: BatchLimit = LIMIT) -> Batches:
    """Return the first texts as batches of similar length, encrypted: those that `solve` makes, unless told."""
    return Batches(EncodedTexts(first_texts(count), ENGLISH), ENGLISH, limit=limit)
