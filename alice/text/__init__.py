"""Texts before a model reads them: alphabets, keys and ciphers, cleaning, corpora and their formats, batches.

Everything from a file or dataset to an encrypted batch of ids belongs here, also the split into training and test
texts. This room imports no other.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.text.alphabet import ENGLISH as ENGLISH
    from alice.text.alphabet import LETTERS as LETTERS
    from alice.text.alphabet import PAD as PAD
    from alice.text.alphabet import Alphabet as Alphabet
    from alice.text.batches import Batch as Batch
    from alice.text.batches import Batches as Batches
    from alice.text.batches import text_keys as text_keys
    from alice.text.cipher import Key as Key
    from alice.text.cleaning import Cleaner as Cleaner
    from alice.text.corpus import Corpus as Corpus
    from alice.text.corpus import open_corpus as open_corpus

__getattr__ = lazy_exports(
    __name__,
    {
        "Alphabet": "alphabet",
        "Batch": "batches",
        "Batches": "batches",
        "Cleaner": "cleaning",
        "Corpus": "corpus",
        "ENGLISH": "alphabet",
        "Key": "cipher",
        "LETTERS": "alphabet",
        "PAD": "alphabet",
        "open_corpus": "corpus",
        "text_keys": "batches",
    },
)
