"""Beam search over partial keys, after Nuhn, Schamper and Ney (2013); deterministic.

Cipher letters are decided one by one, in the order that soonest makes whole n-grams readable; the most likely partial
keys are kept. The score of a key is the log-probability of the symbols that it can read, each given the decided symbols
before it, plus a bound for the letters that are still to be decided. A prior, such as the opinion of a network, may
add a score to each entry of the key.
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
FEWEST_EXTENSIONS = 60
"""Minimum number of extensions to score, for narrow beams; one key has up to 26."""
LOOKUPS_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Partial keys, the most promising first."""

    keys: Ints
    """Plain symbol of each cipher symbol, 0 where it is not decided yet, (keys, 27)."""
    free: Ints
    """Letters that a key has not used, from the most to the least common, (keys, letters)."""
    scores: Floats
    """Log-probability of the readable symbols plus the prior of the entries, (keys,)."""


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
    extensions: int | None = None
    """Extensions to score for each key of a full beam, those that look best by prior and frequency; all if None."""

    def solve(self, ciphertext: str) -> str:
        """Return the plaintext in capitals; characters that are not letters stay."""
        key = self.find_key(symbols_of(ciphertext, self.ngrams.order))
        return Key.from_array(key[:N_LETTERS]).encrypt(ciphertext.upper())

    def find_key(self, cipher: Ints) -> Ints:
        """Return the plain symbol of each cipher symbol, (27,); letters that do not occur get the unused ones."""
        return self.find_keys(cipher).keys[0]

    def find_keys(self, cipher: Ints, prior: Floats | None = None, urgency: Floats | None = None) -> Hypotheses:
        """Return the best keys, complete; letters that do not occur get the unused ones.

        Args:
            cipher: the symbols of the ciphertext, from `symbols_of`.
            prior: what to add to the score for each plain letter of each cipher letter, (26, 26).
            urgency: factor for each cipher letter, (26,), by which it counts more when the next is chosen.

        """
        found, decided = self._start(), list[int]()
        prior = np.zeros((N_LETTERS, N_LETTERS), dtype=np.float32) if prior is None else prior
        if len(cipher) >= self.ngrams.order:
            for step in steps(cipher, self.ngrams.order, urgency):
                found = self._extend(found, step, prior[step.symbol])
                decided.append(step.symbol)
        keys = found.keys.copy()
        keys[:, np.setdiff1d(np.arange(N_LETTERS), decided)] = found.free
        return Hypotheses(keys, found.free, found.scores)

    def _start(self) -> Hypotheses:
        keys = np.zeros((1, N_SYMBOLS), dtype=np.int64)
        keys[0, BOUNDARY] = BOUNDARY
        common = np.argsort(-self._alone(np.arange(N_LETTERS)), kind="stable")
        return Hypotheses(keys, common[None], np.zeros(1, dtype=np.float32))

    def _alone(self, letters: Ints) -> Floats:
        """Return the log-probabilities of letters without a context."""
        return self.ngrams.logs(np.zeros_like(letters), letters, 0)

    def _extend(self, found: Hypotheses, step: Step, prior: Floats) -> Hypotheses:
        """Extend every key by each promising choice of a free letter for a symbol, and keep the best."""
        hopes = self._hopes(found.free, step.rest)  # (keys, letters)
        scores = found.scores[:, None] + prior[found.free]
        chosen = self._promising((scores + hopes).ravel())
        parents, choices = np.divmod(chosen, found.free.shape[1])
        letters = found.free[parents, choices]
        sums = scores.ravel()[chosen] + self._gains(found.keys, parents, letters, step)
        best = _largest(sums + hopes.ravel()[chosen], self.beam)
        keys = found.keys[parents[best]]
        keys[:, step.symbol] = letters[best]
        kept = np.arange(found.free.shape[1]) != choices[best, None]
        free = found.free[parents[best]][kept].reshape(len(best), -1)
        return Hypotheses(keys, free, sums[best])

    def _promising(self, scores: Floats) -> Ints:
        """Return which of all extensions to score with n-grams."""
        if self.extensions is None:
            return np.arange(len(scores))
        most = max(self.extensions * self.beam, FEWEST_EXTENSIONS)
        return np.arange(len(scores)) if len(scores) <= most else np.argpartition(-scores, most)[:most]

    def _gains(self, keys: Ints, parents: Ints, letters: Ints, step: Step) -> Floats:
        """Return the change in log-probability of the readable symbols by each extension, (extensions,)."""
        gains = -self._so_far(keys, step)[parents]
        size = max(1, LOOKUPS_AT_ONCE // max(1, len(step.windows)))
        for length in np.unique(step.after):
            chosen = step.after == length
            windows, times = step.windows[chosen][:, -length:], step.times[chosen]
            new = windows == step.symbol
            known = keys.copy()
            known[:, step.symbol] = 0
            contexts, lasts = _numbers(known[:, windows.T]), known[:, windows[:, -1]]  # (keys, windows)
            shifts = _numbers(new.T[None].astype(np.int64))  # by which a context grows for each step of the letter
            for start in range(0, len(letters), size):
                part = slice(start, start + size)
                row, letter = parents[part], letters[part, None]
                places = (contexts[row] + letter * shifts, lasts[row] + letter * new[:, -1])
                gains[part] += self.ngrams.logs(*places, int(length) - 1) @ times
        return gains

    def _so_far(self, keys: Ints, step: Step) -> Floats:
        """Return the log-probability of a step's n-grams before the choice, (keys,)."""
        total = np.zeros(len(keys), dtype=np.float32)
        for length in np.unique(step.before[step.before > 0]):
            chosen = step.before == length
            windows = step.windows[chosen][:, -length:]
            logs = self.ngrams.logs(_numbers(keys[:, windows.T]), keys[:, windows[:, -1]], int(length) - 1)
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


def steps(cipher: Ints, order: int, urgency: Floats | None = None) -> list[Step]:
    """Return the steps of the search; the next letter is always the one that makes most readable.

    An n-gram counts with the number of decided symbols at its end. It can only become more readable by the symbol
    before that end, so one pass over the n-grams gives the gain of every letter.
    """
    windows, times = np.unique(sliding_window_view(cipher, order), axis=0, return_counts=True)
    backwards, weights = windows[:, ::-1], times.astype(np.float32)
    counts = np.bincount(cipher, minlength=N_SYMBOLS)[:N_LETTERS]
    undecided, known = counts > 0, backwards == BOUNDARY
    factors = np.ones(N_LETTERS, dtype=np.float32) if urgency is None else urgency
    ends, scored, found = np.cumprod(known, axis=1).sum(1), np.zeros_like(times), list[Step]()
    while undecided.any():
        lacking = np.append(backwards, np.full((len(windows), 1), BOUNDARY), axis=1)[np.arange(len(windows)), ends]
        after = np.cumprod(known | (backwards == lacking[:, None]), axis=1).sum(1)
        gains = np.bincount(lacking, weights * (after - ends), minlength=N_SYMBOLS)[:N_LETTERS]
        symbol = int(np.where(undecided, gains * factors, -1).argmax())
        undecided[symbol] = False
        more = lacking == symbol
        rest = np.sort(counts[undecided])[::-1]
        found.append(Step(symbol, windows[more], weights[more], scored[more], after[more], rest))
        ends, scored = np.where(more, after, ends), np.where(more, after, scored)
        known |= backwards == symbol
    return found


def _largest(values: Floats, count: int) -> Ints:
    """Return the places of the largest values, the largest first."""
    places = np.arange(len(values)) if len(values) <= count else np.argpartition(-values, count)[:count]
    return places[np.argsort(-values[places], kind="stable")]


def _numbers(symbols: Ints) -> Ints:
    """Return the number of each n-gram without its last symbol, (rows, n, ngrams) -> (rows, ngrams)."""
    numbers = np.zeros((symbols.shape[0], symbols.shape[2]), dtype=np.int64)
    for place in range(symbols.shape[1] - 1):
        numbers = numbers * N_SYMBOLS + symbols[:, place]
    return numbers
