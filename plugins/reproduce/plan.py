"""Which analyses a reproduction runs, on which models, with which options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from alice.plugins.context import RunContext

Readers = Literal["all", "probed", "base", "none", "multilingual"]
"""Models that an analysis reads: all, base and bijective ones, the first base one, none, or the multilingual one."""
SAMPLES: dict[str, int] = {
    "early-exit": 1000,
    "key-recovery": 1000,
    "errors-by-length": 2000,
    "letter-frequency": 2000,
    "ngram": 400,
    "attention": 300,
    "relabelling": 200,
}
"""Texts of each analysis, so that all of them take a few minutes with the bundled models."""
READERS: dict[str, Readers] = {
    "early-exit": "all",
    "key-recovery": "all",
    "errors-by-length": "all",
    "letter-frequency": "all",
    "ngram": "probed",
    "attention": "base",
    "relabelling": "all",
    "speed": "all",
    "borg": "multilingual",
    "generalization": "none",
    "scaling": "none",
}
"""Every analysis of a table or figure, in the order of running."""
SWEEP = "It needs trainings: make them with `alice-interp sweep {0} --out DIR`, then give `--{0}-runs DIR`."
BORG = "It needs a transcription and its plaintext, which this package has not: give `--borg FILE --borg-plain FILE`."


@dataclass(frozen=True)
class Wanted:
    """What the user gave."""

    generalization_runs: tuple[Path, ...] = ()
    scaling_runs: tuple[Path, ...] = ()
    borg: Mapping[str, Any] = field(default_factory=dict)
    """Options of the borg analysis; without a file it is not run."""
    samples: int | None = None
    """Texts of each analysis, instead of ours."""
    skip: tuple[str, ...] = ()
    """Analyses to leave out."""


@dataclass(frozen=True, eq=False)
class Step:
    """An analysis to run, or why it cannot be."""

    analysis: str
    ctx: RunContext | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    absent: str = ""


def plan(models: RunContext, multilingual: RunContext | None, wanted: Wanted) -> list[Step]:
    """Return a step for every analysis."""
    return [_step(analysis, readers, models, multilingual, wanted) for analysis, readers in READERS.items()]


def _step(analysis: str, readers: Readers, models: RunContext, multilingual: RunContext | None, wanted: Wanted) -> Step:
    if analysis in wanted.skip:
        return Step(analysis, absent=f"Left out by `--skip {analysis}`.")
    if readers == "none":
        runs: tuple[Path, ...] = getattr(wanted, f"{analysis}_runs")
        ctx = RunContext(seed=models.seed, tracker=models.tracker)
        return Step(analysis, ctx, {"runs": runs}) if runs else Step(analysis, absent=SWEEP.format(analysis))
    if readers == "multilingual":
        ctx = multilingual or replace(models, others=())
        return Step(analysis, ctx, wanted.borg) if wanted.borg.get("file") else Step(analysis, absent=BORG)
    chosen = _chosen(models, readers)
    if not chosen:
        return Step(analysis, absent="It takes a base or a bijective model: give one with `--ckpt`.")
    return Step(analysis, _together(chosen), _options(analysis, wanted.samples))


def _options(analysis: str, samples: int | None) -> dict[str, Any]:
    ours = SAMPLES.get(analysis)
    if samples is None:
        return {} if ours is None else {"samples": ours}
    return {"samples": samples}


def _chosen(models: RunContext, readers: Readers) -> list[RunContext]:
    each = list(models.each)
    if readers == "all":
        return each
    probed = [one for one in each if one.model.config.variant in ("base", "bijective")]
    if readers == "probed":
        return probed
    base = [one for one in each if one.model.config.variant == "base"]
    return (base or each)[:1]


def _together(contexts: Sequence[RunContext]) -> RunContext:
    """Return one context over several, each without others of its own."""
    first, *others = (replace(one, others=()) for one in contexts)
    return replace(first, others=tuple(others))
