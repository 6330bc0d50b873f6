"""The league table of graded analyses as a result."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from alice.plugins.grade.measure import Graded, Standing, standings
from alice.plugins.grade.scores import MEASURES, NOT_COMPETING
from alice.reports import Figure, Metric, Result, Section, Table
from alice.statistics import blank_nan

CAVEATS = (
    "A planted model is small and its mechanism simple. An instrument that fails here cannot be trusted elsewhere; one "
    "that succeeds may still fail on a trained model.",
    "Low and high are the extremes over seeds, not a confidence interval.",
    "Average precision and F1 of a control depend on the share of true claims, so their controls are not at 0.5.",
)
LABELS = {measure.name: measure.label for measure in MEASURES}


def report(graded: Sequence[Graded], ungraded: Sequence[str], failures: Sequence[str] = ()) -> Result:
    """Return the league table; `ungraded` are analyses without findings, `failures` say what went wrong."""
    ranked = standings(graded)
    figure, league, details = _league_figure(ranked), _league_table(ranked), _details_table(graded)
    return Result(
        title="Grade",
        summary=_summary(graded, ranked, ungraded),
        caveats=(*CAVEATS, *(f"Left out, because it failed: {failure}." for failure in failures)),
        metrics=[
            Metric(one.measure, one.value, interval=_extremes(one), model=one.label, label=LABELS[one.measure])
            for one in ranked
        ],
        figures={"league": figure},
        tables={"league": league, "details": details},
        sections=[
            Section("league", "League table", figures=["league"], tables=["league"]),
            Section("details", "Every planted model", tables=["details"]),
        ],
    )


def _extremes(one: Standing) -> tuple[float, float] | None:
    """Return the extremes over seeds, if they differ."""
    return (one.low, one.high) if one.low < one.high else None


def _summary(graded: Sequence[Graded], ranked: Sequence[Standing], ungraded: Sequence[str]) -> str:
    planted, seeds = list(dict.fromkeys(one.planted for one in graded)), {one.seed for one in graded}
    sentences = [
        f"What analyses find in models whose mechanism is known ({', '.join(planted)}), compared with the truth, over "
        f"{len(seeds)} {'seeds' if len(seeds) > 1 else 'seed'}."
    ]
    competing = [one for one in ranked if one.measure not in NOT_COMPETING]
    beaten = [one for one in competing if not one.beats_controls]
    if beaten:
        named = "; ".join(f"{one.label} ({LABELS[one.measure]})" for one in beaten)
        sentences.append(f"Not better than chance: {named}.")
    elif competing:
        sentences.append("Every method is better than chance.")
    if ungraded:
        sentences.append(f"Nothing can be graded, because they have no findings: {', '.join(ungraded)}.")
    return "\n\n".join(sentences)


def _league_table(ranked: Sequence[Standing]) -> Table:
    rows: list[tuple[Any, ...]] = [
        (
            one.measure,
            LABELS[one.measure],
            one.label,
            *(one.value, one.low, one.high, one.random, one.shuffled, one.p),
            None if one.measure in NOT_COMPETING else one.beats_controls,
            one.planted,
        )
        for one in ranked
    ]
    return Table(
        (
            "measure",
            "what",
            "method",
            "value",
            "low",
            "high",
            "random",
            "shuffled",
            "p",
            "beats_controls",
            "planted_models",
        ),
        rows,
        "Mean over planted models and seeds, best method first; low and high are the extremes over seeds. More is "
        "better. `random` and `shuffled` are means over claims of the same form that know nothing; p is the share of "
        "them that are as good.",
        labels={"what": "what is compared", "beats_controls": "better than controls"},
    )


def _details_table(graded: Sequence[Graded]) -> Table:
    rows: list[tuple[Any, ...]] = [
        (
            name,
            one.label,
            one.planted,
            one.seed,
            value,
            *(float(kind[name].mean()) for kind in (one.random, one.shuffled)),
        )
        for name in LABELS
        for one in graded
        for value in [blank_nan(one.scores[name])]
        if value is not None
    ]
    columns = ("measure", "method", "planted", "seed", "value", "random", "shuffled")
    return Table(columns, rows, "Every score behind the league table.", labels={"planted": "planted model"})


def _league_figure(ranked: Sequence[Standing]) -> Figure:
    """Draw a row for each measure and method: the score with its extremes, and the shuffled control."""
    rows = [f"{LABELS[one.measure]}<br>{one.label}" for one in ranked]
    values = [one.value for one in ranked]
    spans = {
        "type": "data",
        "symmetric": False,
        "array": [one.high - one.value for one in ranked],
        "arrayminus": [one.value - one.low for one in ranked],
    }
    drawn = go.Figure(
        [
            go.Scatter(x=values, y=rows, error_x=spans, mode="markers", name="analysis", marker={"size": 9}),
            go.Scatter(
                x=[one.shuffled for one in ranked],
                y=rows,
                mode="markers",
                name="shuffled",
                marker={"symbol": "line-ns-open", "size": 12},
            ),
        ]
    )
    drawn.update_layout(height=120 + 44 * len(rows), legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    drawn.update_xaxes(title="score", range=[-0.02, 1.02])
    drawn.update_yaxes(autorange="reversed", automargin=True)
    return Figure(drawn, "Score of every method by every measure, with its extremes over seeds, beside its control.")
