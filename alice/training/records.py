"""What trainings left behind: curves of loss and error from their folders, and whether they can be compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from alice.errors import AliceError
from alice.model.config import ModelConfig
from alice.model.flops import training_flops
from alice.statistics import Floats
from alice.training import log as metrics_log
from alice.training.folder import ABOUT, BUDGET, CHANGEABLE, read_about
from alice.training.recipe import Recipe

NAMES = ("loss", "ser")
"""What the log calls the two curves."""
_OF_VARIANTS = {"bijective": ("cross_", "sinkhorn_", "gumbel_"), "dynamic": ("hyper_",)}
"""How the fields of a model begin that only one variant uses."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Numbers logged along a training, (points,) each."""

    steps: Floats
    """Steps done."""
    flops: Floats
    """Operations spent, forward and backward."""
    values: Floats
    """Loss per character, or share of wrong characters."""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run as its folder tells it."""

    name: str
    """Name of the folder."""
    model: ModelConfig
    recipe: Recipe
    data: str
    """Corpus that it was trained on."""
    loss: Curve
    """Mean training loss since the line before."""
    error: Curve
    """Symbol error rate on held-out texts under keys outside the pool."""
    used: float
    """Share of the budget that was used when the last line was written."""
    exact_flops: bool
    """Whether the operations were counted in training, or estimated here from the number of characters."""


@dataclass(frozen=True)
class Found:
    """The runs of some folders."""

    runs: tuple[RunRecord, ...]
    notes: tuple[str, ...] = ()
    """A sentence for each folder that looks like a run and was left out."""


def read_runs(folders: Iterable[Path]) -> Found:
    """Read run folders, and folders of run folders; one without any run is an error."""
    runs, notes = [], []
    given = [Path(folder) for folder in folders]
    members = {member.resolve(): member for folder in given for member in _members(folder)}
    for member in members.values():
        try:
            runs.append(_read_run(member))
        except _NothingYetError as error:
            if member in given:
                raise
            notes.append(f"{error}, so it is left out.")
    if not runs:
        raise AliceError("no run has logged anything yet; let one train for some steps first")
    return Found(tuple(_distinct(runs)), tuple(notes))


def differences(runs: Sequence[RunRecord], *, besides: Iterable[str] = ()) -> list[str]:
    """Return a sentence for whatever keeps runs from being compared: other data, model or recipe, or an early end.

    `besides` are the fields of model and recipe that are meant to differ.
    """
    skipped = CHANGEABLE - {*BUDGET, "precision"} | set(besides)
    settings = [_settings(run) for run in runs]
    values = {name: list(dict.fromkeys(_short(one[name]) for one in settings)) for name in settings[0]}
    differing = [
        f"{name} ({', '.join(found)})" for name, found in values.items() if len(found) > 1 and name not in skipped
    ]
    unfinished = [f"{run.name} ({100 * run.used:.0f} %)" for run in runs if run.used < 1]
    sentences = []
    if differing:
        sentences.append(f"Not comparable: the runs differ in {'; '.join(differing)}.")
    if unfinished:
        sentences.append(
            f"Not at the end of their budget, so that their last values are not final: {', '.join(unfinished)}."
        )
    return sentences


class _NothingYetError(AliceError):
    """A folder that is a run, or part of one, but has nothing to read."""


def _members(folder: Path) -> list[Path]:
    """Return the run folders that a folder stands for: itself, or those in it."""
    if folder.is_file():
        raise AliceError(f"{folder} is a file; give a run folder, or a folder of run folders")
    if not folder.is_dir():
        raise AliceError(f"there is no folder {folder}; give a run folder, or a folder of run folders")
    if _looks_like_run(folder):
        return [folder]
    inside = sorted((path for path in folder.iterdir() if path.is_dir() and _looks_like_run(path)), key=_natural)
    if not inside:
        raise AliceError(
            f"{folder} holds no run folder (which has {ABOUT} and {metrics_log.FILE}); "
            "make some with: alice-interp sweep generalization, or sweep scaling"
        )
    return inside


def _looks_like_run(folder: Path) -> bool:
    return (folder / ABOUT).is_file() or (folder / metrics_log.FILE).is_file()


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort numbers in names by their value: pool-100 comes after pool-20, and pool-all after both."""
    return [(int(part), "") if part.isdecimal() else (2**63, part) for part in path.name.split("-")]


def _read_run(folder: Path) -> RunRecord:
    for name in (ABOUT, metrics_log.FILE):
        if not (folder / name).is_file():
            raise _NothingYetError(f"{folder} has no {name}")
    about, where = read_about(folder), str(folder / ABOUT)
    model = ModelConfig.from_dict(about["model"], where=where)
    recipe = Recipe.from_dict(about["recipe"], where=where)
    rows = metrics_log.read(folder)
    if not any("loss" in row for row in rows):
        raise _NothingYetError(f"{folder / metrics_log.FILE} has no line with a loss yet")
    exact = all("flops" in row for row in rows)
    # Attention is estimated as if texts were half as long as they may be.
    per_token = None if exact else training_flops(model, 1, recipe.max_length / 2)
    loss, error = (_curve([_point(row, name, folder) for row in rows if name in row], per_token) for name in NAMES)
    used = recipe.progress(rows[-1]["step"], rows[-1].get("seconds", 0.0))
    return RunRecord(folder.resolve().name, model, recipe, about["data"], loss, error, used, exact)


def _curve(points: list[tuple[float, float, float, float]], flops_per_token: float | None) -> Curve:
    steps, tokens, flops, values = np.array(points, dtype=float).reshape(-1, 4).T
    return Curve(steps, flops if flops_per_token is None else tokens * flops_per_token, values)


def _point(row: dict[str, Any], name: str, folder: Path) -> tuple[float, float, float, float]:
    """Return step, tokens, operations and the value of a line."""
    try:
        value = row["ser"]["all"] if name == "ser" else row["loss"]
        return float(row["step"]), float(row["tokens"]), float(row.get("flops", np.nan)), float(value)
    except (KeyError, TypeError, ValueError) as error:
        where = f"{folder / metrics_log.FILE}, step {row['step']}"
        raise AliceError(f"{where} cannot be read ({error!r}); the file was changed or damaged") from error


def _distinct(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Number the runs whose folders have the same name, so that a figure can tell them apart."""
    names = [run.name for run in runs]
    counted = [f"{name} ({names[: place + 1].count(name)})" for place, name in enumerate(names)]
    return [replace(run, name=counted[place]) if names.count(run.name) > 1 else run for place, run in enumerate(runs)]


def _settings(run: RunRecord) -> dict[str, Any]:
    """Return what a run is, without the fields that its variant does not use."""
    of_others = tuple(
        start for variant in _OF_VARIANTS if variant != run.model.variant for start in _OF_VARIANTS[variant]
    )
    model = {name: None if name.startswith(of_others) else value for name, value in run.model.to_dict().items()}
    return {"data": run.data, **model, **run.recipe.to_dict()}


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
