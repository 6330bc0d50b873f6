"""The paper's baselines, run: networks of one size, trained on the same data with the same number of operations."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from alice.metrics import SHORT
from alice.plugins import paper
from alice.plugins.builtin.baseline_solvers import BASELINES
from alice.plugins.builtin.solver_scores import Pair, Solved, ciphertexts, run_solvers
from alice.plugins.context import RunContext
from alice.reports import Figure, Result, Table, model_key
from alice.reports.figures import bars
from alice.solving import Scores
from alice.statistics import Floats
from alice.text import LETTERS

QUOTED = dict(zip(BASELINES, [name for name in paper.OTHER_SOLVERS if name != paper.NUHN], strict=False))
"""The row of the paper's second table for each baseline; the reference has none."""
PARTS = (f"<{SHORT}", f">={SHORT}")
"""The two columns of that table."""
COLUMNS = ("model", "length", "texts", "ser", "ser_error", "quoted", "letters_per_second", "consistent", "one_to_one")
CAVEAT = (
    "The baselines are small networks that were trained for minutes on one core. The table compares methods under this "
    "budget; it says nothing about how they rank when all are trained to the end, as the publications did. The quoted "
    "figures are those of the publications, on other texts."
)


def add_baselines(result: Result, ctx: RunContext) -> Result:
    """Return a result with the table of the baselines, run over the texts of a context."""
    texts = ciphertexts(ctx)
    solved, failed = run_solvers(ctx, texts, BASELINES)
    table = same_compute_table(solved, texts, ctx.rng)
    return replace(
        result,
        tables={**result.tables, "same-compute": table},
        figures={**result.figures, **({"same-compute": same_compute_figure(table)} if solved else {})},
        arrays={**result.arrays, **{model_key("ser-same-compute", one.solver): 100 * one.errors for one in solved}},
        caveats=(*failed, CAVEAT, *result.caveats),
    )


def same_compute_table(solved: Sequence[Solved], texts: Sequence[Pair], rng: np.random.Generator) -> Table:
    """Return error rates by length, speed, and whether the answers are substitutions at all."""
    lengths = np.array([len(plain) for _, plain in texts])
    rows: list[tuple[Any, ...]] = []
    for one in solved:
        scores = Scores(lengths, one.errors)
        table, quoted = scores.table(rng), _quoted(one.solver)
        kept = substitutions([cipher for cipher, _ in texts], one.answers)
        for part, chosen in scores.parts().items():
            if chosen.any():
                speed = float(one.letters[chosen].sum() / one.seconds[chosen].sum())
                shares = (float(100 * share[chosen].mean()) for share in kept)
                rows.append(
                    (one.solver, part, int(chosen.sum()), *table.mean[part].cells, quoted.get(part), speed, *shares)
                )
    caption = (
        f"Same data, same compute: mean symbol error rate of the paper's baselines on the first {len(texts)} texts by "
        "length, the figure of the publication as the paper quotes it, speed, and the share of answers in which equal "
        "cipher letters have equal plain letters (consistent) and different ones different (one-to-one)."
    )
    labels = {
        "model": "solver",
        "length": "characters",
        "ser": "mean SER, %",
        "quoted": "quoted, %",
        "letters_per_second": "letters per second",
        "consistent": "consistent, %",
        "one_to_one": "one-to-one, %",
    }
    return Table(COLUMNS, rows, caption, labels)


def same_compute_figure(table: Table) -> Figure:
    """Draw the error rates of short and long texts, a group of bars for each solver."""
    records: list[dict[str, Any]] = table.records()
    solvers = list(dict.fromkeys(row["model"] for row in records))
    rows = {part: {row["model"]: row for row in records if row["length"] == part} for part in PARTS}
    means, errors = (
        {
            f"{part} characters": [of[solver][name] if solver in of else math.nan for solver in solvers]
            for part, of in rows.items()
            if of
        }
        for name in ("ser", "ser_error")
    )
    drawn = bars(means, labels=solvers, errors=errors, x_title="", y_title="mean SER, %")
    caption = "The paper's baselines, same data and same compute, on the same texts. Error bars: one standard error."
    return Figure(drawn, caption)


def _quoted(solver: str) -> dict[str, float]:
    """Return the quoted means of a baseline by part of the texts."""
    if solver not in QUOTED:
        return {}
    return {part: one.mean for part, one in zip(PARTS, paper.OTHER_SOLVERS[QUOTED[solver]], strict=True)}


def substitutions(ciphertexts: Sequence[str], answers: Sequence[str]) -> tuple[Floats, Floats]:
    """Return of each answer whether equal cipher letters have equal plain letters, and different ones different."""
    consistent, one_to_one = [], []
    for cipher, answer in zip(ciphertexts, answers, strict=True):
        pairs = {(one, other) for one, other in zip(cipher, answer, strict=True) if one in LETTERS}
        consistent.append(len({one for one, _ in pairs}) == len(pairs))
        one_to_one.append(len({other for _, other in pairs}) == len(pairs))
    return np.array(consistent, dtype=float), np.array(one_to_one, dtype=float)
