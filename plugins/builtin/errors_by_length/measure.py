"""Scores models over all texts, and models and other solvers over the first texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from alice.plugins.builtin.solver_scores import ciphertexts, run_solvers, solver_names, why_not
from alice.plugins.context import RunContext
from alice.solving import ErrorTable, Scores, join_scores, score_batch
from alice.statistics import Estimate, Floats, Ints, PairedBootstrap, bayesian_bootstrap

APART = ", apart"
"""Ends the name of a part that has only the texts without a passage from another split."""


@dataclass(frozen=True, eq=False)
class ModelErrors:
    """The errors of one model over all texts."""

    model: str
    """Name of the checkpoint."""
    variant: str
    """Variant of the model."""
    scores: Scores
    """Length and error rate of each text."""
    table: ErrorTable
    """Error rates in percent by length."""
    solved: dict[str, Estimate]
    """Texts without an error in percent, by length."""

    @property
    def errors(self) -> Ints:
        """Number of wrong characters in each text, (texts,)."""
        return count_errors(self.scores)


@dataclass(frozen=True)
class Difference:
    """How much the error rate of a model or solver differs from that of another on the same texts."""

    model: str
    """Name of the model or solver."""
    other: str
    """What it is compared with."""
    length: str
    """Part of the texts."""
    found: Estimate
    """Its symbol error rate minus the other's in percentage points, with the error of a paired comparison."""
    interval: tuple[float, float]
    """95 % interval of the difference."""


@dataclass(frozen=True, eq=False)
class SameTexts:
    """Scores of models and solvers on the first texts."""

    texts: int
    """Number of texts."""
    models: dict[str, ErrorTable]
    """Error rates of each model in percent, by name."""
    solvers: dict[str, ErrorTable]
    """Error rates of each other solver in percent, by name."""
    learned: dict[str, int]
    """Number of training texts that each solver learned from."""
    missing: tuple[str, ...]
    """Why models or solvers were left out, a sentence each."""
    errors: dict[str, Floats]
    """Symbol error rate of each solver as a fraction, (texts,)."""
    differences: tuple["Difference", ...] = ()
    """Each of them against the first model, on these texts, and the first solver against the others."""
    apart: dict[str, ErrorTable] = field(default_factory=dict)
    """The tables of all of them for the texts that share no passage with a training text, if these were looked for."""

    @property
    def tables(self) -> dict[str, ErrorTable]:
        """All error rates by name: models first, then other solvers."""
        return self.models | self.solvers


def score_models(ctx: RunContext) -> list[ModelErrors]:
    """Score each model of a context over its texts."""
    found = []
    for one in ctx.each:
        rng = ctx.rng  # the same weights of the texts for each model
        read = partial(score_batch, one.model)
        scores = join_scores(one.map(read, one.batches, f"Reading with {one.checkpoint}"))
        parts = {name: part for name, part in scores.parts().items() if part.any()}
        solved = {
            name: bayesian_bootstrap(100.0 * (count_errors(scores)[part] == 0), rng) for name, part in parts.items()
        }
        found.append(ModelErrors(one.checkpoint, one.model.config.variant, scores, scores.table(ctx.rng), solved))
    return found


def count_errors(scores: Scores) -> Ints:
    """Return the number of wrong characters in each text, (texts,)."""
    return np.rint(scores.errors * scores.lengths).astype(np.int64)


def model_differences(ctx: RunContext, models: Sequence[ModelErrors]) -> tuple[Difference, ...]:
    """Compare each further model with the first on the texts that both read."""
    same = [found for one, found in zip(ctx.each, models, strict=True) if why_not(one, ctx) is None]
    return _differences({found.model: found.scores.errors for found in same}, same[0].scores.parts(), ctx.rng)


def _differences(
    errors: dict[str, Floats], parts: dict[str, NDArray[np.bool_]], rng: np.random.Generator
) -> tuple[Difference, ...]:
    """Compare columns of errors with the first, for every part of the texts."""
    names, values = list(errors), 100 * np.column_stack(list(errors.values()))  # (texts, columns)
    found = []
    for part, chosen in parts.items():
        if len(names) < 2 or chosen.sum() < 2:
            continue
        against_first = PairedBootstrap(values[chosen], rng).difference(np.arange(1, len(names)), 0)
        rows = zip(names[1:], against_first.estimates, against_first.interval().tolist(), strict=True)
        found += [Difference(name, names[0], part, one, (low, high)) for name, one, (low, high) in rows]
    return tuple(found)


def compare(ctx: RunContext, models: Sequence[ModelErrors], names: Sequence[str], *, apart: bool = False) -> SameTexts:
    """Run solvers over the texts of a context; `models` have scores for these texts and possibly more."""
    texts = ciphertexts(ctx)
    lengths = np.array([len(plain) for _, plain in texts])
    tables = {
        found.model: Scores(found.scores.lengths[: len(texts)], found.scores.errors[: len(texts)]).table(ctx.rng)
        for one, found in zip(ctx.each, models, strict=True)
        if why_not(one, ctx) is None
    }
    solved, failed = run_solvers(ctx, texts, dict.fromkeys(names))
    unread = [reason for one in ctx.each if (reason := why_not(one, ctx))] if solved else []
    shown = solver_names([one.solver for one in solved], tables)
    errors = {found.model: found.scores.errors[: len(texts)] for found in models if found.model in tables}
    errors |= {shown[one.solver]: one.errors for one in solved}
    whole = Scores(lengths, next(iter(errors.values())))
    parts, alone = whole.parts(), np.ones(len(texts), dtype=bool)
    if apart:
        alone = ~ctx.overlapping()
        parts |= {f"{name}{APART}": part & alone for name, part in parts.items()}
    differences = _differences(errors, parts, ctx.rng)
    first, *others = shown.values() if solved else [""]
    for other in others:
        differences += _differences({other: errors[other], first: errors[first]}, parts, ctx.rng)
    return SameTexts(
        len(texts),
        tables,
        {shown[one.solver]: Scores(lengths, one.errors).table(ctx.rng) for one in solved},
        {shown[one.solver]: one.learned for one in solved},
        (*unread, *failed),
        {shown[one.solver]: one.errors for one in solved},
        differences,
        {name: Scores(lengths, values).only(alone).table(ctx.rng) for name, values in errors.items()} if apart else {},
    )
