"""Training and test side of a corpus, decided for each text independently.

The side is a hash of the letters A-Z only. It depends neither on the order nor on the rest of the corpus, and versions
of a quotation that differ in punctuation or spacing fall on the same side in every corpus. Duplicates are different:
only texts that are equal after cleaning, including punctuation, are duplicates.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal

from alice.errors import AliceError
from alice.text.alphabet import LETTERS

Side = Literal["train", "test"]

TEST_SHARE = 1 / 40
"""2.5 % of all texts, as in the paper."""
_TEST_BELOW = 2**64 // 40
_DOMAIN = b"alice-interp spl"  # at most 16 bytes; changing it would move old test texts into training
_NOT_LETTERS = bytes(set(range(256)) - set(LETTERS.encode()))


def letters_of(text: str) -> bytes:
    """Return the letters A-Z of a text, in capitals, which determine its side."""
    return text.upper().encode("ascii", errors="ignore").translate(None, _NOT_LETTERS)


def is_test(text: str) -> bool:
    """Return whether a cleaned text belongs to the test side."""
    digest = blake2b(letters_of(text), digest_size=8, person=_DOMAIN).digest()
    return int.from_bytes(digest, "big") < _TEST_BELOW


def select(texts: Iterable[str], side: Side) -> Iterator[str]:
    """Yield the cleaned texts of one side, in their order."""
    if side not in ("train", "test"):
        raise AliceError(f"side {side!r} is unknown; choose 'train' or 'test'")
    wanted = side == "test"
    return (text for text in texts if is_test(text) == wanted)
