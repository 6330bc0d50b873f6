"""What probes are asked for: labels of every character of a batch, and the control task of each.

A word here is a run of letters: spaces, apostrophes and hyphens end it. Every task but the letter's leaves out all that
is no letter.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.probes.layers import IGNORED
from alice.text.alphabet import Alphabet
from alice.text.batches import Batch

RANKS, POSITIONS, LENGTHS = 15, 10, 12
"""Classes of the frequency rank, the position in the word and the word's length; the last one is open."""
VOWELS = "AEIOU"
Labels = Callable[[Batch], Tensor]


@dataclass(frozen=True, eq=False)
class Task:
    """A question about every character."""

    name: str
    """What it is called on the command line."""
    title: str
    """What a figure calls it."""
    classes: int
    """Number of possible answers."""
    labels: Labels
    """Answers for a batch, (batch, pos), IGNORED where the task leaves a character out."""


def tasks(alphabet: Alphabet) -> dict[str, Task]:
    """Return every task for models of an alphabet, by name, in the order of a report."""
    every = (
        Task("letter", "plaintext letter", alphabet.size, plain_symbol),
        Task("rank", "frequency rank of the symbol", RANKS, lambda batch: frequency_rank(batch, alphabet)),
        Task("position", "position in the word", POSITIONS, lambda batch: word_position(batch, alphabet)),
        Task("word-length", "length of the word", LENGTHS, lambda batch: word_length(batch, alphabet)),
        Task("vowel", "vowel or consonant", 2, lambda batch: vowel(batch, alphabet)),
    )
    return {task.name: task for task in every}


def plain_symbol(batch: Batch) -> Tensor:
    """Return the id of the plaintext character, spaces and punctuation too, as the paper's probes decode."""
    return batch.plain_ids.where(batch.mask, IGNORED)


def frequency_rank(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return how many letters are more frequent in the text than this one, capped; equal counts share a rank."""
    letters = _letter_numbers(batch.cipher_ids, alphabet)
    counts = torch.nn.functional.one_hot(letters + 1, 27).sum(1)[:, 1:]  # (batch, 26)
    ranks = (counts[:, None] > counts[:, :, None]).sum(-1)  # (batch, 26)
    return _capped(ranks.gather(1, letters.clamp(min=0)), RANKS, letters)


def word_position(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return the place of a letter in its word, from 0, capped."""
    letters = _letter_numbers(batch.cipher_ids, alphabet)
    return _capped(_run(letters >= 0), POSITIONS, letters)


def word_length(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return the length of a letter's word less one, capped."""
    letters = _letter_numbers(batch.cipher_ids, alphabet)
    inside = letters >= 0
    return _capped(_run(inside) + _run(inside.flip(1)).flip(1), LENGTHS, letters)


def vowel(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return 1 for A, E, I, O, U in the plaintext and 0 for other letters."""
    letters = _letter_numbers(batch.plain_ids, alphabet)
    vowels = torch.tensor([ord(letter) - ord("A") for letter in VOWELS], device=letters.device)
    return _capped(torch.isin(letters, vowels).long(), 2, letters)


def is_letter(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Say of every character whether it is a letter, (batch, pos)."""
    return _letter_numbers(batch.plain_ids, alphabet) >= 0


def control(task: Task, counts: NDArray[np.int64], alphabet: Alphabet, rng: np.random.Generator) -> Task:
    """Return the control task of a task (Hewitt and Liang 2019): each cipher symbol gets a random label and keeps it.

    Labels are drawn as often as the task has them, `counts` (class,), so that both are about equally unbalanced. Only a
    probe that can tell the cipher symbols apart, and learn their labels by heart, answers it.
    """
    drawn = torch.from_numpy(rng.choice(task.classes, size=alphabet.size, p=counts / counts.sum()))

    def labels(batch: Batch) -> Tensor:
        return drawn.to(batch.cipher_ids.device)[batch.cipher_ids].where(task.labels(batch) != IGNORED, IGNORED)

    return Task(f"{task.name} (control)", f"{task.title}, control task", task.classes, labels)


def _letter_numbers(ids: Tensor, alphabet: Alphabet) -> Tensor:
    """Return 0 to 25 for A to Z, and -1 for anything else."""
    table = torch.full((alphabet.size,), -1, dtype=torch.int64)
    table[torch.from_numpy(alphabet.letter_ids.astype(np.int64))] = torch.arange(len(alphabet.letter_ids))
    return table.to(ids.device)[ids]


def _run(inside: Tensor) -> Tensor:
    """Return how many characters of the same run stand before each one, (batch, pos); any number outside."""
    place = torch.arange(inside.shape[1], device=inside.device).expand(inside.shape)
    breaks = torch.where(inside, -1, place).cummax(1).values
    return place - breaks - 1


def _capped(values: Tensor, classes: int, letters: Tensor) -> Tensor:
    return values.clamp(max=classes - 1).where(letters >= 0, IGNORED)
