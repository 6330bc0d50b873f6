"""Accuracy of probes by text: over the letters of a text, and over all its characters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.probes.linear import IGNORED
from alice.probes.tasks import Task, is_letter
from alice.probes.tokens import Shards, Texts, chosen, labels_of, stacked
from alice.text import Alphabet, Batch

Shares = NDArray[np.float32]
"""Shares of correct answers."""


class Reader(Protocol):
    """Predicts the labels of several tasks, such as `LayerProbes` fitted for them."""

    def predict(self, x: Tensor) -> Tensor:
        """Return the predicted labels, (layer, token, d) -> (task, layer, token)."""


@dataclass(frozen=True, eq=False)
class MostFrequent:
    """Predicts the most frequent label of every task: the baseline that a probe must beat."""

    counts: Sequence[NDArray[np.int64]]
    """How often each label occurs, (class,) for each task."""

    def predict(self, x: Tensor) -> Tensor:
        """Return the predicted labels, (layer, token, d) -> (task, layer, token)."""
        best = torch.tensor([int(count.argmax()) for count in self.counts], device=x.device)
        return best[:, None, None].expand(-1, *x.shape[:2])


@dataclass(frozen=True, eq=False)
class TextScores:
    """Accuracy of each task and layer in each text, (task, layer, text); NaN for a text without labels."""

    letters: Shares
    """Over the letters only."""
    characters: Shares
    """Over all characters that have a label."""
    tokens: NDArray[np.int64]
    """Number of letters that have a label, (task,)."""

    @classmethod
    def measure(
        cls,
        probes: Reader,
        shards: Shards,
        names: Sequence[str],
        tasks: Sequence[Task],
        *,
        texts: Texts,
        alphabet: Alphabet,
    ) -> Self:
        """Score probes for these tasks on the chosen texts, in the order of their numbers."""
        shape = (len(tasks), len(names), int(texts.sum()))
        letters, characters = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
        tokens = np.zeros(len(tasks), np.int64)
        place = np.cumsum(texts) - 1  # of each text among the chosen ones
        for number in range(len(shards)):
            batch, cache = shards[number]
            here = chosen(batch, texts)
            if not len(here):
                continue
            labels = labels_of(batch, tasks, here)
            right = probes.predict(stacked(cache, names, here)) == labels[:, None]  # (task, layer, token)
            asked = labels != IGNORED
            rows = here // batch.cipher_ids.shape[1]
            index = batch.index.cpu().numpy()
            wanted = texts[index]
            of_letters = asked & is_letter(batch, alphabet).flatten()[here]
            tokens += of_letters.sum(1).cpu().numpy()
            letters[:, :, place[index[wanted]]] = _shares(right, of_letters, rows, len(batch))[:, :, wanted]
            characters[:, :, place[index[wanted]]] = _shares(right, asked, rows, len(batch))[:, :, wanted]
        return cls(letters, characters, tokens)


def _shares(right: Tensor, asked: Tensor, rows: Tensor, count: int) -> Shares:
    """Return the accuracy in each row of a batch, (task, layer, token) -> (task, layer, row)."""
    hits = torch.zeros(*right.shape[:2], count, device=right.device)
    hits.index_add_(2, rows, (right & asked[:, None]).float())
    total = torch.zeros(len(asked), 1, count, device=right.device).index_add_(2, rows, asked[:, None].float())
    return (hits / total).cpu().numpy()  # 0 / 0 is NaN


def count_labels(
    batches: Iterable[Batch], tasks: Sequence[Task], *, texts: Texts, alphabet: Alphabet
) -> list[NDArray[np.int64]]:
    """Count the labels of each task over the letters of the chosen texts, (class,) each."""
    counts = [np.zeros(task.classes, np.int64) for task in tasks]
    for batch in batches:
        tokens = chosen(batch, texts)
        tokens = tokens[is_letter(batch, alphabet).flatten()[tokens]]
        for labels, total in zip(labels_of(batch, tasks, tokens), counts, strict=True):
            total += np.bincount(labels[labels != IGNORED].cpu().numpy(), minlength=len(total))
    return counts
