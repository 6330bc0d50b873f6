"""Cleaning of raw texts: upper case, plain punctuation, repaired spacing; or the reason why a text is dropped.

The rules, in their order:

1. Every character is folded into the alphabet: capitals, no accents, plain quotes, dashes, ellipses and ligatures, no
   invisible characters, a space for any white space.
2. Runs of spaces become one; spaces at the ends are removed.
3. A dash (a long one, or two or more hyphens) stands between spaces; a hyphen inside a word stays.
4. No space before `. , ! ? ; :`, and one after them unless more punctuation, a closing quote or the end follows.

Punctuation that the alphabet lacks is removed: an apostrophe without replacement, any other mark becomes a space. Texts
with any other character outside the alphabet are dropped.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from enum import Enum

from alice.errors import AliceError
from alice.text.alphabet import ENGLISH, LETTERS, PUNCTUATION, Alphabet

LONGEST = 300
"""Longest text of the paper, in characters."""
DASH = "--"
"""How a long dash is written until step 3 puts it between spaces."""

_PLAIN_SPELLING = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u2035\u02b9\u02bb\u02bc\u02bd\u2039\u203a`\u00b4\u0091\u0092", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u301d\u301e\u301f\u275d\u275e\u0093\u0094", '"'),
    **dict.fromkeys("\u2010\u2011\u2043\u2212\ufe63", "-"),
    **dict.fromkeys("\u2012\u2013\u2014\u2015\u2e3a\u2e3b\u2500\u0096\u0097", DASH),
    **dict.fromkeys("\u00bf\u00a1", ""),
    **dict(zip("ÆŒØŁĐÐÞĦŦẞ", ("AE", "OE", "O", "L", "D", "D", "TH", "H", "T", "SS"), strict=True)),
}
# A trademark sign is not the letters TM, a superscript is not a digit; decomposing these would change the text.
_NOT_LETTERS = ("<super>", "<sub>", "<circle>", "<square>", "<fraction>")
_INVISIBLE = {"Mn", "Me", "Cf"}  # combining accents after decomposition; soft hyphens, joiners, byte order marks

# The shape of a curly quote shows that it closes, even where the space after it was lost.
_CLOSING_QUOTE = re.compile(r"[\u201d\u2019](?:(?=[\u201c\u2018])|(?<=[.,!?;:\u2026].)(?=[^\W\d_]))")
_DASHES = re.compile("-{2,}")
_LETTER = re.compile(f"[{LETTERS}]")
_SPACE_BEFORE = tuple((f" {mark}", mark) for mark in ".,!?;:")


class Reason(Enum):
    """Why a text is dropped."""

    EMPTY = "empty"
    FOREIGN = "foreign character"
    NO_LETTERS = "no letters"
    TOO_SHORT = "too short"
    TOO_LONG = "too long"
    DUPLICATE = "duplicate"


class Folding(dict[int, str]):
    """A table for `str.translate` that computes each character on first use."""

    def __init__(self, symbols: str) -> None:
        super().__init__()
        self.symbols = frozenset(symbols)

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = character if character in self.symbols else "".join(map(self._place, self._spell(character)))
        return self[code]

    def _spell(self, character: str) -> str:
        """Return a character in capitals and plain marks, or the character itself if it has no such spelling."""
        if character in _PLAIN_SPELLING:
            return _PLAIN_SPELLING[character]
        if character.isspace():
            return " "
        if unicodedata.decomposition(character).startswith(_NOT_LETTERS):
            return character
        capitals = character.upper()
        if self.symbols.issuperset(capitals):
            return capitals
        parts = unicodedata.normalize("NFKD", capitals).upper()  # again: some decompose into small letters
        return "".join(
            _PLAIN_SPELLING.get(part, part) for part in parts if unicodedata.category(part) not in _INVISIBLE
        )

    def _place(self, symbol: str) -> str:
        """Replace punctuation that the alphabet lacks by a space, or by nothing if it is an apostrophe."""
        if symbol in self.symbols or symbol not in PUNCTUATION:
            return symbol
        return "" if symbol == "'" else " "


@dataclass(frozen=True)
class Cleaner:
    """The cleaning rules for one alphabet and one range of lengths."""

    alphabet: Alphabet = ENGLISH
    """Symbols that a cleaned text may have."""
    min_length: int = 15
    """Shortest cleaned text to keep, in characters."""
    max_length: int | None = LONGEST
    """Longest cleaned text to keep, in characters; None for no limit."""
    _folding: Folding = field(init=False, repr=False, compare=False)
    _foreign: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _unspaced: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _only_capitals_change: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.min_length < 1:
            raise AliceError(f"min_length={self.min_length} lets empty texts pass; give 1 or more")
        if self.max_length is not None and self.max_length < self.min_length:
            raise AliceError(f"max_length={self.max_length} is below min_length={self.min_length}; change one of them")
        symbols = self.alphabet.symbols
        letter = f"[{re.escape(''.join(s for s in symbols if s.isalpha()))}]"
        # A straight quote between a stop and a letter is assumed to open: the corpora lost line breaks and outer
        # quotes, so counting quotes would be wrong more often. Of two quotes there, the first closes.
        unspaced = rf"""([.,!?;:](?:["'](?=["']{letter}))?)(?=["']?{letter})"""
        object.__setattr__(self, "_folding", Folding(symbols))
        object.__setattr__(self, "_foreign", re.compile(f"[^{re.escape(symbols)}]"))
        object.__setattr__(self, "_unspaced", re.compile(unspaced))
        plain = set(PUNCTUATION).issubset(symbols) and not set("`abcdefghijklmnopqrstuvwxyz").intersection(symbols)
        object.__setattr__(self, "_only_capitals_change", plain)

    def clean(self, text: str) -> str | Reason:
        """Return the cleaned text, or why it is dropped."""
        folded = self._fold(text)
        if fault := self._fault_in(folded):
            return fault
        cleaned = self._repair_spacing(folded)
        if len(cleaned) < self.min_length:
            return Reason.TOO_SHORT
        if self.max_length is not None and len(cleaned) > self.max_length:
            return Reason.TOO_LONG
        return cleaned

    def normalize(self, text: str) -> str:
        """Apply all rules to a text of any length and keep foreign characters; applying them twice changes nothing."""
        return self._repair_spacing(self._fold(text))

    def _fold(self, text: str) -> str:
        """Apply steps 1 and 2."""
        if self._only_capitals_change and text.isascii() and "`" not in text:
            folded = text.upper()
        else:
            folded = _CLOSING_QUOTE.sub(r"\g<0> ", unicodedata.normalize("NFC", text)).translate(self._folding)
        return (" " if " " in self.alphabet.symbols else "").join(folded.split())

    def _fault_in(self, folded: str) -> Reason | None:
        """Return a reason to drop a text that holds whatever its spacing."""
        if not folded:
            return Reason.EMPTY
        if self._foreign.search(folded):
            return Reason.FOREIGN
        if not _LETTER.search(folded):
            return Reason.NO_LETTERS
        # Later steps remove only spaces and hyphens; this skips them for texts that are far too long.
        lasting = len(folded) - folded.count(" ") - folded.count("-")
        return Reason.TOO_LONG if self.max_length is not None and lasting > self.max_length else None

    def _repair_spacing(self, text: str) -> str:
        """Apply steps 3 and 4 to a text with single spaces."""
        if " " not in self.alphabet.symbols:
            return text
        if DASH in text:
            text = " ".join(_DASHES.sub(" - ", text).split())
        for spaced, mark in _SPACE_BEFORE:
            text = text.replace(spaced, mark)
        return self._unspaced.sub(r"\1 ", text)
