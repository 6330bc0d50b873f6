"""The result of the errors-by-length analysis: the paper's figure of error counts and its two tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alice.metrics import SHORT, bin_names
from alice.plugins.builtin.errors_by_length import solvers as others
from alice.plugins.builtin.errors_by_length.solvers import SameTexts
from alice.plugins.builtin.suffixes import suffixes
from alice.plugins.builtin.traces import Ints
from alice.plugins.reproduce import paper
from alice.reports import Figure, Result, Table
from alice.reports.figures import bars
from alice.reports.stacked import stacked_shares
from alice.solving.evaluate import ErrorTable, Scores
from alice.statistics import Estimate, bayesian_bootstrap

WIDTH = 5
"""Width of the bins of length in the figure, as in the paper."""
GROUPS = (0, 1, 2, 3, 6, 11, 21)
"""Lowest number of errors of each group; the last has no upper end."""
PARTS = (f"<{SHORT}", f">={SHORT}")
CAVEATS = (
    "Figures of the paper are of models of 85M parameters on its own test set, those of other solvers each on a set of "
    "their own: they stand here for orientation, not for a ranking.",
    "A bin of five lengths may hold few texts; hovering says how many. Texts are the first ones of the source, so bins "
    "are as full as its lengths make them.",
    "An error of a mean is from a Bayesian bootstrap over texts; it says nothing about other training runs.",
)


@dataclass(frozen=True, eq=False)
class Measured:
    """One model's scores."""

    model: str
    """Name of the checkpoint."""
    variant: str
    """What kind of model it is."""
    scores: Scores
    """Length and error rate of each text."""
    table: ErrorTable
    """The same by part."""

    @property
    def errors(self) -> Ints:
        """Number of wrong characters in each text, (texts,)."""
        return np.rint(self.scores.errors * self.scores.lengths).astype(np.int64)


def report(measured: Sequence[Measured], same: SameTexts | None, *, rng: np.random.Generator) -> Result:
    """Put the scores into a result, and beside them what other solvers made of the first of the texts."""
    solvers = same.solvers if same is not None else {}
    tables = {"short-and-long": _solver_table(measured, same if solvers else None)}
    figures: dict[str, Figure] = {}
    arrays: dict[str, Any] = {}
    for suffix, found in zip(suffixes([found.model for found in measured]), measured, strict=True):
        tables[f"by-length{suffix}"] = _length_table(found, rng)
        figures[f"errors{suffix}"] = _errors_figure(found)
        arrays |= {f"lengths{suffix}": found.scores.lengths, f"errors{suffix}": found.errors}
    figures["means"] = _mean_figure(measured)
    summary, metrics = " ".join(map(_summary, measured)), _metrics(measured)
    if same is not None and solvers:
        summary, metrics = f"{summary}\n\n{others.told(same)}", metrics | others.metrics(same)
        tables["same-texts"] = others.table(same)
        figures["same-texts"] = others.figure(same)
        arrays |= {f"solver-errors-{number}": errors for number, errors in enumerate(same.errors.values(), start=1)}
    return Result(
        title="Errors by length",
        summary=summary,
        caveats=(*others.caveats(same), *CAVEATS) if same is not None else CAVEATS,
        metrics=metrics,
        tables=tables,
        figures=figures,
        arrays=arrays,
    )


def _summary(found: Measured) -> str:
    solved = float((found.errors == 0).mean())
    parts = [f"{_written(found.table.mean[part])} in texts of {part} characters" for part in PARTS]
    texts = f"{len(found.errors):,} texts" if len(found.errors) != 1 else "the only text"
    return f"{found.model} has {solved:.1%} of {texts} without an error. Its mean SER is {' and '.join(parts)}."


def _written(found: Estimate) -> str:
    return f"{found:.2f} %" if found.count else "unknown (no text)"


def _metrics(measured: Sequence[Measured]) -> dict[str, float | int]:
    metrics: dict[str, float | int] = {}
    for found in measured:
        of = f" of {found.model}" if len(measured) > 1 else ""
        for part in ("all", *PARTS):
            mean = found.table.mean[part]
            if mean.count:
                metrics[f"SER {part}{of}, %"] = mean.mean
            if mean.count > 1:
                metrics[f"SER {part}{of}, standard error"] = mean.error
        metrics[f"texts without an error{of}, %"] = 100 * float((found.errors == 0).mean())
    return metrics | {"texts": len(measured[0].errors)}


def group_names() -> list[str]:
    """Return the groups of error counts as a reader writes them: `0 errors` to `21 or more`."""
    names = []
    for low, beyond in zip(GROUPS, (*GROUPS[1:], None), strict=True):
        if beyond is None:
            names.append(f"{low} or more")
        else:
            names.append(str(low) if beyond == low + 1 else f"{low}-{beyond - 1}")
    return [f"{names[0]} errors", *names[1:]]


def error_counts(lengths: Ints, errors: Ints) -> tuple[Ints, Ints]:
    """Return the lower ends of the bins of length, (bins,), and how many texts have how many errors, (bins, groups)."""
    bins = lengths // WIDTH
    first = int(bins.min())
    counts = np.zeros((int(bins.max()) - first + 1, len(GROUPS)), dtype=np.int64)
    np.add.at(counts, (bins - first, np.digitize(errors, GROUPS[1:])), 1)
    return WIDTH * (first + np.arange(len(counts))), counts


def _errors_figure(found: Measured) -> Figure:
    starts, counts = error_counts(found.scores.lengths, found.errors)
    names = group_names()
    drawn = stacked_shares(
        counts, starts=starts, width=WIDTH, names=names, x_title="characters in the text", y_title="share of texts"
    )
    rows = [
        (int(start), int(start) + WIDTH - 1, name, int(part), int(row.sum()))
        for start, row in zip(starts, counts, strict=True)
        for name, part in zip(names, row, strict=True)
        if row.sum()
    ]
    data = Table(("length from", "length to", "errors", "texts", "texts of this length"), rows)
    caption = (
        f"{found.model}: share of texts with so many wrong characters, in bins of {WIDTH} lengths. Lighter is fewer "
        "errors. Hover over a bar for the number of texts."
    )
    return Figure(drawn, caption, data)


def _mean_figure(measured: Sequence[Measured]) -> Figure:
    names = [name for name in bin_names() if any(found.table.mean[name].count for found in measured)]
    means = {found.model: [found.table.mean[name].mean for name in names] for found in measured}
    spreads = {found.model: [found.table.mean[name].error for name in names] for found in measured}
    drawn = bars(means, labels=names, errors=spreads, x_title="characters in the text", y_title="mean SER, %")
    return Figure(drawn, "Mean symbol error rate in the paper's bins of length. Bars: one standard error.")


def _length_table(found: Measured, rng: np.random.Generator) -> Table:
    """Show the paper's first table: medians by length, beside the paper's."""
    printed = dict(zip(bin_names(), map(str, paper.MEDIAN_SER[found.variant]), strict=True))
    parts = found.scores.parts()
    rows: list[tuple[Any, ...]] = []
    for name, mean in found.table.mean.items():
        if mean.count:
            median = found.table.median[name]
            solved = bayesian_bootstrap(100.0 * (found.errors[parts[name]] == 0), rng)
            values = (*mean.cells, median.median, median.low, median.high)
            rows.append((name, mean.count, *values, printed.get(name), *solved.cells))
    columns = ("length", "texts", "mean", "± mean", "median", "16th", "84th", "paper's median", "solved", "± solved")
    caption = (
        f"{found.model}: symbol error rate by length, in percent: mean with its standard error, median with the 16th "
        f"and 84th percentile, and beside it what the paper has for {found.variant} with 85M parameters. Last, texts "
        "without any error (solved), in percent, with the standard error."
    )
    return Table(columns, rows, caption=caption)


def _solver_table(measured: Sequence[Measured], same: SameTexts | None) -> Table:
    """Show the paper's second table: mean error below and above 128 characters, for all solvers."""
    rows: list[tuple[Any, ...]] = []
    rows += [(found.model, "measured here", *_cells(found.table)) for found in measured]
    if same is not None:
        first = f"measured here, first {same.texts}"
        rows += [(name, first, *_cells(one)) for name, one in same.tables.items()]
    printed = {f"ALICE {name}, 85M": figures for name, figures in paper.MEAN_SER.items()}
    for name, figures in (printed | paper.OTHER_SOLVERS).items():
        rows.append((name, "the paper", *(value for figure in figures for value in (figure.mean, figure.error))))
    short, long = PARTS
    columns = ("solver", "from", f"{short}, %", f"± {short}", f"{long}, %", f"± {long}")
    caption = f"Mean symbol error rate in percent of texts below {SHORT} characters and of longer ones."
    return Table(columns, rows, caption=caption)


def _cells(table: ErrorTable) -> list[float | None]:
    return [value for part in PARTS for value in table.mean[part].cells]
