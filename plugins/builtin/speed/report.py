"""The result of the speed analysis: letters per second of models and solvers, next to the paper's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from alice.plugins import paper
from alice.plugins.builtin.solver_scores import Solved
from alice.plugins.builtin.speed.measure import Comparison, Pass, Timing
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import bars
from alice.statistics import Floats, Spread, bayesian_bootstrap, spread

CAVEATS = (
    "Times are not a property of a model alone: they vary from time to time and between machines, and any other load "
    "slows them down, most of all where threads wait for one another. Compare figures of one report only.",
    "Letters are A-Z. Models also read spaces and punctuation, which characters per second count. The paper counts "
    "letters of ciphers of 300 letters and does not say whether that includes spaces.",
    "Only solving is timed: not loading a model or a table, and not encryption.",
    "The paper's models have 85M parameters and ran on other hardware, so its figures are not a target. Its printed "
    "speeds on the GPU are a tenth of what follows from its printed times; the table shows both.",
)
IDLE = 0.9
"""Share of a core that one thread gets on an idle machine; less means that there was other load."""
SOLVER_CAVEAT = (
    "The classical solvers are written in Python and have a time limit; a compiled one may be faster. They read few "
    "texts, so their error rates are rough, and a solver whose time was up has read fewer texts than the others."
)


def report(
    timings: Sequence[Timing],
    compared: Comparison | None,
    *,
    offered: int,
    length: int | None,
    rng: np.random.Generator,
) -> Result:
    """Return the timings as a result; `offered` is the number of texts that the models could have read."""
    tables = {"models": _model_table(timings, rng)}
    figures = {"models": _model_figure(timings)}
    arrays = {
        model_key("seconds", model): np.array([found.seconds for found in timings if found.ctx.checkpoint == model])
        for model in dict.fromkeys(found.ctx.checkpoint for found in timings)
    }
    warnings = (*_fewer(timings, offered), *_busy(timings))
    caveats = (*warnings, *CAVEATS)
    if compared is not None:
        tables["solvers"] = _solver_table(compared, rng)
        figures["solvers"] = _solver_figure(compared)
        caveats = (*warnings, SOLVER_CAVEAT, *compared.missing, *CAVEATS)
        for one in compared.solved:
            arrays[model_key("seconds-same-texts", one.solver)] = one.seconds
            arrays[model_key("ser-same-texts", one.solver)] = 100 * one.errors
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
    """Return the latest round of a timing; there is always one."""
    assert found.last is not None  # noqa: S101  (for the type checker)
    return found.last


def speeds_of(found: Timing) -> Spread:
    """Return letters per second over the rounds."""
    return spread(last_pass(found).letters / np.array(found.seconds))


def share_of(found: Timing) -> float | None:
    """Return the share of time in the assignment, as the median over the rounds; None for other heads."""
    if found.ctx.model.config.variant != "bijective":
        return None
    return float(np.median(np.array(found.assignment) / np.array(found.seconds)))


def cores_of(found: Timing) -> float:
    """Return the average number of busy cores, as the median over the rounds."""
    return float(np.median(np.array(found.processor) / np.array(found.seconds)))


def _fewer(timings: Sequence[Timing], offered: int) -> list[str]:
    """Say so if the time limit did not allow all texts."""
    if (read := len(last_pass(timings[0]).errors)) == offered:
        return []
    return [
        f"The models read {read} of {offered} texts, because a round of all would exceed the time limit; give more "
        "--seconds for all."
    ]


def _busy(timings: Sequence[Timing]) -> list[str]:
    """Warn of other load on the machine: a single thread should have a core of its own."""
    on_cores = [found for found in timings if found.ctx.device.type == "cpu"]  # else a core waits for the accelerator
    had = min((cores_of(found) for found in on_cores if found.threads == 1), default=1.0)
    if had >= IDLE:
        return []
    return [f"The machine was busy: one thread got only {had:.2f} of a core. All speeds are too low."]


def _interval(speeds: Spread) -> tuple[float, float] | None:
    """Return the 16th and 84th percentile over the rounds; None with a single round."""
    return (speeds.low, speeds.high) if speeds.count > 1 else None


def _setting(found: Timing) -> str:
    texts = "single texts" if found.single else "batches"
    return f"{texts}, {_counted(found.threads, 'core')}"


def _percent(errors: Floats, rng: np.random.Generator) -> tuple[float | None, float | None]:
    """Return the mean error rate in percent and its standard error, which a single text does not have."""
    return bayesian_bootstrap(100 * errors, rng).cells


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _summary(timings: Sequence[Timing], compared: Comparison | None, length: int | None) -> str:
    first = last_pass(timings[0])
    texts = _counted(len(first.errors), "text") + ("" if length is None else f" of {length} characters")
    rounds = _counted(len(timings[0].seconds), "round")
    best = max(timings, key=lambda found: speeds_of(found).median)
    start = (
        f"{best.ctx.checkpoint} is fastest with {_setting(best)}: {speeds_of(best).median:,.0f} letters per second "
        f"over {texts} with {first.letters:,} letters. All settings took turns, in {rounds}."
    )
    if compared is None or not (solvers := [one for one in compared.solved if one.kind == "solver"]):
        return start
    lines = [_against(compared.solved[0], one) for one in solvers]
    return f"{start}\n\nOne text at a time on one core: {' '.join(lines)}"


def _against(model: Solved, one: Solved) -> str:
    count = len(one.errors)
    same = replace(model, seconds=model.seconds[:count], errors=model.errors[:count], letters=model.letters[:count])
    texts = "text" if count == 1 else f"{count} texts"
    return (
        f"{one.solver} solves {one.speed:,.0f} letters per second of the first {texts} with an SER of "
        f"{100 * one.errors.mean():.2f} %, {model.solver} {same.speed:,.0f} with {100 * same.errors.mean():.2f} %."
    )


def _metrics(timings: Sequence[Timing], compared: Comparison | None) -> list[Metric]:
    metrics: list[Metric] = []
    on_one_core = [found for found in timings if found.threads == 1]
    for found in sorted(on_one_core, key=lambda found: found.single):
        speeds, model = speeds_of(found), found.ctx.checkpoint
        name = "letters-per-second-single" if found.single else "letters-per-second-batched"
        label = f"speed, {_setting(found)}"
        metrics.append(
            Metric(name, speeds.median, interval=_interval(speeds), unit="letters/s", model=model, label=label)
        )
        if not found.single and (share := share_of(found)) is not None:
            metrics.append(Metric("assignment-share", share, model=model, label="share of time in the assignment"))
    for one in compared.solved if compared is not None else ():
        label = "speed on the same texts, one by one, 1 core"
        metrics.append(
            Metric("letters-per-second-same-texts", one.speed, unit="letters/s", model=one.solver, label=label)
        )
    read = Metric("texts", len(last_pass(timings[0]).errors))
    return [*metrics, read, Metric("rounds", len(timings[0].seconds))]


def _model_table(timings: Sequence[Timing], rng: np.random.Generator) -> Table:
    rows = []
    for found in timings:
        done, speeds = last_pass(found), speeds_of(found)
        row: tuple[Any, ...] = (found.ctx.checkpoint, len(done.errors) / done.calls, found.threads, speeds.median)
        row += (*(_interval(speeds) or (None, None)), speeds.median * done.characters / done.letters)
        rows.append((*row, share_of(found), *_percent(done.errors, rng), cores_of(found)))
    columns = ("model", "texts_per_call", "threads", "letters_per_second", "low", "high", "characters_per_second")
    labels = {
        "texts_per_call": "texts per batch",
        "letters_per_second": "letters/s",
        "low": "16th",
        "high": "84th",
        "characters_per_second": "characters/s",
        "assignment_share": "assignment",
        "ser": "SER, %",
    }
    caption = (
        f"Median over {_counted(len(timings[0].seconds), 'round')} with the 16th and 84th percentile. Texts per batch: "
        "mean. Assignment: share of the time that a bijective head spends on it. Cores: average number of busy cores; "
        "fewer than threads if these wait or the machine has other load."
    )
    return Table((*columns, "assignment_share", "ser", "ser_error", "cores"), rows, caption, labels)


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
    return Figure(figure, "Speed of the models: median over the rounds. Error bars: 16th to 84th percentile.")


def _solver_table(compared: Comparison, rng: np.random.Generator) -> Table:
    model = compared.solved[0]
    rows = [
        (
            *(one.solver, one.kind, one.learned or None, 1, len(one.errors), one.speed, *_percent(one.errors, rng)),
            int((one.errors > 0).sum()),
            float(100 * model.errors[: len(one.errors)].mean()),
        )
        for one in compared.solved
    ]
    columns = ("model", "kind", "training_texts", "threads", "texts", "letters_per_second", "ser", "ser_error")
    labels = {
        "model": "model or solver",
        "training_texts": "training texts",
        "letters_per_second": "letters/s",
        "ser": "SER, %",
        "texts_wrong": "texts with an error",
        "first_model_ser": f"SER of {model.solver} on these, %",
    }
    caption = (
        f"All solvers on the first of the same {_counted(compared.offered, 'ciphertext')}, one at a time. Training "
        "texts: those in which the solver counted n-grams here; blank if it brings its own statistics. Solvers "
        f"that start from random keys make at most {_counted(compared.climbs, 'climb')} per text."
    )
    return Table((*columns, "texts_wrong", "first_model_ser"), rows, caption, labels)


def _solver_figure(compared: Comparison) -> Figure:
    labels = [f"{one.solver}<br>SER {100 * one.errors.mean():.1f} %" for one in compared.solved]
    figure = bars([one.speed for one in compared.solved], labels=labels, y_title="letters per second")
    figure.update_yaxes(type="log")
    return Figure(figure, "Speed on the same texts, one at a time on one core, on a logarithmic scale.")


def _paper_table() -> Table:
    rows = [
        (
            one.solver,
            "model" if one.variant else "solver",
            one.hardware,
            one.letters_per_second,
            one.seconds,
            one.from_seconds,
        )
        for one in paper.SPEEDS
    ]
    labels = {
        "model": "model or solver",
        "kind": "kind",
        "hardware": "hardware",
        "letters_per_second": "letters/s",
        "seconds": f"seconds for {paper.CIPHERS} ciphers of {paper.LETTERS_EACH} letters",
        "letters_per_second_from_seconds": "letters/s that follow from the seconds",
    }
    caption = "What the paper prints for ALICE with 85M parameters; the last column is computed from its times."
    return Table(tuple(labels), rows, caption, labels)
