"""A cryptogram as people write it and its solution; letter case and characters outside the alphabet are kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from alice.text import ENGLISH, LETTERS, Alphabet, Folding

UNICITY_DISTANCE = 28
"""Letters below which English under a substitution cipher has more than one solution: log2(26!) bits of key over
about 3.2 bits of redundancy per letter (Shannon 1949)."""
NO_SYMBOL = "\N{MIDDLE DOT}"
"""Shown where a model answers padding, which is possible with `whole_vocab`."""
SURE = 0.995
"""Confidence that rounds to 100 %."""
UNDECIDED = 0.05
"""Probability from which on a second solution is shown."""
LEGEND = "%, ** = sure"


@dataclass(frozen=True)
class Reading:
    """A text as a solver sees it, and the way back."""

    text: str
    """The text as it was given."""
    ids: NDArray[np.uint8]
    """Symbols for the solver, (symbols,)."""
    places: NDArray[np.int64]
    """Position of each symbol in the text, (symbols,)."""

    @property
    def letters(self) -> int:
        """Number of letters to solve."""
        return sum(map(_is_letter, self.text))

    def fault(self, longest: int | None = None) -> str:
        """Return why a solver that reads at most `longest` symbols cannot solve the text; empty if it can."""
        if not self.letters:
            return "there is no letter to solve; a ciphertext is in the letters A-Z"
        if longest is not None and len(self.ids) > longest:
            return (
                f"it has {len(self.ids)} characters and the model reads at most {longest}; "
                "solve a part of it and apply the key to the rest"
            )
        return ""

    def decrypt(self, key: Mapping[str, str]) -> str:
        """Replace the letters of the text by those of a key in capitals, keeping their case."""
        letters = "".join(key), "".join(key.values())
        return self.text.translate(str.maketrans(letters[0] + letters[0].lower(), letters[1] + letters[1].lower()))

    def write_back(self, plain: str) -> str:
        """Replace the letters of the text by decoded symbols, keeping their case; all other characters stay."""
        characters = list(self.text)
        for place, symbol in zip(self.places, plain, strict=True):
            if _is_letter(characters[place]):
                characters[place] = symbol.lower() if characters[place].islower() else symbol
        return "".join(characters)


def _is_letter(character: str) -> bool:
    """Return whether a character is one of the 52 that a key replaces; an accented letter is not."""
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
class Candidate:
    """One of the solutions that a search considered."""

    plaintext: str
    key: dict[str, str]
    """Plain letter of each cipher letter that occurs."""
    probability: float
    """Its probability among all candidates."""
    scores: dict[str, float]
    """Log-probability in nats by each source: `chars`, `words` and `network`."""


@dataclass(frozen=True)
class Change:
    """A letter that a search decided against the opinion of the network."""

    cipher: str
    network: str
    """The letter that the network found most probable."""
    found: str
    """The letter of the solution."""
    nats: float
    """How much the total score falls if the network's letter is swapped in."""


@dataclass(frozen=True)
class Solution:
    """The answer of a model or another solver to one ciphertext; it shows itself in a notebook."""

    ciphertext: str
    plaintext: str
    key: dict[str, str]
    """Plain letter of each cipher letter that occurs; empty if the text could not be solved."""
    confidence: dict[str, float]
    """Probability of each of these answers by the model or the search, 0 to 1; empty for other solvers."""
    layers: list[str]
    """The text as read at each layer if asked for; layer 0 is the embedding."""
    note: str
    """A warning, or why there is no solution; may be empty."""
    layer_confidence: list[dict[str, float]] = field(default_factory=list)
    """The confidence at each layer if asked for."""
    candidates: list[Candidate] = field(default_factory=list)
    """The solutions that a search considered, the most probable first; empty for other solvers."""
    changes: list[Change] = field(default_factory=list)
    """Letters that the search decided against the network, if there is one."""
    language: str = ""
    """The one that a search chose of several languages, named by its corpus; may be empty."""

    @property
    def runner_up(self) -> Candidate | None:
        """The second candidate, where the text does not decide between the two."""
        second = self.candidates[1] if len(self.candidates) > 1 else None
        return second if second and second.probability >= UNDECIDED else None

    @property
    def percent(self) -> dict[str, str]:
        """The confidence of each cipher letter in percent, as text; `**` from `SURE` on."""
        return {c: f"{round(100 * p):>2}" if p < SURE else "**" for c, p in self.confidence.items()}

    @property
    def also(self) -> str:
        """The runner-up as a line to print; may be empty."""
        second = self.runner_up
        return f"also fits: {second.plaintext} ({round(100 * second.probability)} %)" if second else ""

    @property
    def message(self) -> str:
        """The note as a line to print; may be empty."""
        return f"{'note' if self.key else 'not solved'}: {self.note}" if self.note else ""

    def __str__(self) -> str:
        """Return the plaintext, the key with its confidence, and the note."""
        rows = {"cipher": list(self.key), "plain": list(self.key.values())} if self.key else {}
        if self.confidence:
            rows["confidence"] = [self.percent[letter] for letter in self.key]
        lines = [f"{label:<12}" + "  ".join(f"{cell:>2}" for cell in cells) for label, cells in rows.items()]
        if self.confidence:
            lines[-1] += f"  ({LEGEND})"
        return "\n".join(filter(None, [self.plaintext, *lines, self.also, self.message]))

    def _repr_html_(self) -> str:
        """Return the same as HTML, in which the more confident the model is of a letter, the darker its background."""
        text = "".join(self._html_letter(*pair) for pair in zip(self.plaintext, self.ciphertext, strict=True))
        parts = [f'<p style="font-family:monospace;white-space:pre-wrap">{text}</p>']
        if self.key:
            cells = {"cipher": "".join(f"<td>{letter}</td>" for letter in self.key)}
            cells["plain"] = "".join(
                f"<td>{self._html_letter(plain, cipher)}</td>" for cipher, plain in self.key.items()
            )
            if self.confidence:
                cells[f"confidence ({LEGEND})"] = "".join(f"<td>{self.percent[letter]}</td>" for letter in self.key)
            rows = "".join(f"<tr><th>{label}</th>{row}</tr>" for label, row in cells.items())
            parts.append(f'<table style="font-family:monospace">{rows}</table>')
        return "".join([*parts, *(f"<p>{escape(line)}</p>" for line in (self.also, self.message) if line)])

    def _html_letter(self, plain: str, cipher: str) -> str:
        """Return one character of the plaintext, with the letter it was and the confidence as a tooltip."""
        confidence = self.confidence.get(cipher.upper())
        if confidence is None or not _is_letter(cipher):
            return escape(plain)
        style = f"background:rgba(46,160,67,{0.6 * confidence:.2f})"
        return f'<span style="{style}" title="{cipher}, {100 * confidence:.0f} %">{escape(plain)}</span>'


def unsolved(text: str, fault: str) -> Solution:
    """Return a text as it is, with an empty key and a note that says why."""
    return Solution(text, text, {}, {}, [], fault)


def note_on(letters: int) -> str:
    """Return a warning about a text of few letters; empty if it has enough."""
    if letters >= UNICITY_DISTANCE:
        return ""
    counted = "only 1 letter" if letters == 1 else f"only {letters} letters"
    return (
        f"{counted}: below about {UNICITY_DISTANCE} a cryptogram has more than one solution, and this may not be the "
        "intended one"
    )


def solve_with(solver: Callable[[str], str], texts: Sequence[str]) -> Iterator[Solution]:
    """Solve texts one by one with a function from ciphertexts to plaintexts; there is no confidence."""
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
