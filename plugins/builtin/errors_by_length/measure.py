"""Scores models over all texts, and models and other solvers over the first texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alice.plugins.builtin.solver_scores import ciphertexts, run_solvers, solver_names, why_not
from alice.plugins.context import RunContext
from alice.solving import ErrorTable, Scores, score
from alice.statistics import Estimate, Floats, Ints, bayesian_bootstrap


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

    @property
    def tables(self) -> dict[str, ErrorTable]:
        """All error rates by name: models first, then other solvers."""
        return self.models | self.solvers


def score_models(ctx: RunContext) -> list[ModelErrors]:
    """Score each model of a context over its texts."""
    rng, found = ctx.rng, []
    for one in ctx.each:
        scores = score(one.model, ctx.progress(one.batches, f"Reading with {one.checkpoint}"))
        parts = {name: part for name, part in scores.parts().items() if part.any()}
        solved = {
            name: bayesian_bootstrap(100.0 * (count_errors(scores)[part] == 0), rng) for name, part in parts.items()
        }
        found.append(ModelErrors(one.checkpoint, one.model.config.variant, scores, scores.table(ctx.rng), solved))
    return found


def count_errors(scores: Scores) -> Ints:
    """Return the number of wrong characters in each text, (texts,)."""
    return np.rint(scores.errors * scores.lengths).astype(np.int64)


def compare(ctx: RunContext, models: Sequence[ModelErrors], names: Sequence[str]) -> SameTexts:
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
    return SameTexts(
        len(texts),
        tables,
        {shown[one.solver]: Scores(lengths, one.errors).table(ctx.rng) for one in solved},
        {shown[one.solver]: one.learned for one in solved},
        (*unread, *failed),
        {shown[one.solver]: one.errors for one in solved},
    )
