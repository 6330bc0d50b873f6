"""The result of errors-by-length: errors by length, and the paper's two tables next to ours."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.metrics import SHORT, bin_names
from alice.plugins import paper
from alice.plugins.builtin.errors_by_length.measure import APART, Difference, ModelErrors, SameTexts
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import bars, stacked_shares
from alice.solving import ErrorTable
from alice.statistics import Estimate, Ints
from alice.text import SHARED

ALL, BELOW, ABOVE = "all", f"<{SHORT}", f">={SHORT}"
"""Parts of the texts, besides the bins of length."""
WIDTH = 5
"""Width of the bins of length in the figure, as in the paper."""
GROUPS = (0, 1, 2, 3, 6, 11, 21)
"""Smallest number of errors of each group; the last group is open."""
SER_LABEL = "symbol error rate"
CAVEATS = (
    "The paper's figures are for models of 85M parameters on its own test set, and those of other solvers for test "
    "sets of their own. They are for orientation and do not rank anything.",
    "A bin of five lengths may hold few texts; hover over a bar for the number. The texts are the first ones of the "
    "source, so the bins follow the corpus's distribution of lengths.",
    "Standard errors come from a Bayesian bootstrap over texts; they do not cover the variation between trainings.",
)


def report(models: Sequence[ModelErrors], compared: SameTexts | None, differences: Sequence[Difference] = ()) -> Result:
    """Return the scores as a result, with the comparison if any solver succeeded."""
    same = compared if compared is not None and compared.solvers else None
    figures = {"means": _mean_figure(models)}
    tables = {"short-and-long": _short_and_long_table(models, same), "by-length": _length_table(models)}
    arrays: dict[str, Any] = {}
    summary, metrics = " ".join(map(_summary, models)), _metrics(models)
    if differences:
        tables["differences"] = _difference_table(differences, "all texts")
    if same is not None:
        tables["differences-same-texts"] = _difference_table(same.differences, _texts(same.texts))
        summary, metrics = f"{summary}\n\n{_comparison_summary(same)}", metrics + _comparison_metrics(same)
        tables["same-texts"] = _comparison_table(same)
        figures["same-texts"] = _comparison_figure(same)
        arrays |= {model_key("ser-same-texts", name): 100 * errors for name, errors in same.errors.items()}
    for found in models:
        figures[model_key("errors", found.model)] = _errors_figure(found)
        arrays[model_key("lengths", found.model)] = found.scores.lengths
        arrays[model_key("ser", found.model)] = 100 * found.scores.errors
        arrays[model_key("errors", found.model)] = found.errors
    return Result(
        title="Errors by length",
        summary=summary,
        caveats=(*_comparison_caveats(compared), *CAVEATS),
        metrics=metrics,
        tables=tables,
        figures=figures,
        arrays=arrays,
    )


def _summary(found: ModelErrors) -> str:
    short, long = (_percent(found.table.mean[part]) for part in (BELOW, ABOVE))
    texts = f"{len(found.errors):,} texts" if len(found.errors) != 1 else "the only text"
    return (
        f"{found.model} solves {found.solved[ALL].mean:.1f} % of {texts} without an error. Its mean SER is {short} in "
        f"texts of fewer than {SHORT} characters and {long} in longer ones."
    )


def _percent(found: Estimate) -> str:
    return f"{found:.2f} %" if found.count else "unknown (no texts)"


def _metrics(models: Sequence[ModelErrors]) -> list[Metric]:
    names = {
        ALL: ("ser", SER_LABEL),
        BELOW: ("ser-short", f"{SER_LABEL} below {SHORT} characters"),
        ABOVE: ("ser-long", f"{SER_LABEL} from {SHORT} characters"),
    }
    metrics: list[Metric] = []
    for found in models:
        for part, (name, label) in names.items():
            mean = found.table.mean[part]
            if mean.count:
                metrics.append(Metric(name, mean.mean, mean.error, unit="%", model=found.model, label=label))
        solved = found.solved[ALL]
        label = "texts without an error"
        metrics.append(
            Metric("texts-without-error", solved.mean, solved.error, unit="%", model=found.model, label=label)
        )
    return [*metrics, Metric("texts", len(models[0].errors))]


def group_names() -> list[str]:
    """Return the names of the groups of error counts: `0 errors` to `21 or more`."""
    names = []
    for low, beyond in zip(GROUPS, (*GROUPS[1:], None), strict=True):
        if beyond is None:
            names.append(f"{low} or more")
        else:
            names.append(str(low) if beyond == low + 1 else f"{low}-{beyond - 1}")
    return [f"{names[0]} errors", *names[1:]]


def error_counts(lengths: Ints, errors: Ints) -> tuple[Ints, Ints]:
    """Return the lower ends of the bins of length, (bins,), and the number of texts by error count, (bins, groups)."""
    bins = lengths // WIDTH
    first = int(bins.min())
    counts = np.zeros((int(bins.max()) - first + 1, len(GROUPS)), dtype=np.int64)
    np.add.at(counts, (bins - first, np.digitize(errors, GROUPS[1:])), 1)
    return WIDTH * (first + np.arange(len(counts))), counts


def _errors_figure(found: ModelErrors) -> Figure:
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
    data = Table(("length_from", "length_to", "errors", "texts", "texts_of_this_length"), rows)
    caption = (
        f"{found.model}: share of texts by number of wrong characters, in bins of {WIDTH} lengths. Lighter means fewer "
        "errors. Hover over a bar for the number of texts."
    )
    return Figure(drawn, caption, data)


def _mean_figure(models: Sequence[ModelErrors]) -> Figure:
    drawn = _bars({found.model: found.table for found in models})
    return Figure(drawn, "Mean symbol error rate in the paper's bins of length. Error bars: one standard error.")


def _comparison_figure(same: SameTexts) -> Figure:
    texts = _texts(same.texts)
    return Figure(_bars(same.tables), f"Models and other solvers on {texts}. Error bars: one standard error.")


def _bars(tables: dict[str, ErrorTable]) -> Any:
    names = [name for name in bin_names() if any(table.mean[name].count for table in tables.values())]
    return bars(
        {model: [table.mean[name].mean for name in names] for model, table in tables.items()},
        labels=names,
        errors={model: [table.mean[name].error for name in names] for model, table in tables.items()},
        x_title="characters in the text",
        y_title="mean SER, %",
    )


def _length_table(models: Sequence[ModelErrors]) -> Table:
    """Return the paper's first table: medians by length, with the paper's next to ours."""
    rows: list[tuple[Any, ...]] = []
    for found in models:
        printed = dict(zip(bin_names(), paper.MEDIAN_SER[found.variant], strict=True))
        for name, mean in found.table.mean.items():
            if mean.count:
                ours, theirs = found.table.median[name], printed.get(name)
                row = (found.model, name, mean.count, *mean.cells, ours.median, ours.low, ours.high)
                printed_cells = (theirs.median, theirs.low, theirs.high) if theirs else (None, None, None)
                rows.append((*row, *printed_cells, *found.solved[name].cells))
    columns = (
        *("model", "length", "texts", "ser", "ser_error", "median", "low", "high"),
        *("paper_median", "paper_low", "paper_high", "solved", "solved_error"),
    )
    labels = {
        "length": "characters",
        "ser": "mean SER, %",
        "median": "median, %",
        "low": "16th",
        "high": "84th",
        "paper_median": "paper's median, %",
        "paper_low": "16th",
        "paper_high": "84th",
        "solved": "solved, %",
    }
    caption = (
        "Symbol error rate by length: mean with its standard error, median with the 16th and 84th percentile, and what "
        "the paper prints for the same variant with 85M parameters. Solved: texts without an error."
    )
    return Table(columns, rows, caption, labels)


def _short_and_long_table(models: Sequence[ModelErrors], same: SameTexts | None) -> Table:
    """Return the paper's second table: mean error below and from 128 characters, for all solvers."""
    rows: list[tuple[Any, ...]] = [
        (found.model, "model", "measured", len(found.errors), *_short_and_long(found.table)) for found in models
    ]
    for kind, tables in (("model", same.models), ("solver", same.solvers)) if same is not None else ():
        rows += [(name, kind, "measured-first", table.texts, *_short_and_long(table)) for name, table in tables.items()]
    printed = {f"ALICE {name}, 85M": ("model", means) for name, means in paper.MEAN_SER.items()}
    printed |= {name: ("solver", means) for name, means in paper.OTHER_SOLVERS.items()}
    for name, (kind, means) in printed.items():
        rows.append((name, kind, "paper", None, *(cell for one in means for cell in (one.mean, one.error))))
    columns = ("model", "kind", "source", "texts", "ser_short", "ser_short_error", "ser_long", "ser_long_error")
    labels = {"model": "model or solver", "ser_short": f"SER below {SHORT}, %", "ser_long": f"SER from {SHORT}, %"}
    caption = (
        f"Mean symbol error rate of texts below {SHORT} characters and of longer ones, with its standard error. "
        "Source: measured here, measured on the first texts only, or printed in the paper."
    )
    return Table(columns, rows, caption, labels)


def _short_and_long(table: ErrorTable) -> list[float | None]:
    return [value for part in (BELOW, ABOVE) for value in table.mean[part].cells]


def _texts(count: int) -> str:
    return f"the first {count} texts" if count > 1 else "the first text"


def _comparison_summary(same: SameTexts) -> str:
    means = [f"{name} {table.mean[ALL].mean:.2f} %" for name, table in same.tables.items()]
    return f"The mean SER on {_texts(same.texts)} alone is: {', '.join(means)}."


def _comparison_metrics(same: SameTexts) -> list[Metric]:
    label = f"{SER_LABEL} on {_texts(same.texts)}"
    means = {name: table.mean[ALL] for name, table in same.tables.items()}
    return [
        Metric("ser-same-texts", mean.mean, mean.error, unit="%", model=name, label=label)
        for name, mean in means.items()
    ]


def _comparison_caveats(compared: SameTexts | None) -> tuple[str, ...]:
    if compared is None or not compared.solvers:
        return compared.missing if compared is not None else ()
    learned = [f"{name} in {count:,} texts" for name, count in compared.learned.items() if count]
    counted = f" ({', '.join(learned)})" if learned else ""
    return (
        *compared.missing,
        f"Models and other solvers are compared on {_texts(compared.texts)} only. Solvers that count n-grams do so in "
        f"the training split of the same corpus{counted}, which is not the amount of text that a model was trained on. "
        "Near duplicates of a text may be in both splits, which helps n-grams as well as models.",
    )


def _comparison_table(same: SameTexts) -> Table:
    rows = [
        (name, kind, part, mean.count, *mean.cells)
        for kind, tables in (("model", same.models), ("solver", same.solvers))
        for name, table in tables.items()
        for part, mean in _means(table, same.apart.get(name)).items()
        if mean.count
    ]
    caption = f"Mean symbol error rate of every model and solver on {_texts(same.texts)}, by length."
    if same.apart:
        caption += f" Texts apart share no {SHARED} characters in a row with a text of another split."
    labels = {"model": "model or solver", "length": "characters", "ser": "mean SER, %"}
    return Table(("model", "kind", "length", "texts", "ser", "ser_error"), rows, caption, labels)


def _means(table: ErrorTable, apart: ErrorTable | None) -> dict[str, Estimate]:
    """Return the means of all parts, then those of the texts apart."""
    return table.mean | {f"{part}{APART}": mean for part, mean in (apart.mean if apart else {}).items()}


def _difference_table(differences: Sequence[Difference], texts: str) -> Table:
    rows = [(one.model, one.other, one.length, one.found.count, *one.found.cells, *one.interval) for one in differences]
    caption = (
        f"Difference of the mean symbol error rates on {texts}, in percentage points: model minus other, with its "
        "standard error and 95 % interval. Both read the same texts, so the comparison is paired: every weighting of "
        "the bootstrap applies to both."
    )
    columns = ("model", "other", "length", "texts", "difference", "difference_error", "low", "high")
    labels = {"model": "model or solver", "length": "characters", "difference": "difference, points"}
    return Table(columns, rows, caption, labels | {"low": "2.5th", "high": "97.5th"})
