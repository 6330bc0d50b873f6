"""Beam search over partial keys, after Nuhn, Schamper and Ney (2013); deterministic.

Cipher letters are decided one by one, in the order that soonest makes whole n-grams readable; the most likely partial
keys are kept. The score of a key is the log-probability of the symbols that it can read, each given the decided symbols
before it, plus a bound for the letters that are still to be decided.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from alice.solving.language_model import BOUNDARY, N_SYMBOLS, CharNgrams, Floats, Ints, symbols_of
from alice.text import N_LETTERS, Key

ORDER = 6
"""Length of the n-grams, as in the paper."""
BEAM = 1000
"""Default number of partial keys that are kept."""
LOOKUPS_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Partial keys, the most promising first."""

    keys: Ints
    """Plain symbol of each cipher symbol, 0 where it is not decided yet, (keys, 27)."""
    free: Ints
    """Letters that a key has not used, from the most to the least common, (keys, letters)."""
    scores: Floats
    """Log-probability of the readable symbols, (keys,)."""


@dataclass(frozen=True, eq=False)
class Step:
    """The n-grams of the ciphertext that become more readable when one more symbol is decided."""

    symbol: int
    """The cipher letter that is decided."""
    windows: Ints
    """The n-grams, (windows, order)."""
    times: Floats
    """Count of each in the ciphertext, (windows,)."""
    before: Ints
    """Number of symbols at the end of each that were decided before, (windows,)."""
    after: Ints
    """Number that are decided now, (windows,)."""
    rest: Ints
    """Counts of the letters that are still to be decided, descending, (letters,)."""


@dataclass(frozen=True, eq=False)
class BeamSearch:
    """Finds the key whose text is most likely, within the limits of the beam."""

    ngrams: CharNgrams
    beam: int = BEAM
    """Number of partial keys that are kept after each step."""

    def solve(self, ciphertext: str) -> str:
        """Return the plaintext in capitals; characters that are not letters stay."""
        key = self.find_key(symbols_of(ciphertext, self.ngrams.order))
        return Key.from_array(key[:N_LETTERS]).encrypt(ciphertext.upper())

    def find_key(self, cipher: Ints) -> Ints:
        """Return the plain symbol of each cipher symbol, (27,); letters that do not occur get the unused ones."""
        found, decided = self._start(), list[int]()
        if len(cipher) >= self.ngrams.order:
            for step in steps(cipher, self.ngrams.order):
                found = self._extend(found, step)
                decided.append(step.symbol)
        key = found.keys[0].copy()
        key[np.setdiff1d(np.arange(N_LETTERS), decided)] = found.free[0]
        return key

    def _start(self) -> Hypotheses:
        keys = np.zeros((1, N_SYMBOLS), dtype=np.int64)
        keys[0, BOUNDARY] = BOUNDARY
        common = np.argsort(-self._alone(np.arange(N_LETTERS)), kind="stable")
        return Hypotheses(keys, common[None], np.zeros(1, dtype=np.float32))

    def _alone(self, letters: Ints) -> Floats:
        """Return the log-probabilities of letters without a context."""
        return self.ngrams.logs(np.zeros_like(letters), letters, 0)

    def _extend(self, found: Hypotheses, step: Step) -> Hypotheses:
        """Extend every key by each choice of a free letter for a symbol, and keep the best."""
        scores = found.scores[:, None] + self._gains(found, step)  # (keys, letters)
        hopes = (scores + self._hopes(found.free, step.rest)).ravel()
        best = np.arange(len(hopes))
        if len(best) > self.beam:
            best = np.argpartition(-hopes, self.beam)[: self.beam]
        best = best[np.argsort(-hopes[best], kind="stable")]
        parents, choices = np.divmod(best, found.free.shape[1])
        keys = found.keys[parents]
        keys[:, step.symbol] = found.free[parents, choices]
        kept = np.arange(found.free.shape[1]) != choices[:, None]
        return Hypotheses(keys, found.free[parents][kept].reshape(len(best), -1), scores.ravel()[best])

    def _gains(self, found: Hypotheses, step: Step) -> Floats:
        """Return the change in log-probability of the readable symbols by each choice, (keys, letters)."""
        gains = np.zeros(found.free.shape, dtype=np.float32)
        size = max(1, LOOKUPS_AT_ONCE // max(1, found.free.shape[1] * len(step.windows)))
        for start in range(0, len(gains), size):
            part = slice(start, start + size)
            keys, free = found.keys[part], found.free[part]
            gains[part] = self._now(keys, free, step) - self._so_far(keys, step)[:, None]
        return gains

    def _now(self, keys: Ints, free: Ints, step: Step) -> Floats:
        """Return the log-probability of a step's n-grams after each choice, (keys, letters)."""
        total = np.zeros(free.shape, dtype=np.float32)
        for length in np.unique(step.after):
            chosen, places = step.after == length, _places(length)
            windows = step.windows[chosen][:, -length:]
            new = windows == step.symbol
            known = np.where(new, 0, keys[:, windows])  # (keys, windows, length)
            contexts = (known[..., :-1] @ places)[:, None] + free[..., None] * (new[:, :-1] @ places)
            lasts = known[:, None, :, -1] + free[..., None] * new[:, -1]
            total += self.ngrams.logs(contexts, lasts, int(length) - 1) @ step.times[chosen]
        return total

    def _so_far(self, keys: Ints, step: Step) -> Floats:
        """Return the log-probability of a step's n-grams before the choice, (keys,)."""
        total = np.zeros(len(keys), dtype=np.float32)
        for length in np.unique(step.before[step.before > 0]):
            chosen = step.before == length
            known = keys[:, step.windows[chosen][:, -length:]]
            logs = self.ngrams.logs(known[..., :-1] @ _places(length), known[..., -1], int(length) - 1)
            total += logs @ step.times[chosen]
        return total

    def _hopes(self, free: Ints, rest: Ints) -> Floats:
        """Return the best unigram log-probability of the undecided letters after each choice, (keys, letters).

        It is reached if the most frequent symbol stands for the most common letter left, and so on.
        """
        logs = self._alone(free)  # (keys, letters), descending
        as_is, one_on = np.zeros_like(logs), np.zeros_like(logs)
        as_is[:, : len(rest)] = logs[:, : len(rest)] * rest
        one_on[:, : len(rest)] = logs[:, 1 : len(rest) + 1] * rest  # where a more common letter was chosen
        return np.cumsum(as_is, axis=1) - as_is + np.cumsum(one_on[:, ::-1], axis=1)[:, ::-1]


def steps(cipher: Ints, order: int) -> list[Step]:
    """Return the steps of the search; the next letter is always the one that makes most readable.

    An n-gram counts with the number of decided symbols at its end.
    """
    windows, times = np.unique(sliding_window_view(cipher, order), axis=0, return_counts=True)
    counts = np.bincount(cipher, minlength=N_SYMBOLS)
    known, before, found = [BOUNDARY], np.zeros_like(times), list[Step]()
    undecided = [symbol for symbol in range(N_LETTERS) if counts[symbol]]
    while undecided:
        ends = {symbol: decided_ends(windows, [*known, symbol]) for symbol in undecided}
        symbol = max(undecided, key=lambda one: int(ends[one] @ times))
        undecided.remove(symbol)
        known.append(symbol)
        after, more = ends[symbol], ends[symbol] > before
        rest = np.sort(counts[undecided])[::-1]
        parts = (windows[more], times[more].astype(np.float32), before[more], after[more])
        found.append(Step(symbol, *parts, rest))
        before = after
    return found


def decided_ends(windows: Ints, decided: list[int]) -> Ints:
    """Return the number of decided symbols at the end of each n-gram, (windows,)."""
    known = np.isin(windows, decided)[:, ::-1]
    return np.cumprod(known, axis=1).sum(1)


def _places(length: int) -> Ints:
    """Return the place value of each symbol of a context in its number, (length - 1,)."""
    return N_SYMBOLS ** np.arange(length - 1)[::-1]
