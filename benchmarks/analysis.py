"""The benchmarks as an analysis without a model, so that their ratios are stored and shown like any result."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from alice.bench.ratio import Benchmark, Ratio
from alice.bench.suite import find
from alice.plugins import RunContext
from alice.reports import Figure, Metric, Result, Table
from alice.reports.figures import bars

CAVEATS = (
    "Every ratio compares two things done in turns in one process, so other load on the machine slows both alike; "
    "heavy load still adds noise, which the quartiles show.",
    "The models have the size of the bundled ones. Larger models spend more of their time in matrix products, which "
    "improves most of these ratios.",
)
COLUMNS = ("benchmark", "case", "compared", "ratio", "quartiles", "target", "met", "note")


@dataclass(frozen=True)
class Bench:
    """Speed and memory as ratios measured side by side in one process."""

    name = "bench"
    checkpoints = "none"
    only: tuple[str, ...] = field(default=(), metadata={"help": "Benchmarks to run; all if empty."})
    quick: bool = field(default=False, metadata={"help": "Fewer rounds and smaller samples: a rough look."})

    def run(self, ctx: RunContext) -> Result:
        """Measure one benchmark after another."""
        return report(list(self.measured(ctx)), quick=self.quick)

    def measured(self, ctx: RunContext) -> Iterator[tuple[Benchmark, Ratio]]:
        """Yield every ratio as it is measured."""
        for benchmark in ctx.progress(find(self.only), "Measuring"):
            for ratio in benchmark.measure(quick=self.quick):
                yield benchmark, ratio


def report(measured: list[tuple[Benchmark, Ratio]], *, quick: bool) -> Result:
    """Put the ratios into one table, and those with a target into one figure."""
    aimed = [(benchmark, ratio) for benchmark, ratio in measured if benchmark.target is not None]
    missed = [benchmark.name for benchmark, ratio in aimed if not benchmark.is_met(ratio)]
    summary = f"{len(aimed) - len(missed)} of {len(aimed)} ratios reach their target."
    if missed:
        summary += f" Missed: {', '.join(dict.fromkeys(missed))}."
    if quick:
        summary += " Measured with --quick: few rounds on small samples."
    return Result(
        title="Speed and memory",
        summary=summary,
        caveats=CAVEATS,
        metrics=[Metric("targets-reached", len(aimed) - len(missed)), Metric("targets", len(aimed))],
        tables={"ratios": Table(COLUMNS, [_row(*pair) for pair in measured], "All ratios.")},
        figures={"targets": _drawn(aimed)} if aimed else {},
    )


def _row(benchmark: Benchmark, ratio: Ratio) -> tuple[str | float | bool | None, ...]:
    span = "" if ratio.low == ratio.high else f"{ratio.low:.3g} to {ratio.high:.3g}"
    what = f"{benchmark.what} ({benchmark.kind})"
    reached = {True: "yes", False: "no", None: "-"}[benchmark.is_met(ratio)]
    return (benchmark.name, ratio.case, what, ratio.value, span, benchmark.goal(), reached, ratio.note)


def _drawn(aimed: list[tuple[Benchmark, Ratio]]) -> Figure:
    """Draw each ratio relative to its target, inverted where larger is better."""
    labels, shares, rows = [], [], []
    for benchmark, ratio in aimed:
        target = benchmark.target or 1.0
        share = ratio.value / target if benchmark.at_most else target / ratio.value
        labels.append(f"{benchmark.name}: {ratio.case}")
        shares.append(share)
        rows.append((benchmark.name, ratio.case, share))
    figure = bars(shares, labels=labels, y_title="ratio / target")
    figure.add_hline(y=1.0, line={"dash": "dash", "width": 1})
    figure.update_layout(height=520, margin={"b": 220})
    caption = (
        "Each ratio relative to its target: below the line the target is reached. "
        "Shares, where larger is better, are inverted."
    )
    return Figure(figure, caption, Table(("benchmark", "case", "ratio_to_target"), rows))
