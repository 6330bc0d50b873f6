"""Runs analyses on planted models and scores what they find, with controls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alice.errors import AliceError
from alice.planted import Planted, Truth
from alice.plugins.analysis import Analysis, can_be_graded
from alice.plugins.context import RunContext
from alice.plugins.findings import Findings
from alice.plugins.grade.scores import MEASURES, random_claims, shuffled_claims
from alice.plugins.runner import compute
from alice.reports import Result

CONTROL_DRAWS = 50
"""Draws of each control for every result."""
Scores = Mapping[str, float]
"""Scores by the name of the measure; NaN where nothing can be compared."""
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
    random: Scores
    """Mean over claims of the same form with random scores."""
    shuffled: Scores
    """Mean over its own claims with scores assigned at random."""

    @property
    def label(self) -> str:
        """Analysis and method."""
        return f"{self.analysis}, {self.method}" if self.method else self.analysis


def grade_one(analysis: Analysis, planted: Planted, open_context: OpenContext, trials: int) -> Iterable[Graded]:
    """Run an analysis on a planted model with each of the first seeds, and score each of its methods."""
    for seed in range(trials):
        result = compute(analysis, open_context(planted, seed))
        for method, found in claims(analysis, result).items():
            yield _graded(analysis.name, method, planted, seed, found)


def claims(analysis: Analysis, result: Result) -> Mapping[str, Findings]:
    """Return what a result claims, by method; the name is empty if there is one method only."""
    if not can_be_graded(type(analysis)):
        raise AliceError(f"{analysis.name} has no method findings(result), so nothing can be graded")
    found: Any = analysis.findings(result)  # type: ignore[attr-defined]  # optional in the protocol
    by_method = found if isinstance(found, Mapping) else {"": found}
    for one in by_method.values():
        if not isinstance(one, Findings):
            raise AliceError(
                f"findings of {analysis.name} returned {type(one).__name__}; "
                "return alice.plugins.findings.Findings, or a dictionary of them by method"
            )
    return by_method


def _graded(analysis: str, method: str, planted: Planted, seed: int, found: Findings) -> Graded:
    layers, rng = planted.model.config.n_layers, np.random.default_rng(seed)

    def control(draw: Callable[[Findings, int, np.random.Generator], Findings]) -> Scores:
        drawn = [score(draw(found, layers, rng), planted.truth) for _ in range(CONTROL_DRAWS)]
        return {measure.name: float(np.mean([one[measure.name] for one in drawn])) for measure in MEASURES}

    scores = score(found, planted.truth)
    return Graded(analysis, method, planted.name, seed, scores, control(random_claims), control(shuffled_claims))


def score(found: Findings, truth: Truth) -> Scores:
    """Compare findings with the truth by every measure."""
    return {measure.name: measure.compare(found, truth) for measure in MEASURES}


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
    shuffled: float
    planted: int
    """Number of planted models that it was graded on."""

    @property
    def beats_controls(self) -> bool:
        """Whether it is better than both controls, for every seed."""
        return self.low > max(self.random, self.shuffled)


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
    random, shuffled = (
        float(np.mean([control[measure] for control in drawn]))
        for drawn in ([one.random for one in rows], [one.shuffled for one in rows])
    )
    planted = len({one.planted for one in rows})
    return Standing(measure, label, float(np.mean(by_seed)), min(by_seed), max(by_seed), random, shuffled, planted)
