"""Other solvers beside the models of a run: their errors by length on exactly the same texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alice.metrics import bin_names
from alice.plugins.builtin.solver_runs import ciphertexts, run_solvers, why_not
from alice.plugins.context import RunContext
from alice.plugins.solvers import check_solver, solvers_of
from alice.reports import Figure, Table
from alice.reports.figures import bars
from alice.solving.evaluate import ErrorTable, Scores


@dataclass(frozen=True, eq=False)
class SameTexts:
    """Models and other solvers on the same texts, the first ones of the run."""

    texts: int
    """How many."""
    models: dict[str, ErrorTable]
    """Errors of each model, by its name."""
    solvers: dict[str, ErrorTable]
    """Errors of each other solver, by its name."""
    learned: dict[str, int]
    """Training texts that each solver learned from in this run."""
    missing: tuple[str, ...]
    """Why a model or a solver is not there."""
    errors: dict[str, "np.ndarray[Any, np.dtype[np.float64]]"]
    """Symbol error rates of each solver, (texts,)."""

    @property
    def tables(self) -> dict[str, ErrorTable]:
        """Models first, then the others."""
        return self.models | self.solvers


def check_solvers(ctx: RunContext, names: Sequence[str]) -> None:
    """Refuse names that no solver of the run has."""
    for name in names:
        check_solver(name, solvers_of(ctx))


def compare(ctx: RunContext, scores: Sequence[Scores], names: Sequence[str]) -> SameTexts:
    """Let solvers have the texts of a context; `scores` are those of each of its models, over these texts and more."""
    texts = ciphertexts(ctx)
    lengths = np.array([len(plain) for _, plain in texts])
    models = {
        one.checkpoint: Scores(found.lengths[: len(texts)], found.errors[: len(texts)]).table(ctx.rng)
        for one, found in zip(ctx.each, scores, strict=True)
        if why_not(one, ctx) is None
    }
    solved, failed = run_solvers(ctx, texts, dict.fromkeys(names))
    others = [reason for one in ctx.each if (reason := why_not(one, ctx))] if solved else []
    called = {one.solver: f"{one.solver} (solver)" if one.solver in models else one.solver for one in solved}
    return SameTexts(
        len(texts),
        models,
        {called[one.solver]: Scores(lengths, one.errors).table(ctx.rng) for one in solved},
        {called[one.solver]: one.learned for one in solved},
        (*others, *failed),
        {called[one.solver]: one.errors for one in solved},
    )


def told(found: SameTexts) -> str:
    """Say in a sentence how the solvers and the models fare."""
    figures = [f"{name} {table.mean['all'].mean:.2f} %" for name, table in found.tables.items()]
    texts = f"the first {found.texts} texts" if found.texts > 1 else "the first text"
    return f"On {texts} alone the mean SER is: {', '.join(figures)}."


def metrics(found: SameTexts) -> dict[str, float | int]:
    """Return the mean error of every model and solver on these texts."""
    return {f"SER of {name}, first {found.texts}, %": one.mean["all"].mean for name, one in found.tables.items()}


def caveats(found: SameTexts) -> tuple[str, ...]:
    """Say what not to conclude from the comparison."""
    learned = [f"{name} from {count:,} of its texts" for name, count in found.learned.items() if count]
    source = f" ({', '.join(learned)})" if learned else ""
    text = (
        f"Other solvers are compared with models on the first {found.texts} texts only. Those that count n-grams do "
        f"so in the training side of the same corpus{source}; that is another amount than a model was trained on, and "
        "quotations that differ in a word or two may be on both sides, which helps n-grams as it helps a model."
    )
    return (*found.missing, text) if found.solvers else found.missing


def table(found: SameTexts) -> Table:
    """Show the mean error by length, a column for each model and solver."""
    some = next(iter(found.tables.values()))
    columns = ["length", "texts", *(title for name in found.tables for title in (name, f"± {name}"))]
    rows: list[tuple[Any, ...]] = [
        (part, mean.count, *(cell for one in found.tables.values() for cell in one.mean[part].cells))
        for part, mean in some.mean.items()
        if mean.count
    ]
    caption = (
        f"The same {found.texts} texts in the same run: mean symbol error rate in percent, with its standard error, of "
        "every model and of the other solvers."
    )
    return Table(columns, rows, caption=caption)


def figure(found: SameTexts) -> Figure:
    """Draw the mean error by length, a bar for each model and solver."""
    some = next(iter(found.tables.values()))
    names = [name for name in bin_names() if some.mean[name].count]
    means = {who: [one.mean[name].mean for name in names] for who, one in found.tables.items()}
    spreads = {who: [one.mean[name].error for name in names] for who, one in found.tables.items()}
    drawn = bars(means, labels=names, errors=spreads, x_title="characters in the text", y_title="mean SER, %")
    caption = f"Models and other solvers on the same {found.texts} texts. Bars: one standard error."
    return Figure(drawn, caption)
