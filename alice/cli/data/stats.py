"""What `alice-interp data stats` measures and shows: number and lengths of texts, letter frequencies."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from alice.errors import AliceError
from alice.metrics import bin_names, length_bin
from alice.text import LETTERS, is_test

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
LONGEST_BAR = 40


@dataclass(frozen=True)
class CorpusStats:
    """Numbers about the cleaned texts of a corpus."""

    texts: int
    """Number of texts."""
    characters: int
    """Characters in all texts, spaces and punctuation included."""
    test_texts: int
    """Texts in the test split."""
    length_quantiles: dict[float, int]
    """Quantiles of the length of a text, by share."""
    length_bins: dict[str, int]
    """Texts in each of the paper's bins of length."""
    letters: dict[str, int]
    """Number of occurrences of each letter A-Z."""

    @property
    def test_share(self) -> float:
        """Share of the texts in the test split."""
        return self.test_texts / self.texts

    @property
    def letter_shares(self) -> dict[str, float]:
        """Share of each letter among all letters."""
        total = sum(self.letters.values())
        return {letter: count / total for letter, count in self.letters.items()}

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "texts": self.texts,
            "characters": self.characters,
            "test_texts": self.test_texts,
            "test_share": self.test_share,
            "length_quantiles": {str(share): length for share, length in self.length_quantiles.items()},
            "length_bins": self.length_bins,
            "letters": self.letters,
            "letter_shares": self.letter_shares,
        }


def measure(texts: Iterable[str]) -> CorpusStats:
    """Count in one pass over cleaned texts, holding only counts of lengths and letters."""
    lengths: Counter[int] = Counter()
    codes = np.zeros(256, dtype=np.int64)
    tests = 0
    for text in texts:
        lengths[len(text)] += 1
        codes += np.bincount(np.frombuffer(text.encode("latin-1", errors="replace"), dtype=np.uint8), minlength=256)
        tests += is_test(text)
    if not lengths:
        raise AliceError("no text is left to measure; loosen the length limits or choose another source")
    return CorpusStats(
        texts=lengths.total(),
        characters=sum(length * count for length, count in lengths.items()),
        test_texts=tests,
        length_quantiles=_quantiles(lengths),
        length_bins=_bins(lengths),
        letters={letter: int(codes[ord(letter)]) for letter in LETTERS},
    )


def _quantiles(lengths: Counter[int]) -> dict[float, int]:
    values = sorted(lengths)
    reached = np.cumsum([lengths[value] for value in values])
    places = np.searchsorted(reached, np.ceil(np.array(QUANTILES) * reached[-1]))
    return {share: values[place] for share, place in zip(QUANTILES, places, strict=True)}


def _bins(lengths: Counter[int]) -> dict[str, int]:
    counts = [0] * len(bin_names())
    for length, bin_number in zip(lengths, length_bin(np.array(list(lengths))), strict=True):
        counts[bin_number] += lengths[length]
    return dict(zip(bin_names(), counts, strict=True))


def print_stats(source: str, found: CorpusStats) -> None:
    """Print the numbers with bar charts of lengths and letters."""
    console = Console(highlight=False)
    bar = "█" if console.encoding.lower().startswith("utf") else "#"
    console.print(
        f"{source}: {found.texts:,} texts, {found.characters:,} characters, "
        f"{found.test_texts:,} texts ({found.test_share:.2%}) in the test split\n",
        markup=False,
        soft_wrap=True,
    )
    quantiles = "   ".join(f"{share:.0%}: {length}" for share, length in found.length_quantiles.items())
    console.print(f"quantiles of the length:\n  {quantiles}\n", soft_wrap=True)
    console.print(_bars("length", {name: count / found.texts for name, count in found.length_bins.items()}, bar))
    console.print()
    shares = dict(sorted(found.letter_shares.items(), key=lambda item: -item[1]))
    console.print(_bars("letter", shares, bar))


def _bars(what: str, shares: dict[str, float], bar: str) -> Table:
    """Draw shares as a bar chart, the largest at full length."""
    table = Table(what, "share", "", box=None)
    table.columns[1].justify = "right"
    largest = max(shares.values())
    for name, share in shares.items():
        table.add_row(name.replace("[", r"\["), f"{share:.2%}", bar * round(LONGEST_BAR * share / largest))
    return table
