"""Texts before a model sees them: alphabet, ciphers and keys, cleaning, corpora, the split, batches."""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.text.alphabet import ENGLISH as ENGLISH
    from alice.text.alphabet import LETTERS as LETTERS
    from alice.text.alphabet import PAD as PAD
    from alice.text.alphabet import Alphabet as Alphabet
    from alice.text.batches import Batch as Batch
    from alice.text.corpus import Corpus as Corpus
    from alice.text.corpus import open_corpus as open_corpus

__getattr__ = lazy_exports(
    __name__,
    {
        "Alphabet": "alphabet",
        "ENGLISH": "alphabet",
        "LETTERS": "alphabet",
        "PAD": "alphabet",
        "Batch": "batches",
        "Corpus": "corpus",
        "open_corpus": "corpus",
    },
)
