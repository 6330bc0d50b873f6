"""Reads training folders: curves of loss and error rate, and whether trainings can be compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from alice.checkpoint import METRICS, TRAINING
from alice.errors import AliceError
from alice.model import ModelConfig, training_flops
from alice.statistics import Floats
from alice.text.corpus import source_name
from alice.training.bundled import locate_trainings
from alice.training.folder import BUDGET, CHANGEABLE, read_description, read_metrics
from alice.training.recipe import Recipe

NAMES = ("loss", "ser")
"""Names of the two curves in the log."""
_VARIANT_FIELDS = {"bijective": ("cross_", "sinkhorn_", "gumbel_"), "dynamic": ("hyper_",)}
"""Prefixes of the model's fields that only one variant uses."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity logged during a training, (points,) each."""

    steps: Floats
    """Steps done."""
    flops: Floats
    """Operations spent, forward and backward."""
    values: Floats
    """Loss per character, or symbol error rate as a fraction."""


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """One training as its folder records it."""

    name: str
    """Name of the folder."""
    folder: Path
    model: ModelConfig
    recipe: Recipe
    data: str
    """Corpus that it was trained on, without its folder."""
    data_sha256: str | None
    """Fingerprint of the corpus; None in folders of earlier versions."""
    loss: Curve
    """Mean training loss since the previous row."""
    error: Curve
    """Symbol error rate on held-out texts under keys outside the pool."""
    used: float
    """Share of the budget used by the last row."""
    exact_flops: bool
    """Whether the operations were counted during training, or estimated here from the number of characters."""


@dataclass(frozen=True)
class Found:
    """The trainings of some folders."""

    trainings: tuple[TrainingRecord, ...]
    notes: tuple[str, ...] = ()
    """A sentence for each incomplete training folder that was left out."""

    def renamed(self, names: Iterable[str]) -> "Found":
        """Return the same trainings under other names, so that a figure can tell them apart."""
        pairs = zip(self.trainings, names, strict=True)
        return replace(self, trainings=tuple(replace(training, name=name) for training, name in pairs))


def read_trainings(folders: Iterable[Path]) -> Found:
    """Read training folders, folders of them, or `bundled:NAME`; raise if one has no training."""
    found, notes = [], []
    given = [locate_trainings(Path(folder)) for folder in folders]
    for member in training_folders(given):
        try:
            found.append(_read_training(member))
        except _NothingYetError as error:
            if member in given:
                raise
            notes.append(f"{error}, so it is left out.")
    if not found:
        raise AliceError("no training has logged anything yet; let one train for some steps first")
    return Found(tuple(found), tuple(notes))


def training_folders(folders: Iterable[Path]) -> list[Path]:
    """Return training folders, and those inside folders of them, each once; raise if one holds no training.

    `bundled:NAME` stands for trainings of the package.
    """
    given = (locate_trainings(Path(folder)) for folder in folders)
    return list({member.resolve(): member for folder in given for member in _members(folder)}.values())


def differences(trainings: Sequence[TrainingRecord], *, besides: Iterable[str] = ()) -> list[str]:
    """Return a sentence for each reason why trainings cannot be compared: other settings, or an unfinished budget.

    `besides` names the fields of model and recipe that are meant to differ.
    """
    skipped = CHANGEABLE - {*BUDGET, "precision"} | set(besides)
    if any(training.data_sha256 is None for training in trainings):
        skipped = skipped | {"data_sha256"}
    settings = [_settings(training) for training in trainings]
    values = {name: list(dict.fromkeys(_short(one[name]) for one in settings)) for name in settings[0]}
    differing = [
        f"{name} ({', '.join(found)})" for name, found in values.items() if len(found) > 1 and name not in skipped
    ]
    unfinished = [f"{training.name} ({100 * training.used:.0f} %)" for training in trainings if training.used < 1]
    sentences = []
    if differing:
        sentences.append(f"Not comparable: the trainings differ in {'; '.join(differing)}.")
    if unfinished:
        sentences.append(f"Unfinished trainings, whose last values are not final: {', '.join(unfinished)}.")
    return sentences


class _NothingYetError(AliceError):
    """A training folder that is incomplete or has logged nothing."""


def _members(folder: Path) -> list[Path]:
    """Return the folder itself if it is a training folder, or else the training folders in it."""
    if folder.is_file():
        raise AliceError(f"{folder} is a file; give a training folder, or a folder of them")
    if not folder.is_dir():
        raise AliceError(f"there is no folder {folder}; give a training folder, or a folder of them")
    if _looks_like_training(folder):
        return [folder]
    inside = sorted((path for path in folder.iterdir() if path.is_dir() and _looks_like_training(path)), key=_natural)
    if not inside:
        raise AliceError(
            f"{folder} holds no training folder (one has {TRAINING} and {METRICS}); "
            "make some with: alice-interp sweep generalization, or sweep scaling"
        )
    return inside


def _looks_like_training(folder: Path) -> bool:
    return (folder / TRAINING).is_file() or (folder / METRICS).is_file()


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort numbers in names by value: pool-100 comes after pool-20, and pool-all after both."""
    return [(int(part), "") if part.isdecimal() else (2**63, part) for part in path.name.split("-")]


def _read_training(folder: Path) -> TrainingRecord:
    for name in (TRAINING, METRICS):
        if not (folder / name).is_file():
            raise _NothingYetError(f"{folder} has no {name}")
    described, where = read_description(folder), str(folder / TRAINING)
    model = ModelConfig.from_dict(described["model"], where=where)
    recipe = Recipe.from_dict(described["recipe"], where=where)
    rows = read_metrics(folder)
    if not any("loss" in row for row in rows):
        raise _NothingYetError(f"{folder / METRICS} has no line with a loss yet")
    exact = all("flops" in row for row in rows)
    # Attention is estimated as if texts had half of their maximum length.
    per_token = None if exact else training_flops(model, 1, recipe.max_length / 2)
    loss, error = (_curve([_point(row, name, folder) for row in rows if name in row], per_token) for name in NAMES)
    used = recipe.progress(rows[-1]["step"], rows[-1].get("seconds", 0.0))
    data, sha256 = source_name(described["data"]), described.get("data_sha256")
    return TrainingRecord(folder.resolve().name, folder, model, recipe, data, sha256, loss, error, used, exact)


def _curve(points: list[tuple[float, float, float, float]], flops_per_token: float | None) -> Curve:
    steps, tokens, flops, values = np.array(points, dtype=float).reshape(-1, 4).T
    return Curve(steps, flops if flops_per_token is None else tokens * flops_per_token, values)


def _point(row: dict[str, Any], name: str, folder: Path) -> tuple[float, float, float, float]:
    """Return step, tokens, operations and the value of a row."""
    try:
        value = row["ser"]["all"] if name == "ser" else row["loss"]
        return float(row["step"]), float(row["tokens"]), float(row.get("flops", np.nan)), float(value)
    except (KeyError, TypeError, ValueError) as error:
        where = f"{folder / METRICS}, step {row['step']}"
        raise AliceError(f"{where} cannot be read ({error!r}); the file was changed or damaged") from error


def _settings(training: TrainingRecord) -> dict[str, Any]:
    """Return the settings of a training, without the fields that its variant does not use."""
    unused = tuple(
        prefix for variant, prefixes in _VARIANT_FIELDS.items() if variant != training.model.variant
        for prefix in prefixes
    )  # fmt: skip
    model = {name: None if name.startswith(unused) else value for name, value in training.model.to_dict().items()}
    return {"data": training.data, "data_sha256": training.data_sha256, **model, **training.recipe.to_dict()}


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
