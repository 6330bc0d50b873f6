"""Trains probes on a model, on control tasks, and on models with random weights, for several splits of the texts."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.plugins.builtin.probe.use import Use, measure_use
from alice.plugins.builtin.random_twin import random_twin
from alice.plugins.builtin.traces import EXITS
from alice.plugins.context import RunContext
from alice.probes import (
    Kind,
    LayerProbes,
    MostFrequent,
    OnlineCode,
    Reader,
    Shards,
    Shares,
    Splits,
    Task,
    Texts,
    TextScores,
    TokenPairs,
    control,
    count_labels,
    losses,
    online_code,
    split_texts,
)
from alice.probes.layers import TOLERANCE
from alice.probes.online import BLOCKS
from alice.probes.tasks import tasks
from alice.statistics import Floats

PENALTIES = (300.0, 10.0, 0.3)
"""Penalties on the weights of linear probes to choose from."""
TUNED = 100
"""Largest number of texts on which penalties and layers are chosen."""
EVERY = 2
"""Linear probes are trained on every second character of a text: more texts help more than more of the same text."""
ROUGH = 4
"""How much larger the tolerance is while penalties are compared, and for control tasks and random models."""
LONGER = 10
"""How much smaller the tolerance is in the longer run that tests whether probes have converged."""
ERASED = 50
"""Largest number of texts from which targets are erased; each is run on from every layer for every target."""
ONCE = (1 / 4, 1.0)
"""Shares of the texts for probes whose code length is not reported; the first only saves passes over the second."""


@dataclass(frozen=True, eq=False)
class Tuning:
    """What was chosen on texts that no split holds out, for each layer and target of the linear probes."""

    penalty: Tensor
    """The penalty with the smallest validation loss, (layer, task)."""
    validation: Floats
    """Accuracy on the validation texts with this penalty, (layer, task)."""
    longer: Floats
    """How far a longer run on a subsample lowers the loss, in nats per label, (layer, task)."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What one kind of probe reads of one target; shares are NaN for texts that a split does not hold out."""

    kind: Kind
    """Kind of probe."""
    task: Task
    """The target."""
    letters: Shares
    """Accuracy over the letters, (split, layer, text)."""
    characters: Shares
    """Accuracy over all characters that have a label, (split, layer, text)."""
    control: Shares
    """Accuracy on the control task over the letters, (split, layer, text); each split has its own labels."""
    untrained: Shares
    """Accuracy on a model with random weights over the letters, (split, layer, text); each split has its own model."""
    majority: Shares
    """Accuracy of the most frequent label of the training texts over the letters, (split, text)."""
    tokens: int
    """Number of held-out letters."""
    bits: Floats
    """Online code length in bits per label, (split, layer); NaN for MLPs."""
    uniform: float
    """Bits per label of a uniform code."""
    gap: Floats
    """Largest estimated distance of the loss from its optimum over the splits, in nats, (layer,); NaN for MLPs."""
    longer: Floats
    """How far a longer run on a subsample lowers the loss, in nats, (layer,); NaN for MLPs."""
    validation: Floats
    """Accuracy on validation texts, from which the best layer is chosen, (layer,); NaN for MLPs."""


@dataclass(frozen=True, eq=False)
class Readings:
    """The accuracy of all probes of one model, and what it loses without what they read."""

    model: str
    """Name of the checkpoint."""
    held_out: NDArray[np.int64]
    """Numbers of the texts that some split holds out, (text,)."""
    trained_on: int
    """Number of training texts of each split."""
    each: tuple[Reading, ...]
    """One entry per kind and target."""
    use: Use
    """Effects of erasing the targets of the linear probes, on the texts that the first split holds out."""

    def find(self, kind: str, target: str) -> Reading | None:
        """Return the reading of a kind and a target, if there is one."""
        found = (one for one in self.each if (one.kind, one.task.name) == (kind, target))
        return next(found, None)


def jobs(kind: Kind | Literal["both"], targets: Sequence[str]) -> dict[Kind, Sequence[str]]:
    """Return the targets of each kind of probe; with both kinds, the MLP reads only the letter if that is a target."""
    if kind != "both":
        return {kind: targets}
    return {"linear": targets, "mlp": ("letter",) if "letter" in targets else targets}


def measure(
    ctx: RunContext, asked: Mapping[Kind, Sequence[str]], *, hidden: int, epochs: int, repeats: int, erasures: int
) -> Readings:
    """Probe a model on several splits of its texts; `asked` has the targets of each kind of probe."""
    rng = ctx.rng
    splits = Splits.draw(sum(len(batch) for batch in ctx.batches), repeats, rng)
    known = tasks(ctx.alphabet)
    lab = _Lab.open(ctx)
    readings: list[Reading] = []
    for kind, targets in asked.items():
        wanted = [known[target] for target in targets]
        probes, tuned = LayerProbes(kind, hidden=hidden, epochs=epochs, seed=ctx.seed), None
        if kind == "linear":
            tuned = tune(lab, wanted, splits.tuning, rng)
            probes.penalty = tuned.penalty
        turns = ctx.progress(splits.held if kind == "linear" else splits.held[:1], f"Probing {ctx.checkpoint}, {kind}")
        rounds = [_round(ctx, lab, probes, wanted, held, number=number) for number, held in enumerate(turns)]
        readings += _readings(kind, wanted, splits, rounds, tuned)
    train, held = ~splits.held[0], _texts(np.flatnonzero(splits.held[0])[:ERASED], len(splits.tuning))
    erased = [known[target] for target in asked.get("linear", ())]
    use = measure_use(ctx, lab.shards, lab.names, erased, train=train, held=held, draws=erasures)
    return Readings(ctx.checkpoint, np.flatnonzero(~splits.tuning), int(train.sum()), tuple(readings), use)


@dataclass(frozen=True, eq=False)
class _Lab:
    """Stored activations of a model."""

    ctx: RunContext
    shards: Shards
    names: list[str]

    @classmethod
    def open(cls, ctx: RunContext) -> Self:
        return cls(ctx, ctx.store(*EXITS), ctx.model.match_hooks(*EXITS))

    def pairs(self, asked: Sequence[Task], texts: Texts) -> TokenPairs:
        return TokenPairs(self.shards, self.names, asked, texts, every=EVERY)

    def test(self, probes: Reader, asked: Sequence[Task], texts: Texts, *, layers: int | None = None) -> TextScores:
        names = self.names[:layers]
        return TextScores.measure(probes, self.shards, names, asked, texts=texts, alphabet=self.ctx.alphabet)


@dataclass(frozen=True, eq=False)
class _Round:
    """What was measured on one split, (task, layer, text) each."""

    held: Texts
    code: OnlineCode
    found: TextScores
    control: TextScores
    untrained: TextScores
    floor: TextScores


def tune(lab: _Lab, asked: Sequence[Task], texts: Texts, rng: np.random.Generator) -> Tuning:
    """Choose the penalty of each layer and task on a quarter of some texts, after training on the others."""
    numbers, classes = np.flatnonzero(texts)[:TUNED], [task.classes for task in asked]
    learn, check = (_texts(numbers[part], len(texts)) for part in split_texts(len(numbers), rng))
    known, new = lab.pairs(asked, learn), lab.pairs(asked, check)
    tried: list[LayerProbes] = []
    for penalty in PENALTIES:
        probes = LayerProbes(penalty=penalty, tolerance=ROUGH * TOLERANCE)
        tried.append(probes.fit(known, classes, start=tried[-1] if tried else None))
    best = torch.stack([losses(probes, new)[0] for probes in tried]).argmin(0)  # (layer, task)
    scores = np.stack([np.nanmean(lab.test(probes, asked, check).letters, -1).T for probes in tried])
    chosen = torch.tensor(PENALTIES)[best]
    short = LayerProbes(penalty=chosen).fit(known, classes)
    long = LayerProbes(penalty=chosen, tolerance=TOLERANCE / LONGER).fit(known, classes, start=short)
    gap = (short.objective_ - long.objective_).cpu().numpy()
    return Tuning(chosen, np.take_along_axis(scores, best[None].cpu().numpy(), 0)[0], gap)


def _round(
    ctx: RunContext, lab: _Lab, probes: LayerProbes, asked: Sequence[Task], held: Texts, *, number: int
) -> _Round:
    """Train and test the probes of one split, with control tasks and a model with random weights of its own."""
    rng, train = np.random.default_rng((ctx.seed, number)), ~held
    counts = count_labels(ctx.batches, asked, texts=train, alphabet=ctx.alphabet)
    controls = [control(task, count, ctx.alphabet, rng) for task, count in zip(asked, counts, strict=True)]
    twin = _Lab.open(random_twin(ctx, draw=number))
    code = _trained(lab, probes, asked, train, rng, BLOCKS)
    rough = copy(probes)
    rough.tolerance *= ROUGH
    memorized = _trained(lab, rough, controls, train, rng, ONCE)
    random = _trained(twin, rough, asked, train, rng, ONCE)
    return _Round(
        held,
        code,
        lab.test(code.probes, asked, held),
        lab.test(memorized.probes, controls, held),
        twin.test(random.probes, asked, held),
        lab.test(MostFrequent(counts), asked, held, layers=1),
    )


def _trained(
    lab: _Lab,
    probes: LayerProbes,
    asked: Sequence[Task],
    texts: Texts,
    rng: np.random.Generator,
    blocks: Sequence[float],
) -> OnlineCode:
    """Train probes with these options; the code length is NaN for MLPs."""
    classes = [task.classes for task in asked]
    if probes.kind == "linear":
        return online_code(probes, lambda some: lab.pairs(asked, some), classes, texts=texts, rng=rng, blocks=blocks)
    trained = copy(probes).fit(lab.pairs(asked, texts), classes)
    unknown = torch.full((len(lab.names), len(classes)), torch.nan, dtype=torch.float64)
    return OnlineCode(trained, unknown, torch.tensor(classes, dtype=torch.float64).log2())


def _readings(
    kind: Kind, asked: Sequence[Task], splits: Splits, rounds: Sequence[_Round], tuned: Tuning | None
) -> Iterator[Reading]:
    """Put the splits together, target by target."""
    tested = np.flatnonzero(~splits.tuning)

    def together(scores: Sequence[Shares]) -> Shares:
        """Return (split, layer, text) from the scores of each split, (layer, text), over its own texts."""
        found = np.full((len(rounds), len(scores[0]), len(tested)), np.nan, np.float32)
        for row, one, values in zip(found, rounds, scores, strict=True):
            row[:, one.held[tested]] = values
        return found

    unknown = np.full(len(rounds[0].found.letters[0]), np.nan)
    for number, task in enumerate(asked):
        fits = [one.code.probes.fit_ for one in rounds]
        gaps = [fit.gap[:, number].cpu().numpy() for fit in fits if fit is not None]
        yield Reading(
            kind,
            task,
            together([one.found.letters[number] for one in rounds]),
            together([one.found.characters[number] for one in rounds]),
            together([one.control.letters[number] for one in rounds]),
            together([one.untrained.letters[number] for one in rounds]),
            together([one.floor.letters[number] for one in rounds])[:, 0],
            sum(int(one.found.tokens[number]) for one in rounds),
            np.stack([one.code.bits[:, number].numpy() for one in rounds]),
            float(rounds[0].code.uniform[number]),
            np.max(gaps, 0) if gaps else unknown,
            tuned.longer[:, number] if tuned else unknown,
            tuned.validation[:, number] if tuned else unknown,
        )


def _texts(numbers: NDArray[np.int64], count: int) -> Texts:
    found = np.zeros(count, dtype=bool)
    found[numbers] = True
    return found
