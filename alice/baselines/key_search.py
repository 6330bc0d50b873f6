"""Beam search over keys that a neural language model scores, after Kambhatla, Mansouri Bigvand and Sarkar (2018).

Cipher letters are decided one by one, the most frequent first. The model scores the whole candidate text at every step:
decided characters count with their log-probability, and undecided ones with that of the best letter that is still free,
the rest cost. With a frequency term, a key also pays for letters that are not as frequent as they should be.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from alice.baselines.sequences import Memory, SequenceModel
from alice.text import PAD, lewand

BEAM = 8
"""Default number of partial keys that are kept."""
TRIED = 4
"""Extensions that the model scores exactly, for each key that is kept; its scores for the parents choose them."""
FREQUENCY_WEIGHT = 1.0
"""Price in nats of a character too many or too few of a letter, in the variant with the frequency term."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Partial keys with what the language model thinks of them."""

    keys: Tensor
    """Plain symbol of each cipher symbol, -1 where it is not decided, (keys, symbol)."""
    logs: Tensor
    """Log-probability of each symbol at each place of the text, (keys, pos, symbol)."""
    scores: Tensor
    """Score of each key, (keys,)."""

    def chosen(self, rows: Tensor) -> "Candidates":
        """Return some of them, by number."""
        return Candidates(self.keys[rows], self.logs[rows], self.scores[rows])


@dataclass(frozen=True, eq=False)
class NeuralBeamSearch:
    """Finds the key whose text a language model likes best, within the limits of the beam."""

    model: SequenceModel
    beam: int = BEAM
    frequency_weight: float = 0.0
    """Weight of the frequency term."""

    @torch.inference_mode()
    def solve(self, ciphertext: str) -> str:
        """Return the plaintext in capitals; characters that are not letters stay."""
        alphabet = self.model.alphabet
        ids = torch.from_numpy(alphabet.encode(ciphertext.upper()).astype("int64"))
        if not len(ids):
            return ""
        return alphabet.decode(self.find_key(ids)[ids].numpy())

    def find_key(self, ids: Tensor) -> Tensor:
        """Return the plain symbol of each cipher symbol that occurs, (pos,) -> (symbol,)."""
        letters = torch.from_numpy(self.model.alphabet.letter_ids)
        key = torch.arange(self.model.alphabet.size)
        key[letters] = -1
        counts = torch.bincount(ids, minlength=len(key))
        order = letters[counts[letters].argsort(descending=True, stable=True)]
        found = self._score(key[None], ids, counts)
        for symbol in order[counts[order] > 0]:
            tried = self._score(self._extensions(found, symbol, ids, counts), ids, counts)
            found = tried.chosen(tried.scores.argsort(descending=True, stable=True)[: self.beam])
        return found.keys[0]

    def _extensions(self, found: Candidates, symbol: Tensor, ids: Tensor, counts: Tensor) -> Tensor:
        """Return the most promising keys with one more letter decided, (keys, symbol)."""
        letters = torch.from_numpy(self.model.alphabet.letter_ids)
        free = self._free(found.keys)  # (keys, letter)
        here = found.logs[:, ids == symbol][..., letters]  # (keys, places of the symbol, letter)
        logs = here.masked_fill(~free[:, None], -torch.inf)
        gains = logs.sum(1) - logs.amax(-1).sum(-1, keepdim=True)  # the rest cost falls away
        gains = gains - self.frequency_weight * self._misfit(counts, counts[symbol])
        hopes = (found.scores[:, None] + gains).flatten()
        best = hopes.argsort(descending=True, stable=True)[: self.beam * TRIED]
        best = best[hopes[best].isfinite()]
        keys = found.keys[best // len(letters)].clone()
        keys[:, symbol] = letters[best % len(letters)]
        return keys

    def _score(self, keys: Tensor, ids: Tensor, counts: Tensor) -> Candidates:
        """Return keys, (keys, symbol), with their scores for a ciphertext, (pos,)."""
        letters = torch.from_numpy(self.model.alphabet.letter_ids)
        texts = keys[:, ids]  # (keys, pos)
        before = torch.cat([torch.full_like(texts[:, :1], PAD), texts[:, :-1]], dim=1)
        logs = self.model.write(before, Memory())[0].log_softmax(-1)
        known = logs.gather(2, texts.clamp(min=0)[..., None])[..., 0]
        hoped = logs[..., letters].masked_fill(~self._free(keys)[:, None], -torch.inf).amax(-1)
        scores = torch.where(texts < 0, hoped, known).sum(1)
        if self.frequency_weight:
            decided = keys[:, letters, None] == letters  # (keys, cipher letter, plain letter)
            scores = scores - self.frequency_weight * (decided * self._misfit(counts, counts[letters])).sum((1, 2))
        return Candidates(keys, logs, scores)

    def _free(self, keys: Tensor) -> Tensor:
        """Return which letters no cipher letter stands for yet, (keys, symbol) -> (keys, letter)."""
        letters = torch.from_numpy(self.model.alphabet.letter_ids)
        return ~(keys[:, letters, None] == letters).any(1)

    def _misfit(self, counts: Tensor, count: Tensor) -> Tensor:
        """Return by how many characters a count differs from what each plain letter should have, (..., letter)."""
        total = counts[torch.from_numpy(self.model.alphabet.letter_ids)].sum()
        return (count[..., None] - total * torch.from_numpy(lewand()).float()).abs()
