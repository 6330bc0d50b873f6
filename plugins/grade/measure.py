"""Runs analyses on planted models and scores what they find, with controls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alice.errors import AliceError
from alice.planted import Planted
from alice.plugins.analysis import Analysis, can_be_graded
from alice.plugins.context import RunContext
from alice.plugins.findings import Findings
from alice.plugins.grade.checks import check_findings
from alice.plugins.grade.scores import MEASURES, random_claims, shuffled_claims
from alice.plugins.runner import as_one_line, compute
from alice.reports import Result
from alice.statistics import Floats

CONTROL_DRAWS = 100
"""Draws of each control for every result."""
Scores = Mapping[str, float]
"""Scores by the name of the measure; NaN where nothing can be compared."""
Draws = Mapping[str, Floats]
"""Scores of every draw of a control by the name of the measure, (draws,)."""
CHANCE = 0.05
"""Largest probability under a control at which a score counts as better."""
OpenContext = Callable[[Planted, int], RunContext]
"""Opens a planted model with its texts, for a seed."""


@dataclass(frozen=True, eq=False)
class Graded:
    """How well one method of an analysis did on one planted model, for one seed."""

    analysis: str
    """Name of the analysis."""
    method: str
    """Which of its methods; empty if it has one only."""
    planted: str
    """Name of the planted model."""
    seed: int
    """Seed of the keys and of the analysis."""
    scores: Scores
    """What it scored."""
    random: Draws
    """What claims of the same form with random scores scored."""
    shuffled: Draws
    """What its own claims with scores assigned at random scored."""

    @property
    def label(self) -> str:
        """Analysis and method."""
        return f"{self.analysis}, {self.method}" if self.method else self.analysis


def grade_one(analysis: Analysis, planted: Planted, open_context: OpenContext, trials: int) -> Iterable[Graded]:
    """Run an analysis on a planted model with each of the first seeds, and score each of its methods."""
    for seed in range(trials):
        result = compute(analysis, open_context(planted, seed))
        for method, found in claims(analysis, result, planted).items():
            yield _graded(analysis.name, method, planted, seed, found)


def claims(analysis: Analysis, result: Result, planted: Planted) -> Mapping[str, Findings]:
    """Return what a result claims, by method; the name is empty if there is one method only."""
    if not can_be_graded(type(analysis)):
        raise AliceError(f"{analysis.name} has no method findings(result), so nothing can be graded")
    with as_one_line(analysis):
        found: Any = analysis.findings(result)  # type: ignore[attr-defined]  # optional in the protocol
    by_method = found if isinstance(found, Mapping) else {"": found}
    for one in by_method.values():
        check_findings(one, planted, of=analysis.name)
    return by_method


def _graded(analysis: str, method: str, planted: Planted, seed: int, found: Findings) -> Graded:
    layers, rng = planted.model.config.n_layers, np.random.default_rng(seed)

    def control(draw: Callable[[Findings, int, np.random.Generator], Findings]) -> Draws:
        drawn = [score(draw(found, layers, rng), planted) for _ in range(CONTROL_DRAWS)]
        return {measure.name: np.array([one[measure.name] for one in drawn]) for measure in MEASURES}

    scores = score(found, planted)
    return Graded(analysis, method, planted.name, seed, scores, control(random_claims), control(shuffled_claims))


def score(found: Findings, planted: Planted) -> Scores:
    """Compare findings with the truth by every measure."""
    return {measure.name: measure.compare(found, planted) for measure in MEASURES}


@dataclass(frozen=True)
class Standing:
    """How well a method did by one measure: the mean over planted models and seeds, with the extremes over seeds."""

    measure: str
    label: str
    """Analysis and method."""
    value: float
    low: float
    """Lowest mean over the planted models of any seed."""
    high: float
    """Highest one."""
    random: float
    """Mean of the random control."""
    shuffled: float
    """Mean of the shuffled control."""
    p: float
    """Share of the draws of either control that are as good, the larger of both."""
    planted: int
    """Number of planted models that it was graded on."""

    @property
    def beats_controls(self) -> bool:
        """Whether chance explains the score badly."""
        return self.p <= CHANCE


def standings(graded: Sequence[Graded]) -> list[Standing]:
    """Return the standing of every method by every measure that applies, best first within a measure."""
    found: list[Standing] = []
    for measure in MEASURES:
        labels = dict.fromkeys(one.label for one in graded)
        of_measure = (_standing(measure.name, label, graded) for label in labels)
        found += sorted((one for one in of_measure if one is not None), key=lambda one: -one.value)
    return found


def _standing(measure: str, label: str, graded: Sequence[Graded]) -> Standing | None:
    rows = [one for one in graded if one.label == label and not np.isnan(one.scores[measure])]
    if not rows:
        return None
    seeds = {one.seed for one in rows}
    by_seed = [float(np.mean([one.scores[measure] for one in rows if one.seed == seed])) for seed in seeds]
    value, planted = float(np.mean(by_seed)), len({one.planted for one in rows})
    controls = [np.mean([draws[measure] for draws in kind], axis=0) for kind in _controls(rows)]
    p = max((1 + int((control >= value).sum())) / (1 + len(control)) for control in controls)
    random, shuffled = (float(control.mean()) for control in controls)
    return Standing(measure, label, value, min(by_seed), max(by_seed), random, shuffled, p, planted)


def _controls(rows: Sequence[Graded]) -> tuple[list[Draws], list[Draws]]:
    return [one.random for one in rows], [one.shuffled for one in rows]
