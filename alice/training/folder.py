"""A training folder: what is trained, how and on which texts (training.json), and its log (metrics.jsonl)."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from alice.checkpoint.folder import METRICS, TRAINING, resolve, write_json
from alice.errors import AliceError
from alice.files import (
    atomic_write,
    check_folder,
    folder_kind,
    held,
    make_folder,
    read_json,
    regular_file,
    remove_drafts,
)
from alice.model.config import ModelConfig
from alice.training.recipe import Recipe
from alice.training.state import STATE, read_counters

BUDGET = ("steps", "hours")
"""Fields of the recipe that say when a training ends."""
CHANGEABLE = {*BUDGET, "save_minutes", "eval_every", "eval_texts", "log_every", "precision", "compile"}
"""Fields that may change when a training is resumed; a change of any other would make it a different training."""


@dataclass(frozen=True)
class Totals:
    """What a training has used."""

    steps: int = 0
    """Optimizer steps."""
    tokens: int = 0
    """Characters seen, excluding padding."""
    core_hours: float = 0.0
    """Hours times CPU cores or accelerators."""


@dataclass(frozen=True)
class Training:
    """One training: the model, the recipe, the texts and the folder."""

    model: ModelConfig
    recipe: Recipe
    data: str
    """Corpus, by name or file."""
    folder: Path
    text_column: str | None = None
    """Column of the corpus with the texts."""
    init: str | None = None
    """Checkpoint whose weights it starts from; None for random weights."""

    @classmethod
    def open(cls, folder: Path, changes: dict[str, Any]) -> "Training":
        """Read the training of a folder, with changes to its recipe, to resume it."""
        if folder_kind(folder) == "checkpoint":
            raise AliceError(f"{folder} is a checkpoint, not a training; start a new training with --init {folder}")
        described, where = read_description(folder), str(folder / TRAINING)
        saved = Recipe.from_dict(described["recipe"], where=where)
        for name, value in changes.items():
            if name not in CHANGEABLE and value != getattr(saved, name):
                raise AliceError(
                    f"{folder} was started with {name}={getattr(saved, name)}, not {value}; "
                    "resume without it or start a new training"
                )
        if changes.keys() & set(BUDGET):
            changes = dict.fromkeys(BUDGET) | changes
        model = ModelConfig.from_dict(described["model"], where=where)
        recipe = replace(saved, **changes)
        return cls(model, recipe, described["data"], folder, described.get("text_column"), described.get("init"))

    def check_new(self) -> None:
        """Raise if the folder already is a training or anything else."""
        check_folder(self.folder, writes="training", hint="add --resume to continue it")

    @contextmanager
    def claimed(self, *, new: bool) -> Iterator[None]:
        """Create the folder and lock it during a block, so that no other process trains in it."""
        make_folder(self.folder)
        with ExitStack() as stack:
            try:
                stack.enter_context(held(self.folder))
            except BlockingIOError as error:
                raise AliceError(
                    f"another process is training in {self.folder}; wait for it, or choose another folder"
                ) from error
            if new:
                self.check_new()
            yield

    def describe(self) -> None:
        """Write training.json, before any other file: a folder that has it can be resumed."""
        remove_drafts(make_folder(self.folder))
        described: dict[str, Any] = {"data": self.data, "text_column": self.text_column, "init": self.init}
        described |= {"recipe": self.recipe.to_dict(), "model": self.model.to_dict(), "before": vars(self._before())}
        write_json(self.folder / TRAINING, described)

    def totals(self) -> Totals:
        """Return what has been spent on the weights, including those that the training started from."""
        counters, before = read_counters(self.folder), self._before()
        hours = round(before.core_hours + counters.core_seconds / 3600, 2)
        return Totals(before.steps + counters.step, before.tokens + counters.tokens, hours)

    def summary(self) -> dict[str, Any]:
        """Return the training.json of an exported checkpoint, without the paths of this machine."""
        data = self.data if self.data.startswith("hf:") else Path(self.data).name
        start = {} if self.init is None else {"started_from": Path(self.init).name}
        described = {"data": data, "recipe": self.recipe.to_dict(), "model": self.model.to_dict()}
        return described | {"totals": vars(self.totals())} | start

    def _before(self) -> Totals:
        """Return what had been spent on the weights that the training started from."""
        if (self.folder / TRAINING).exists():
            return Totals(**read_description(self.folder).get("before", {}))
        if self.init is None or not (resolve(self.init) / TRAINING).exists():
            return Totals()
        start = resolve(self.init)
        if (start / STATE).exists():  # a training, not an exported checkpoint
            return Training.open(start, {}).totals()
        return Totals(**read_description(start).get("totals", {}))


def read_description(folder: Path) -> dict[str, Any]:
    """Read the training.json of a training or of an exported checkpoint."""
    try:
        found = read_json(folder / TRAINING)
        return {**found, "data": str(found["data"]), "recipe": dict(found["recipe"]), "model": dict(found["model"])}
    except FileNotFoundError as error:
        raise AliceError(
            f"{folder} does not hold a training to resume (it has no {TRAINING}); start without --resume"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AliceError(f"{folder / TRAINING} cannot be read ({error}); start a new training") from error


class MetricsLog:
    """Writes metrics.jsonl, one JSON object per line; every row has its step."""

    def __init__(self, folder: Path, *, resume_at: int) -> None:
        self._path = folder / METRICS
        rows = [row for row in read_metrics(folder) if row["step"] <= resume_at] if self._path.exists() else []
        with atomic_write(self._path) as file:  # steps after the last checkpoint of a killed process are repeated
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def append(self, row: dict[str, Any]) -> None:
        """Append a row and flush it."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise AliceError(f"cannot write {self._path} ({error.strerror}); free some space, then resume") from error


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of metrics.jsonl, leaving out a last line that a crash cut off."""
    rows = []
    path = folder / METRICS
    lines = regular_file(path).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break
            raise AliceError(f"{path}, line {number} is not JSON; the file was changed or damaged") from error
        if not isinstance(row, dict) or not isinstance(row.get("step"), int):
            raise AliceError(f"{path}, line {number} has no step; the file was changed or damaged")
        rows.append(row)
    return rows
