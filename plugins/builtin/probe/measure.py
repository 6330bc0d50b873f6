"""Trains probes on a model, on control tasks, and on a model with random weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from alice.plugins.builtin.random_twin import random_twin
from alice.plugins.builtin.traces import EXITS
from alice.plugins.context import RunContext
from alice.probes import (
    Kind,
    LayerProbes,
    MostFrequent,
    Reader,
    Shards,
    Shares,
    Task,
    Texts,
    TextScores,
    TokenPairs,
    control,
    count_labels,
    split_texts,
)
from alice.probes.tasks import tasks
from alice.text import Alphabet


@dataclass(frozen=True, eq=False)
class Reading:
    """Accuracy of one kind of probe for one target in each held-out text."""

    kind: Kind
    """Kind of probe."""
    task: Task
    """The target."""
    letters: Shares
    """Accuracy over the letters, (layer, text)."""
    characters: Shares
    """Accuracy over all characters that have a label, (layer, text)."""
    control: Shares
    """Accuracy on the control task over the letters, (layer, text)."""
    untrained: Shares
    """Accuracy of the same probe on a model with random weights over the letters, (layer, text)."""
    majority: Shares
    """Accuracy of the most frequent label of the training texts over the letters, (text,)."""
    tokens: int
    """Number of held-out letters."""


@dataclass(frozen=True, eq=False)
class Readings:
    """The accuracy of all probes of one model."""

    model: str
    """Name of the checkpoint."""
    trained_on: NDArray[np.int64]
    """Numbers of the training texts."""
    held_out: NDArray[np.int64]
    """Numbers of the held-out texts, (text,)."""
    each: tuple[Reading, ...]
    """One entry per kind and target."""

    def find(self, kind: str, target: str) -> Reading | None:
        """Return the reading of a kind and a target, if there is one."""
        found = (one for one in self.each if (one.kind, one.task.name) == (kind, target))
        return next(found, None)


def jobs(kind: Kind | Literal["both"], targets: Sequence[str]) -> dict[Kind, Sequence[str]]:
    """Return the targets of each kind of probe; with both kinds, the MLP reads only the letter if that is a target."""
    if kind != "both":
        return {kind: targets}
    return {"linear": targets, "mlp": ("letter",) if "letter" in targets else targets}


def measure(ctx: RunContext, asked: Mapping[Kind, Sequence[str]], *, hidden: int, epochs: int) -> Readings:
    """Train on three in four texts of a context and test on the others; `asked` has the targets of each kind."""
    rng = ctx.rng
    train, held = split_texts(sum(len(batch) for batch in ctx.batches), rng)
    known, alphabet = list(tasks(ctx.alphabet).values()), ctx.alphabet
    counts = count_labels(ctx.batches, known, texts=train, alphabet=alphabet)
    controls = {task.name: control(task, count, alphabet, rng) for task, count in zip(known, counts, strict=True)}
    by_name = {task.name: (task, count) for task, count in zip(known, counts, strict=True)}
    lab, untrained = _Lab.open(ctx, train, held), _Lab.open(random_twin(ctx), train, held)
    readings: list[Reading] = []
    for kind, targets in ctx.progress(list(asked.items()), f"Probing {ctx.checkpoint}"):
        wanted = [by_name[target][0] for target in targets]
        probes = LayerProbes(kind, hidden=hidden, epochs=epochs, seed=ctx.seed)
        found = lab.scores(probes, [*wanted, *(controls[target] for target in targets)])
        floor = lab.floor(wanted, [by_name[target][1] for target in targets])
        base = untrained.scores(probes, wanted)
        for number, task in enumerate(wanted):
            of_task = (found.letters[number], found.characters[number], found.letters[len(wanted) + number])
            rest = (base.letters[number], floor.letters[number, 0], int(found.tokens[number]))
            readings.append(Reading(kind, task, *of_task, *rest))
    return Readings(ctx.checkpoint, np.flatnonzero(train), np.flatnonzero(held), tuple(readings))


@dataclass(frozen=True, eq=False)
class _Lab:
    """Stored activations of a model, with the training and the held-out texts."""

    shards: Shards
    names: list[str]
    alphabet: Alphabet
    train: Texts
    held: Texts

    @classmethod
    def open(cls, ctx: RunContext, train: Texts, held: Texts) -> Self:
        return cls(ctx.store(*EXITS), ctx.model.match_hooks(*EXITS), ctx.alphabet, train, held)

    def scores(self, probes: LayerProbes, asked: Sequence[Task]) -> TextScores:
        """Train probes for all tasks in one pass, and test them."""
        probes.fit(TokenPairs(self.shards, self.names, asked, self.train), [task.classes for task in asked])
        return self._test(probes, self.names, asked)

    def floor(self, asked: Sequence[Task], counts: Sequence[NDArray[np.int64]]) -> TextScores:
        """Score the most frequent label in the same way; one layer is enough."""
        return self._test(MostFrequent(counts), self.names[:1], asked)

    def _test(self, probes: Reader, names: list[str], asked: Sequence[Task]) -> TextScores:
        return TextScores.measure(probes, self.shards, names, asked, texts=self.held, alphabet=self.alphabet)
