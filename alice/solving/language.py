"""Language models of a solver: character n-grams and words, learned from the training split of a corpus.

A corpus of quotations is mostly English, but not only. The texts that its n-grams fit worst get a model of their own,
which a solver tries where the first one fits a ciphertext badly. Several corpora give a model each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from alice.errors import AliceError
from alice.solving.language_model import (
    TEXTS_AT_ONCE,
    CharNgrams,
    Floats,
    Ints,
    symbols_of,
    symbols_of_all,
)
from alice.solving.words import WordNgrams, word_starts
from alice.text import letters_of

LONG_ORDER, SHORT_ORDER = 6, 5
"""Length of the n-grams for a large and for a small corpus."""
LARGE = 5_000_000
"""Characters of a large corpus."""
UNUSUAL_SHARE = 0.1
"""Share of held-out texts that count as unusual: a solver looks twice at what seems less likely than the others."""
OTHER_SHARE = 0.025
"""Share of the training texts, those that fit worst, that get a model of their own."""
RANKING_ORDER = 3
"""Length of the n-grams that find these texts; longer ones know every training text by heart."""
FEWEST_OTHER = 200
"""Fewer texts than this do not make a model."""
OTHER = ", other texts"
"""How the name of such a model ends."""
HELD_OUT = 40
"""Without validation texts, every 40th training text is held out to measure what is usual."""


@dataclass(frozen=True, eq=False)
class Language:
    """One language, or one kind of text."""

    name: str
    """What it was learned from."""
    chars: CharNgrams
    """Its character n-grams."""
    words: WordNgrams
    """Its words and pairs of words."""
    usual: float
    """Log-probability per symbol that a solved text usually has at least."""
    texts: int
    """Number of texts that it was learned from."""
    share: float = 1.0
    """Share of texts that are expected in it."""

    def symbols(self, text: str) -> Ints:
        """Return the symbols of a text as the n-grams need them."""
        return symbols_of(text, self.chars.order)

    def word_scores(self, symbols: Ints, logs: Floats) -> Floats:
        """Return the log-probability of rows of symbols by words, given that of their characters, (rows,)."""
        starts = word_starts(symbols[0])
        if not len(starts):
            return np.zeros(len(symbols), dtype=np.float32)
        spelled = np.add.reduceat(logs, starts - (self.chars.order - 1), axis=1)
        return self.words.score(symbols, starts, spelled)

    def fit(self, symbols: Ints) -> float:
        """Return the log-probability per symbol of a text."""
        logs = self.chars.symbol_logs(symbols)
        return float(logs.mean()) if logs.size else 0.0


@dataclass(frozen=True, eq=False)
class Languages:
    """The languages that a solver knows; it tries the first one first."""

    known: tuple[Language, ...]

    @property
    def by_corpus(self) -> list[Language]:
        """The model of each corpus, without a second one for its unusual texts."""
        return [language for language in self.known if not language.name.endswith(OTHER)]

    @property
    def texts(self) -> int:
        """Number of training texts; those of the second model of a corpus are in the first."""
        return sum(language.texts for language in self.by_corpus)

    @property
    def main(self) -> Language:
        """The first language."""
        return self.known[0]


def learn(texts: Sequence[str], validation: Sequence[str] = (), *, name: str = "the training texts") -> Languages:
    """Learn a language from training texts, and a second one from those that fit it worst.

    Args:
        texts: the training texts.
        validation: texts that were held out, to find out what is usual; a few of `texts` if there are none.
        name: what the texts are.

    """
    texts, validation = _with_letters(texts), _with_letters(validation)
    if not validation and len(texts) > HELD_OUT:
        texts, validation = [text for n, text in enumerate(texts) if n % HELD_OUT], texts[::HELD_OUT]
    main = learn_one(texts, validation, name)
    fits = _fits(main, texts, RANKING_ORDER)
    worst = [texts[number] for number in np.argsort(fits, kind="stable")[: int(OTHER_SHARE * len(texts))]]
    if len(worst) < FEWEST_OTHER:
        return Languages((main,))
    least, held_out = np.quantile(fits, OTHER_SHARE), _fits(main, validation, RANKING_ORDER)
    strange = [text for text, fit in zip(validation, held_out, strict=True) if fit < least]
    other = replace(learn_one(worst, strange, name + OTHER), share=OTHER_SHARE)
    return Languages((replace(main, share=1 - OTHER_SHARE), other))


def _with_letters(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if letters_of(text)]


def learn_one(texts: Sequence[str], validation: Sequence[str], name: str) -> Language:
    """Count the n-grams and words of texts."""
    if not texts:
        raise AliceError(f"{name}: there is no text to learn a language from; give a corpus with more texts")
    order = LONG_ORDER if sum(map(len, texts)) >= LARGE else SHORT_ORDER
    words = WordNgrams.count(texts)  # first, since counting words takes more memory than what is kept
    language = Language(name, CharNgrams.count(texts, order), words, 0.0, len(texts))
    return replace(language, usual=float(np.quantile(_fits(language, validation or texts), UNUSUAL_SHARE)))


def _fits(language: Language, texts: Sequence[str], order: int | None = None) -> Floats:
    """Return the log-probability per symbol of each text, (texts,), by n-grams of a length."""
    order = order or language.chars.order
    starts = range(0, len(texts), TEXTS_AT_ONCE)
    parts = (_some_fits(language, texts[start : start + TEXTS_AT_ONCE], order) for start in starts)
    return np.concatenate([np.zeros(0, dtype=np.float32), *parts])


def _some_fits(language: Language, texts: Sequence[str], order: int) -> Floats:
    symbols, padding = symbols_of_all(texts, order)
    logs = language.chars.symbol_logs(symbols, order)  # from the first symbol after the padding of the first text on
    counted = ~padding[order - 1 :]
    text = np.cumsum(np.diff(padding.astype(np.int8), prepend=0) == 1)[order - 1 :] - 1  # number of its text
    sums = np.bincount(text[counted], logs[counted], minlength=len(texts))
    return (sums / np.maximum(1, np.bincount(text[counted], minlength=len(texts)))).astype(np.float32)
