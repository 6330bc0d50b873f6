"""A transcription as ids that a model can read, and a model's answers to it under relabellings."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.plugins.builtin.borg.transcription import (
    Plaintext,
    Style,
    Transcription,
    align,
    read_plain,
    read_transcription,
)
from alice.plugins.context import RunContext
from alice.solving import NO_SYMBOL, Readings, read_relabelled, relabellings
from alice.statistics import Floats, Ints
from alice.text import PAD, Alphabet


@dataclass(frozen=True, eq=False)
class Page:
    """A transcription, cut into passages, with the known part of its key."""

    title: str
    """Name of the file."""
    whole: Transcription
    """The whole text."""
    passages: tuple[Transcription, ...]
    """The text in parts that a model can read; the last may overlap the one before it."""
    key: dict[str, str] | None
    """Letter of each symbol, as far as the plaintext shows it; None without a plaintext."""
    plain: Plaintext | None = None
    """The plaintext, if it is known."""

    def ids(self, passage: Transcription, alphabet: Alphabet) -> Ints:
        """Return a passage with each symbol replaced by the letter that names it, (pos,)."""
        return self._spell(passage, self.whole.names, alphabet)

    def plain_ids(self, passage: Transcription, alphabet: Alphabet) -> Ints | None:
        """Return the plaintext of a passage, (pos,), with padding where it is unknown."""
        return None if self.key is None else self._spell(passage, self.key, alphabet)

    @cached_property
    def repeated(self) -> int:
        """Length of the overlap between the last two passages."""
        letters = sum(map(_letters, self.passages)) - _letters(self.whole)
        ends = np.cumsum([len(word) for word in self.passages[-1].words])
        spaces = int(np.searchsorted(ends, letters))  # between repeated words; the one after them is not repeated
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
    known = None if plain is None else read_plain(plain)
    key = None if known is None else align(whole, known.words)
    return Page(file.name, whole, tuple(whole.passages(length)), key, known)


@dataclass(frozen=True, eq=False)
class Deciphered:
    """One model's answers to a page."""

    model: str
    """Name of the checkpoint."""
    alphabet: Alphabet
    """Symbols of the ids."""
    page: Page
    """The page."""
    readings: tuple[Readings, ...]
    """The answers, one entry per passage."""

    @cached_property
    def whole(self) -> Readings:
        """The passages as one text, without the characters that the last one repeats."""
        return _joined(self.readings, self.page.repeated)

    @cached_property
    def errors(self) -> Floats | None:
        """Symbol error rate of the whole text under each relabelling in percent, (relabelling,)."""
        return None if self.whole.errors is None else 100 * self.whole.errors

    @property
    def letters_changed(self) -> float:
        """Probability that two relabellings read a letter differently, in percent."""
        return 100 * self.whole.letters_changed

    @property
    def confidence(self) -> float:
        """Mean probability of the answers for letters, in percent."""
        return 100 * float(self.whole.confidence[:, self.whole.letters].mean())

    @cached_property
    def votes(self) -> dict[str, tuple[str, float]]:
        """Most frequent answer for each symbol with its share, over all passages and relabellings."""
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
    """Return the readings of passages as those of one text, without the first `repeated` characters of the last."""

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
    """Read every passage with the model of a context, each under the same `count` relabellings."""
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
