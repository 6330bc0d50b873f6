"""A cryptogram as people write it and its solution: case and foreign characters come back where they were."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alice.text.alphabet import ENGLISH, LETTERS, Alphabet
from alice.text.cleaning import Folding

UNICITY_DISTANCE = 28
"""Letters below which English under a substitution cipher has more than one solution: log2(26!) bits of key over
about 3.2 bits of redundancy in a letter (Shannon 1949)."""


@dataclass(frozen=True)
class Reading:
    """A text as a solver sees it, and the way back."""

    text: str
    """As it was given."""
    ids: NDArray[np.uint8]
    """Symbols for the solver, (symbols,)."""
    places: NDArray[np.int64]
    """Where in the text each symbol stands, (symbols,)."""

    @property
    def letters(self) -> int:
        """How many letters there are to solve."""
        return sum(map(_is_letter, self.text))

    def fault(self, longest: int | None = None) -> str:
        """Say why the text cannot be solved, by a model that reads so many symbols; nothing if it can."""
        if not self.letters:
            return "there is no letter to solve; a ciphertext is in the letters A-Z"
        if longest is not None and len(self.ids) > longest:
            return (
                f"it has {len(self.ids)} characters and the model reads at most {longest}; "
                "solve a part of it and apply the key to the rest"
            )
        return ""

    def write_back(self, plain: str) -> str:
        """Put decoded symbols in the place of the letters, in their case; all else stays as it was given."""
        characters = list(self.text)
        for place, symbol in zip(self.places, plain, strict=True):
            if _is_letter(characters[place]):
                characters[place] = symbol.lower() if characters[place].islower() else symbol
        return "".join(characters)


def _is_letter(character: str) -> bool:
    """Say whether a character is one of the 52 that a key replaces; an accented letter is not."""
    return character.isascii() and character.isalpha()


def read(text: str, alphabet: Alphabet) -> Reading:
    """Find the symbols of a text: letters of either case, and marks that have a plain spelling in the alphabet."""
    folding, places, symbols = Folding(alphabet.symbols), [], []
    for place, character in enumerate(text):
        # A long dash is spelled with two hyphens, an ellipsis with three dots.
        symbol = character.translate(folding)[:1]
        if _is_letter(character) or (symbol and symbol in alphabet.symbols and symbol not in LETTERS):
            places.append(place)
            symbols.append(symbol)
    return Reading(text, alphabet.encode("".join(symbols)), np.array(places, dtype=np.int64))


@dataclass(frozen=True)
class Solution:
    """What a model or another solver makes of one ciphertext."""

    ciphertext: str
    plaintext: str
    key: dict[str, str]
    """What each cipher letter that occurs stands for."""
    confidence: dict[str, float]
    """Probability that a model gives each of these answers, 0 to 1; empty if no model was asked."""
    layers: list[str]
    """The text after the embedding and after each layer, if asked for."""
    note: str
    """What to be careful about, or why there is no solution; empty if nothing."""
    layer_confidence: list[dict[str, float]] = field(default_factory=list)
    """The confidence after the embedding and after each layer, if asked for."""


def unsolved(text: str, fault: str) -> Solution:
    """Return a text as it is, with an empty key and a note that says why."""
    return Solution(text, text, {}, {}, [], fault)


def solve_with(solver: Callable[[str], str], texts: Sequence[str]) -> Iterator[Solution]:
    """Solve texts one by one with a function from ciphertexts to plaintexts, which tells no confidence."""
    for text in texts:
        reading = read(text, ENGLISH)
        if fault := reading.fault():
            yield unsolved(text, fault)
            continue
        cipher = ENGLISH.decode(reading.ids)
        plain = solver(cipher)
        meant = dict(zip(cipher, plain, strict=True))
        key = {letter: meant[letter] for letter in LETTERS if letter in meant}
        yield Solution(text, reading.write_back(plain), key, {}, [], note_on(reading.letters))


def note_on(letters: int) -> str:
    """Say what to be careful about in a text of so many letters; nothing if it has enough."""
    if letters >= UNICITY_DISTANCE:
        return ""
    return (
        f"only {letters} letters: below about {UNICITY_DISTANCE} a cryptogram has more than one solution, "
        "and this may not be the one that was meant"
    )
