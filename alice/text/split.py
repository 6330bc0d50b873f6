"""Training, validation and test split of a corpus, decided for each text independently.

The split of a text is a hash of its letters A-Z. It depends neither on the order nor on the rest of the corpus, and
versions of a quotation that differ in punctuation or spacing are in the same split in every corpus. Duplicates are
different: only texts that are equal after cleaning, including punctuation, are duplicates.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal, get_args

from alice.errors import AliceError
from alice.text.alphabet import LETTERS

Split = Literal["test", "validation", "train", "all"]
"""Which texts to read; `all` is every split together."""

_TEST_BELOW = 2**64 // 40  # 2.5 % of all texts, as in the paper
_VALIDATION_BELOW = 2 * _TEST_BELOW  # another 2.5 %, which were training texts in earlier versions
_DOMAIN = b"alice-interp spl"  # at most 16 bytes; changing it would move old test texts into training
_NOT_LETTERS = bytes(set(range(256)) - set(LETTERS.encode()))


def letters_of(text: str) -> bytes:
    """Return the letters A-Z of a text, in capitals, which determine its split."""
    return text.upper().encode("ascii", errors="ignore").translate(None, _NOT_LETTERS)


def split_of(text: str) -> Literal["test", "validation", "train"]:
    """Return the split that a cleaned text belongs to."""
    digest = int.from_bytes(blake2b(letters_of(text), digest_size=8, person=_DOMAIN).digest(), "big")
    if digest < _TEST_BELOW:
        return "test"
    return "validation" if digest < _VALIDATION_BELOW else "train"


def is_test(text: str) -> bool:
    """Return whether a cleaned text belongs to the test split."""
    return split_of(text) == "test"


def select(texts: Iterable[str], split: Split) -> Iterator[str]:
    """Yield the cleaned texts of a split, in their order."""
    if split not in get_args(Split):
        raise AliceError(f"there is no split {split!r}; choose 'test', 'validation', 'train' or 'all'")
    return (text for text in texts if split in ("all", split_of(text)))
