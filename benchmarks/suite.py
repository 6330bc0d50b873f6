"""All benchmarks, and the analysis that runs them. Each benchmark is a module of its name with a function `measure`."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from alice.errors import AliceError, nearest

if TYPE_CHECKING:  # `alice-interp bench --help` needs the names only
    from collections.abc import Iterator

    from alice.bench.measuring import Ratio
    from alice.plugins import RunContext
    from alice.reports import Figure, Result

Kind = Literal["time", "share", "memory", "exponent"]
CAVEATS = (
    "Every ratio compares two things done in turns in one process, so other load on the machine slows both alike; "
    "heavy load still adds noise, which the quartiles show.",
    "The models have the size of the bundled ones. Larger models spend more of their time in matrix products, which "
    "improves most of these ratios.",
)
COLUMNS = ("benchmark", "case", "compared", "ratio", "quartiles", "target", "met", "note")


@dataclass(frozen=True)
class Benchmark:
    """What is compared, and the target."""

    name: str
    compared: str
    """Numerator / denominator."""
    kind: Kind
    target: float | None = None
    at_most: bool = True
    """Whether the target is an upper limit."""
    needs: str = ""
    """A program that must be installed."""

    @property
    def possible(self) -> bool:
        """Whether the program that it needs is there."""
        return not self.needs or shutil.which(self.needs) is not None

    def measure(self, *, quick: bool) -> Iterator[Ratio]:
        """Measure now; `quick` takes fewer rounds and smaller samples."""
        module = import_module(f"alice.bench.{self.name.replace('-', '_')}")
        yield from module.measure(quick=quick)

    def goal(self) -> str:
        """Return the target as shown in tables."""
        if self.target is None:
            return "-"
        return f"{'<=' if self.at_most else '>='} {self.target:g}"

    def is_met(self, ratio: Ratio) -> bool | None:
        """Return whether a ratio reaches the target, or None without a target."""
        if self.target is None:
            return None
        return ratio.value <= self.target if self.at_most else ratio.value >= self.target


BENCHMARKS = (
    Benchmark("hooks", "forward pass, hooks unused / the same weights in plain torch modules", "time", 1.05),
    Benchmark("solving", "solving many texts: model FLOP/s / FLOP/s of its matrix products alone", "share", 0.6, False),
    Benchmark("buckets", "solving mixed lengths in buckets / in the order given, padded to the longest", "time", 0.5),
    Benchmark("bijective", "bijective / base with the same backbone, many texts", "time", 1.1),
    Benchmark("exits", "early exit at all layers / one forward pass", "time", 1.3),
    Benchmark("workers", "early exit over 5,000 texts: two workers / one, on two idle cores", "time", 0.6),
    Benchmark("probes", "probes of all layers together / LogisticRegression layer by layer", "time", 0.25),
    Benchmark("cache", "run_with_cache of all residual streams / one forward pass", "time", 1.15),
    Benchmark("cache-memory", "what run_with_cache holds / the residual streams themselves", "memory", 1.0),
    Benchmark("memory", "peak of an analysis over 20,000 texts / over 2,000", "memory", 1.2),
    Benchmark("training", "training step: model FLOP/s / FLOP/s of its matrix products alone", "share", 0.6, False),
    Benchmark("precision", "training step in bf16 / in fp32", "time"),
    Benchmark("gallery", "publishing a report among 2,000 others / among 10", "time", 1.2),
    Benchmark("startup", "alice-interp --help / python -c pass", "time", 8.0),
    Benchmark(
        "explorer", "explorer page: difference from PyTorch, time, size / limit", "share", 1.0, needs="chromedriver"
    ),
    Benchmark("growth", "time for twice the texts, the length, the width: log2 of the ratio", "exponent"),
)


def find(names: tuple[str, ...]) -> tuple[Benchmark, ...]:
    """Return the benchmarks of these names, or all that this machine can run."""
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    for name in names:
        if name not in known:
            choices = f"; choose from {', '.join(known)}"
            raise AliceError(f"there is no benchmark {name!r}{nearest(name, known) or choices}")
        if not known[name].possible:
            raise AliceError(f"the benchmark {name} needs {known[name].needs}; install it, or leave the benchmark out")
    chosen = tuple(known[name] for name in dict.fromkeys(names))
    return chosen or tuple(benchmark for benchmark in BENCHMARKS if benchmark.possible)


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
    from alice.reports import Metric, Result, Table

    with_target = [(benchmark, ratio) for benchmark, ratio in measured if benchmark.target is not None]
    missed = [benchmark.name for benchmark, ratio in with_target if not benchmark.is_met(ratio)]
    reached = len(with_target) - len(missed)
    summary = f"{reached} of {len(with_target)} ratios reach their target."
    if missed:
        summary += f" Missed: {', '.join(dict.fromkeys(missed))}."
    if quick:
        summary += " Measured with --quick: few rounds on small samples."
    return Result(
        title="Speed and memory",
        summary=summary,
        caveats=CAVEATS,
        metrics=[Metric("targets-reached", reached), Metric("targets", len(with_target))],
        tables={"ratios": Table(COLUMNS, [_row(*pair) for pair in measured], "All ratios.")},
        figures={"targets": _draw(with_target)} if with_target else {},
    )


def _row(benchmark: Benchmark, ratio: Ratio) -> tuple[str | float | bool | None, ...]:
    span = "" if ratio.low == ratio.high else f"{ratio.low:.3g} to {ratio.high:.3g}"
    compared = f"{benchmark.compared} ({benchmark.kind})"
    reached = {True: "yes", False: "no", None: "-"}[benchmark.is_met(ratio)]
    return (benchmark.name, ratio.case, compared, ratio.value, span, benchmark.goal(), reached, ratio.note)


def _draw(with_target: list[tuple[Benchmark, Ratio]]) -> Figure:
    """Draw each ratio relative to its target, inverted where larger is better."""
    from alice.reports import Figure, Table
    from alice.reports.figures import bars

    labels, shares, rows = [], [], []
    for benchmark, ratio in with_target:
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
