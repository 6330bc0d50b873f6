"""Which analyses a reproduction runs, on which models, with which options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from alice.plugins.context import RunContext
from alice.training.bundled import RUN_SET

if TYPE_CHECKING:
    from alice.plugins.context.models import NamedModel

Which = Literal["all", "probed", "base", "none", "multilingual"]
"""Models that an analysis reads: all, base and bijective ones, the first base one, none, or the multilingual one."""
ANALYSES: dict[str, Which] = {
    "early-exit": "all",
    "key-recovery": "all",
    "errors-by-length": "all",
    "baselines": "base",
    "letter-frequency": "all",
    "ngram": "probed",
    "probe": "base",
    "attention": "base",
    "relabelling": "all",
    "speed": "all",
    "borg": "multilingual",
    "generalization": "none",
    "scaling": "none",
}
"""Every analysis that gives a table, a figure or evidence, in the order of running, with the models that it reads."""
RUN_AS = {"baselines": "errors-by-length"}
"""Analyses that have another name in a reproduction, because they run twice with different options."""
OPTIONS: dict[str, dict[str, Any]] = {
    "baselines": {"solver": (), "baselines": True},
    "probe": {"kind": "linear", "repeats": 1, "target": ("rank", "word-length")},
    "speed": {"seconds": 60.0},
}
"""Options that differ from the defaults, besides the number of texts. The time is for all rounds of `speed`: a claim
that was timed in one round only has no interval."""
SAMPLES: dict[str, int] = {
    "early-exit": 1000,
    "key-recovery": 1000,
    "errors-by-length": 2000,
    "baselines": 32,
    "letter-frequency": 2000,
    "ngram": 400,
    "probe": 400,
    "attention": 300,
    "relabelling": 200,
}
"""Texts of each analysis: as few as its claims can afford, so that all take less than 15 minutes on two cores."""
FEWEST, MOST = {"probe": 4}, {"baselines": 32}
"""Limits on what `--samples` may ask of an analysis: probes need texts to learn from, and some baselines take seconds
for each text."""
COMPARED: dict[str, dict[str, Any]] = {"errors-by-length": {"solver": ()}, "ngram": {}}
"""Analyses whose claims compare two variants, with their options on the run set, where no other solver is needed."""
SHIPPED = {"generalization": "pools", "scaling": "sizes"}
"""Folders of the run set with the logs and measures of trainings, by analysis."""
SWEEP = "It needs trainings: make them with `alice-interp sweep {0} --out DIR`, then give `--{0}-trainings DIR`."
BORG = (
    "It needs a transcription and its plaintext, which this package does not contain: give "
    "`--borg FILE --borg-plain FILE`."
)
NO_MODEL = "It needs a base or a bijective model: give one with `--ckpt`."


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    generalization_trainings: tuple[Path, ...] = ()
    scaling_trainings: tuple[Path, ...] = ()
    borg: Mapping[str, Any] = field(default_factory=dict)
    """Options of the borg analysis; without a file it is not run."""
    samples: int | None = None
    """Texts of each analysis, instead of SAMPLES."""
    skip: tuple[str, ...] = ()
    """Analyses to leave out."""


@dataclass(frozen=True, eq=False)
class Step:
    """An analysis to run, or why it cannot be run."""

    analysis: str
    ctx: RunContext | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    absent: str = ""
    alike: bool = False
    """Whether it is about the run set."""


def plan(
    models: RunContext, multilingual: RunContext | None, request: Request, alike: RunContext | None = None
) -> list[Step]:
    """Return a step for every analysis, and for those that compare variants one more on the run set, if it is given."""
    steps = [_step(analysis, which, models, multilingual, request) for analysis, which in ANALYSES.items()]
    if alike is None:
        return steps
    compared = {analysis: options for analysis, options in COMPARED.items() if analysis not in request.skip}
    return steps + [
        Step(one, alike, _options(one, request.samples) | options, alike=True) for one, options in compared.items()
    ]


def unequal(models: RunContext) -> str:
    """Say how the trainings of the first base and the first bijective model differ; nothing if they are alike."""
    from alice.training import training_differences  # imports torch

    first: dict[str, NamedModel] = {}
    for one in models.each:
        if one.named_model is not None:
            first.setdefault(one.model.config.variant, one.named_model)
    pair = [first[variant] for variant in ("base", "bijective") if variant in first]
    return training_differences({named.name: named.checkpoint for named in pair}) if len(pair) == 2 else ""


def run_set() -> list[Path]:
    """Return the shipped base and bijective model of equal training; none if they are not there."""
    folders = [RUN_SET / f"mini-{variant}" for variant in ("base", "bijective")]
    return folders if all((folder / "config.json").is_file() for folder in folders) else []


def shipped_trainings(analysis: str) -> tuple[Path, ...]:
    """Return the folder of shipped trainings that an analysis reads, if there are any."""
    from alice.checkpoint import TRAINING  # takes seconds, and options are checked before

    folder = RUN_SET / SHIPPED[analysis]
    return (folder,) if any(folder.glob(f"*/{TRAINING}")) else ()


def _step(analysis: str, which: Which, models: RunContext, multilingual: RunContext | None, request: Request) -> Step:
    if analysis in request.skip:
        return Step(analysis, absent=f"Left out by `--skip {analysis}`.")
    if which == "none":
        trainings: tuple[Path, ...] = getattr(request, f"{analysis}_trainings") or shipped_trainings(analysis)
        ctx = RunContext(seed=models.seed, tracker=models.tracker)
        options = {"trainings": trainings}
        return Step(analysis, ctx, options) if trainings else Step(analysis, absent=SWEEP.format(analysis))
    if which == "multilingual":
        ctx = multilingual or replace(models, others=())
        return Step(analysis, ctx, request.borg) if request.borg.get("file") else Step(analysis, absent=BORG)
    chosen = _chosen(models, which)
    if not chosen:
        return Step(analysis, absent=NO_MODEL)
    return Step(analysis, _together(chosen), _options(analysis, request.samples))


def _options(analysis: str, samples: int | None) -> dict[str, Any]:
    samples = SAMPLES.get(analysis) if samples is None else min(samples, MOST.get(analysis, samples))
    samples = samples and max(samples, FEWEST.get(analysis, 0))
    return OPTIONS.get(analysis, {}) | ({} if samples is None else {"samples": samples})


def _chosen(models: RunContext, which: Which) -> list[RunContext]:
    each = list(models.each)
    if which == "all":
        return each
    if which == "probed":
        return [one for one in each if one.model.config.variant in ("base", "bijective")]
    base = [one for one in each if one.model.config.variant == "base"]
    return (base or each)[:1]


def _together(contexts: Sequence[RunContext]) -> RunContext:
    """Combine several contexts into one."""
    first, *others = (replace(one, others=()) for one in contexts)
    return replace(first, others=tuple(others))
