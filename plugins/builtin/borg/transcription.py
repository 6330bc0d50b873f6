"""Reads transcriptions of historical ciphers, and aligns them with a plaintext to find the key.

A transcription is a text file. Lines that start with `#` are skipped, and editorial marks are read as `marks` says. A
line that ends in `,,` `-` `=` or `¬` continues its last word on the next line. There are three styles:

- `characters`: every character is a symbol, case-sensitive, except . , ; : ! ? ' " - = ( ) [ ]
- `tokens`: symbols such as `s12` are separated by spaces; words by a lone `/`, two spaces or a new line.
- `letters`: the letters A-Z are the symbols, regardless of case and accents, as in an ordinary text.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal, get_args

from alice.errors import AliceError
from alice.plugins.builtin.borg.marks import Marks, interpret, without_remarks
from alice.text import LETTERS, LETTERS_AND_SPACE, Cleaner
from alice.text.formats import read_lines

Style = Literal["characters", "tokens", "letters"]
Word = tuple[str, ...]
"""The symbols of a word."""
_GOES_ON = re.compile(r"(?:,,|[-=¬])[ \t]*\n\s*")
_MARKS = re.compile(r"""[.,;:!?'"=()\[\]¬-]+""")
_CLEANER = Cleaner(LETTERS_AND_SPACE, min_length=1, max_length=None)


@dataclass(frozen=True)
class Transcription:
    """A ciphertext as words of symbols."""

    words: tuple[Word, ...]
    """Words in the order of the text."""
    marks: Marks = field(default_factory=Counter)
    """Editorial marks in the file."""

    @property
    def symbols(self) -> list[str]:
        """The distinct symbols in order of first occurrence."""
        return list(dict.fromkeys(symbol for word in self.words for symbol in word))

    @property
    def names(self) -> dict[str, str]:
        """A letter that names each symbol: A for the first that occurs, and so on."""
        return dict(zip(self.symbols, LETTERS, strict=False))

    def passages(self, longest: int) -> list["Transcription"]:
        """Split the text between words into passages of at most `longest` characters, including spaces.

        The last passage is extended backwards into the one before it if it would be shorter. Longer words are cut.
        """
        words = [word[start : start + longest] for word in self.words for start in range(0, len(word), longest)]
        found: list[list[Word]] = [[]]
        for word in words:
            if found[-1] and _length([*found[-1], word]) > longest:
                found.append([])
            found[-1].append(word)
        if len(found) > 1:
            last = found[-1]
            before = [word for passage in found[:-1] for word in passage]
            while before and _length([before[-1], *last]) <= longest:
                last.insert(0, before.pop())
        return [Transcription(tuple(passage)) for passage in found]


def _length(words: list[Word]) -> int:
    return sum(map(len, words)) + len(words) - 1


def read_transcription(file: Path, style: Style = "characters", *, ignored: str = "") -> Transcription:
    """Read a file without the `ignored` symbols (characters, or tokens separated by spaces)."""
    if style not in get_args(Style):
        raise AliceError(f"symbols={style!r} is unknown; choose one of {', '.join(get_args(Style))}")
    lines, marks = _without_comments(file)
    text, inside = without_remarks(lines) if style == "tokens" else interpret(lines)
    left_out = set(ignored.split() if style == "tokens" else ignored)
    written = _words(_GOES_ON.sub("", text + "\n"), style)
    marks += inside + Counter(ignored=sum(symbol in left_out for word in written for symbol in word))
    words = (tuple(symbol for symbol in word if symbol not in left_out) for word in written)
    found = Transcription(tuple(word for word in words if word), marks)
    if not found.words:
        raise AliceError(f"{file} has no cipher symbols (read as {style}); check the file, or choose other --symbols")
    if len(found.symbols) > len(LETTERS):
        raise AliceError(
            f"{file} has {len(found.symbols)} different symbols ({' '.join(found.symbols)}), but models know only "
            f"{len(LETTERS)} letters; --ignore those that are not part of the cipher, or merge those that mean the same"
        )
    return found


def _without_comments(file: Path) -> tuple[str, Marks]:
    """Return the lines of a file that are not comments, and how many are."""
    lines = [line.rstrip("\r\n") for line in read_lines(file)]
    kept = [line for line in lines if not line.startswith("#")]
    return "\n".join(kept), Counter(comment=len(lines) - len(kept))


def _words(text: str, style: Style) -> list[Word]:
    if style == "tokens":
        return [tuple(word.split()) for word in re.split(r"\s/\s|[ \t]{2,}|\n", text)]
    plain = _letters(text) if style == "letters" else _MARKS.sub(" ", text).split()
    return [tuple(word) for word in plain]


def _letters(text: str) -> list[str]:
    """Return the words of a text in capitals."""
    return re.sub(f"[^{LETTERS} ]", "", _CLEANER.normalize(text)).split()


@dataclass(frozen=True)
class Plaintext:
    """A plaintext as words in capitals."""

    words: list[str]
    """Words in the order of the text."""
    marks: Marks
    """Editorial marks in the file."""


def plain_words(text: str) -> Plaintext:
    """Return the words of a plaintext as its transcriber means it."""
    read, marks = interpret(text)
    return Plaintext(_letters(read), marks)


def read_plain(file: Path) -> Plaintext:
    """Read a plaintext file."""
    found = plain_words("".join(read_lines(file)))
    if not found.words:
        raise AliceError(f"{file} has no letters; give the plaintext of the transcription")
    return found


def align(transcription: Transcription, plain: list[str]) -> dict[str, str]:
    """Return the letter of each symbol, as far as the plaintext shows it.

    Words with the same pattern of repeated symbols are aligned in order, and each symbol gets the letter it is aligned
    with most often. With this key the texts are aligned again, letter by letter and regardless of word boundaries.
    Neither text needs to be complete, and single mistakes are outvoted.
    """
    words = transcription.words
    guess = _vote(
        pair
        for kind, ours, theirs in _opcodes([_pattern(word) for word in words], [_pattern(word) for word in plain])
        if kind == "equal"
        for word, meant in zip(words[ours], plain[theirs], strict=True)
        for pair in zip(word, meant, strict=True)
    )
    if not guess:
        raise AliceError("no word of the plaintext matches the transcription; check that they are the same text")
    symbols, letters = [symbol for word in words for symbol in word], "".join(plain)
    return _vote(
        pair
        for _, ours, theirs in _opcodes([guess.get(symbol, "") for symbol in symbols], letters)
        if ours.stop - ours.start == theirs.stop - theirs.start
        for pair in zip(symbols[ours], letters[theirs], strict=True)
    )


def shared_letters(key: dict[str, str]) -> dict[str, list[str]]:
    """Return the letters that several symbols stand for, with these symbols; none in a simple substitution."""
    symbols: dict[str, list[str]] = {}
    for symbol, letter in key.items():
        symbols.setdefault(letter, []).append(symbol)
    return {letter: several for letter, several in symbols.items() if len(several) > 1}


def _opcodes(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> Iterator[tuple[str, slice, slice]]:
    """Yield the aligned parts of two sequences with the kind of edit between them."""
    for kind, low, high, first, last in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        yield kind, slice(low, high), slice(first, last)


def _vote(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    met: dict[str, Counter[str]] = {}
    for symbol, letter in pairs:
        met.setdefault(symbol, Counter())[letter] += 1
    return {symbol: counts.most_common(1)[0][0] for symbol, counts in met.items()}


def _pattern(word: Sequence[str]) -> tuple[int, ...]:
    """Return the position of the first occurrence of each symbol, which no substitution changes."""
    return tuple(map(word.index, word))
