"""Bayesian references: how probable each key is, given a ciphertext and the n-grams of a language as prior on texts.

`pool_posterior` knows the pool that the key was drawn from, and is exact. `general_posterior` knows nothing of the key,
so that all 26! are equally probable beforehand; it samples, and estimates its error from independent chains. Both judge
texts by characters alone, so that they differ in nothing but the keys that they allow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError
from alice.solving.beam import BeamSearch
from alice.solving.language_model import BOUNDARY, CharNgrams, Ints, symbols_of
from alice.statistics import Floats
from alice.text import N_LETTERS, Key, KeyArray, invert

LOOKUPS_AT_ONCE = 1_000_000
"""Symbols that are looked up at once, to bound the memory."""
CHAINS, JUMPS = 6, 120
"""Chains of a sample, and jumps of each."""
BURN_IN = 0.25
"""Share of the jumps that are left out at the beginning."""
BEAM, EXTENSIONS = 200, 8
"""Size of the search for keys to start from; see `BeamSearch`."""


@dataclass(frozen=True, eq=False)
class KeyPosterior:
    """Keys of one ciphertext with their probabilities."""

    keys: Ints
    """Plain letter (0-25) of each cipher letter, (keys, 26), the most probable first."""
    probabilities: Floats
    """Probability of each key, (keys,)."""
    entries: Floats
    """Probability that a cipher letter stands for a plain letter, (26 cipher, 26 plain); rows and columns sum to 1."""
    present: Ints
    """Cipher letters that occur, (letters,)."""
    error: float = 0.0
    """Estimated error of the entries: mean total variation over the letters that occur; 0 if they are exact."""
    effective: float = np.inf
    """Effective number of independent samples, without regard to their order; infinite if the entries are exact."""

    @property
    def best(self) -> Ints:
        """The most probable key, (26,)."""
        return self.keys[0]


def text_scores(ngrams: CharNgrams, cipher: Ints, keys: Ints) -> Floats:
    """Return the log-probability of a ciphertext's symbols, (symbols,), read with each key, (keys, 26) -> (keys,)."""
    narrow: NDArray[Any] = np.full((len(keys), N_LETTERS + 1), BOUNDARY, dtype=np.int32)  # faster than 64 bits
    narrow[:, :N_LETTERS] = keys
    size = max(1, LOOKUPS_AT_ONCE // max(1, len(cipher)))
    parts = [ngrams.score(narrow[start : start + size, cipher]) for start in range(0, len(keys), size)]
    return np.concatenate(parts).astype(np.float64)


def pool_posterior(ngrams: CharNgrams, text: str, pool: KeyArray) -> KeyPosterior:
    """Return the exact posterior over the keys of a pool, each equally probable beforehand.

    Args:
        ngrams: the prior on texts.
        text: the ciphertext in capitals.
        pool: cipher letter of each plain letter, (keys, 26), as in `key_pool`.

    """
    cipher = symbols_of(text, ngrams.order)
    keys = invert(pool).astype(np.int64)
    chances = _normalised(text_scores(ngrams, cipher, keys))
    order = np.argsort(-chances, kind="stable")
    return KeyPosterior(keys[order], chances[order], _entries(keys, chances), _present(cipher))


def general_posterior(
    ngrams: CharNgrams,
    text: str,
    rng: np.random.Generator,
    *,
    starts: Ints | None = None,
    chains: int = CHAINS,
    jumps: int = JUMPS,
) -> KeyPosterior:
    """Return a sample of the posterior over all keys, by chains of swaps that start where a search ended.

    A chain stays at a key for a time and then swaps two of its letters, to a key at the rate sqrt(P(new) / P(old)), so
    that it spends a share of its time at each key that converges to its probability. Times are not drawn but replaced
    by their means.

    Args:
        ngrams: the prior on texts.
        text: the ciphertext in capitals.
        rng: draws the chains.
        starts: keys to start from, (keys, 26), such as the candidates of the guided search; each chain draws one by
            its probability. A beam search finds them if None.
        chains: number of chains, at least 2 for an error.
        jumps: swaps of each chain.

    """
    if chains < 1 or jumps < 2:
        raise AliceError(f"a sample of {chains} chains and {jumps} jumps is too small; give at least 1 and 2")
    cipher = symbols_of(text, ngrams.order)
    present = _present(cipher)
    if starts is None:
        starts = BeamSearch(ngrams, BEAM, EXTENSIONS).find_keys(cipher).keys[:, :N_LETTERS]
    chances = _normalised(text_scores(ngrams, cipher, starts))
    first = starts[rng.choice(len(starts), size=chains, p=chances)]
    keys, times = _run_chains(lambda some: text_scores(ngrams, cipher, some), first, _swaps(present), jumps, rng)
    kept = slice(int(BURN_IN * jumps), None)
    keys, times = keys[kept], times[kept] / times[kept].sum(0)  # (jump, chain, 26), (jump, chain)
    by_chain = np.stack([_spread_absent(_entries(keys[:, c], times[:, c]), present) for c in range(chains)])
    distinct, weights = _distinct(keys.reshape(-1, N_LETTERS), times.ravel() / chains, present)
    effective = times.sum() ** 2 / (times**2).sum()
    return KeyPosterior(distinct, weights, by_chain.mean(0), present, _disagreement(by_chain, present), effective)


def _run_chains(
    score: Callable[[Ints], Floats], keys: Ints, swaps: Ints, jumps: int, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Return the keys of each chain, (jump, chain, 26), and the mean time that it stays at each, (jump, chain)."""
    chains = np.arange(len(keys))
    visited = np.empty((jumps, *keys.shape), dtype=np.int64)
    times = np.ones((jumps, len(keys)))
    scores = score(keys)
    for jump in range(jumps):
        visited[jump] = keys
        if not len(swaps):  # there is no letter to read, so all keys are alike
            continue
        near = np.repeat(keys[:, None], len(swaps), axis=1)  # (chain, swap, 26)
        place = np.arange(len(swaps))
        near[:, place, swaps[:, 0]], near[:, place, swaps[:, 1]] = keys[:, swaps[:, 1]], keys[:, swaps[:, 0]]
        found = score(near.reshape(-1, N_LETTERS)).reshape(len(keys), -1)
        half = (found - scores[:, None]) / 2
        top = half.max(1, keepdims=True)
        rates = np.exp(half - top)  # scaled, so that no sum overflows
        totals = rates.sum(1, keepdims=True)
        times[jump] = np.exp(-np.clip(top[:, 0] + np.log(totals[:, 0]), -600, 600))
        chosen = (rng.random((len(keys), 1)) < np.cumsum(rates / totals, axis=1)).argmax(1)
        keys, scores = near[chains, chosen], found[chains, chosen]
    return visited, times


def _swaps(present: Ints) -> Ints:
    """Return the pairs of cipher letters whose swap changes the text, (swap, 2): at least one of them occurs."""
    occurs = np.isin(np.arange(N_LETTERS), present)
    first, second = np.triu_indices(N_LETTERS, 1)
    changing = occurs[first] | occurs[second]
    return np.stack([first[changing], second[changing]], axis=1)


def _present(cipher: Ints) -> Ints:
    letters = np.unique(cipher)
    return letters[letters < N_LETTERS]


def _normalised(logs: Floats) -> Floats:
    """Return log-probabilities up to a constant as probabilities, (keys,)."""
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def _entries(keys: Ints, weights: Floats) -> Floats:
    """Return the weight of each entry, (keys, 26), (keys,) -> (26 cipher, 26 plain)."""
    cells = (np.arange(N_LETTERS) * N_LETTERS + keys).ravel()
    found = np.bincount(cells, np.repeat(weights, N_LETTERS), minlength=N_LETTERS**2)
    return found.reshape(N_LETTERS, N_LETTERS).astype(np.float64)


def _spread_absent(entries: Floats, present: Ints) -> Floats:
    """Give the letters that do not occur equal shares of what is left: any of them may stand for any free letter."""
    absent = np.setdiff1d(np.arange(N_LETTERS), present)
    if len(absent):
        entries = entries.copy()
        entries[absent] = np.maximum(1 - entries[present].sum(0), 0) / len(absent)
    return entries


def _distinct(keys: Ints, weights: Floats, present: Ints) -> tuple[Ints, Floats]:
    """Return each key once, with the sum of its weights, largest first; letters that do not occur tell none apart."""
    _, first, which = np.unique(keys[:, present], axis=0, return_index=True, return_inverse=True)
    sums = np.bincount(which.ravel(), weights).astype(np.float64)
    order = np.argsort(-sums, kind="stable")
    return keys[first[order]], sums[order]


def _disagreement(by_chain: Floats, present: Ints) -> float:
    """Return the standard error of the mean over chains, (chain, 26, 26), as a mean total variation over letters."""
    if len(by_chain) < 2 or not len(present):
        return float("nan") if len(present) else 0.0
    errors = by_chain.std(0, ddof=1) / np.sqrt(len(by_chain))
    return float(errors[present].sum(1).mean() / 2)


@dataclass(frozen=True, eq=False)
class PoolSolver:
    """Solves with the most probable key of a pool."""

    ngrams: CharNgrams
    pool: KeyArray
    """Cipher letter of each plain letter, (keys, 26)."""

    def __call__(self, ciphertext: str) -> str:
        """Return the plaintext in capitals; characters that are not letters stay."""
        return _read(pool_posterior(self.ngrams, ciphertext.upper(), self.pool), ciphertext)


@dataclass(frozen=True, eq=False)
class GeneralSolver:
    """Solves with the most probable key of a sample from all keys."""

    ngrams: CharNgrams
    seed: int = 0

    def __call__(self, ciphertext: str) -> str:
        """Return the plaintext in capitals; characters that are not letters stay."""
        rng = np.random.default_rng(self.seed)
        return _read(general_posterior(self.ngrams, ciphertext.upper(), rng), ciphertext)


def _read(found: KeyPosterior, ciphertext: str) -> str:
    return Key.from_array(found.best).encrypt(ciphertext.upper())
