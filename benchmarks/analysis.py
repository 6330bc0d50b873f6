"""The benchmarks as an analysis that reads no model, so that their figures are stored and shown as all others are."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from alice.bench.ratio import Benchmark, Ratio
from alice.bench.suite import find
from alice.plugins import RunContext
from alice.reports import Figure, Result, Table
from alice.reports.figures import bars

CAVEATS = (
    "Every figure is a ratio of two things done by turns in one run, so that a busy machine hits both alike; a very "
    "busy one still blurs them, which the quartiles show.",
    "The models have the size of the bundled ones. Larger ones spend more of their time in matrix products, which "
    "makes most of these ratios better.",
)
COLUMNS = ("benchmark", "case", "compared", "ratio", "quartiles", "target", "met", "note")


@dataclass(frozen=True)
class Bench:
    """Speed and memory as ratios measured side by side in one run."""

    name = "bench"
    checkpoints = "none"
    only: tuple[str, ...] = field(default=(), metadata={"help": "Benchmarks to run; all if none is named."})
    quick: bool = field(default=False, metadata={"help": "Fewer rounds and smaller samples: a rough look."})

    def run(self, ctx: RunContext) -> Result:
        """Measure one after another."""
        return report(list(self.measured(ctx)), quick=self.quick)

    def measured(self, ctx: RunContext) -> Iterator[tuple[Benchmark, Ratio]]:
        """Yield every figure as it comes."""
        for benchmark in ctx.progress(find(self.only), "Measuring"):
            for ratio in benchmark.measure(quick=self.quick):
                yield benchmark, ratio


def report(measured: list[tuple[Benchmark, Ratio]], *, quick: bool) -> Result:
    """Put the figures into one table, and those that have a target into one figure."""
    aimed = [(benchmark, ratio) for benchmark, ratio in measured if benchmark.target is not None]
    missed = [benchmark.name for benchmark, ratio in aimed if not benchmark.is_met(ratio)]
    summary = f"{len(aimed) - len(missed)} of {len(aimed)} figures reach their target."
    if missed:
        summary += f" Missed: {', '.join(dict.fromkeys(missed))}."
    if quick:
        summary += " Measured quickly: few rounds on small samples."
    return Result(
        title="Speed and memory",
        summary=summary,
        caveats=CAVEATS,
        metrics={"targets reached": len(aimed) - len(missed), "targets": len(aimed)},
        tables={"ratios": Table(COLUMNS, [_row(*pair) for pair in measured])},
        figures={"targets": _drawn(aimed)} if aimed else {},
    )


def _row(benchmark: Benchmark, ratio: Ratio) -> tuple[str | float | bool | None, ...]:
    span = "" if ratio.low == ratio.high else f"{ratio.low:.3g} to {ratio.high:.3g}"
    what = f"{benchmark.what} ({benchmark.kind})"
    reached = {True: "yes", False: "no", None: "-"}[benchmark.is_met(ratio)]
    return (benchmark.name, ratio.case, what, ratio.value, span, benchmark.goal(), reached, ratio.note)


def _drawn(aimed: list[tuple[Benchmark, Ratio]]) -> Figure:
    """Draw how far each figure is from its target; what is to be large is turned over."""
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
        "How far each figure is from its target: below the line it is reached. "
        "Shares, which are to be large, are turned over."
    )
    return Figure(figure, caption, Table(("benchmark", "case", "ratio / target"), rows))
