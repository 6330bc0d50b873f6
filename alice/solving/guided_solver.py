"""Solves cryptograms with a model and language models together, and says what the search changed and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.model import Alice
from alice.solving.decoding import batches_of, texts_at_once
from alice.solving.guided import Candidates, GuidedSearch
from alice.solving.language import Languages
from alice.solving.language_model import Floats, Ints
from alice.solving.solution import Candidate, Change, Reading, Solution, note_on, read, unsolved
from alice.text import LETTERS
from alice.text.alphabet import pad


@dataclass(frozen=True, eq=False)
class Opinion:
    """What a network says of one text."""

    logs: Floats
    """Log-probability of each plain letter for each cipher letter, (26, 26)."""
    answer: Ints
    """Its own answer: the plain letter of each cipher letter, one-to-one for the bijective head, (26,)."""


class GuidedSolver:
    """The network proposes, the language models decide; for one ciphertext or for many at once."""

    def __init__(self, model: Alice, languages: Languages) -> None:
        """Keep a model in evaluation mode and what it is guided by."""
        self.model, self.search = model, GuidedSearch(languages)

    def __call__(self, ciphertext: str) -> str:
        """Return the plaintext of one ciphertext; one that cannot be solved comes back as it is."""
        (solution,) = self.solutions([ciphertext])
        return solution.plaintext

    def solutions(self, texts: Sequence[str]) -> Iterator[Solution]:
        """Solve texts; the network reads them in batches. Yield the solutions in the order of the texts.

        A text that cannot be solved comes back as it is, with an empty key and a note that says why.
        """
        for some in texts_at_once(texts):
            yield from self._solutions(some)

    def _solutions(self, texts: Sequence[str]) -> Iterator[Solution]:
        """Solve texts that the network reads before the first of them is searched."""
        readings = [read(text, self.model.alphabet) for text in texts]
        faults = [reading.fault(self.model.config.n_ctx) for reading in readings]
        said: dict[int, Opinion] = {}
        for numbers in batches_of(readings, [not fault for fault in faults]):
            found = opinions(self.model, [readings[number].ids for number in numbers])
            said |= dict(zip(numbers, found, strict=True))
        for number, (reading, fault) in enumerate(zip(readings, faults, strict=True)):
            yield unsolved(texts[number], fault) if fault else self._solution(reading, said[number])

    def _solution(self, reading: Reading, network: Opinion) -> Solution:
        found = self.search.find(self.model.alphabet.decode(reading.ids), network.logs)
        confidence = dict(zip(_letters(found.present), found.confidence().tolist(), strict=True))
        candidates = [_candidate(reading, found, number) for number in range(len(found.keys))]
        return Solution(
            reading.text,
            candidates[0].plaintext,
            candidates[0].key,
            confidence,
            [],
            note_on(reading.letters),
            candidates=candidates,
            changes=changes(self.search, found, network),
            language=found.language.name if len(self.search.languages.by_corpus) > 1 else "",
        )


@torch.inference_mode()
def opinions(model: Alice, ids: Sequence[NDArray[np.uint8]]) -> list[Opinion]:
    """Return what a network says of each text."""
    padded = torch.from_numpy(pad(list(ids)).astype(np.int64)).to(model.cfg.device)
    return opinions_at(model, model.resid(padded), padded)


@torch.inference_mode()
def opinions_at(model: Alice, stream: Tensor, ids: Tensor) -> list[Opinion]:
    """Return the same from a residual stream, (batch, pos, d_model), of padded ids, (batch, pos)."""
    letters = model.letter_ids
    logs = model.log_probabilities(stream, ids)[:, letters][:, :, letters].float().cpu().numpy()
    answers = model.decode_symbols(stream, ids, soft=False)[:, letters][:, :, letters].argmax(-1).cpu().numpy()
    return [Opinion(*one) for one in zip(logs, answers, strict=True)]


def changes(search: GuidedSearch, found: Candidates, network: Opinion) -> list[Change]:
    """Return the letters that the network reads differently, and what its reading would cost."""
    best = found.keys[0]
    different = [
        (letter, int(network.answer[letter]))
        for letter in found.present.tolist()
        if network.answer[letter] != best[letter]
    ]
    if not different:
        return []
    keys = np.tile(best, (len(different) + 1, 1))
    for row, (letter, guess) in enumerate(different, start=1):
        other = int(np.flatnonzero(best == guess)[0])  # the cipher letter that stands for the network's guess
        keys[row, [letter, other]] = guess, best[letter]
    totals = search.rate(found, keys, network.logs)
    return [
        Change(LETTERS[letter], LETTERS[guess], LETTERS[best[letter]], float(totals[0] - total))
        for (letter, guess), total in zip(different, totals[1:], strict=True)
    ]


def _candidate(reading: Reading, found: Candidates, number: int) -> Candidate:
    key = found.keys[number]
    meant = dict(zip(_letters(found.present), _letters(key[found.present]), strict=True))
    chars, words, network = found.scores[number].tolist()
    return Candidate(
        reading.decrypt(meant),
        meant,
        float(found.probabilities[number]),
        {"chars": chars, "words": words, "network": network},
    )


def _letters(numbers: Ints) -> str:
    return "".join(LETTERS[number] for number in numbers)
