"""Targets of probes: labels for every character of a batch, and a control task for each target.

A word is a run of letters: spaces, apostrophes and hyphens end it. All tasks except `letter` label letters only.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.probes.linear import IGNORED
from alice.text import N_LETTERS, Alphabet, Batch

RANKS, POSITIONS, LENGTHS = 15, 10, 12
"""Number of classes of frequency rank, position in the word and word length; the last class is open-ended."""
VOWELS = "AEIOU"
Labels = Callable[[Batch], Tensor]
"""Returns the labels of a batch, (batch, pos)."""


@dataclass(frozen=True, eq=False)
class Task:
    """A target: one label per character."""

    name: str
    """Name on the command line."""
    title: str
    """Name in figures."""
    classes: int
    """Number of classes."""
    labels: Labels
    """Labels of a batch, (batch, pos), IGNORED where a character has none."""


def tasks(alphabet: Alphabet) -> dict[str, Task]:
    """Return all tasks for an alphabet by name, in the order of a report."""
    every = (
        Task("letter", "plaintext letter", alphabet.size, plain_symbol),
        Task("rank", "frequency rank of the symbol", RANKS, lambda batch: frequency_rank(batch, alphabet)),
        Task("position", "position in the word", POSITIONS, lambda batch: word_position(batch, alphabet)),
        Task("word-length", "length of the word", LENGTHS, lambda batch: word_length(batch, alphabet)),
        Task("vowel", "vowel or consonant", 2, lambda batch: vowel(batch, alphabet)),
        Task("symbol", "cipher symbol", N_LETTERS, lambda batch: _letter_numbers(batch.cipher_ids, alphabet, IGNORED)),
        Task("previous", "symbol before", alphabet.size, lambda batch: neighbour(batch, alphabet, before=True)),
        Task("next", "symbol after", alphabet.size, lambda batch: neighbour(batch, alphabet, before=False)),
    )
    return {task.name: task for task in every}


def plain_symbol(batch: Batch) -> Tensor:
    """Return the id of the plaintext character, including spaces and punctuation, as in the paper."""
    return batch.plain_ids.where(batch.mask, IGNORED)


def frequency_rank(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return the number of letters that are more frequent in the text, capped; equal counts share a rank."""
    letters = _letter_numbers(batch.cipher_ids, alphabet)
    counts = torch.nn.functional.one_hot(letters + 1, 27).sum(1)[:, 1:]  # (batch, 26)
    ranks = (counts[:, None] > counts[:, :, None]).sum(-1)  # (batch, 26)
    return _capped(ranks.gather(1, letters.clamp(min=0)), RANKS, letters)


def word_position(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return the position of a letter in its word, counted from 0, capped."""
    letters = _letter_numbers(batch.cipher_ids, alphabet)
    return _capped(_run(letters >= 0), POSITIONS, letters)


def word_length(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return the length of a letter's word minus one, capped."""
    letters = _letter_numbers(batch.cipher_ids, alphabet)
    inside = letters >= 0
    return _capped(_run(inside) + _run(inside.flip(1)).flip(1), LENGTHS, letters)


def vowel(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return 1 for A, E, I, O, U in the plaintext and 0 for other letters."""
    letters = _letter_numbers(batch.plain_ids, alphabet)
    vowels = torch.tensor([ord(letter) - ord("A") for letter in VOWELS], device=letters.device)
    return _capped(torch.isin(letters, vowels).long(), 2, letters)


def neighbour(batch: Batch, alphabet: Alphabet, *, before: bool) -> Tensor:
    """Return the cipher symbol before or after each letter, spaces and punctuation included; none at the text's end."""
    place = torch.arange(batch.cipher_ids.shape[1], device=batch.cipher_ids.device)
    there = place - 1 if before else place + 1
    inside = (there >= 0) & (there < len(place))
    there = there.where(inside, 0)
    known = is_letter(batch, alphabet) & inside & batch.mask[:, there]
    return batch.cipher_ids[:, there].where(known, IGNORED)


def is_letter(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return whether every character is a letter, (batch, pos)."""
    return _letter_numbers(batch.plain_ids, alphabet) >= 0


def control(task: Task, counts: NDArray[np.int64], alphabet: Alphabet, rng: np.random.Generator) -> Task:
    """Return the control task of a task (Hewitt and Liang 2019): each cipher symbol gets a fixed random label.

    Labels are drawn from the distribution of the task's own, `counts` (class,), so that both are equally unbalanced. A
    probe can only solve it by telling the cipher symbols apart and memorizing their labels.
    """
    drawn = torch.from_numpy(rng.choice(task.classes, size=alphabet.size, p=counts / counts.sum()))

    def labels(batch: Batch) -> Tensor:
        return drawn.to(batch.cipher_ids.device)[batch.cipher_ids].where(task.labels(batch) != IGNORED, IGNORED)

    return Task(f"{task.name} (control)", f"{task.title}, control task", task.classes, labels)


def _letter_numbers(ids: Tensor, alphabet: Alphabet, otherwise: int = -1) -> Tensor:
    """Return 0 to 25 for A to Z, and another number otherwise."""
    table = torch.full((alphabet.size,), otherwise, dtype=torch.int64)
    table[torch.from_numpy(alphabet.letter_ids)] = torch.arange(len(alphabet.letter_ids))
    return table.to(ids.device)[ids]


def _run(inside: Tensor) -> Tensor:
    """Return the position of each character in its run, counted from 0, (batch, pos); undefined outside of runs."""
    place = torch.arange(inside.shape[1], device=inside.device).expand(inside.shape)
    breaks = torch.where(inside, -1, place).cummax(1).values
    return place - breaks - 1


def _capped(values: Tensor, classes: int, letters: Tensor) -> Tensor:
    return values.clamp(max=classes - 1).where(letters >= 0, IGNORED)
