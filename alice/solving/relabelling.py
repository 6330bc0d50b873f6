"""Relabellings of a ciphertext: other names for its symbols, under which a perfect solver would read it alike.

A relabelling is a second key on top of the first: it replaces each cipher letter by another. Neither the text nor its
difficulty changes, only the ids that a model sees.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from alice.metrics import error_rates
from alice.model import Alice
from alice.statistics import Floats
from alice.text import PAD, Alphabet, KeyArray, encrypt_ids, random_keys

Ints = NDArray[np.int64]
TOKENS = 4096
"""Maximum number of characters in a batch."""
_DOMAIN = 4_000_037  # keeps these keys apart from everything else drawn with the same seed


def relabellings(count: int, seed: int, number: int = 0) -> KeyArray:
    """Draw `count` relabellings for text `number`, (count, 26); a smaller count gives a prefix of a larger one."""
    return random_keys(count, np.random.default_rng((seed, _DOMAIN, number)))


@dataclass(frozen=True, eq=False)
class Readings:
    """A model's answers to one ciphertext under several relabellings."""

    cipher_ids: Ints
    """The ciphertext before relabelling, (pos,)."""
    answers: Ints
    """Answer at each position, (relabelling, pos)."""
    confidence: Floats
    """Probability that the model gives each of these answers, (relabelling, pos)."""
    letters: NDArray[np.bool_]
    """Which positions hold letters, (pos,)."""
    plain_ids: Ints | None = None
    """The plaintext, (pos,), if it is known; padding at positions where it is not."""

    @cached_property
    def vote(self) -> Ints:
        """Most frequent answer at each position, (pos,); the most confident one in a tie."""
        names = np.unique(self.answers)
        given = self.answers == names[:, None, None]  # (name, relabelling, pos)
        # The probabilities add less than one vote, so they only break ties.
        weight = given.sum(1) + (given * self.confidence).sum(1) / (len(self.answers) + 1)
        best: Ints = names[weight.argmax(0)]
        return best

    @cached_property
    def disagreement(self) -> Floats:
        """Probability that two relabellings give different answers at a position, (pos,); NaN with a single one."""
        count = len(self.answers)
        if count < 2:
            return np.full(self.answers.shape[1], np.nan)
        same = (self.answers[:, None] == self.answers[None]).sum((0, 1)) - count  # ordered pairs that agree
        return 1 - same / (count * (count - 1))

    @property
    def letters_changed(self) -> float:
        """Probability that two relabellings read a letter of the text differently; 0 for a text without letters."""
        return float(self.disagreement[self.letters].mean()) if self.letters.any() else 0.0

    @property
    def text_changed(self) -> float:
        """Probability that two relabellings read the text differently in at least one position."""
        count = len(self.answers)
        sizes = np.unique(self.answers, axis=0, return_counts=True)[1]
        return float(1 - (sizes * (sizes - 1)).sum() / (count * (count - 1))) if count > 1 else float("nan")

    @cached_property
    def errors(self) -> Floats | None:
        """Symbol error rate under each relabelling, (relabelling,), if the plaintext is known."""
        if self.plain_ids is None:
            return None
        return error_rates(self.answers, np.broadcast_to(self.plain_ids, self.answers.shape))

    @property
    def vote_error(self) -> float | None:
        """Symbol error rate of the vote, if the plaintext is known."""
        return None if self.plain_ids is None else float(error_rates(self.vote[None], self.plain_ids[None])[0])


@torch.inference_mode()
def read_relabelled(model: Alice, cipher_ids: Ints, keys: KeyArray, *, plain_ids: Ints | None = None) -> Readings:
    """Run a model over one ciphertext, (pos,), under every relabelling, (relabelling, 26), in batches."""
    answers, confidence = [], []
    for rows in _relabelled(cipher_ids, keys, model.alphabet):
        ids = torch.from_numpy(rows).to(model.cfg.device)
        resid = model.resid(ids)
        symbols = model.decode_symbols(resid, ids, soft=False).argmax(-1)  # (relabelling, symbol)
        probability = model.log_probabilities(resid, ids).exp().gather(-1, symbols[..., None])[..., 0]
        answers.append(symbols.gather(1, ids).cpu().numpy())
        confidence.append(probability.gather(1, ids).double().cpu().numpy())
    letters = np.isin(cipher_ids, model.alphabet.letter_ids)
    return Readings(cipher_ids, np.concatenate(answers), np.concatenate(confidence), letters, plain_ids)


def _relabelled(cipher_ids: Ints, keys: KeyArray, alphabet: Alphabet) -> Iterator[Ints]:
    """Yield batches of the text under the relabellings, (batch, pos)."""
    ids = cipher_ids.astype(np.uint8)
    if (ids == PAD).any():
        raise ValueError("a text with padding cannot be relabelled")
    size = max(1, TOKENS // len(ids))
    for start in range(0, len(keys), size):
        some = keys[start : start + size]
        yield encrypt_ids(np.tile(ids, (len(some), 1)), some, alphabet).astype(np.int64)
