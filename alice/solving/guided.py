"""Guided search: a network proposes the entries of a key, language models decide between whole keys.

A beam search over character n-grams starts from what the network is sure of and adds its log-probabilities to the
score of each decision. It is narrow at first, and widened where the result is an unusual text. Where a short text
stays unusual, the network has probably misled the search: a last one trusts it less. The best keys, the network's own
key and all their neighbours by one swap are then ranked by characters, words and network together. The weights of the
three turn scores into probabilities, which give each letter its confidence.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from alice.solving.beam import BeamSearch
from alice.solving.hill_climbing import swapped
from alice.solving.language import Language, Languages
from alice.solving.language_model import N_SYMBOLS, Floats, Ints
from alice.text import N_LETTERS

FLOOR = -8.0
"""Smallest log-probability of the network that counts: it is sometimes sure and wrong."""
PRIOR = 0.6
"""Weight of the network beside the characters while keys are searched for."""
URGENCY = 1.0
"""How much earlier the search decides letters of which the network is sure."""
NARROW, WIDE = (30, 4), (1000, 8)
"""Keys that are kept, and extensions scored for each, at first and for texts that turn out unusual."""
SHORT = 64
"""Symbols below which the wide search is always run: a wrong text may look usual, too."""
WIDER = 3
"""How many times as many keys the last search keeps, for short texts that are unusual even then."""
DOUBTED = 0.2
"""Weight of the network in the last search, in which it does not influence the order of the letters either."""
KEPT = 60
"""Candidates that are ranked in the end."""
SWAPS = 40
"""Neighbours of a key that join the candidates."""
CLIMBS = 6
"""Maximum number of swaps that lead from a key to better ones."""


@dataclass(frozen=True)
class Weights:
    """How much each score counts in the end, per nat; fitted to validation texts by `alice.solving.fitting`."""

    chars: float = 0.113
    words: float = 0.462
    network: float = 0.134


WEIGHTS = Weights()
_PER_KEY = ("keys", "scores", "totals")


@dataclass(frozen=True, eq=False)
class Candidates:
    """Keys for one ciphertext, the most probable first, with what each source says of them in nats."""

    language: Language
    """The language of the best key."""
    cipher: Ints
    """Symbols of the ciphertext, (symbols,)."""
    present: Ints
    """Cipher letters that occur, (letters,)."""
    keys: Ints
    """Plain symbol of each cipher symbol, (keys, 27)."""
    scores: Floats
    """Log-probability by characters, by words and by the network, (keys, 3)."""
    totals: NDArray[np.float64]
    """Weighted sum of these scores, plus the log of the share of texts that are in the key's language, (keys,)."""

    @property
    def probabilities(self) -> Floats:
        """Probability of each key among these, (keys,)."""
        chances = np.exp(self.totals - self.totals[0])
        return (chances / chances.sum()).astype(np.float32)

    def confidence(self) -> Floats:
        """Return the probability of each letter of the best key, (letters,), in the order of `present`."""
        same = self.keys[:, self.present] == self.keys[0, self.present]
        return np.minimum(self.probabilities @ same, 1.0)  # rounded sums may exceed 1


@dataclass(frozen=True, eq=False)
class GuidedSearch:
    """Finds keys for a ciphertext with the help of a network's log-probabilities."""

    languages: Languages
    weights: Weights = WEIGHTS
    narrow: tuple[int, int] = NARROW
    wide: tuple[int, int] = WIDE

    def find(self, text: str, network: Floats) -> Candidates:
        """Return candidates for a text.

        Args:
            text: the ciphertext in capitals, with at least one letter.
            network: log-probability of each plain letter for each cipher letter, (26, 26).

        """
        network = _clipped(network)
        found: list[Candidates] = []
        for language in self.languages.known:
            search = self._search(language, text, network)
            found.append(search.ranked(self.weights))
            if not search.is_unusual:
                break
        return _together(found)

    def _search(self, language: Language, text: str, network: Floats) -> "_Search":
        """Search in one language, widely if the text is short or the result unusual."""
        search = _Search(language, language.symbols(text), network)
        search.add(search.climb(_assignment(network)))
        search.run(*self.narrow)
        if len(search.cipher) < SHORT or search.is_unusual:
            search.run(*self.wide)
        if len(search.cipher) < SHORT and search.is_unusual:
            search.run(WIDER * self.wide[0], self.wide[1], prior=DOUBTED, urgency=0.0)
        search.add(search.climb(search.keys[0]))
        return search

    def rate(self, candidates: Candidates, keys: Ints, network: Floats) -> Floats:
        """Return the total score of keys in nats, as they are ranked by, (keys,)."""
        search = _Search(candidates.language, candidates.cipher, _clipped(network))
        return search.three_scores(keys) @ _as_array(self.weights)


class _Search:
    """The candidates for one ciphertext in one language, as they accumulate."""

    def __init__(self, language: Language, cipher: Ints, network: Floats) -> None:
        self.language, self.cipher, self.network = language, cipher, network
        letters = np.unique(cipher)
        self.present = letters[letters < N_LETTERS]
        self.keys = np.zeros((0, N_SYMBOLS), dtype=np.int64)

    @property
    def is_unusual(self) -> bool:
        """Whether the best key makes a text that is less likely than texts of this language usually are."""
        return self.language.fit(self.keys[0][self.cipher]) < self.language.usual

    def run(self, beam: int, extensions: int, *, prior: float = PRIOR, urgency: float = URGENCY) -> None:
        """Add the best keys of a beam search."""
        unsure = -(np.exp(self.network) * self.network).sum(1)
        search = BeamSearch(self.language.chars, beam, extensions)
        self.add(search.find_keys(self.cipher, prior * self.network, np.exp(-urgency * unsure)).keys[:KEPT])

    def climb(self, key: Ints) -> Ints:
        """Return a key after the best swaps of two letters, and its best neighbours, (keys, 27)."""
        for _ in range(CLIMBS):
            keys = np.concatenate([key[None], swapped(key)])
            scores = self.quick_scores(keys)
            if not (best := int(scores.argmax())):
                break
            key = keys[best]
        return keys[np.argsort(-scores, kind="stable")[:SWAPS]]

    def add(self, keys: Ints) -> None:
        """Add keys, best first; keys that differ in letters that do not occur are the same."""
        keys = np.concatenate([self.keys, keys])
        keys = keys[_distinct(keys[:, self.present])]
        self.keys = keys[np.argsort(-self.quick_scores(keys), kind="stable")[:KEPT]]

    def quick_scores(self, keys: Ints) -> Floats:
        """Return the score that the search goes by, (keys,)."""
        logs = self.language.chars.symbol_logs(keys[:, self.cipher])
        return logs.sum(1) + PRIOR * self._network_scores(keys)

    def three_scores(self, keys: Ints) -> Floats:
        """Return the log-probability of keys by characters, words and network, (keys, 3)."""
        symbols = keys[:, self.cipher]
        logs = self.language.chars.symbol_logs(symbols)
        return np.stack([logs.sum(1), self.language.word_scores(symbols, logs), self._network_scores(keys)], axis=1)

    def _network_scores(self, keys: Ints) -> Floats:
        return self.network[self.present, keys[:, self.present]].sum(1)

    def ranked(self, weights: Weights) -> Candidates:
        """Return the candidates in the order of their probability."""
        scores = self.three_scores(self.keys)
        totals = scores.astype(np.float64) @ _as_array(weights) + math.log(self.language.share)
        order = np.argsort(-totals, kind="stable")
        return Candidates(self.language, self.cipher, self.present, self.keys[order], scores[order], totals[order])


def _together(found: list[Candidates]) -> Candidates:
    """Return the best keys of all languages; one that several languages found has its highest score."""
    best = max(found, key=lambda one: one.totals[0])
    keys, scores, totals = (np.concatenate([getattr(one, name) for one in found]) for name in _PER_KEY)
    order = np.argsort(-totals, kind="stable")
    chosen = order[_distinct(keys[order][:, best.present])[:KEPT]]
    return replace(best, keys=keys[chosen], scores=scores[chosen], totals=totals[chosen])


def _distinct(rows: Ints) -> Ints:
    """Return the places of the first of equal rows, ascending."""
    rows = np.ascontiguousarray(rows.astype(np.uint8))  # compared as bytes: quicker than np.unique by axis
    _, first = np.unique(rows.view(np.dtype((np.void, rows.shape[1]))).ravel(), return_index=True)
    return np.sort(first)


def _clipped(network: Floats) -> Floats:
    """Return log-probabilities that are numbers and at least `FLOOR`."""
    return np.nan_to_num(np.maximum(network, FLOOR), nan=FLOOR).astype(np.float32)


def _assignment(network: Floats) -> Ints:
    """Return the one-to-one key that the network finds most probable, (27,)."""
    key = np.arange(N_SYMBOLS)
    key[:N_LETTERS] = linear_sum_assignment(-network)[1]
    return key


def _as_array(weights: Weights) -> Floats:
    return np.array([weights.chars, weights.words, weights.network], dtype=np.float32)
