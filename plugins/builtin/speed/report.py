"""The result of the speed analysis: tables and bars of letters per second, with the paper's beside them."""

from collections.abc import Sequence

import numpy as np

from alice.plugins.builtin.solver_runs import Solved
from alice.plugins.builtin.speed.measure import Pass, Timing
from alice.plugins.builtin.speed.solvers import Comparison
from alice.plugins.reproduce import paper
from alice.reports import Figure, Result, Table
from alice.reports.figures import bars
from alice.statistics import Floats, Spread, bayesian_bootstrap, spread

CAVEATS = (
    "Times are no property of a model alone: they differ from run to run and from machine to machine, and whatever "
    "else a machine does slows it, most of all where threads wait for one another. Compare figures of one run only.",
    "Letters are A-Z. A model reads spaces and punctuation, too; characters per second count those. The paper says "
    "letters of ciphers that are 300 letters long, and does not say whether spaces are among them.",
    "Only solving is timed: neither loading a model or a table, nor encryption.",
    "The paper's models have 85M parameters, so its figures on other hardware are no target for these. Its printed "
    "speeds on the GPU are a tenth of what follows from its printed times; both are shown.",
)
IDLE = 0.9
"""Share of a core that one thread has on a machine with nothing else to do; below this it had other work."""
SOLVER_CAVEAT = (
    "The classical solvers keep to a limit and are written in Python; a compiled one may be faster. "
    "Few texts are solved, so the errors are rough, and a solver whose time was up had fewer than the others."
)


def report(
    timings: Sequence[Timing],
    compared: Comparison | None,
    *,
    offered: int,
    length: int | None,
    rng: np.random.Generator,
) -> Result:
    """Put what was measured into a result; `offered` is the number of texts that there were to read."""
    tables = {"models": _model_table(timings, rng)}
    figures = {"models": _model_figure(timings)}
    arrays = {"model-seconds": np.array([found.seconds for found in timings])}
    warnings = (*_fewer(timings, offered), *_busy(timings))
    caveats = (*warnings, *CAVEATS)
    if compared is not None:
        tables["solvers"] = _solver_table(compared, rng)
        figures["solvers"] = _solver_figure(compared)
        caveats = (*warnings, SOLVER_CAVEAT, *compared.missing, *CAVEATS)
        for number, solved in enumerate(compared.solved, start=1):
            arrays |= {f"solver-seconds-{number}": solved.seconds, f"solver-errors-{number}": solved.errors}
    tables["paper"] = _paper_table()
    return Result(
        title="Speed",
        summary=_summary(timings, compared, length),
        caveats=caveats,
        metrics=_metrics(timings, compared),
        tables=tables,
        figures=figures,
        arrays=arrays,
    )


def last_pass(found: Timing) -> Pass:
    """Return what the latest round of a timing read; there is always one."""
    assert found.last is not None  # noqa: S101  (for the type checker)
    return found.last


def speeds_of(found: Timing) -> Spread:
    """Return letters per second over the rounds."""
    return spread(last_pass(found).letters / np.array(found.seconds))


def share_of(found: Timing) -> float | None:
    """Return the share of the time that the assignment takes, the median over the rounds; none without one."""
    if found.ctx.model.config.variant != "bijective":
        return None
    return float(np.median(np.array(found.assignment) / np.array(found.seconds)))


def cores_of(found: Timing) -> float:
    """Return how many cores worked for it on average, the median over the rounds."""
    return float(np.median(np.array(found.processor) / np.array(found.seconds)))


def _fewer(timings: Sequence[Timing], offered: int) -> list[str]:
    """Say so if the time was too short for all texts."""
    if (read := len(last_pass(timings[0]).errors)) == offered:
        return []
    return [f"The models read {read} of {offered} texts: a round of all would take too long; --seconds gives more."]


def _busy(timings: Sequence[Timing]) -> list[str]:
    """Warn of a machine that had other work: a thread alone should have a core for itself."""
    on_cores = [found for found in timings if found.ctx.device.type == "cpu"]  # else a core waits for the accelerator
    had = min((cores_of(found) for found in on_cores if found.threads == 1), default=1.0)
    if had >= IDLE:
        return []
    return [f"The machine was busy with other work: one thread had only {had:.2f} of a core. All speeds are too low."]


def _texts_a_call(found: Timing) -> float:
    return len(last_pass(found).errors) / last_pass(found).calls


def _setting(found: Timing) -> str:
    texts = "one text" if found.single else "batches"
    return f"{texts}, {found.threads} {'core' if found.threads == 1 else 'cores'}"


def _percent(errors: Floats, rng: np.random.Generator) -> tuple[float | None, float | None]:
    """Return the mean in percent and its error, which one text alone does not have."""
    return bayesian_bootstrap(100 * errors, rng).cells


def _summary(timings: Sequence[Timing], compared: Comparison | None, length: int | None) -> str:
    first = last_pass(timings[0])
    texts = _counted(len(first.errors), "text") + ("" if length is None else f" of {length} characters")
    rounds = _counted(len(timings[0].seconds), "round")
    best = max(timings, key=lambda found: speeds_of(found).median)
    told = (
        f"Over {texts} with {first.letters} letters, {best.ctx.checkpoint} is fastest with {_setting(best)}: "
        f"{speeds_of(best).median:,.0f} letters per second. All settings took turns, in {rounds}."
    )
    if compared is None or not (classical := [one for one in compared.solved if one.kind == "classical"]):
        return told
    model = compared.solved[0]
    lines = [_against(model, one) for one in classical]
    return f"{told}\n\nOne text at a time on one core, {' '.join(lines)}"


def _against(model: Solved, one: Solved) -> str:
    count = len(one.errors)
    return (
        f"{one.solver} solves {one.speed:,.0f} letters per second over the first {_counted(count, 'text')} with an SER "
        f"of {100 * one.errors.mean():.2f} %, against {_first(model, count).speed:,.0f} and "
        f"{100 * model.errors[:count].mean():.2f} % of {model.solver}."
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _first(solved: Solved, count: int) -> Solved:
    """Return what a solver made of the first texts."""
    parts = (solved.seconds[:count], solved.errors[:count], solved.letters[:count])
    return Solved(solved.solver, solved.kind, *parts)


def _metrics(timings: Sequence[Timing], compared: Comparison | None) -> dict[str, float | int]:
    metrics: dict[str, float | int] = {}
    several = len({found.ctx.checkpoint for found in timings}) > 1
    on_one_core = [found for found in timings if found.threads == 1]
    for found in sorted(on_one_core, key=lambda found: found.single):
        of = f" of {found.ctx.checkpoint}" if several else ""
        metrics[f"letters/s{of}, {_setting(found)}"] = speeds_of(found).median
        if not found.single and (share := share_of(found)) is not None:
            metrics[f"share in the assignment{of}, {_setting(found)}"] = share
    for one in compared.solved if compared is not None else ():
        if one.kind == "classical":
            metrics[f"letters/s of {one.solver}"] = one.speed
    return metrics | {"texts": len(last_pass(timings[0]).errors), "rounds": len(timings[0].seconds)}


def _model_table(timings: Sequence[Timing], rng: np.random.Generator) -> Table:
    columns = ("model", "batch", "threads", "letters/s", "16 %", "84 %", "characters/s", "assigning")
    rows = []
    for found in timings:
        done, speeds = last_pass(found), speeds_of(found)
        many = speeds.median * done.characters / done.letters
        low, high = (speeds.low, speeds.high) if speeds.count > 1 else (None, None)
        row = (found.ctx.checkpoint, _texts_a_call(found), found.threads, speeds.median, low, high, many)
        rows.append((*row, share_of(found), *_percent(done.errors, rng), cores_of(found)))
    caption = (
        f"Median over {_counted(len(timings[0].seconds), 'round')} with the 16th and 84th percentile. Batch: mean "
        "number of texts in one. Assigning: share of the time in the assignment, which only a bijective head has. SER "
        "in percent, with its standard error. Cores: how many worked for it on average; fewer than threads if they "
        "wait, or if the machine had other work."
    )
    return Table((*columns, "SER", "error", "cores"), rows, caption=caption)


def _model_figure(timings: Sequence[Timing]) -> Figure:
    labels = list(dict.fromkeys(_setting(found) for found in timings))
    values: dict[str, list[float]] = {}
    errors: dict[str, list[tuple[float, float]]] = {}
    for found in timings:
        speeds = speeds_of(found)
        values.setdefault(found.ctx.checkpoint, []).append(speeds.median)
        errors.setdefault(found.ctx.checkpoint, []).append((speeds.median - speeds.low, speeds.high - speeds.median))
    spans = {name: np.array(pairs).T for name, pairs in errors.items()}
    figure = bars(values, labels=labels, errors=spans, y_title="letters per second")
    return Figure(figure, "Letters per second of the models, median over the rounds; lines: 16th to 84th percentile.")


def _solver_table(compared: Comparison, rng: np.random.Generator) -> Table:
    model = compared.solved[0]
    columns = ("solver", "learned from", "threads", "texts", "letters/s", "SER", "error", "texts wrong")
    rows = [
        (
            *(one.solver, one.learned or None, 1, len(one.errors), one.speed, *_percent(one.errors, rng)),
            int((one.errors > 0).sum()),
            float(100 * model.errors[: len(one.errors)].mean()),
        )
        for one in compared.solved
    ]
    caption = (
        f"All solvers on the first of the same {compared.offered} ciphertexts, one at a time. Learned from: training "
        "texts that it counted n-grams in for this run; blank where it came with its knowledge. One that starts from "
        f"random keys makes at most {_counted(compared.climbs, 'climb')} a text. SER in percent, with its standard "
        "error. A text is wrong if any character is."
    )
    return Table((*columns, f"SER of {model.solver} on these"), rows, caption=caption)


def _solver_figure(compared: Comparison) -> Figure:
    labels = [f"{one.solver}<br>SER {100 * one.errors.mean():.1f} %" for one in compared.solved]
    figure = bars([one.speed for one in compared.solved], labels=labels, y_title="letters per second")
    figure.update_yaxes(type="log")
    return Figure(figure, "Letters per second on the same texts, one at a time on one core; the scale is logarithmic.")


def _paper_table() -> Table:
    rows = [(one.solver, one.hardware, one.letters_per_second, one.seconds, one.from_seconds) for one in paper.SPEEDS]
    times = f"seconds for {paper.CIPHERS} ciphers of {paper.LETTERS_EACH}"
    caption = "What the paper prints, ALICE having 85M parameters; the last column is worked out from its times."
    return Table(("solver", "hardware", "letters/s", times, "letters/s by those seconds"), rows, caption=caption)
