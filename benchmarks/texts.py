"""Ciphertexts to measure on: the first of the test side of the bundled quotations."""

from itertools import islice

from alice.alphabet import ENGLISH
from alice.batch import Batches, BatchLimit, EncodedTexts
from alice.corpus import QUOTES, open_corpus
from alice.solve import LIMIT
from alice.split import select


def first_texts(count: int) -> list[str]:
    """Return the first texts of the test side."""
    return list(islice(select(open_corpus(QUOTES), "test"), count))


def batches(count: int, limit: BatchLimit = LIMIT) -> Batches:
    """Return the first texts as batches of similar length, encrypted: those that `solve` makes, unless told."""
    return Batches(EncodedTexts(first_texts(count), ENGLISH), ENGLISH, limit=limit)
