"""A transcribed text as a model can read it, and what a model makes of it under relabellings."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.plugins.builtin.borg.transcription import Style, Transcription, align, read_plain, read_transcription
from alice.plugins.builtin.traces import Ints
from alice.plugins.context import RunContext
from alice.solving.solve import NO_SYMBOL
from alice.statistics import Floats
from alice.text.alphabet import PAD, Alphabet
from alice.text.relabelling import Readings, read_relabelled, relabellings

UNKNOWN = "?"
"""Written where the letter of a symbol is not known."""


@dataclass(frozen=True, eq=False)
class Page:
    """A transcription, cut into passages, with what is known of its solution."""

    title: str
    """Name of the file."""
    whole: Transcription
    passages: tuple[Transcription, ...]
    key: dict[str, str] | None
    """Letter of each symbol that the plaintext tells; None without a plaintext."""

    def ids(self, passage: Transcription, alphabet: Alphabet) -> Ints:
        """Return a passage with each symbol called by its letter, (pos,)."""
        return self._spell(passage, self.whole.names, alphabet)

    def plain_ids(self, passage: Transcription, alphabet: Alphabet) -> Ints | None:
        """Return the solution of a passage, (pos,), padding where it is not known."""
        return None if self.key is None else self._spell(passage, self.key, alphabet)

    @cached_property
    def repeated(self) -> int:
        """How many characters at the beginning of the last passage stand in those before it, too."""
        letters = sum(map(_letters, self.passages)) - _letters(self.whole)
        ends = np.cumsum([len(word) for word in self.passages[-1].words])
        spaces = int(np.searchsorted(ends, letters))  # between the words; that after them is in no other passage
        return letters + spaces

    @staticmethod
    def _spell(passage: Transcription, letters: dict[str, str], alphabet: Alphabet) -> Ints:
        numbers = {symbol: int(alphabet.encode(letter)[0]) for symbol, letter in letters.items()}
        space = [int(alphabet.encode(" ")[0])]
        spelled: list[int] = []
        for word in passage.words:
            spelled += (space if spelled else []) + [numbers.get(symbol, PAD) for symbol in word]
        return np.array(spelled, dtype=np.int64)


def _letters(text: Transcription) -> int:
    return sum(map(len, text.words))


def open_page(file: Path, plain: Path | None, *, style: Style, ignored: str, length: int) -> Page:
    """Read a transcription, and align it with its plaintext if there is one."""
    whole = read_transcription(file, style, ignored=ignored)
    key = None if plain is None else align(whole, read_plain(plain))
    return Page(file.name, whole, tuple(whole.passages(length)), key)


@dataclass(frozen=True, eq=False)
class Deciphered:
    """What one model makes of a page."""

    model: str
    """Name of the checkpoint."""
    alphabet: Alphabet
    """Symbols of the ids."""
    page: Page
    readings: tuple[Readings, ...]
    """One for each passage."""

    @cached_property
    def whole(self) -> Readings:
        """The passages as one text, in which every character stands once: what the last one repeats is dropped."""
        return _joined(self.readings, self.page.repeated)

    @cached_property
    def errors(self) -> Floats | None:
        """Symbol error rate of the whole text under each relabelling, (relabelling,), in percent."""
        return None if self.whole.errors is None else 100 * self.whole.errors

    @property
    def letters_changed(self) -> float:
        """Chance that two relabellings read a letter differently, in percent."""
        return 100 * self.whole.letters_changed

    @property
    def confidence(self) -> float:
        """Mean probability of the answers for letters, in percent."""
        return 100 * float(self.whole.confidence[:, self.whole.letters].mean())

    @cached_property
    def votes(self) -> dict[str, tuple[str, float]]:
        """The answer for each symbol that most readings give, with its share, over all passages and relabellings."""
        counts = np.zeros((self.alphabet.size, self.alphabet.size), dtype=np.int64)  # cipher, answer
        for found in self.readings:
            np.add.at(counts, (np.broadcast_to(found.cipher_ids, found.answers.shape), found.answers), 1)
        written = NO_SYMBOL + self.alphabet.symbols
        rows = {symbol: counts[int(self.alphabet.encode(name)[0])] for symbol, name in self.page.whole.names.items()}
        return {symbol: (written[row.argmax()], float(row.max() / row.sum())) for symbol, row in rows.items()}

    @property
    def vote_error(self) -> float | None:
        """Symbol error rate of the vote over the whole text, in percent."""
        known = self.page.key
        if known is None:
            return None
        words = self.page.whole.words
        right = [self.votes[symbol][0] == known[symbol] for word in words for symbol in word if symbol in known]
        return 100 * (len(right) - sum(right)) / (len(right) + len(words) - 1)


def _joined(readings: Sequence[Readings], repeated: int) -> Readings:
    """Return the readings of passages as those of one text, without so many characters of the last passage."""

    def join(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([*parts[:-1], parts[-1][..., repeated:]], axis=-1)

    solutions = [found.plain_ids for found in readings if found.plain_ids is not None]
    return Readings(
        join([found.cipher_ids for found in readings]),
        join([found.answers for found in readings]),
        join([found.confidence for found in readings]),
        join([found.letters for found in readings]),
        join(solutions) if solutions else None,
    )


def decipher(ctx: RunContext, page: Page, *, count: int) -> Deciphered:
    """Let the model of a context read every passage under the same relabellings, so many."""
    keys = relabellings(count, ctx.seed)
    readings = [
        read_relabelled(
            ctx.model,
            page.ids(passage, ctx.alphabet),
            keys,
            plain_ids=page.plain_ids(passage, ctx.alphabet),
        )
        for passage in ctx.progress(page.passages, f"Reading with {ctx.checkpoint}")
    ]
    return Deciphered(ctx.checkpoint, ctx.alphabet, page, tuple(readings))


def lines(words: Sequence[Sequence[str]], width: int) -> list[tuple[int, int]]:
    """Return the first and the last word but one of each line, for lines of about so many characters."""
    found, first, used = [], 0, 0
    for number, word in enumerate(words):
        if number > first and used + 1 + len(word) > width:
            found.append((first, number))
            first, used = number, -1
        used += len(word) + 1 if number > first else len(word)
    return [*found, (first, len(words))]
